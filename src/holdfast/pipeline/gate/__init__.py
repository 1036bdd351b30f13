"""What a model wrote, held against what was said, and joined with the ledger."""

from __future__ import annotations

from holdfast.pipeline.gate.check import Checked, check
from holdfast.pipeline.gate.evidence import Evidence, evidence_of
from holdfast.pipeline.gate.join import PROSE_SHARE, joined, patched_by
from holdfast.pipeline.gate.judge import judge_note, judge_text

__all__ = ["PROSE_SHARE", "Checked", "Evidence", "check", "evidence_of", "joined", "judge_note",
           "judge_text", "patched_by"]  # fmt: skip

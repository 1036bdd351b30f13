"""What a model wrote, checked against what was said."""

from __future__ import annotations

from holdfast.writing.gate.check import Checked, check
from holdfast.writing.gate.evidence import Evidence, evidence_of
from holdfast.writing.gate.judge import judge_note, judge_text

__all__ = ["Checked", "Evidence", "check", "evidence_of", "judge_note", "judge_text"]

"""What a model wrote, checked against what was said."""

from __future__ import annotations

from foldaway.writing.gate.check import Checked, check
from foldaway.writing.gate.evidence import evidence_of

__all__ = ["Checked", "check", "evidence_of"]

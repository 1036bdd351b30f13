"""What a model wrote, checked against what was said."""

from __future__ import annotations

from holdfast.writing.gate.check import Checked, check
from holdfast.writing.gate.evidence import evidence_of

__all__ = ["Checked", "check", "evidence_of"]

"""What a model wrote, checked against what was said."""

from __future__ import annotations

from foldaway.summarizers.gate.check import Checked, check
from foldaway.summarizers.gate.evidence import evidence_of

__all__ = ["Checked", "check", "evidence_of"]

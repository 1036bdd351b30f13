"""What a model wrote, checked against what was said."""

from __future__ import annotations

from foldaway.summarizers.gate.check import Checked, check_note

__all__ = ["Checked", "check_note"]

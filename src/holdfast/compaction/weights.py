"""How much the entries of a model's note weigh beside each other, by section."""

from __future__ import annotations

from holdfast.facts.summary import Section

PROSE_WEIGHTS: dict[Section, float] = {
    "task": 95.0, "goal": 90.0, "constraints": 85.0, "pending": 80.0, "decisions": 75.0,
    "blocked": 70.0, "in_progress": 65.0, "state": 60.0, "critical": 55.0, "remaining": 50.0,
    "resolved": 40.0, "completed": 35.0, "files": 30.0,
}  # fmt: skip
"""What a ledger cannot write comes first: why something was decided, what was under way. All are
under 100, from where on the ledger's entries are needed."""

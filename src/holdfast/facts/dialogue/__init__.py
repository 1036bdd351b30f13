"""Facts of a dialogue, from the text of one message: rules, questions, decisions, identifiers."""

from __future__ import annotations

from holdfast.facts.dialogue.cues import language_of
from holdfast.facts.dialogue.identifiers import Mention, identifiers
from holdfast.facts.dialogue.statements import (
    Constraint,
    StatedDecision,
    constraints,
    decisions,
    questions,
    weighed_constraints,
)
from holdfast.facts.dialogue.values import DataField, fields
from holdfast.facts.languages import Counted, Language, Phrases, counted, phrases_for

__all__ = [
    "Constraint",
    "Counted",
    "DataField",
    "Language",
    "Mention",
    "Phrases",
    "StatedDecision",
    "constraints",
    "counted",
    "decisions",
    "fields",
    "identifiers",
    "language_of",
    "phrases_for",
    "questions",
    "weighed_constraints",
]

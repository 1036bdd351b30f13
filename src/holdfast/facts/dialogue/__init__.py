"""Facts of a dialogue, from the text of one message: rules, questions, decisions, identifiers."""

from __future__ import annotations

from holdfast.facts.dialogue.constraints import Constraint, constraints, weighed_constraints
from holdfast.facts.dialogue.decisions import Decision, decisions
from holdfast.facts.dialogue.fields import Field, fields
from holdfast.facts.dialogue.identifiers import Mention, identifiers
from holdfast.facts.dialogue.language import Language, language_of
from holdfast.facts.dialogue.phrases import Counted, Phrases, counted, phrases_for
from holdfast.facts.dialogue.questions import questions

__all__ = [
    "Constraint",
    "Counted",
    "Decision",
    "Field",
    "Language",
    "Mention",
    "Phrases",
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

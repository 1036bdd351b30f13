"""Facts of a dialogue, from the text of one message: rules, questions, decisions, identifiers."""

from __future__ import annotations

from holdfast.pipeline.dialogue.constraints import Constraint, constraints, weighed_constraints
from holdfast.pipeline.dialogue.decisions import Decision, decisions
from holdfast.pipeline.dialogue.fields import Field, fields
from holdfast.pipeline.dialogue.identifiers import Mention, identifiers
from holdfast.pipeline.dialogue.language import Language, language_of
from holdfast.pipeline.dialogue.phrases import Counted, Phrases, counted, phrases_for
from holdfast.pipeline.dialogue.questions import questions

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

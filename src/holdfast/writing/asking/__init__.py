"""What a model is asked for, how its answer is read, and how notes go on from each other."""

from __future__ import annotations

from holdfast.writing.asking.answer import ANSWER_SCHEMA, Read, merge_prose, read_answer
from holdfast.writing.asking.record import Chunk
from holdfast.writing.asking.request import Asking, begin, take

__all__ = [
    "ANSWER_SCHEMA",
    "Asking",
    "Chunk",
    "Read",
    "begin",
    "merge_prose",
    "read_answer",
    "take",
]

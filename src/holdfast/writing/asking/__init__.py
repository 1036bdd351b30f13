"""What a model is asked for, how its answer is read, and how notes go on from each other."""

from __future__ import annotations

from holdfast.writing.asking.answer import Read, read_answer
from holdfast.writing.asking.asking import Asking, begin, take
from holdfast.writing.asking.chunks import Chunk
from holdfast.writing.asking.merge import merge_prose
from holdfast.writing.asking.schema import ANSWER_SCHEMA

__all__ = ["ANSWER_SCHEMA", "Asking", "Chunk", "Read", "begin", "merge_prose", "read_answer",
           "take"]  # fmt: skip

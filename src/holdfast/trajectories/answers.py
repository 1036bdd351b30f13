"""Answers of a model, kept by what was asked: the same question is never paid for twice."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.errors import NotWritable
from holdfast.ports import SummaryAnswer, SummaryRequest
from holdfast.trajectories.files import write_synced
from holdfast.writing.prompts import VERSION


class Question(Struct, frozen=True):
    """What a model is asked; `attempt` counts up where its answer was of no use."""

    request: SummaryRequest
    attempt: int = 0


class Answered(Struct, frozen=True):
    """What came of a question: None where every try failed, and how many tries did."""

    answer: SummaryAnswer | None
    failed: int = 0


def answer_key(who: str, question: Question) -> str:
    """Return the name of a question: of whom, in which version of our words, for what."""
    asked = question.request
    said = (who, VERSION, question.attempt, asked.instructions, asked.prompt, asked.max_tokens)
    digest = blake2b(digest_size=16)
    for one in said:
        data = str(one).encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    if asked.schema is not None:
        digest.update(msgspec.json.encode(asked.schema, order="deterministic"))
    return digest.hexdigest()


def kept_answer(folder: Path, key: str) -> Answered | None:
    """Return the answer that is kept under a key; None where there is none, or not all of it."""
    try:
        check, _, data = _path(folder, key).read_bytes().partition(b"\n")
        if check != _check(data):
            return None
        return msgspec.json.decode(data, type=Answered)
    except (OSError, msgspec.DecodeError):
        return None


def keep_answer(folder: Path, key: str, answered: Answered) -> None:
    """Keep an answer; raises `NotWritable` where the disk refuses."""
    path = _path(folder, key)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NotWritable(str(path.parent), f"cannot be made ({error.strerror})") from None
    data = msgspec.json.encode(answered)
    write_synced(path, _check(data) + b"\n" + data)


def _path(folder: Path, key: str) -> Path:
    return folder / key[:2] / f"{key}.json"


def _check(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).hexdigest().encode()

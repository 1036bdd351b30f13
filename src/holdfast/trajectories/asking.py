"""A model that writes the summaries of a batch: asked once for the same turns, tried again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from holdfast.errors import SummarizerFailed
from holdfast.pipeline import prompts
from holdfast.pipeline.asking import read_answer
from holdfast.pipeline.asking.turns import tool_names, turn
from holdfast.pipeline.dialogue.language import language_of
from holdfast.pipeline.failures import CLASSES
from holdfast.pipeline.gate.judge import judge_text
from holdfast.pipeline.prompts import Terms
from holdfast.pipeline.summary import Summary
from holdfast.ports import Redact, Summarizer, SummaryAnswer, SummaryRequest, TokenCounter
from holdfast.trajectories.compress import Write, Written
from holdfast.trajectories.files import write_synced
from holdfast.trajectories.ledger import framed_summary, without_sources
from holdfast.trajectories.region import Region
from holdfast.transcript import Message, is_ask, texts

TRIES = 3
_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 60.0
_ASSUMED_WINDOW = 32_000
_RECORD_SHARE = 0.7
"""What of the summariser's window the turns may take; instructions and answer need the rest."""
_OUTPUT = 1.5

Pause: TypeAlias = Callable[[float], None]


class Asked(Struct, frozen=True, kw_only=True):
    """Whom a writer asks, and with what."""

    summarizer: Summarizer
    counter: TokenCounter
    redact: Redact
    answers: Path | None = None
    """Where answers are kept, so that the same turns are never paid for twice."""
    timeout: float = 120.0
    pause: Pause = time.sleep


def writer(asked: Asked) -> Write:
    """Return what writes summaries by asking a model.

    A failure that may pass is tried three times, after the pause that the provider asks for; then
    nothing is written, and the ledger's summary stands there. Raises `SummarizerFailed` where key,
    model or address is wrong: no record would fare better. What the model writes is redacted and
    cut to the room; it is not held against the turns, as in a live compaction.
    """

    def write(messages: Sequence[Message], region: Region, room: int) -> Written:
        request = _request(messages[region.start : region.stop], asked, room)
        kept = _kept(asked, request)
        if kept is not None:
            return Written(_framed(kept, asked, room))
        return _tried(request, asked, room)

    return write


def _tried(request: SummaryRequest, asked: Asked, room: int) -> Written:
    for number in range(1, TRIES + 1):
        try:
            answer = asked.summarizer.summarise(request, asked.timeout)
            judge_text(answer, request, asked.counter)
        except SummarizerFailed as error:
            if CLASSES[error.kind] == "no provider":
                raise
            if number < TRIES:
                wanted = error.retry_after or _FIRST_PAUSE * 2 ** (number - 1)
                asked.pause(min(wanted, _LONGEST_PAUSE))
            continue
        _keep(asked, request, answer)
        return Written(_framed(answer.text, asked, room), calls=number, errors=number - 1)
    return Written("", calls=TRIES, errors=TRIES)


def _request(turns: Sequence[Message], asked: Asked, room: int) -> SummaryRequest:
    """Return the question; of turns that are too many for the summariser the newest are shown."""
    names = tool_names(turns)
    left = int((asked.summarizer.context_length or _ASSUMED_WINDOW) * _RECORD_SHARE)
    shown: list[str] = []
    for message in reversed(turns):
        text = turn(message, names, asked.redact)
        left -= asked.counter.count(text)
        if left < 0 and shown:
            break
        shown.append(text)
    asks = "\n".join(words[:400] for one in turns if is_ask(one) for words in texts(one))
    terms = Terms(language=language_of(asks), budget_tokens=room)
    return SummaryRequest(
        instructions=prompts.instructions(terms, next_number=None),
        prompt=prompts.prompt("\n\n".join(reversed(shown)), "", number=1, total=1),
        max_tokens=int(room * _OUTPUT) + 200,
    )


def _framed(answer: str, asked: Asked, room: int) -> str:
    note: Summary = read_answer(answer, language_of(answer), is_cut=False).summary
    return framed_summary(without_sources(note), asked.counter, asked.redact, room)


def _path(asked: Asked, request: SummaryRequest) -> Path | None:
    if asked.answers is None:
        return None
    said = (asked.summarizer.name, request.instructions, request.prompt, str(request.max_tokens))
    key = blake2b("\0".join(said).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return asked.answers / key[:2] / f"{key}.txt"


def _kept(asked: Asked, request: SummaryRequest) -> str | None:
    path = _path(asked, request)
    try:
        return None if path is None else path.read_text(encoding="utf-8")
    except OSError:
        return None


def _keep(asked: Asked, request: SummaryRequest, answer: SummaryAnswer) -> None:
    path = _path(asked, request)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_synced(path, answer.text.encode("utf-8", "replace"))

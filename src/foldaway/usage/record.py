"""What one session used: its answers as the agent recorded them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct

from foldaway.agents.importers import AnswerUsage, ImportedSession
from foldaway.stores import TurnUsage
from foldaway.transcript import Message

_MARK_BYTES = 8


class SpentAnswer(Struct, frozen=True, array_like=True, gc=False):
    """What the provider counted for one answer, and by which mark its copies are known."""

    mark: bytes
    time: float | None
    model: str
    prompt_tokens: int
    """The whole prompt, cached parts included."""
    output_tokens: int
    read_tokens: int
    """Of the prompt, what came out of the cache."""
    written_tokens: int
    """Of the prompt, what was written to the cache."""
    hour_tokens: int = 0
    """Of what was written, what the cache keeps for an hour."""
    cost: float | None = None
    """In dollars, if the agent recorded it."""
    follows_compaction: bool = False
    is_total: bool = False
    """Whether it is a sum of requests of which the agent records nothing else."""

    @property
    def figures(self) -> tuple[int, int, int, int]:
        """The counts by which an answer is recognized in another record."""
        return self.prompt_tokens, self.output_tokens, self.read_tokens, self.written_tokens


class PromptFigures(Struct, frozen=True, array_like=True, kw_only=True):
    """What the prompts of a session held, estimated; a message counts each time it was sent."""

    shares: dict[str, int] = {}
    """Tokens by what they are: results by tool, words, calls, system prompt and tools."""
    read_again: int = 0
    """Files that were read again, unchanged, while the first reading was still in the prompt."""
    read_again_tokens: int = 0
    read_after: int = 0
    """Files that were read again because a compaction had dropped them."""
    read_after_tokens: int = 0


class SpentSession(Struct, frozen=True, array_like=True, kw_only=True):
    """One session: where it is from, its answers, its compactions and its prompts."""

    agent: str
    source_id: str
    path: str
    title: str = ""
    project: str = ""
    started: float | None = None
    parent_id: str = ""
    is_subagent: bool = False
    """Whether its parent called it; what it used is counted with its parent's session."""
    window_tokens: int = 0
    """The context window, if the agent recorded it."""
    answers: tuple[SpentAnswer, ...] = ()
    prompts: PromptFigures = PromptFigures()

    @property
    def key(self) -> tuple[str, str]:
        """What names it among all sessions of a machine."""
        return self.agent, self.source_id

    @property
    def compactions(self) -> int:
        """How often an answer follows a compaction of the agent."""
        return sum(answer.follows_compaction for answer in self.answers)


def answers_of(found: ImportedSession) -> Iterator[SpentAnswer]:
    """Yield what the answers of a session used, and last what is known only as a sum."""
    before, total = 0, found.total_usage
    for one in (*found.usage, *((total,) if total else ())):
        compactions = sum(at < one.position for at in found.summaries)
        yield SpentAnswer(
            mark=mark_of(found.agent, found.source_id, found.transcript.messages, one),
            time=one.time or found.ended, model=one.model or found.model,
            prompt_tokens=one.input_tokens, output_tokens=one.output_tokens,
            read_tokens=one.cache_read_tokens, written_tokens=one.cache_write_tokens,
            hour_tokens=one.cache_hour_tokens, cost=one.cost,
            follows_compaction=compactions > before, is_total=one is total,
        )  # fmt: skip
        before = compactions


def mark_of(
    agent: str, source_id: str, messages: Sequence[Message], one: AnswerUsage | TurnUsage
) -> bytes:  # fmt: skip
    """Return what an answer and its copies in other files, and in the store, have in common.

    The provider's id of the answer and the size of its prompt, if its message has the id;
    otherwise its time and figures. An answer without either is known by its session.
    """
    wire: Any = messages[one.position].wire if one.position < len(messages) else None
    given = cast("Mapping[str, Any]", wire).get("id") if isinstance(wire, dict) else None
    sizes = (one.model, one.input_tokens, one.cache_read_tokens, one.cache_write_tokens)
    figures = (one.time, one.output_tokens, *sizes)
    place = (source_id, one.position)
    own = (given, *sizes) if given else figures if one.time else (*place, *figures)
    said = repr((agent, own)).encode("utf-8", "replace")
    return hashlib.blake2b(said, digest_size=_MARK_BYTES).digest()

"""What one session used: its answers as the agent recorded them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct

from foldaway.agents.importers import ImportedSession
from foldaway.agents.known import find_agent
from foldaway.caching import RequestUsage
from foldaway.transcript import Message
from foldaway.usage.categories import SYSTEM

_MARK_BYTES = 8


class SpentAnswer(RequestUsage, frozen=True, array_like=True, kw_only=True, gc=False):
    """What the provider counted for one answer, and by which mark its copies are known."""

    mark: bytes
    follows_compaction: bool = False
    is_total: bool = False
    """Whether it is a sum of requests of which the agent records nothing else."""

    @property
    def figures(self) -> tuple[int, int, int, int]:
        """The counts by which an answer is recognized in another record."""
        own = self.input_tokens, self.output_tokens
        return *own, self.cache_read_tokens, self.cache_write_tokens


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
    """One session: its origin, its answers, its compactions and its prompts."""

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
    def is_stored(self) -> bool:
        """Whether it was read from a store: then its compactions are those of Foldaway."""
        return "#" in self.path

    @property
    def compactions(self) -> int:
        """How often an answer follows a compaction of the agent."""
        return sum(answer.follows_compaction for answer in self.answers)

    @property
    def compacts_itself(self) -> bool:
        """Whether its agent is known to compact by itself: it did, or its data say when."""
        return bool(self.compactions) or find_agent(self.agent).compacts_itself

    @property
    def system_tokens(self) -> int:
        """The size of the system prompt and the tools, by its prompts."""
        return self.prompts.shares.get(SYSTEM, 0) // max(len(self.answers), 1)


def answers_of(found: ImportedSession) -> Iterator[SpentAnswer]:
    """Yield what the answers of a session used, and last what is known only as a sum."""
    before, total = 0, found.total_usage
    for one in (*found.usage, *((total,) if total else ())):
        compactions = sum(at < one.position for at in found.summaries)
        yield spent_answer(
            one,
            mark_of(found.agent, found.source_id, found.transcript.messages, one),
            time=one.time or found.ended,
            model=one.model or found.model,
            follows_compaction=compactions > before,
            is_total=one is total,
        )
        before = compactions


def spent_answer(one: RequestUsage, mark: bytes, **more: Any) -> SpentAnswer:
    """Return a request that somebody recorded as an answer that can be counted."""
    own = {name: getattr(one, name) for name in RequestUsage.__struct_fields__}
    return SpentAnswer(**(own | more), mark=mark)


def mark_of(agent: str, source_id: str, messages: Sequence[Message], one: RequestUsage) -> bytes:
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
    text = repr((agent, own)).encode("utf-8", "replace")
    return hashlib.blake2b(text, digest_size=_MARK_BYTES).digest()

"""What one session used: its answers as the agent recorded them, and what its prompts held."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct

from foldaway.agents.importers import CONSOLE_MARK, ImportedSession
from foldaway.agents.known import find_agent
from foldaway.caching import RequestUsage
from foldaway.compaction import message_tokens
from foldaway.facts import own_words, use_of
from foldaway.sessions import short_title
from foldaway.transcript import Estimator, Message, Part, Text, ToolCall, ToolResult, is_ask
from foldaway.usage.categories import EARLIER, SUMMARIES, SYSTEM, name_in_prompts

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


class PromptFigures(Struct, frozen=True, array_like=True, kw_only=True, gc=False):
    """What the prompts of a session held, estimated; a message counts each time it was sent."""

    shares: dict[str, int] = {}
    """Tokens by what they are: results by tool, words, calls, system prompt and tools."""
    read_again: int = 0
    """Files that were read again, unchanged, while the first reading was still in the prompt."""
    read_again_tokens: int = 0
    read_after: int = 0
    """Files that were read again because a compaction had dropped them."""
    read_after_tokens: int = 0


class SpentSession(Struct, frozen=True, array_like=True, kw_only=True, gc=False):
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


_CHANGES = frozenset(("create", "write", "change", "append", "delete", "rename"))


def count_session(found: ImportedSession) -> SpentSession:
    """Return what a session of a file used."""
    messages = found.transcript.messages
    calls = [one.position for one in found.usage] or _calls(messages)
    first = found.usage[0].input_tokens if found.usage else 0
    return SpentSession(
        agent=found.agent,
        source_id=found.source_id,
        path=found.path,
        title=title_of(found.title, messages),
        project=found.cwd,
        started=found.started,
        parent_id=found.parent_id,
        is_subagent=found.is_subagent,
        window_tokens=found.window_tokens,
        answers=tuple(answers_of(found)),
        prompts=prompt_figures(messages, calls, found.summaries, first, is_part=found.is_partial),
    )


def title_of(given: str, messages: Iterable[Message]) -> str:
    """Return what people know a session by: its title, or the user's first words.

    What aider prints and commands with a slash are no words.
    """
    if given:
        return short_title(given)
    for message in messages:
        if is_ask(message):
            texts = (own_words(part.text) for part in message.parts if isinstance(part, Text))
            words = " ".join(next(filter(None, texts), "").split())
            if words and not words.startswith((CONSOLE_MARK, "/")):
                return short_title(words)
    return ""


def _calls(messages: Sequence[Message]) -> list[int]:
    """Return where answers begin, if no usage tells: at the first of each run of agent messages."""
    return [
        at
        for at, message in enumerate(messages)
        if message.role == "assistant" and at and messages[at - 1].role != "assistant"
    ]


def prompt_figures(
    messages: Sequence[Message],
    calls: Sequence[int],
    summaries: Sequence[int],
    first_prompt_tokens: int = 0,
    *,
    is_part: bool = False,
) -> PromptFigures:
    """Return what the prompts held: a message is sent with every later call up to a compaction.

    `calls` are the positions of the answers. What the first prompt had beyond the messages is the
    system prompt and the tools; for a part of a session, `is_part`, it is what came before.
    """
    calls, counter = sorted(calls), Estimator()
    shares: Counter[str] = Counter()
    reads, known = _Reads(), 0
    for at, message in enumerate(messages):
        if at in summaries:
            reads.forget()
        after = bisect_right(summaries, at)
        stop = summaries[after] if after < len(summaries) else len(messages)
        times = bisect_right(calls, stop) - bisect_right(calls, at)
        for part in message.parts:
            tokens = message_tokens(Message(message.role, (part,)), counter)
            known += tokens if calls and at < calls[0] else 0
            name = name_in_prompts(message.role, part, reads.tool_of(part))
            shares[SUMMARIES if at in summaries else name] += tokens * times
            reads.take(part, tokens)
    if calls and first_prompt_tokens > known:
        shares[EARLIER if is_part else SYSTEM] += (first_prompt_tokens - known) * len(calls)
    return PromptFigures(
        shares={name: tokens for name, tokens in shares.most_common() if tokens},
        read_again=reads.again[0],
        read_again_tokens=reads.again[1],
        read_after=reads.after[0],
        read_after_tokens=reads.after[1],
    )


class _Reads:
    """Which calls have been seen, and which of them read a file that was read before."""

    def __init__(self) -> None:
        self._calls: dict[str, ToolCall] = {}
        self._seen: dict[str, set[str]] = {}
        self._dropped: dict[str, set[str]] = {}
        self._repeats: dict[str, list[int]] = {}
        self.again, self.after = [0, 0], [0, 0]

    def forget(self) -> None:
        """Take it that a compaction dropped what was read."""
        self._dropped, self._seen = {**self._dropped, **self._seen}, {}

    def tool_of(self, part: Part) -> str:
        """Return the tool that a result is of, "" for anything else."""
        if not isinstance(part, ToolResult):
            return ""
        call = self._calls.get(part.call_id)
        return call.name if call else part.name

    def take(self, part: object, tokens: int) -> None:
        """Take a call, or the result of one."""
        if isinstance(part, ToolCall):
            self._calls[part.id] = part
            self._look(part)
        elif isinstance(part, ToolResult) and part.call_id in self._repeats:
            count = self._repeats.pop(part.call_id)
            count[0] += 1
            count[1] += tokens

    def _look(self, call: ToolCall) -> None:
        effects = use_of(call).effects()
        read = {one.path for one in effects if one.action == "read" and one.path}
        if read and all(call.arguments in self._seen.get(path, ()) for path in read):
            self._repeats[call.id] = self.again
        elif read and all(path in self._dropped for path in read):
            self._repeats[call.id] = self.after
        for path in read:
            self._dropped.pop(path, None)
            self._seen.setdefault(path, set()).add(call.arguments)
        for one in effects:
            if one.action in _CHANGES:
                for path in (one.path, one.to):
                    self._seen.pop(path, None)
                    self._dropped.pop(path, None)

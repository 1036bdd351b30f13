"""What the prompts of a session held, by kind, and which files were read again."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence

from foldaway.agents.importers import CONSOLE_MARK, ImportedSession
from foldaway.compaction import message_tokens
from foldaway.facts import own_words, use_of
from foldaway.sessions import short_title
from foldaway.transcript import Estimator, Message, Part, Text, ToolCall, ToolResult, is_ask
from foldaway.usage.categories import EARLIER, SUMMARIES, SYSTEM, name_in_prompts
from foldaway.usage.record import PromptFigures, SpentSession, answers_of

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

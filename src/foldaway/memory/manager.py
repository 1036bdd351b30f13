"""Memory beside a conversation: it informs each turn, and never delays, breaks or enters it."""

from __future__ import annotations

import atexit
import re
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, cast

from msgspec import Struct

from foldaway._core import Redact
from foldaway.errors import InvalidSetting
from foldaway.memory.fence import fence_text, strip_fenced
from foldaway.memory.messages import extract_user_words, redact_value
from foldaway.memory.provider import MemoryProvider, MemoryTurn, Switch
from foldaway.memory.runner import ProviderRunner, ProviderStatus, collect_tools
from foldaway.redaction import RedactionPolicy, Redactor

_SURELY = 0.85
"""The share of a limit that is waited: waking up takes time too, and so do the other steps of a
turn next to a provider that keeps the interpreter busy (`bench/memory.py` measures it)."""
_QUESTION_CHARS = 8_000
"""Of the user's text that memory is asked about, two pages: the turn waits for its redaction."""


class MemoryLimits(Struct, frozen=True, kw_only=True):
    """How long the turn may wait for memory, and how much of it there may be."""

    start_seconds: float = 2.0
    """For the names of its tools, when the manager is made."""
    prefetch_seconds: float = 0.5
    """Also for an external provider's part of the system prompt."""
    tool_seconds: float = 30.0
    compaction_seconds: float = 2.0
    close_seconds: float = 5.0
    queued: int = 64
    """Turns that may wait for a slow provider; what comes then is refused and counted."""
    recalled_chars: int = 8_000
    """Of one provider, in one turn."""


class Recalled(Struct, frozen=True, kw_only=True):
    """What memory says to a turn: a fenced text, empty for nothing, and who could not answer."""

    text: str = ""
    sources: tuple[str, ...] = ()
    late: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class MemoryManager:
    """The built-in provider first, at most one external beside it.

    No method raises what a provider raises, or waits longer than its limit. What a provider is
    told (turns, switches, ends) reaches it in order; the futures of `sync` say what is durable.
    """

    def __init__(
        self,
        builtin: MemoryProvider,
        external: MemoryProvider | None = None,
        *,
        reserved_tools: Sequence[str] = (),
        limits: MemoryLimits | None = None,
        redact: Redact | None = None,
        templates: Sequence[re.Pattern[str]] = (),
    ) -> None:
        """Take the providers; tools that are `reserved_tools` of the host are not offered.

        `templates` are patterns of texts that the host puts around the user's words, as
        `extract_user_words` takes them.
        """
        providers = [builtin] if external is None else [builtin, external]
        if not all(one.name for one in providers) or len({p.name for p in providers}) < len(
            providers
        ):
            raise InvalidSetting(
                "memory.external", [p.name for p in providers], "two names that differ"
            )
        self.limits = limits or MemoryLimits()
        self._words = _Words(templates, redact)
        self._runners = [
            ProviderRunner(
                one,
                queued=self.limits.queued,
                most_chars=self.limits.recalled_chars,
                builtin=one is builtin,
            )
            for one in providers
        ]
        until = time.monotonic() + self.limits.start_seconds
        self._tools, self.refused_tools = collect_tools(
            self._runners, frozenset(reserved_tools), until
        )
        self._turn = 0
        self._closed = False
        _close_at_exit(self)
        for runner in self._runners:
            weakref.finalize(self, runner.end).atexit = False

    def __enter__(self) -> MemoryManager:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def hide_with(self, redact: Redact) -> None:
        """Take the redactor of the conversation if there is none yet."""
        if self._words.redact_with(redact):
            builtin = self._runners[0]
            builtin.attempt(lambda: builtin.provider.hide_with(redact))

    # What a request needs

    def system_text(self) -> str:
        """Return what belongs in the system prompt; the same bytes until a memory changed.

        If an external provider is late or fails, what it said the last time is used.
        """
        until = time.monotonic() + self.limits.prefetch_seconds * _SURELY
        texts = [runner.system_text(until) for runner in self._runners]
        return "\n\n".join(text for text in texts if text)

    def prefetch(self, text: str, session_id: str = "") -> Recalled:
        """Return what is known about what the user says now, within the limit.

        If a provider is late, what `warm` found for an earlier turn is used instead. If the user
        said nothing, as in a bare command, nobody is asked.
        """
        query = self._words.make_question(text)
        taken = [
            (runner, runner.ask(lambda runner=runner: runner.provider.prefetch(query, session_id)))
            for runner in self._runners
            if query and runner.does("prefetch")
        ]
        until = time.monotonic() + self.limits.prefetch_seconds * _SURELY
        found: list[tuple[str, str]] = []
        late: list[str] = []
        failed: list[str] = []
        for runner, future in taken:
            said = runner.answer(future, until)
            if said is None:
                (late if _is_late(future) else failed).append(runner.provider.name)
                said = runner.warmed()
            if said:
                found.append((runner.provider.name, said))
        text = "\n\n".join(f"## {name}\n{said}" for name, said in found)
        return Recalled(
            text=fence_text(text),
            sources=tuple(name for name, _ in found),
            late=tuple(late),
            failed=tuple(failed),
        )

    def warm(self, text: str, session_id: str = "") -> None:
        """Let providers look ahead, for the next turn; nobody waits."""
        query = self._words.make_question(text)
        for runner in self._runners:
            if query and runner.does("prefetch"):
                runner.warm(lambda runner=runner: runner.provider.prefetch(query, session_id))

    # What providers are told, in order, in the background

    def turn_started(self, text: str) -> None:
        """Tell that a turn begins."""
        self._turn += 1
        number = self._turn
        self._notify(
            "turn_started", lambda provider: provider.turn_started(number, self._words.clean(text))
        )

    def sync(self, user: str, agent: str, session_id: str = "") -> list[Future[None]]:
        """Hand over a turn; return a future of each provider that took it.

        A future that is done without an error is durable. A provider without one had a full
        queue: the turn is lost to it, and counted in `status`.
        """
        number = self._turn

        def turn() -> MemoryTurn:  # made in the background: a long paste takes its time
            return MemoryTurn(
                session_id=session_id,
                number=number,
                user=self._words.clean(strip_fenced(user)),
                agent=self._words.redact(strip_fenced(agent)),
            )

        return self._notify("sync", lambda provider: provider.sync(turn()))

    def session_switched(self, switch: Switch) -> None:
        """Tell that the conversation goes on under another id, or starts over."""
        if switch.reset:
            self._turn = 0
        self._notify("session_switched", lambda provider: provider.session_switched(switch))

    def session_ended(self, session_id: str, messages: Sequence[object] = ()) -> list[Future[None]]:
        """Tell that a session is over; return a future of each provider that took it, as `sync`."""
        kept = list(messages)
        return self._notify(
            "session_ended",
            lambda provider: provider.session_ended(session_id, self._words.hide(kept)),
        )

    def before_compaction(self, messages: Sequence[object]) -> str:
        """Let providers take what matters; return what they want in the request for the summary."""
        kept = list(messages)
        taken = [
            (runner, runner.ask(lambda runner=runner: self._ask_before_compaction(runner, kept)))
            for runner in self._runners
            if runner.does("before_compaction")
        ]
        until = time.monotonic() + self.limits.compaction_seconds
        said = [runner.answer(future, until) for runner, future in taken]
        return "\n\n".join(text for text in said if text)

    # Tools

    def tools(self) -> list[dict[str, object]]:
        """Return the tools of all providers; constant, so that prompts stay cached."""
        return [dict(schema) for _, schema in self._tools.values()]

    def call(self, name: str, arguments: Mapping[str, object]) -> str:
        """Answer a tool call; what went wrong is said in a sentence.

        The provider gets the arguments without secrets: a model may well remember a password.
        """
        if name not in self._tools:
            known = ", ".join(self._tools) or "none"
            return f"no memory tool {name!r}; there are: {known}"
        if not isinstance(cast("object", arguments), Mapping):
            return f"the arguments of {name} are no object; give one, not its text"
        runner, _ = self._tools[name]
        future = runner.ask(lambda: runner.provider.call(name, self._words.hide(dict(arguments))))
        until = time.monotonic() + self.limits.tool_seconds
        said = runner.answer(future, until)
        if said is not None:
            return said
        why = "did not answer in time" if _is_late(future) else runner.status.last_error
        return f"the memory {runner.provider.name} could not do that: {why}"

    # The end

    def status(self) -> dict[str, dict[str, object]]:
        """Return how each provider does: calls, failures, what waits."""
        return {
            runner.provider.name: {
                **{name: getattr(runner.status, name) for name in ProviderStatus.__struct_fields__},
                "waiting": runner.notices.waiting,
            }
            for runner in self._runners
        }

    def flush(self, seconds: float | None = None) -> bool:
        """Wait until all that was handed over is durable; return whether it is."""
        until = time.monotonic() + (self.limits.close_seconds if seconds is None else seconds)
        return all(
            runner.notices.drain(max(until - time.monotonic(), 0)) for runner in self._runners
        )

    def close(self) -> dict[str, int]:
        """Finish what was handed over, within the limit; return what each provider left undone."""
        if self._closed:
            return {}
        self._closed = True
        until = time.monotonic() + self.limits.close_seconds
        undone = {runner.provider.name: runner.close(until) for runner in self._runners}
        return {name: calls for name, calls in undone.items() if calls}

    def _notify(self, method: str, call: Callable[[MemoryProvider], None]) -> list[Future[None]]:
        futures = [runner.notify(call) for runner in self._runners if runner.does(method)]
        return [future for future in futures if future is not None]

    def _ask_before_compaction(self, runner: ProviderRunner, messages: list[object]) -> str:
        return runner.provider.before_compaction(self._words.hide(messages))


class _Words:
    """What providers get to see: the user's own words, and nothing with its secrets."""

    def __init__(self, templates: Sequence[re.Pattern[str]], redact: Redact | None) -> None:
        self._templates = tuple(templates)
        self._is_default = redact is None
        self.redact = redact or Redactor(RedactionPolicy(personal=False))

    def redact_with(self, redact: Redact) -> bool:
        """Take a redactor if there is only the default one; return whether it was taken."""
        if taken := self._is_default:
            self._is_default, self.redact = False, redact
        return taken

    def hide(self, value: object) -> Any:
        """Return a value without its secrets."""
        return redact_value(value, self.redact)

    def clean(self, text: str) -> str:
        """Return what the user said."""
        return self.redact(extract_user_words(text, self._templates))

    def make_question(self, text: str) -> str:
        """Return the beginning of what the user said, in which a secret is never cut in two."""
        words = extract_user_words(text, self._templates)
        return self.redact(words[: 2 * _QUESTION_CHARS])[:_QUESTION_CHARS].strip()


def _is_late(future: Future[str] | None) -> bool:
    """Return whether a question has no answer yet."""
    return future is None or not future.done()


def _close_at_exit(manager: MemoryManager) -> None:
    """Finish at a clean exit what was handed over, unless the manager is gone by then."""
    known = weakref.ref(manager)

    def close() -> None:
        found = known()
        if found is not None:
            found.close()

    atexit.register(close)
    weakref.finalize(manager, atexit.unregister, close).atexit = False

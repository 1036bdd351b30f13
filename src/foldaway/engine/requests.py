"""What the requests of a conversation are beside its messages, model, window, tools and prompt, and
what the provider counted of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import Redact
from foldaway.caching import window_of
from foldaway.compaction import fixed_categories, message_tokens, tools_tokens
from foldaway.dialects import dialect_named
from foldaway.engine.run import EngineSettings
from foldaway.transcript import Calibration, Frame, Message, Payload, Text, Transcript

_MILLION = 1_000_000
"""A count large enough that its ratio to the calibrated one is exact to six digits."""


def figures_of(usage: object) -> Mapping[str, Any]:
    """Return a usage report as a mapping; clients have objects of their own for it, or None."""
    if isinstance(usage, Mapping):
        return cast("Mapping[str, Any]", usage)
    dumped = getattr(usage, "model_dump", None)
    if callable(dumped):
        return cast("Callable[[], dict[str, Any]]", dumped)()
    return getattr(usage, "__dict__", {})


def prompt_tokens_of(usage: Mapping[str, Any]) -> int:
    """Return the whole prompt of a usage report: Anthropic counts cached tokens apart."""
    if first_int(usage, "prompt_tokens"):
        return first_int(usage, "prompt_tokens")
    cached = first_int(usage, "cache_read_input_tokens") + first_int(
        usage, "cache_creation_input_tokens"
    )
    return first_int(usage, "input_tokens", "promptTokenCount", "prompt_token_count") + cached


def answer_tokens_of(usage: Mapping[str, Any]) -> int:
    """Return the tokens of the answer."""
    names = ("completion_tokens", "output_tokens", "candidatesTokenCount", "candidates_token_count")
    return first_int(usage, *names)


def first_int(usage: Mapping[str, Any], *names: str) -> int:
    """Return the first of these figures that is there and above zero, 0 if none is."""
    for name in names:
        found = usage.get(name)
        if isinstance(found, int) and not isinstance(found, bool) and found > 0:
            return found
    return 0


def answer_limit(request: Mapping[str, Any]) -> int:
    """Return how many tokens a request reserves for the answer, 0 if it does not say."""
    found = first_int(request, "max_tokens", "max_completion_tokens", "max_output_tokens")
    nested = request.get("generationConfig")
    if not found and isinstance(nested, Mapping):
        found = first_int(cast("Mapping[str, Any]", nested), "maxOutputTokens")
    return found


class Usage(Struct, frozen=True, kw_only=True):
    """What the provider reported last, and how far the log reached then."""

    prompt_tokens: int = 0
    at_estimate: int = 0
    """Our own estimate of the same prompt."""
    at_length: int = 0
    """How many messages the log had."""
    confirmed: bool = True
    """Whether a report came since the last compaction."""
    runs_ahead: bool = False
    """Whether the report is about messages that the log does not hold yet."""


class UsageMeter:
    """The last report of the provider, and the calibration that all of them made."""

    def __init__(self) -> None:
        self.last = Usage()
        self.calibration = Calibration()

    def reset(self) -> None:
        """Forget the last report; the calibration belongs to the model and stays."""
        self.last = Usage()

    def report(
        self, model: str, prompt_tokens: int, *, estimate: int, length: int, corrects: bool
    ) -> None:
        """Take a count of a prompt that we estimate so; it corrects later estimates if it may.

        A host that hands its list over only now and then reports on messages that have not been
        seen yet: such a report runs ahead, and says nothing about the estimate.
        """
        was = self.last
        same = was.confirmed and was.prompt_tokens > 0 and was.at_length == length
        self.last = Usage(
            prompt_tokens=prompt_tokens,
            at_estimate=estimate,
            at_length=length,
            runs_ahead=same and prompt_tokens > was.prompt_tokens,
        )
        if corrects and not self.last.runs_ahead:
            self.calibration = self.calibration.observe(model, estimate, prompt_tokens)

    def catch_up(self, estimate: int) -> None:
        """Note that the log now holds what a report that ran ahead was about."""
        if self.last.runs_ahead:
            self.last = replace(self.last, at_estimate=estimate, runs_ahead=False)

    def note_change(self, estimate: int) -> None:
        """Note that a compaction or an undo left a prompt that nobody has counted yet."""
        self.last = Usage(at_estimate=estimate, confirmed=False)

    def prompt_tokens(
        self, model: str, estimate: int
    ) -> tuple[int, Literal["measured", "estimated"]]:
        """Return the tokens of the next prompt, and whether the provider measured them."""
        usage = self.last
        if usage.prompt_tokens and usage.confirmed:
            grown = self.calibration.apply(model, max(estimate - usage.at_estimate, 0))
            return usage.prompt_tokens + grown, "measured"
        return self.calibration.apply(model, estimate), "estimated"

    def cached_tokens(self, estimate: int) -> int:
        """Return how much of the next prompt the provider has read already, as far as is known."""
        usage = self.last
        return usage.prompt_tokens if usage.confirmed and usage.prompt_tokens else estimate

    def ratio(self, model: str) -> float:
        """Return how many tokens the provider counts for each that we estimate."""
        return self.calibration.apply(model, _MILLION) / _MILLION


_RESERVED_SHARE = 4
"""At most a quarter of the window is reserved for an answer because a request asks for it: some
agents ask for the most that any model writes, whatever the window is; chosen."""


class Requests:
    """The settings of a conversation, as its requests change them."""

    def __init__(
        self,
        settings: EngineSettings,
        tools: Sequence[Payload],
        *,
        window: int | None,
        is_open: bool,
        has_redactor: bool,
    ) -> None:
        """Take what was given; the model is `is_open` if none was."""
        self.settings = replace(
            settings, tools=tuple(tools), outside_tokens=tools_tokens(tools, settings.counter)
        )
        self._window, self._is_open, self._has_redactor = window, is_open, has_redactor
        self._reserved, self._fixed_tokens = settings.output_tokens, self.settings.outside_tokens
        self._frame: Payload = {"tools": list(tools)} if tools else {}
        self.request = Transcript(settings.dialect or "", (), Frame("", self._frame))
        """What else is in a request, without its messages: tools, system prompt, settings."""

    def take(self, frame: Payload | None, dialect: str, held: Sequence[Any]) -> None:
        """Take the next request, without its list; `held` is sent after the log."""
        if frame is not None:
            self.take_model(str(frame.get("model") or ""))
        settings, counter = self.settings, self.settings.counter
        wire = dialect_named(dialect)
        if frame is not None and frame != self._frame:
            self._frame = frame
            system = None if wire.decode_system is None else wire.decode_system(frame)
            self.request = Transcript(dialect, (), Frame("", frame), system)
            fixed = fixed_categories(self.request, counter)
            self._fixed_tokens = sum(one.tokens_before for one in fixed)
            settings = replace(
                settings,
                tools=tuple(self.request.tools),
                output_tokens=self._reserved_of(answer_limit(frame), settings.context_length),
            )
        after = 0
        if held:
            after = sum(message_tokens(one, counter) for one in wire.decode(list(held), 0))
        self.settings = replace(settings, outside_tokens=self._fixed_tokens + after)

    def take_system(self, text: str) -> None:
        """Take the system prompt that is sent beside the messages of the log."""
        self.request = replace(self.request, system=Message("system", (Text(text),)))
        fixed = fixed_categories(self.request, self.settings.counter)
        self.take_outside(sum(one.tokens_before for one in fixed))

    def take_outside(self, tokens: int) -> None:
        """Take how many tokens are outside the messages."""
        self._fixed_tokens = tokens
        self.settings = replace(self.settings, outside_tokens=tokens)

    def take_model(self, name: str) -> None:
        """Take the model of a request, if none was given."""
        if self._is_open and name not in ("", self.settings.model):
            window, source = window_of(name, self._window)
            self.settings = replace(
                self.settings, model=name, context_length=window, window_source=source
            )

    def use_model(self, model: str, context_length: int, output_tokens: int | None) -> None:
        """Take another model and its window."""
        was = self.settings
        if output_tokens is None:
            output_tokens = self._reserved_of(was.output_tokens, context_length)
        settings = replace(
            was,
            model=model,
            context_length=context_length,
            window_source="given",
            output_tokens=output_tokens,
        )
        _ = settings.budget  # raises for a window that cannot be used, before anything changes
        self.settings = settings

    def hide_with(self, redact: Redact) -> None:
        """Take a redactor, if none was given."""
        if not self._has_redactor:
            self.settings = replace(self.settings, redact=redact)

    def _reserved_of(self, asked: int, context_length: int) -> int:
        """Return what is reserved for the answer if a request asks for `asked` tokens."""
        return self._reserved or min(asked, context_length // _RESERVED_SHARE)

"""What the requests of a conversation are beside its messages: model, window, tools, prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from foldaway._core import Redact
from foldaway.caching import window_of
from foldaway.compaction import fixed_categories, message_tokens, tools_tokens
from foldaway.dialects import dialect_named
from foldaway.engine.meter import answer_limit
from foldaway.engine.run import EngineSettings
from foldaway.transcript import Frame, Message, Payload, Text, Transcript

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

"""A transcript: the messages of one conversation in the frame that they came in."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from holdfast.transcript.message import Message, Payload


class Frame(Struct, frozen=True, gc=False):
    """What stands around the messages on the wire.

    `key` is the field that holds the message list, "" for a bare list. `body` is the whole object
    as parsed (never mutated); None for a bare list.
    """

    key: str = ""
    body: Payload | None = None

    @property
    def is_request(self) -> bool:
        """Whether this is a whole request body, so that rules about settings apply."""
        return self.body is not None and isinstance(self.body.get("model"), str)

    @property
    def path(self) -> str:
        """The JSON path of the message list."""
        return f"$.{self.key}" if self.key else "$"

    def setting(self, name: str) -> Any:
        """Return a field of the request body, None where there is none."""
        return None if self.body is None else self.body.get(name)


class Transcript(Struct, frozen=True):
    """Messages with their dialect, frame and, where the frame holds one, system prompt.

    `system` is the prompt outside the message list (Anthropic's `system`, Responses'
    `instructions`, Gemini's `systemInstruction`); a system message in the list stays in the list.
    """

    dialect: str
    messages: tuple[Message, ...]
    frame: Frame = Frame()
    system: Message | None = None

    @property
    def tools(self) -> tuple[Payload, ...]:
        """The tool definitions of the request, as they came."""
        found = self.frame.setting("tools")
        return tuple(found) if isinstance(found, list) else ()  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]

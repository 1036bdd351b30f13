"""What a session is opened with, as one value that goes to other handles and processes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct

from foldaway._core import MediaReducer, Policy, Redact, Summarizer
from foldaway.compaction import without_older_media
from foldaway.dialects import dialect_for
from foldaway.engine import Clock, Compressor, Model
from foldaway.errors import InvalidSetting
from foldaway.sessions.hooks import Hooks
from foldaway.sessions.leasing import TTL_SECONDS
from foldaway.sessions.tracking import Same
from foldaway.summarizers import Writers
from foldaway.transcript import Payload


class SessionOptions(Struct, frozen=True, kw_only=True):
    """The settings of the compressor, and how a session behaves beside it."""

    model: str | Model = ""
    context_length: int | None = None
    policy: Policy | None = None
    provider: str | None = None
    summarizer: Summarizer | Writers | str | None = None
    redact: Redact | None = None
    tools: Sequence[Payload] = ()
    background: bool = False
    hooks: Hooks = Hooks()
    media: MediaReducer = without_older_media
    same: Same | None = None
    on_error: Literal["raise", "pass"] = "raise"
    lease_seconds: float = TTL_SECONDS
    clock: Clock = time.time

    def __post_init__(self) -> None:
        """Refuse what a session cannot be opened with."""
        window: Any = self.context_length
        policy: Any = self.policy
        for name, fits, wanted in (
            ("context_length", window is None or type(window) is int, "a number of tokens"),
            ("policy", policy is None or isinstance(policy, Policy), "a Policy"),
            ("on_error", self.on_error in ("raise", "pass"), "'raise' or 'pass'"),
        ):
            if not fits:
                raise InvalidSetting(name, getattr(self, name), wanted)

    @property
    def dialect(self) -> str:
        """The wire format of the provider, "" if none was named."""
        return dialect_for(self.provider, None) or ""

    def compressor(self, model: str, dialect: str) -> Compressor:
        """Return the compressor of a conversation; `model` is the one that it had, if none is
        named here.
        """
        made = Compressor(
            model=self.model, context_length=self.context_length, policy=self.policy,
            provider=self.provider or dialect or None, summarizer=self.summarizer,
            redact=self.redact, tools=self.tools, background=self.background, clock=self.clock,
        )  # fmt: skip
        made.take_model(model)
        return made

"""What a gateway did while an agent ran, from the events that it tells."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import DecodeError, Struct, field, json

from foldaway.agents.running.agents import OUTER

_COMPACTED = re.compile(r"compacted (\d+)")

_LIMIT = re.compile(
    rb"(?i)\r\n(?:anthropic-ratelimit-unified-(\w{1,20})-utilization|x-codex-(\w{1,20})-used-percent)"
    rb": *(\d{1,5}(?:\.\d{1,9})?)(?=\r\n|\Z)"
)
"""What Claude and ChatGPT subscriptions tell of their limits: a share, or percent."""


class RunTotals(Struct):
    """Sums over the requests of one run."""

    requests: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    cost: float = 0.0
    compactions: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """By conversation: how many it had at its first request here, and at its last."""
    conversation: str = ""
    """The last one that was named."""
    direct: int = 0
    """Requests that went to the provider without a gateway."""
    ends: int = 0
    """How often a gateway ended while the agent ran."""
    gave_up: bool = False
    """Whether no gateway could be started, or too many ended."""
    trouble: str = ""
    """The last line that a gateway wrote before it could listen."""

    subscribed: bool = False
    """Whether requests carried the log-in of a subscription, which pays no list prices."""
    limits: dict[str, int] = field(default_factory=dict[str, int])
    """Percent used of each limit of a subscription, as the provider last told."""

    def add_heads(self, asked: bytes, answer: bytes) -> None:
        """Note from the heads of a request and its answer what a subscription says of itself."""
        head = asked.partition(b"\r\n\r\n")[0].lower()
        self.subscribed |= b"bearer sk-ant-oat" in head or b"\r\nchatgpt-account-id:" in head
        if not answer.startswith(b"HTTP/1."):
            return
        for found in _LIMIT.finditer(answer.partition(b"\r\n\r\n")[0]):
            name, used = (found[1] or found[2]).decode().lower(), float(found[3])
            self.limits[name] = round(used * 100 if found[1] else used)

    def add(self, line: bytes) -> bool:
        """Count a line of an event stream; return whether it tells of a request."""
        try:
            told = json.decode(line.removeprefix(b"data: "), type=_Told)
        except DecodeError:
            return False
        if told.kind != "request" or told.operation != "turn":
            return False
        self.requests += 1
        self.bytes_in += told.bytes_in
        self.bytes_out += told.bytes_out
        self.cost += told.cost
        if told.conversation:
            self.conversation = told.conversation
            match = _COMPACTED.match(told.note)
            before = self.compactions.get(told.conversation)
            now = int(match[1]) if match else before[1] if before else 0
            self.compactions[told.conversation] = (before[0] if before else now, now)
        return True

    def tell_others(self, home: Path, agent: str, began: float) -> None:
        """Tell other commands what a run has used; one that pays by the token tells nothing."""
        if self.subscribed or self.limits:
            told = Subscription(os.getpid(), began, self.bytes_out // 4, self.limits)
            draft = home / f"run-{agent}.{told.pid}"
            with suppress(OSError):  # it is only shown
                draft.write_bytes(json.encode(told))
                draft.replace(home / f"run-{agent}.json")

    @property
    def compacted(self) -> int:
        """How many compactions were made."""
        return sum(last - first for first, last in self.compactions.values())


class Subscription(Struct, frozen=True):
    """What a run with the log-in of a subscription has used so far."""

    pid: int
    began: float
    tokens: int
    limits: dict[str, int]

    @staticmethod
    def is_in(variables: Mapping[str, str]) -> bool:
        """Return whether these are the variables of a program that runs behind a gateway."""
        return OUTER in variables

    @classmethod
    def read_all(cls, home: Path) -> dict[str, Subscription]:
        """Return what the runs of now have used, by agent."""
        found: dict[str, Subscription] = {}
        for path in home.glob("run-*.json"):
            with suppress(OSError, OverflowError, DecodeError):
                told = json.decode(path.read_bytes(), type=cls)
                os.kill(told.pid, 0)  # an error if it was killed
                found[path.stem.removeprefix("run-")] = told
        return found


class _Told(Struct):
    kind: str = ""
    operation: str = "turn"
    conversation: str = ""
    note: str = ""
    bytes_in: int = 0
    bytes_out: int = 0
    cost: float = 0.0

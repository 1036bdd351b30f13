"""What went through a gateway, counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct


class Outcome(Struct):
    """What became of one request; no content of it."""

    wire: str
    bytes_in: int
    held: float
    """Seconds that it was held up before it was sent on."""
    bytes_out: int = 0
    status: int = 0
    note: str = ""
    usage: Mapping[str, Any] = {}


class Figures:
    """The sums."""

    def __init__(self) -> None:
        self.requests = 0
        self.faults: dict[str, int] = {}

    def add(self, outcome: Outcome) -> None:
        """Count a request."""
        self.requests += 1

    def fault(self, kind: str) -> None:
        """Count a fault of ours."""
        self.faults[kind] = self.faults.get(kind, 0) + 1

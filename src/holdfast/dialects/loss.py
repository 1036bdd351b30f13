"""What a conversion could not carry over."""

from __future__ import annotations

from msgspec import Struct


class Loss(Struct, frozen=True, gc=False):
    """One thing that the other dialect does not hold.

    `index` is the place in the list that was given, -1 for the request around it; `path` is the
    JSON path from the root of what was given; `what` is one plain sentence.
    """

    index: int
    path: str
    what: str


class Losses:
    """Collects losses; paths begin at the list under `root`."""

    __slots__ = ("_root", "_system", "found")

    def __init__(self, root: str, system_path: str = "$") -> None:
        """Start with none."""
        self._root = root
        self._system = system_path
        self.found: list[Loss] = []

    def add(self, index: int, at: str, what: str) -> None:
        """Note a loss at a place inside message `index`; -1 is the system prompt."""
        inner = f".{at}" if at and not at.startswith("[") else at
        path = f"{self._root}[{index}]{inner}" if index >= 0 else self._system
        self.found.append(Loss(index, path, what))

    def add_setting(self, path: str, what: str) -> None:
        """Note a loss in the request around the messages."""
        self.found.append(Loss(-1, f"$.{path}", what))

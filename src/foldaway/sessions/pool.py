"""What a process holds open, by key: the least recently used is let go, the store has it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Pool(Generic[K, V]):
    """Conversations that are open, for any number of threads; each is opened once.

    A `Session` has a lock of its own: hold it to do more than one thing with the session.
    """

    def __init__(self, most: int, weight: Callable[[V], int] = lambda value: 1) -> None:
        """Hold values that together weigh at most this much; by default that many."""
        self._most, self._weight = most, weight
        self._held: OrderedDict[K, V] = OrderedDict()
        self._weights: dict[K, int] = {}
        self._all = 0
        self._lock = threading.Lock()

    def take(
        self,
        key: K,
        make: Callable[[], V],
        *,
        beside: int = 0,
        is_fit: Callable[[V], bool] = lambda value: True,
    ) -> V:
        """Return the value of a key, made if there is none or it is not fit any more, and let go of
        the oldest until the others have room beside some more weight; never of this one.

        The others weigh what they did when they were taken, or `weigh` was called.
        """
        with self._lock:
            found = self._held.get(key)
            if found is None or not is_fit(found):
                found = self._held[key] = make()
            self._held.move_to_end(key)
            self._note(key, self._weight(found))
            while beside + self._all > self._most and len(self._held) > 1:
                self._note(self._held.popitem(last=False)[0], 0)
            return found

    def weigh(self, key: K) -> None:
        """Note what the value of a key weighs now."""
        with self._lock:
            if key in self._held:
                self._note(key, self._weight(self._held[key]))

    def _note(self, key: K, weight: int) -> None:
        self._all += weight - self._weights.pop(key, 0)
        if weight:
            self._weights[key] = weight

    def get(self, key: K) -> V | None:
        """Return the value of a key if it is held; that is no use of it."""
        return self._held.get(key)

    def drop(self, key: K) -> V | None:
        """Let go of the value of a key, and return it."""
        with self._lock:
            self._note(key, 0)
            return self._held.pop(key, None)

    def newest_first(self) -> Iterator[tuple[K, V]]:
        """Yield what is held, what was used last first."""
        with self._lock:
            held = list(self._held.items())
        return reversed(held)

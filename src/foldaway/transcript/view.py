"""Views: what the model sees now, as items that each stand for a range of the log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct

from foldaway.errors import InvalidView
from foldaway.transcript.message import Message


class Kept(Struct, frozen=True, gc=False, tag="kept"):
    """Log positions `start` up to `stop` (exclusive), as they were."""

    start: int
    stop: int


class Rewritten(Struct, frozen=True, gc=False, tag="rewritten"):
    """One log position, rendered as `message` instead (digest, marker, placeholder, note)."""

    start: int
    message: Message
    reference: str = ""

    @property
    def stop(self) -> int:
        """One past its position."""
        return self.start + 1


class Folded(Struct, frozen=True, gc=False, tag="folded"):
    """A range of the log that `messages` (a summary; none if it was merged) stand for."""

    start: int
    stop: int
    messages: tuple[Message, ...] = ()
    reference: str = ""


Item: TypeAlias = Kept | Rewritten | Folded


class View(Struct, frozen=True):
    """Items that cover every position of a log of `length` messages exactly once, in order.

    Construction raises `InvalidView` if they do not: silent loss cannot be written down.
    """

    items: tuple[Item, ...]
    length: int

    def __post_init__(self) -> None:
        """Check the coverage law."""
        at = 0
        for item in self.items:
            if item.start != at:
                what = "a gap in the view" if item.start > at else "two items overlap"
                raise InvalidView(what, position=min(at, item.start))
            if item.stop <= item.start:
                raise InvalidView("an empty item", position=item.start)
            at = item.stop
        if at != self.length:
            what = "the view ends early" if at < self.length else "the view reaches past its log"
            raise InvalidView(what, position=min(at, self.length))


def whole_view(length: int) -> View:
    """Return the view that keeps a log of `length` messages as it is."""
    return View((Kept(0, length),) if length else (), length)


def extend(view: View, length: int) -> View:
    """Return the view of the log grown to `length`; what was appended is kept."""
    if length == view.length:
        return view
    if length < view.length:
        raise InvalidView("the log is shorter than its view", position=length)
    items = view.items
    if items and isinstance(items[-1], Kept):
        items = (*items[:-1], Kept(items[-1].start, length))
    else:
        items = (*items, Kept(view.length, length))
    return View(items, length)


def grow(view: View, length: int, shown: Sequence[Rewritten]) -> View:
    """Return the view of the log grown to `length`; of what was appended some is shown otherwise.

    `shown` are positions from the end of the view on, in order.
    """
    items = list(view.items)
    at = view.length
    for item in shown:
        if item.start > at:
            _keep(items, at, item.start)
        items.append(item)
        at = item.stop
    if length > at:
        _keep(items, at, length)
    return View(tuple(items), length)


def _keep(items: list[Item], start: int, stop: int) -> None:
    if items and isinstance(items[-1], Kept):
        start = items.pop().start
    items.append(Kept(start, stop))


def rewrite(view: View, position: int, message: Message, reference: str = "") -> View:
    """Return the view with a position that is not folded shown as `message` instead."""
    items: list[Item] = []
    for item in view.items:
        if isinstance(item, Folded) or not item.start <= position < item.stop:
            items.append(item)
            continue
        if item.start < position:
            items.append(Kept(item.start, position))
        items.append(Rewritten(position, message, reference))
        if position + 1 < item.stop:
            items.append(Kept(position + 1, item.stop))
    return View(tuple(items), view.length)


def render(view: View, log: Sequence[Message]) -> Iterator[Message]:
    """Yield the messages that the model sees: the same log and view give the same messages."""
    if len(log) != view.length:
        raise InvalidView("the log and its view differ in length", position=view.length)
    for item in view.items:
        match item:
            case Kept(start=start, stop=stop):
                yield from log[start:stop]
            case Rewritten(message=message):
                yield message
            case Folded(messages=messages):
                yield from messages

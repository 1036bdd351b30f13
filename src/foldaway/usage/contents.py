"""What fills a window: the messages in it by file, by tool, or each for itself, as tiles."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from foldaway.facts import use_of
from foldaway.transcript import Message, Part, Text, ToolCall, ToolResult
from foldaway.usage.categories import KIND_NAMES, Kind

By: TypeAlias = Literal["file", "tool", "message"]
_LEAST_CALL = 400
"""Characters of a call's arguments from which on its message is about the file; chosen."""
_MUCH, _LITTLE = 0.25, 0.1
"""The share of one message that is named alone, and of three that are not worth a name; chosen."""


class WindowPiece(Struct, frozen=True):
    """A message in a window, or what is around the messages."""

    position: int | None
    """In the log; None for what is around it, and for a summary."""
    kind: Kind
    tokens: int
    tool: str = ""
    """The one whose result it is."""
    path: str = ""
    """The one file that it is about."""
    is_read: bool = False
    """Whether it only reads that file."""
    is_foldable: bool = False
    """Whether it has results, shown as they came."""

    def name_by(self, by: By) -> str:
        """Return what it is called, "" if only its kind says what it is."""
        return (self.path if by != "tool" else "") or (self.tool if self.kind == "results" else "")


class WindowTile(Struct, kw_only=True):
    """Pieces of the same name."""

    name: str
    kind: Kind
    tokens: int = 0
    positions: list[int] = []
    folds: list[int] = []
    """Messages whose results can be folded."""


def piece_of(
    position: int, kind: Kind, tokens: int, message: Message, calls: Mapping[str, ToolCall]
) -> WindowPiece:
    """Return a message as its largest part tells: a result is about what its call asked for."""
    found = WindowPiece(position, kind, tokens)
    part = max(message.parts, key=_size, default=None)
    call = calls.get(part.call_id) if isinstance(part, ToolResult) else part
    if not isinstance(call, ToolCall) or (call is part and _size(call) < _LEAST_CALL):
        return found
    effects = [one for one in use_of(call).effects() if one.path]
    paths = {one.path for one in effects}
    return WindowPiece(
        position,
        kind,
        tokens,
        tool=call.name,
        path=paths.pop() if len(paths) == 1 else "",
        is_read=bool(effects) and all(one.action == "read" for one in effects),
        is_foldable=isinstance(part, ToolResult),
    )


def _size(part: Part) -> int:
    match part:
        case ToolCall(arguments=arguments):
            return len(arguments)
        case ToolResult(parts=parts):
            return sum(len(one.text) for one in parts if isinstance(one, Text))
        case _:
            return len(getattr(part, "text", ""))


def group_pieces(
    pieces: Iterable[WindowPiece], by: By, most: int, pinned: Collection[int] = ()
) -> list[WindowTile]:
    """Return at most `most` tiles and one for the rest of each kind, the largest first."""
    found: dict[tuple[str, Kind, int | None], WindowTile] = {}
    for one in pieces:
        name = one.name_by(by)
        kind: Kind = "results" if by == "file" and one.path else one.kind  # read, or written to
        key = name, kind, one.position if by == "message" else None
        _add(found.setdefault(key, WindowTile(name=name, kind=kind)), one, pinned)
    tiles = sorted(found.values(), key=lambda tile: -tile.tokens)
    rest: dict[Kind, WindowTile] = {}
    for tile in tiles[most:]:
        name = f"smaller ones: {KIND_NAMES[tile.kind]}"
        other = rest.setdefault(tile.kind, WindowTile(name=name, kind=tile.kind))
        other.tokens += tile.tokens
        other.positions += tile.positions
        other.folds += tile.folds
    return sorted([*tiles[:most], *rest.values()], key=lambda tile: -tile.tokens)


def _add(tile: WindowTile, one: WindowPiece, pinned: Collection[int]) -> None:
    tile.tokens += one.tokens
    if one.position is not None:
        tile.positions.append(one.position)
        if one.is_foldable and one.position not in pinned:
            tile.folds.append(one.position)


def describe_largest(pieces: Sequence[WindowPiece]) -> tuple[str, list[WindowPiece]]:
    """Return in a sentence which messages take most of a window, and these messages."""
    whole = sum(one.tokens for one in pieces)
    order = sorted((one for one in pieces if one.position is not None), key=lambda one: -one.tokens)
    if not order or not whole:
        return "No message is in the window", []
    largest = order[: 1 if order[0].tokens >= whole * _MUCH else 3]
    share = sum(one.tokens for one in largest) / whole
    summary = sum(one.tokens for one in pieces if one.kind == "summary") / whole
    if summary > max(share, _LITTLE):
        return f"The summary is {summary:.0%} of your window", []
    if share < _LITTLE:
        return f"Nothing stands out: the largest messages are {share:.0%} of your window", largest
    what = "message"
    if all(one.kind == "results" for one in largest):
        what = "read" if all(one.is_read for one in largest) else "result"
    these = ("This one {} is", "These two {}s are", "These three {}s are")[len(largest) - 1]
    return f"{these.format(what)} {share:.0%} of your window", largest


class Rectangle(Struct, frozen=True):
    """Where a tile is drawn."""

    x: float
    y: float
    width: float
    height: float


def squarify(sizes: Sequence[float], width: float, height: float) -> list[Rectangle]:
    """Return a rectangle for each size, the largest first: together they fill the picture, and each
    is as near to a square as its row lets it be.
    """
    found: list[Rectangle] = []
    x = y = 0.0
    left, at = float(sum(sizes)), 0
    while at < len(sizes) and left > 0:
        is_column = width - x >= height - y  # a row goes along the shorter side
        side = height - y if is_column else width - x
        area, stop = (width - x) * (height - y) / left, at + 1
        while stop < len(sizes) and _worst(sizes[at : stop + 1], side, area) <= _worst(
            sizes[at:stop], side, area
        ):
            stop += 1
        row, along = sum(sizes[at:stop]), 0.0
        depth = row * area / side
        for size in sizes[at:stop]:
            length = side * size / row
            place = (x, y + along, depth, length) if is_column else (x + along, y, length, depth)
            found.append(Rectangle(*place))
            along += length
        x, y = (x + depth, y) if is_column else (x, y + depth)
        left, at = left - row, stop
    return found


def _worst(row: Sequence[float], side: float, area: float) -> float:
    """Return how far the longest rectangle of a row is from a square; sizes fall along it."""
    ratios = (side * side * one / (sum(row) ** 2 * area) for one in (row[0], row[-1]))
    return max(max(ratio, 1 / ratio) for ratio in ratios)

"""What fills the window of a session now, as tiles: each as large as what it takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, get_args

from msgspec.structs import replace
from starlette.requests import Request

from foldaway.engine import unpack_view
from foldaway.gateway.inspector.message_fates import fates
from foldaway.gateway.inspector.safe_text import first_words
from foldaway.gateway.inspector.session_page import about
from foldaway.gateway.inspector.session_sources import OpenedSession
from foldaway.gateway.inspector.site import Answer, HtmlPage, Inspector
from foldaway.gateway.inspector.timeline import ESTIMATE_ERROR
from foldaway.gateway.inspector.window_amounts import Context, count_written, kind_of
from foldaway.sessions import decode_rows
from foldaway.transcript import Folded, Kept, Message, ToolCall
from foldaway.usage import (
    KIND_NAMES,
    KINDS,
    By,
    WindowPiece,
    describe_largest,
    group_pieces,
    piece_of,
    squarify,
)

_SIZES: Final = ((1000, 340), (360, 480))
"""Of the picture on a wide and on a narrow screen; the style sheet says which is shown."""
_MOST_READ = 2_000
"""Messages of which bodies are read. Of more, only tools are known: no window has so many."""
_MOST_TILES = 40
"""More would be too small to be read."""
_NAME_CHARS = 120
_SUMMARY: Final = KINDS.index("summary")


def window_page(inspector: Inspector, request: Request) -> Answer:
    """Return what fills the window now; `by` says whether tiles are files, tools or messages."""
    opened = inspector.shelf.open(str(request.path_params["id"]))
    asked = request.query_params.get("by")
    by: By = "tool" if asked == "tool" else "message" if asked == "message" else "file"
    pieces = list(_pieces(opened))
    pins = {pin.position for pin in opened.store.pins(opened.info.id)}
    tiles = group_pieces(pieces, by, _MOST_TILES, pins)
    for tile in tiles:
        tile.name = _name(opened, tile.name) or KIND_NAMES[tile.kind]
    said, largest = describe_largest(pieces)
    names = (_name(opened, one.name_by("file")) or KIND_NAMES[one.kind] for one in largest)
    sizes = [tile.tokens for tile in tiles]
    values: dict[str, Any] = {
        **about(opened),
        "by": by,
        "ways": get_args(By),
        "said": said,
        "names": ", ".join(dict.fromkeys(names)),
        "largest": sum(one.tokens for one in largest),
        "whole": sum(sizes),
        "tiles": tiles,
        "pins": pins,
        "kinds": [kind for kind in KINDS if any(one.kind == kind for one in pieces)],
        "pictures": [(width, height, squarify(sizes, width, height)) for width, height in _SIZES],
    }
    return HtmlPage("window.html.j2", values)


def _name(opened: OpenedSession, said: str) -> str:
    """Return the name of a file or tool as it is shown."""
    folder = opened.info.cwd.rstrip("/") + "/"
    inside = said.removeprefix(folder) if len(folder) > 1 else said
    return first_words(inside, opened.api.show, _NAME_CHARS)


def _pieces(opened: OpenedSession) -> Iterator[WindowPiece]:
    """Yield all that the model sees now."""
    store, info = opened.store, opened.info
    rows, views = store.outline(info.id), store.views(info.id, lean=True)
    kept = next((one for one in views if one.number == info.view), None)
    items = unpack_view(kept.items, info.dialect).items if kept else ()
    written = {one.start: one for one in items if not isinstance(one, Kept)}
    around, fate = Context(store, info, rows, views).fixed, fates(store, info)
    found = [WindowPiece(None, kind, size) for kind, size in zip(KINDS, around, strict=True)]
    calls: dict[str, ToolCall] = {}
    for one in fate.items:
        item = written.get(one.start)
        if isinstance(item, Folded):
            found.append(WindowPiece(None, "summary", sum(count_written(item))))
            continue
        stop = one.stop if one.shown else one.start
        read: Sequence[Message | None] = [None] * (stop - one.start)
        if fate.shown <= _MOST_READ:
            read = decode_rows(store.read(info.id, one.start, stop), info.dialect)
        for row, said in zip(rows[one.start : stop], read, strict=True):
            tokens = row.tokens
            if item:  # a message may carry the summary of those before it
                found.append(WindowPiece(None, "summary", count_written(item)[_SUMMARY]))
                tokens = sum(count_written(item)) - found[-1].tokens
            if said is None:
                tool = row.tools[0] if row.tools else ""
                found.append(WindowPiece(row.position, kind_of(row), tokens, tool))
                continue
            calls |= {part.id: part for part in said.parts if isinstance(part, ToolCall)}
            made = piece_of(row.position, kind_of(row), tokens, said, calls)
            found.append(replace(made, is_foldable=made.is_foldable and one.kind == "kept"))
    yield from (one for one in found if one.tokens)
    last = next(iter(store.usage(info.id, last=1)), None)
    if last and last.input_tokens and last.view == info.view:
        counted = last.input_tokens + sum(row.tokens for row in rows[last.position :])
        more = counted - sum(one.tokens for one in found)
        if more > counted * ESTIMATE_ERROR:
            yield WindowPiece(None, "unrecorded", more)

"""The tools by which an agent reaches its past, and what each answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, TypeAlias, get_args

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import read_table
from foldaway.dialects import dump_text
from foldaway.errors import FoldawayError, UnknownSession
from foldaway.search import Filters, Sort
from foldaway.sessions.dropped import Dropped
from foldaway.sessions.exporting import brief_session, remainder_of
from foldaway.sessions.finding import AROUND, Hit, ShownMessage, discover, message_at, read, scroll
from foldaway.sessions.hiding import PLACEHOLDER, SPEAKERS, may_leave
from foldaway.sessions.library import (
    LEAST_TOKENS,
    MARK,
    MOST_CHARS_PER_TOKEN,
    MOST_TOKENS,
    TOKENS,
    Library,
    beginning,
    cut_row,
    date_of,
    in_order,
    is_small,
    largest,
    list_first,
)
from foldaway.sessions.rows import payloads
from foldaway.stores import SessionFilter, SessionInfo
from foldaway.transcript import estimate_text

MOST_HITS = 20
"""Of one search; as many as the command line and a page of recent sessions show."""
_MOST_RECENT = 20
"""Sessions of a list; as many as `foldaway sessions list` prints."""
_SENTENCE_CHARS = 500
"""Of what is said if something cannot be done; it quotes what was asked."""
_DAY_SECONDS = 86_400
_LABELS_TOKENS = 100
"""What the note, the keys and the last sentence of a brief take, by our estimate."""
_TRIES = 3
"""How often a brief is made for one answer: escapes of JSON make it longer by an unknown share."""
_ROW_CHARS = (16_000, 4_000, 1_000, 300)
"""Of each message of a compacted session, the most that lets all of them fit; a quarter each time,
down to half of what a list shows."""
_COMPACTED_SHARE = 0.75
"""Of an answer, for the messages themselves; keys, times and escapes take up to a quarter of it."""
_BY_POSITION = "call foldaway_sessions_read with this session, and a position as around"
_BY_LABEL = "[m12] is position 12: call foldaway_sessions_read with this session and around=12"


class SessionTool(Struct, frozen=True):
    """A tool as a model sees it."""

    name: str
    description: str
    parameters: dict[str, Any]
    reads: bool = True
    """Whether it changes nothing."""


TOOLS: tuple[SessionTool, ...] = tuple(
    replace(tool, description=f"{tool.description} {MARK}")
    for tool in read_table("tools", dict[str, list[SessionTool]], "foldaway.sessions")["tools"]
)


def past_tools(agents: Iterable[str]) -> tuple[SessionTool, ...]:
    """Return the tools; a search may ask for sessions of these agents, and of plain files."""
    search, *others = TOOLS
    fields = search.parameters["properties"]
    source = {**fields["source"], "enum": [*agents, *fields["source"]["enum"]]}
    parameters = {**search.parameters, "properties": {**fields, "source": source}}
    return (replace(search, parameters=parameters), *others)


class Answered(Struct, frozen=True):
    """What a tool says; if it `failed`, that is a sentence."""

    text: str
    failed: bool = False


Asked: TypeAlias = Mapping[str, Any]
Answer: TypeAlias = Callable[[Library, Asked], dict[str, Any]]


def answer(library: Library, name: str, arguments: Asked) -> Answered:
    """Return the answer of a tool as JSON text, bounded and marked as past material.

    What cannot be done is said in a sentence; nothing is raised for what a model asked.
    """
    make = _ANSWERS.get(name)
    if make is None:
        return _fail(library, f"no tool {name!r}; there are {', '.join(_ANSWERS)}")
    try:
        return Answered(dump_text({"note": MARK, **make(library, arguments)}))
    except FoldawayError as error:
        return _fail(library, str(error))
    except _Misused as error:
        return _fail(library, f"{name}: {error}")
    except KeyError as error:
        return _fail(library, f"{name}: the argument {error} is missing")
    except (TypeError, ValueError, OverflowError) as error:
        kind = type(error).__name__
        return _fail(library, f"{name}: an argument is not what it must be ({kind})")


class _Misused(Exception):
    """An argument that says what cannot be done; its text says what can."""


def _fail(library: Library, sentence: str) -> Answered:
    """Return a sentence without secrets. It quotes what was asked, which may be a guess at a
    secret: the tag of its placeholder would tell whether the guess is right.
    """
    shown = PLACEHOLDER.sub("[redacted]", library.show(sentence))
    return Answered(beginning(shown, _SENTENCE_CHARS), failed=True)


def _search(library: Library, arguments: Asked) -> dict[str, Any]:
    roles = (_one_of(arguments, "role", SPEAKERS),) if arguments.get("role") else SPEAKERS
    filters = Filters(
        roles=roles,
        sources=_names(arguments, "source"),
        tools=_names(arguments, "tool"),
        since=_moment(arguments, "since"),
        until=_moment(arguments, "until"),
        sessions=tuple(library.find(name).id for name in _names(arguments, "session")),
        folders=library.folders(),
    )
    sort: Sort = (
        _one_of(arguments, "sort", get_args(Sort)) if arguments.get("sort") else "relevance"
    )
    found = discover(
        library.store,
        str(arguments["query"]),
        filters=filters,
        kinds=() if arguments.get("subagents") else ("main",),
        sort=sort,
        most=min(max(int(arguments.get("most") or 5), 1), MOST_HITS),
        around=2,
        show=library.show,
    )
    # a session may go on in another folder than the one where the hit was said
    hits = [hit for hit in found if library.is_offered(library.store.session(hit.session))]
    if not hits:
        return {"hits": [], "offered": library.count_offered()}
    return _hits(library, hits, _max_tokens(arguments))


def _hits(library: Library, hits: list[Hit], max_tokens: int) -> dict[str, Any]:
    """Return hits, then the messages around them, the nearest first, as many as fit."""
    heads = [_head(library, hit) for hit in hits]
    near = sorted(
        (
            (abs(row.position - hit.position), at, row)
            for at, hit in enumerate(hits)
            for row in hit.window
            if row.position != hit.position
        ),
        key=lambda one: one[:2],
    )

    def build(count: int) -> dict[str, Any]:
        around: dict[int, list[ShownMessage]] = {}
        for _, at, row in near[: max(count - len(heads), 0)]:
            around.setdefault(at, []).append(row)
        shown = [
            {**head, "around": in_order(around[at], dated=False)} if at in around else head
            for at, head in enumerate(heads[:count])
        ]
        left = {"hits_not_shown": len(heads) - count} if count < len(heads) else {}
        more = "call foldaway_sessions_read with the session of a hit, and its position as around"
        return {"hits": shown, **left, "more": more}

    return largest(build, len(heads) + len(near), max_tokens, least=1)


def _head(library: Library, hit: Hit) -> dict[str, Any]:
    known = library.about(library.store.session(hit.session))
    head = {name: known[name] for name in ("session", "title", "source", "folder") if name in known}
    head |= {"time": date_of(hit.time), "position": hit.position, "role": hit.role}
    return {**head, "text": hit.snippet, **({"more_hits": hit.more} if hit.more else {})}


def _read(library: Library, arguments: Asked) -> dict[str, Any]:
    name, max_tokens = str(arguments.get("session") or ""), _max_tokens(arguments)
    if not name:
        return _recent(library, max_tokens)
    session_id = library.find(name).id
    if arguments.get("around") is not None:
        return _around(library, session_id, int(arguments["around"]), max_tokens)
    whole = read(library.store, session_id, show=library.show)
    about = library.about(whole.session)
    length = whole.session.length
    # two of the beginning for each of the end, as many as fit
    ranks = {row.position: at for at, row in enumerate(whole.first)}
    ranks |= {row.position: 2 * at + 1 for at, row in enumerate(reversed(whole.last))}
    order = sorted((*whole.first, *whole.last), key=lambda row: ranks[row.position])

    def build(count: int) -> dict[str, Any]:
        shown = order[:count]
        head = [row for row in shown if row.position < len(whole.first)]
        tail = [row for row in shown if row.position >= len(whole.first)]
        found = {**about, "first": in_order(head), "last": in_order(tail)}
        left = length - len(shown)
        if left:
            found["left_out"] = left
            found["more"] = _go_on(min(len(head) + AROUND, length - 1))
        return found

    return largest(build, len(order), max_tokens, least=1)


def _around(library: Library, session_id: str, around: int, max_tokens: int) -> dict[str, Any]:
    found = scroll(library.store, session_id, around, show=library.show)
    info = found.session
    if not library.is_offered(info):
        raise UnknownSession(session_id)
    at = min(max(around, 0), max(info.length - 1, 0))
    rows = sorted(found.rows, key=lambda row: (abs(row.position - at), -row.position))

    def build(count: int) -> dict[str, Any]:
        shown = in_order(rows[:count])
        start, stop = (shown[0]["position"], shown[-1]["position"] + 1) if shown else (0, 0)
        ways = {
            "earlier": max(start - AROUND - 1, 0) if start else None,
            "later": min(stop + AROUND, info.length - 1) if stop < info.length else None,
        }
        return {**library.about(info), "rows": shown, **ways}

    if rows and may_leave(rows[0].role):
        whole = message_at(library.store, info, at, show=library.show)
        chars = min(len(whole.text), max_tokens * MOST_CHARS_PER_TOKEN)
        rows[0] = cut_row(whole, chars)
        while chars > 1 and not is_small(build(1), max_tokens):
            chars //= 2
            rows[0] = cut_row(whole, chars)
    return largest(build, len(rows), max_tokens, least=1)


def _go_on(around: int) -> str:
    return f"call foldaway_sessions_read with around={around}"


def _recent(library: Library, max_tokens: int) -> dict[str, Any]:
    wanted = SessionFilter(only_leaves=True, folders=library.folders())
    rows: list[dict[str, Any]] = []
    for info in library.store.sessions(wanted, most=_MOST_RECENT).sessions:
        newest = scroll(library.store, info.id, info.length - 1, reach=0, show=library.show).rows
        words = [beginning(row.text) for row in newest if may_leave(row.role)]
        rows.append({**library.about(info), **({"newest": words[0]} if words else {})})
    if not rows:
        return {"sessions": [], "offered": library.count_offered()}

    def build(count: int) -> dict[str, Any]:
        left = len(rows) - count
        more = f"{left} more with a larger max_tokens; older ones are found by search"
        return {"sessions": rows[:count], **({"more": more} if left else {})}

    return largest(build, len(rows), max_tokens, least=1)


def _recall(library: Library, arguments: Asked) -> dict[str, Any]:
    ref, offset = str(arguments["ref"]), int(arguments.get("offset") or 0)
    if offset < 0:
        raise _Misused(f"offset is {offset}: give 0, or `next` of the answer before")
    place = library.place(ref)
    start, stop = place.reference.positions
    rows = library.store.read(place.session_id, start, stop)
    kept = [
        (row, payload)
        for row, payload in zip(rows, payloads(rows), strict=True)
        if may_leave(row.role, payload)
    ]
    # secrets are looked for in the whole text: a page may hide what gives them away. A line end
    # parts the messages; within one it is an escape
    text = library.show("[" + ",\n".join(dump_text(payload) for _, payload in kept) + "]")
    if offset and offset >= len(text):
        raise _Misused(f"offset is {offset}: the originals have {len(text)} characters")
    found: dict[str, Any] = {"session": place.session_id, "positions": [start, stop]}
    if len(kept) < len(rows):
        shown = {row.position for row, _ in kept}
        found |= list_first("left_out", [row.position for row in rows if row.position not in shown])
    max_tokens = _max_tokens(arguments)
    page = text[offset:]

    def build(count: int) -> dict[str, Any]:
        end = offset + count
        more = f"call foldaway_sessions_recall with ref={ref} and offset={end}"
        left = {"next": end, "more": more} if count < len(page) else {}
        return {**found, "originals": page[:count], **left}

    most = min(len(page), max_tokens * MOST_CHARS_PER_TOKEN)
    fitting = len(largest(build, most, max_tokens, least=1)["originals"])
    if fitting < len(page):  # up to the last whole message, if one fits
        fitting = page.rfind("\n", 0, fitting) + 1 or fitting
    return build(fitting)


def _brief(library: Library, arguments: Asked) -> dict[str, Any]:
    info, max_tokens = _find_named(library, arguments), _max_tokens(arguments)
    focus = str(arguments.get("focus") or "")
    about = library.about(info)
    room, found = max_tokens - estimate_text(dump_text(about)) - _LABELS_TOKENS, about
    for _ in range(_TRIES):
        made = brief_session(library.store, info, show=library.show, tokens=room, focus=focus)
        found = {**about, "brief": made.text, "more": _BY_LABEL}
        if is_small(found, max_tokens):
            break
        room = room * max_tokens * 95 // (100 * estimate_text(dump_text(found)))
    return found


def _dropped(library: Library, arguments: Asked) -> dict[str, Any]:
    info = _find_named(library, arguments)
    made = Dropped.of_session(library.store, info, library.show)
    rows = [
        {
            "kind": fact.kind,
            "text": beginning(fact.text, _ROW_CHARS[-1]),
            "position": fact.position,
            **({"ref": fact.reference} if fact.reference else {}),
        }
        for fact in made.facts
    ]
    head = {**library.about(info), "by": made.by or "nobody", "at": made.at, "folded": made.folded}

    def build(count: int) -> dict[str, Any]:
        left = {"not_shown": len(rows) - count} if count < len(rows) else {}
        return {**head, "dropped": rows[:count], **left, "more": _BY_POSITION}

    return largest(build, len(rows), _max_tokens(arguments))


def _compact(library: Library, arguments: Asked) -> dict[str, Any]:
    info, max_tokens = _find_named(library, arguments), _max_tokens(arguments)
    left = remainder_of(
        library.store,
        info,
        show=library.show,
        tokens=int(_COMPACTED_SHARE * max_tokens),
        focus=str(arguments.get("focus") or ""),
    )
    facts: dict[str, Any] = {
        **library.about(info),
        "tokens_before": left.tokens_before,
        "tokens_after": left.tokens_after,
        "folded": left.folded,
        "summary": left.summary,
    }
    if left.why_not:
        facts["unchanged"] = beginning(left.why_not)
    rows = left.rows[::-1]  # the newest first, as many as fit

    def build(count: int, chars: int) -> dict[str, Any]:
        shown = in_order([cut_row(row, chars) for row in rows[:count]])
        cut = {"not_shown": len(rows) - count} if count < len(rows) else {}
        return {**facts, "messages": shown, **cut, "more": _BY_LABEL}

    for chars in _ROW_CHARS:
        found = build(len(rows), chars)
        if is_small(found, max_tokens):
            return found
    return largest(lambda count: build(count, _ROW_CHARS[-1]), len(rows), max_tokens)


def _find_named(library: Library, arguments: Asked) -> SessionInfo:
    """Return the session that is named, as far as it went on, or the newest that is offered."""
    name = str(arguments.get("session") or "")
    if name:
        info = library.find(name)
        newest = library.store.newest_leaf(info.id)
        return newest if library.is_offered(newest) else info
    wanted = SessionFilter(only_leaves=True, folders=library.folders())
    found = library.store.sessions(wanted, most=1).sessions
    if not found:
        raise _Misused("no session is offered; call foldaway_sessions_status to see why")
    return found[0]


def _status(library: Library, arguments: Asked) -> dict[str, Any]:
    health = library.store.health()
    found: dict[str, Any] = {"offered": library.count_offered(), "problems": list(health.problems)}
    name = str(arguments.get("session") or "")
    if name:
        info, show = library.find(name), library.show
        found |= {
            **library.about(info),
            "source_id": beginning(show(info.source_id)),
            "goal": beginning(show(info.goal)),
            "model": beginning(info.model),
            "tokens": info.tokens,
            "compactions": info.compactions,
            **_pins(library, info.id),
        }
    return found


def _pin(library: Library, arguments: Asked) -> dict[str, Any]:
    store = library.store
    info, position = library.find(str(arguments["session"])), int(arguments["position"])
    if arguments.get("unpin"):
        store.unpin(info.id, position)
    else:
        store.pin(info.id, position, str(arguments.get("note") or ""))
    return {"session": info.id, **_pins(library, info.id)}


def _pins(library: Library, session_id: str) -> dict[str, Any]:
    return list_first("pins", [pin.position for pin in library.store.pins(session_id)])


_ANSWERS: Mapping[str, Answer] = {
    "foldaway_sessions_search": _search,
    "foldaway_sessions_read": _read,
    "foldaway_sessions_recall": _recall,
    "foldaway_sessions_brief": _brief,
    "foldaway_sessions_dropped": _dropped,
    "foldaway_sessions_compact": _compact,
    "foldaway_sessions_status": _status,
    "foldaway_sessions_pin": _pin,
}


def _max_tokens(arguments: Asked) -> int:
    return min(max(int(arguments.get("max_tokens") or TOKENS), LEAST_TOKENS), MOST_TOKENS)


def _one_of(arguments: Asked, name: str, known: tuple[Any, ...]) -> Any:
    """Return an argument that has a few values only."""
    said = arguments[name]
    if said not in known:
        raise _Misused(f"{name} is {said!r}: give {', '.join(known[:-1])} or {known[-1]}")
    return said


def _moment(arguments: Asked, name: str) -> float | None:
    """Return a moment in seconds since 1970; `until` a day is until its end."""
    said = arguments.get(name)
    if not said:
        return None
    try:
        given = datetime.fromisoformat(str(said))
        seconds = given.timestamp()
    except (ValueError, OverflowError, OSError):
        raise _Misused(
            f"{name} is {said!r}: give a day such as 2026-01-31, or with a time 2026-01-31T12:00"
        ) from None
    is_day = name == "until" and len(str(said)) <= len("2026-01-31")
    return seconds + (_DAY_SECONDS if is_day else 0)


def _names(arguments: Asked, name: str) -> tuple[str, ...]:
    found = arguments.get(name)
    return (str(found),) if found else ()

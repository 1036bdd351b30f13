"""Sessions of a store and of files as one list, the last used first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice

from msgspec import Struct

from foldaway.gateway import ApiContext
from foldaway.gateway.inspector.addresses import Choice, WrongAddress
from foldaway.gateway.inspector.session_sources import Shelf
from foldaway.gateway.inspector.spending_reader import Spending
from foldaway.gateway.inspector.window_strips import WindowStrip, file_strip, stored_strip
from foldaway.sessions import Show, name_in_words
from foldaway.stores import SessionFilter, SessionInfo
from foldaway.usage import SpentSession, UsageSum

Key = tuple[str, str]
_AT_ONCE = 200
"""Stored sessions that are looked at together if their model is asked for."""
_MOST_LOOKS = 500
"""Such pages of a store, at most: 100,000 sessions take some seconds; what is older is left out."""
_MOST_TITLE = 200
"""Characters of a title that a list shows; the same as of the first words of a user."""


class ListedSession(Struct, frozen=True, kw_only=True):
    """One row; texts are without secrets."""

    name: str
    """Its name in addresses."""
    title: str
    agent: str
    project: str
    model: str
    time: float
    """When it was last used; 0 if nobody knows."""
    messages: int
    """In the log; 0 if it is not stored."""
    figures: UsageSum
    compactions: int
    is_subagent: bool
    is_file: bool
    strip: WindowStrip | None

    @property
    def mark(self) -> str:
        """What the page after it begins with."""
        return f"{self.time.hex()} {self.name}"


class SessionList(Struct, frozen=True):
    """A page of rows, and the mark of the next one, "" at the end."""

    rows: list[ListedSession]
    next: str = ""


def list_sessions(
    shelf: Shelf, spending: Spending | None, choice: Choice, *, most: int, after: str = ""
) -> SessionList:
    """Return sessions, the last used first; `after` is `next` of the page before.

    Raises `InvalidSetting` and `WrongAddress` for a mark that is none.
    """
    api, show = shelf.api, shelf.show
    sums: Mapping[Key, UsageSum] = spending.by_session if spending else {}
    infos = _list_stored(api, choice, most + 1, after) if api else []
    stored = [_of_store(api, one, sums) for one in infos if api]
    files = [
        _of_file(one, name, time, sums, spending, show)
        for time, name, one in islice(_files(shelf, spending, choice, after), most + 1)
    ]
    rows = sorted([*stored, *files], key=lambda one: (one.time, one.name), reverse=True)
    return SessionList(rows[:most], rows[most - 1].mark if len(rows) > most else "")


def count_sessions(shelf: Shelf, spending: Spending | None, choice: Choice) -> int:
    """Return how many sessions of a store and of files a choice has, whatever their model."""
    stored = shelf.api.store.count(choice.to_filter()) if shelf.api else 0
    return stored + sum(1 for _ in _files(shelf, spending, choice, ""))


def list_unsearched(shelf: Shelf, spending: Spending | None) -> list[SpentSession]:
    """Return the sessions of files whose words no store has yet, those before what comes from
    them: a copy knows its parent only if that was copied first.
    """
    found = [
        one
        for _, _, one in _files(shelf, spending, Choice(subagents=True), "")
        if not shelf.is_copied(one.path)
    ]
    by_key = {one.key: one for one in found}
    return sorted(found, key=lambda one: _depth(one, by_key))


def _depth(one: SpentSession, by_key: Mapping[Key, SpentSession]) -> int:
    """Return how many sessions one comes from."""
    seen = [one.key]
    while (parent := by_key.get((one.agent, one.parent_id))) and parent.key not in seen:
        seen.append(parent.key)
        one = parent
    return len(seen)


def matching_titles(
    shelf: Shelf, spending: Spending | None, choice: Choice, most: int
) -> list[ListedSession]:
    """Return sessions of files whose words cannot be searched yet, by their titles."""
    found = (row for row in _files(shelf, spending, choice, "") if not shelf.is_copied(row[2].path))
    show = shelf.show
    return [_of_file(one, name, time, {}, None, show) for time, name, one in islice(found, most)]


# Sessions of a store


def _list_stored(api: ApiContext, choice: Choice, most: int, after: str) -> list[SessionInfo]:
    found: list[SessionInfo] = []
    wanted, at_once = choice.to_filter(), _AT_ONCE if choice.model else most
    for _ in range(_MOST_LOOKS):
        page = api.store.sessions(wanted, most=at_once, after=after)
        found += [one for one in page.sessions if choice.model in ("", one.model)]
        after = page.next
        if not after or len(found) >= most:
            break
    return found[:most]


def _of_store(api: ApiContext, info: SessionInfo, sums: Mapping[Key, UsageSum]) -> ListedSession:
    key = (info.source or "foldaway", info.source_id or info.id)
    figures = sums.get(key, UsageSum())
    return ListedSession(
        name=info.id,
        title=_line(api.show(name_in_words(info))),
        agent=info.source or "foldaway",
        project=api.show(info.cwd),
        model=info.model,
        time=info.updated,
        messages=info.length,
        figures=figures,
        compactions=max(info.compactions, figures.compactions),
        is_subagent=info.kind == "subagent",
        is_file=False,
        strip=stored_strip(api.store, info),
    )


# Sessions of files


def _files(
    shelf: Shelf, spending: Spending | None, choice: Choice, after: str
) -> Iterator[tuple[float, str, SpentSession]]:
    """Yield the sessions of files that no store has, the last used first."""
    edge, takes = _edge(after) if after else None, choice.takes_file()
    found: list[tuple[float, str, SpentSession]] = []
    for name, one in shelf.list_files().items():
        last = find_last_use(one)
        if takes(one, last) and (edge is None or (last, name) < edge):
            found.append((last, name, one))
    found.sort(key=lambda row: row[:2], reverse=True)
    is_stored = _is_stored(shelf, spending) if found else None
    for row in found:
        if is_stored is None or not is_stored(row[2].key):
            yield row


def find_last_use(one: SpentSession) -> float:
    """Return when the last answer of a session came, or when it began; 0 if nobody knows."""
    return (one.answers[-1].time if one.answers else None) or one.started or 0.0


def _edge(mark: str) -> tuple[float, str]:
    time, _, name = mark.partition(" ")
    try:
        return float.fromhex(time), name
    except (OverflowError, ValueError):
        raise WrongAddress(mark) from None


def _of_file(
    one: SpentSession,
    name: str,
    time: float,
    sums: Mapping[Key, UsageSum],
    spending: Spending | None,
    show: Show,
) -> ListedSession:
    figures = sums.get(one.key, UsageSum())
    return ListedSession(
        name=name,
        title=_line(show(one.title)),
        agent=one.agent,
        project=show(one.project),
        model=one.answers[-1].model if one.answers else "",
        time=time,
        messages=0,
        figures=figures,
        compactions=one.compactions,
        is_subagent=one.is_subagent,
        is_file=True,
        strip=file_strip(one, spending.prices) if spending else None,
    )


def _is_stored(shelf: Shelf, spending: Spending | None) -> Callable[[Key], bool]:
    """Return what tells whether the store has a session; it is asked for each one only if it has
    more or fewer of them than when all were read.
    """
    if shelf.api is None:
        return lambda key: False
    store = shelf.api.store
    if spending and spending.stored.count == store.count(SessionFilter(kind="any")):
        return spending.stored.keys.__contains__
    return lambda key: store.by_source(*key) is not None


def _line(text: str) -> str:
    """Return a text on one line, as a list shows it."""
    line = " ".join(text.split())
    return line if len(line) <= _MOST_TITLE else f"{line[: _MOST_TITLE - 1]}…"

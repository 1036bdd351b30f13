"""Sessions of a store and of files as one list, in any order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeAlias, TypeVar, cast

from msgspec import Struct

from foldaway.gateway import ApiContext
from foldaway.gateway.inspector.addresses import Choice, WrongAddress
from foldaway.gateway.inspector.session_sources import Shelf
from foldaway.gateway.inspector.spending_reader import Spending
from foldaway.gateway.inspector.window_strips import WindowStrip, file_strip, stored_strip
from foldaway.sessions import Show, name_in_words, short_title
from foldaway.stores import (
    NAMES_FIRST,
    SessionFilter,
    SessionInfo,
    SessionOrder,
    make_mark,
    read_mark,
)
from foldaway.usage import SpentSession, UsageSum

Key = tuple[str, str]
Place: TypeAlias = tuple[float | str, str]
"""What a list is sorted by, and the name of a session."""
T = TypeVar("T")
_MOST_NAMES = 300
"""Projects, agents or models that are offered to choose from."""


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

    place: Place = (0.0, "")
    """Its place in the list."""


class ListNames(Struct, frozen=True):
    """What sessions can be chosen by."""

    agents: Sequence[str]
    projects: Sequence[str]
    models: Sequence[str]


class SessionList(Struct, frozen=True):
    """A page of rows, and the mark of the next one, "" at the end."""

    rows: list[ListedSession]
    next: str = ""


def list_sessions(
    shelf: Shelf, spending: Spending | None, choice: Choice, *, most: int, after: str = ""
) -> SessionList:
    """Return sessions in the order that is chosen; `after` is `next` of the page before.

    Raises `InvalidSetting` and `WrongAddress` for a mark that is none.
    """
    api, order = shelf.api, _order_of(choice)
    sums: Mapping[Key, UsageSum] = spending.by_session if spending else {}
    after = _find_mark(shelf, after, order)
    stored = (
        api.store.sessions(choice.to_filter(), most=most + 1, after=after, order=order).sessions
        if api
        else ()
    )
    rows = [_of_store(api, one, order) for one in stored if api]
    rows += [
        _of_file(one, place, sums, spending, shelf.show)
        for place, one in islice(_files(shelf, spending, choice, after), most + 1)
    ]
    _sort(rows, lambda row: row.place, order)
    if len(rows) <= most:
        return SessionList(rows)
    value, name = rows[most - 1].place  # a folder is not in an address: it may have a secret
    mark = name if order == "cwd" else make_mark(value, name)
    return SessionList(rows[:most], mark)


def list_names(shelf: Shelf, spending: Spending | None) -> ListNames:
    """Return what sessions can be chosen by; it is kept until all is read again. A folder with a
    secret in its name is not offered.
    """
    memory = spending.memory if spending else {}
    if "names" not in memory:
        found = {*(shelf.api.store.names() if shelf.api else ())}
        for one in shelf.list_files().values():
            found.add((one.agent, _model_of(one), one.project))
        agents, models, folders = (
            sorted({row[at] for row in found} - {""})[:_MOST_NAMES] for at in range(3)
        )
        shown = [one for one in folders if shelf.show(one) == one]
        memory["names"] = ListNames(agents, shown, models)
    return memory["names"]


def count_sessions(shelf: Shelf, spending: Spending | None, choice: Choice) -> int:
    """Return how many sessions of a store and of files a choice has."""
    stored = shelf.api.store.count(choice.to_filter()) if shelf.api else 0
    return stored + sum(1 for _ in _files(shelf, spending, choice))


def list_unsearched(shelf: Shelf, spending: Spending | None) -> list[SpentSession]:
    """Return the sessions of files whose words no store has yet, those before what comes from
    them: a copy knows its parent only if that was copied first.
    """
    found = [
        one
        for _, one in _files(shelf, spending, Choice(subagents=True))
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
    found = (row for row in _files(shelf, spending, choice) if not shelf.is_copied(row[1].path))
    return [_of_file(one, place, {}, None, shelf.show) for place, one in islice(found, most)]


# Sessions of a store


def _of_store(api: ApiContext, info: SessionInfo, order: SessionOrder) -> ListedSession:
    figures = UsageSum(info.requests or 0, info.used_tokens, cost=info.cost, unpriced=info.unpriced)
    return ListedSession(
        name=info.id,
        title=short_title(api.show(name_in_words(info))),
        agent=info.source or "foldaway",
        project=api.show(info.cwd),
        model=info.model,
        time=info.updated,
        messages=info.length,
        figures=figures,
        compactions=info.compactions,
        is_subagent=info.kind == "subagent",
        is_file=False,
        strip=stored_strip(api.store, info),
        place=(getattr(info, order), info.id),
    )


# Sessions of files


def _files(
    shelf: Shelf, spending: Spending | None, choice: Choice, after: str = ""
) -> Iterator[tuple[Place, SpentSession]]:
    """Yield the sessions of files that no store has, in the order that is chosen."""
    order, takes = _order_of(choice), choice.takes_file()
    sums: Mapping[Key, UsageSum] = spending.by_session if spending else {}
    found = [
        ((_value(one, order, sums), name), one)
        for name, one in shelf.list_files().items()
        if takes(one, find_last_use(one))
    ]
    if after:
        edge = _edge(after, order)
        found = [row for row in found if _is_after(row[0], edge, order)]
    _sort(found, lambda row: row[0], order)
    is_stored = _is_stored(shelf, spending) if found else None
    for row in found:
        if is_stored is None or not is_stored(row[1].key):
            yield row


def _order_of(choice: Choice) -> SessionOrder:
    return cast("SessionOrder", choice.order or "updated")


def _sort(rows: list[T], place_of: Callable[[T], Place], order: SessionOrder) -> None:
    """Sort as a store does: equal ones by their names, the last first."""
    rows.sort(key=lambda row: place_of(row)[1], reverse=True)
    rows.sort(key=lambda row: place_of(row)[0], reverse=order not in NAMES_FIRST)


def _is_after(place: Place, edge: Place, order: SessionOrder) -> bool:
    if place[0] == edge[0]:
        return place[1] < edge[1]
    return (place[0] > edge[0]) is (order in NAMES_FIRST)  # pyright: ignore[reportOperatorIssue]


def _value(one: SpentSession, order: SessionOrder, sums: Mapping[Key, UsageSum]) -> float | str:
    """Return what a session of a file is sorted by."""
    figures = sums.get(one.key, UsageSum())
    values: dict[SessionOrder, float | str] = {
        "updated": find_last_use(one),
        "cost": figures.cost,
        "used_tokens": figures.tokens,
        "compactions": one.compactions,
        "cwd": one.project,
        "model": _model_of(one),
        "source": one.agent,
    }
    return values[order]


def _model_of(one: SpentSession) -> str:
    return one.answers[-1].model if one.answers else ""


def _find_mark(shelf: Shelf, after: str, order: SessionOrder) -> str:
    """Return the mark of a page; one by folders begins after a session that is only named."""
    if order != "cwd" or not after:
        return after
    if one := shelf.list_files().get(after):
        return make_mark(one.project, after)
    return make_mark(shelf.api.store.session(after).cwd if shelf.api else "", after)


def find_last_use(one: SpentSession) -> float:
    """Return when the last answer of a session came, or when it began; 0 if nobody knows."""
    return (one.answers[-1].time if one.answers else None) or one.started or 0.0


def _edge(mark: str, order: SessionOrder) -> Place:
    try:
        return read_mark(mark, order)
    except (OverflowError, ValueError):
        raise WrongAddress(mark) from None


def _of_file(
    one: SpentSession,
    place: Place,
    sums: Mapping[Key, UsageSum],
    spending: Spending | None,
    show: Show,
) -> ListedSession:
    figures = sums.get(one.key, UsageSum())
    return ListedSession(
        name=place[1],
        title=short_title(show(one.title)),
        agent=one.agent,
        project=show(one.project),
        model=_model_of(one),
        time=find_last_use(one),
        messages=0,
        figures=figures,
        compactions=one.compactions,
        is_subagent=one.is_subagent,
        is_file=True,
        strip=file_strip(one, spending.prices) if spending else None,
        place=place,
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

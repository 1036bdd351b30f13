"""Two sessions beside each other, strategies on one session, and the reports of the lab."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from starlette.requests import Request

from foldaway.inspector.lab_runs import lab_runs
from foldaway.inspector.shelf import OpenedSession, file_name_of
from foldaway.inspector.site import Answer, HtmlPage, Inspector, moment, percent
from foldaway.inspector.texts import UNTITLED
from foldaway.inspector.timeline import timeline
from foldaway.inspector.trials import SessionTrial, TrialState
from foldaway.lab import BUDGET, COST, OURS, TRIAL_COLUMNS, ScoreLine, glossary, title_of
from foldaway.sessions import name_in_words
from foldaway.stores import SessionFilter
from foldaway.usage import SessionDetails, full, money, session_details, short

_MOST_CHOICES = 200
"""Sessions that can be chosen from the list; a page of any other has a link to here."""
_TITLE_CHARS = 70
"""Of a title in a list."""
_MOST_TOOLS = 3
"""Tools that are named; the page of a session has all."""
_WIDTH, _HEIGHT, _EDGE = 640, 300, 46
"""Of the picture, in its own units: its letters are as large as those of the page at this width."""
_LINE = 17
"""Units between two names in the picture, so that they can be read."""
_NAME_UNITS = 110
"""About the width of the longest name of a strategy in the picture."""


class SessionChoice(Struct, frozen=True):
    """A session that can be chosen."""

    name: str
    title: str


class ComparedFact(Struct, frozen=True):
    """One line of the table of two sessions."""

    name: str
    a: str
    b: str


class FillChart(Struct, frozen=True):
    """The size of every prompt of two sessions, for the chart."""

    a: Sequence[int]
    b: Sequence[int]


class PlotPoint(Struct, frozen=True, kw_only=True):
    """A strategy in the picture: how much it keeps, and what the rest of the session costs."""

    name: str
    x: float
    y: float
    label_y: float
    is_left: bool
    """Whether its name is drawn to its left, because there is no room to its right."""
    is_ours: bool


def compare(inspector: Inspector, request: Request) -> Answer:
    """Return the page: what can be compared, and what was asked for."""
    asked = {name: request.query_params.get(name, "") for name in ("a", "b", "session")}
    values: dict[str, Any] = {
        **asked, "choices": choices(inspector), "runs": lab_runs(inspector.lab_places),
        "pair": None, "trial": None,
    }  # fmt: skip
    if asked["a"] and asked["b"]:
        pair = [inspector.shelf.open(asked[name]) for name in ("a", "b")]
        values["pair"] = _pair(*pair)
    if asked["session"]:
        values["trial"] = _trial(inspector, inspector.shelf.open(asked["session"]))
    return HtmlPage("compare.html.j2", values)


def trial_state(inspector: Inspector, request: Request) -> Answer:
    """Return how far the trial of a session is; a POST begins it."""
    session = inspector.shelf.open(str(request.path_params["id"]))
    if request.method == "POST":
        window = timeline(session.store, session.info).window_tokens
        return inspector.trials.start(session.store, session.info, window)
    return inspector.trials.state(session.info)


def choices(inspector: Inspector) -> list[SessionChoice]:
    """Return the sessions that can be chosen, the newest first."""
    found: list[SessionChoice] = []
    api = inspector.shelf.api
    if api is not None:
        for info in api.store.sessions(SessionFilter(), most=_MOST_CHOICES).sessions:
            title = api.show(name_in_words(info)) or UNTITLED
            found.append(SessionChoice(info.id, _choice(info.source, info.updated, title)))
    files = [one for one in inspector.shelf.files if not one.parent_id]
    for one in sorted(files, key=lambda one: -(one.started or 0.0))[:_MOST_CHOICES]:
        title = inspector.shelf.show(one.title) or UNTITLED
        found.append(SessionChoice(file_name_of(one), _choice(one.agent, one.started, title)))
    return found[:_MOST_CHOICES]


def _choice(agent: str, time: float | None, title: str) -> str:
    return " · ".join(filter(None, (moment(time), agent, _cut(title))))


def _cut(title: str) -> str:
    line = " ".join(title.split())
    return f"{line[:_TITLE_CHARS]}…" if len(line) > _TITLE_CHARS else line


# Two sessions


def _pair(a: OpenedSession, b: OpenedSession) -> dict[str, object]:
    details = [session_details(one.store, one.info) for one in (a, b)]
    titles = [_cut(one.api.show(name_in_words(one.info)) or UNTITLED)
              for one in (a, b)]  # fmt: skip
    sizes = [[turn.input_tokens for turn in one.turns] for one in details]
    return {
        "titles": titles, "ids": [a.info.id, b.info.id],
        "facts": facts_of((a, details[0]), (b, details[1])),
        "chart": FillChart(sizes[0], sizes[1]), "steps": [one.steps for one in details],
    }  # fmt: skip


def facts_of(
    a: tuple[OpenedSession, SessionDetails], b: tuple[OpenedSession, SessionDetails]
) -> list[ComparedFact]:
    """Return what is known of two sessions, line by line."""
    left, right = _facts(*a), _facts(*b)
    return [ComparedFact(name, left[name], right[name]) for name in left]


def _facts(session: OpenedSession, details: SessionDetails) -> dict[str, str]:
    info, totals = session.info, details.totals
    folded = sum(one.tokens_before - one.tokens_after for one in details.steps if not one.undone)
    tools = ", ".join(
        f"{name} {count:,}" for name, count in list(details.tools.items())[:_MOST_TOOLS]
    )
    largest = max((turn.input_tokens for turn in details.turns), default=0)
    return {
        "Agent": info.source or "foldaway",
        "Model": info.model or next((turn.model for turn in details.turns if turn.model), ""),
        "Started": moment(info.started),
        "Messages": full(info.length),
        "Tokens of all messages": short(info.tokens),
        "Most used tools": tools,
        "Requests": full(totals.requests),
        "Tokens sent in all requests": short(totals.input_tokens),
        "Read from the cache": percent(totals.cache_hit_rate) if totals.requests else "",
        "Cache misses": full(totals.cache_misses) if totals.requests else "",
        "Tokens written by the model": short(totals.output_tokens),
        "Largest prompt": short(largest) if largest else "",
        "Cost": "not known" if totals.cost is None else money(totals.cost),
        "Compactions by Foldaway": full(sum(not one.undone for one in details.steps)),
        "Tokens that they folded": short(folded),
        "Messages by the agent's own compaction": full(details.generated),
    }


# Strategies


def _trial(inspector: Inspector, session: OpenedSession) -> dict[str, object]:
    state: TrialState = inspector.trials.state(session.info)
    result = inspector.trials.result(session.info)
    about = {name: glossary()[name].says for name in TRIAL_COLUMNS if name in glossary()}
    return {
        "id": session.info.id, "state": state, "result": result, "about": about,
        "title": _cut(session.api.show(name_in_words(session.info)) or UNTITLED),
        "tokens": session.info.tokens,
        "columns": [(name, title, title_of(name)) for name, title in TRIAL_COLUMNS.items()],
        "points": picture(result.kept) if result else (), "budget": BUDGET, "ours": OURS,
        "plot": (_WIDTH, _HEIGHT, _EDGE), "verdict": verdict(result) if result else "",
    }  # fmt: skip


def verdict(trial: SessionTrial) -> str:
    """Return in a sentence what Foldaway keeps beside the best of the others."""
    kept = {line.strategy: line.figures["bound"].mean for line in trial.kept
            if "bound" in line.figures}  # fmt: skip
    if OURS not in kept or len(kept) == 1:
        return "Nothing of what stood before the cuts was used after them, so nothing can be said."
    best, who = max((value, name) for name, value in kept.items() if name != OURS)
    first = f"At {BUDGET:.0%} of the tokens Foldaway keeps {kept[OURS]:.0%} of what the agent used"
    if f"{best:.0%}" == f"{kept[OURS]:.0%}":
        return f"{first} later, as much as {who}, the best of the others."
    return f"{first} later; {who}, the best of the others, keeps {best:.0%}."


def picture(lines: Sequence[ScoreLine]) -> list[PlotPoint]:
    """Return where each strategy stands: what is kept upward, the cost of the rest to the right."""
    known = [line for line in lines if "bound" in line.figures and COST in line.figures]
    if not known:
        return []
    costs = [line.figures[COST].mean for line in known]
    low, high = min(*costs, 1.0), max(*costs, 1.0)
    places: list[tuple[float, float, str]] = []
    for line in sorted(known, key=lambda one: -one.figures["bound"].mean):
        share = (line.figures[COST].mean - low) / (high - low) if high > low else 0.5
        x = _EDGE + share * (_WIDTH - 2 * _EDGE)
        y = _EDGE / 2 + (1 - line.figures["bound"].mean) * (_HEIGHT - 1.5 * _EDGE)
        places.append((x, y, line.strategy))
    lowest, found = {True: float(-_LINE), False: float(-_LINE)}, list[PlotPoint]()
    for x, y, name in places:
        is_left = _is_left(x, y, places)
        label_y = lowest[is_left] = max(y + 4, lowest[is_left] + _LINE)
        found.append(PlotPoint(
            name=name, x=round(x, 1), y=round(y, 1), label_y=round(label_y, 1), is_left=is_left,
            is_ours=name == OURS,
        ))  # fmt: skip
    return found


def _is_left(x: float, y: float, places: Sequence[tuple[float, float, str]]) -> bool:
    """Return whether a name has no room to the right of its point, and has some to the left."""
    if x + _NAME_UNITS > _WIDTH:
        return True
    if x < _EDGE + _NAME_UNITS:
        return False
    return any(0 < other - x < _NAME_UNITS and abs(at - y) < _LINE for other, at, _ in places)

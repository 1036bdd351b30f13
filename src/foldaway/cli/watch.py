"""`foldaway watch` and `foldaway statusline`: the running session, live and in one line."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import click
from msgspec import DecodeError, Struct, json
from msgspec.structs import asdict, replace

from foldaway._core import PRIVATE, __version__, replacing
from foldaway.agents.importers import fields, usage_of
from foldaway.agents.importers import read_bytes as read_sessions
from foldaway.agents.running import Subscription
from foldaway.caching import PriceList
from foldaway.cli import say
from foldaway.cli.draw import Picture, Piece, text_of
from foldaway.cli.files import (
    count_of,
    duration,
    format_time,
    is_terminal,
    join_on_one_line,
    read_bytes,
)
from foldaway.cli.inputs import JSON_ROW, PATH, options, print_json
from foldaway.config import home_folder
from foldaway.dialects import parse
from foldaway.errors import FoldawayError, NotReadable, StoreUnavailable
from foldaway.usage import (
    LiveState,
    OwnCompaction,
    SessionFile,
    SpendingLimit,
    SpentSession,
    UsageBlock,
    UsageReader,
    answers_of,
    live_state,
    money,
    short,
)

STORE_SECONDS = 120.0
"""A session of the store must be newer than every file by this much."""
LOOK_SECONDS = 5.0
"""How often is looked whether another session is running now."""
NO_USAGE = "no usage recorded yet"
METER_COLUMNS = 20
LINE_METER_COLUMNS = 10
TAIL_BYTES = 1 << 18
"""What a status line reads of a transcript: enough for the last answers, and quick."""
MOST_COUNTED_BYTES = 64 << 20
"""Of a transcript, where compactions are counted; all of it takes 60 ms."""
BLOCK_SECONDS = 30
"""How long a block that was read is shown; its pace changes slowly."""
NEAR = 0.8
"""The share of a budget from which on a line shows it."""
BOUNDARY = b'"subtype":"compact_boundary"'
"""What Claude Code writes at each compaction."""


@click.command()
@click.argument("file", required=False, type=PATH)
@options(
    ("--once", bool, "Print the state and stop."),
    ("--every S", click.FloatRange(min=0.1), "Seconds between two looks.", 1.0),
    JSON_ROW,
)
def watch(file: str | None, once: bool, every: float, as_json: bool) -> int:
    """Follow the running session: fill of the window, next compaction, cost.

    Without FILE it is the session that was written to last, of any agent on this machine. Stop
    with Ctrl-C. If the output is not a terminal, a line is printed for each change.

    \b
    foldaway watch
    foldaway watch --once --json
    """
    with noting_interrupts() as pressed:
        states = live_states(file, PriceList(), pressed, every, once=once)
        if not as_json and is_terminal(sys.stdout):
            _draw(states)
            return 0
        for state in states:
            if as_json:
                more = {"fill": round(state.fill, 4), "cache": state.cache(time.time())}
                print_json({**asdict(state), **more})
            else:
                click.echo(line_of(state, Picture(), is_full=True))
            sys.stdout.flush()
    return 0


@contextmanager
def noting_interrupts() -> Generator[Event]:
    """Give an event that Ctrl-C sets. The exception that it also raises is lost if it falls into a
    callback of the interpreter; the event is not.
    """
    pressed = Event()

    def note(*_: object) -> None:
        pressed.set()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, note)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)


def live_states(
    file: str | None,
    prices: PriceList,
    pressed: Event,
    every: float,
    *,
    once: bool,
    clock: Callable[[], float] = time.time,
) -> Iterator[LiveState]:
    """Yield the state of the session each time that it changes, or its cache is about to be cold or
    is; there must be a session.
    """
    found, looked, seen = newest(file), time.monotonic(), None
    home = home_folder()
    told: tuple[LiveState, str] | None = None
    if found is None:
        say("no session of an agent was found on this machine; name a file", 1)
        raise click.exceptions.Exit(1)
    while True:
        if (now := (found.changed(), Subscription.read_all(home))) != seen:
            is_first, seen = seen is None, now
            try:
                session = found.read()
            except NotReadable:  # half written, maybe; a file that was named must be one
                if file and is_first:
                    raise
                session = None
            if session is not None:
                state = _add_subscription(live_state(session, prices), *now)
                state = _add_kept(_add_block(state, home, prices), prices)
                told = state, state.cache(clock())
                yield state
        elif told and told[1] != (phase := told[0].cache(clock())):
            told = told[0], phase
            yield told[0]
        if once:
            return
        if pressed.wait(every):
            raise KeyboardInterrupt
        if time.monotonic() - looked > LOOK_SECONDS:
            found, looked = newest(file) or found, time.monotonic()


def _add_subscription(state: LiveState, at: float, runs: Mapping[str, Subscription]) -> LiveState:
    """Return a state without dollars if the session belongs to a run with a subscription."""
    run = runs.get(state.agent)
    if run is None or run.began > at:
        return state
    return replace(state, cost=None, tokens=run.tokens, limits=run.limits)


def _add_block(state: LiveState, home: Path, prices: PriceList) -> LiveState:
    """Return a state with the running block of its agent, which is looked for now and then."""
    from foldaway.config import agent_places

    kept, now = home / f"block-{state.agent}.json", time.time()
    block: UsageBlock | None = None
    try:
        if now - kept.stat().st_mtime > BLOCK_SECONDS:
            raise FileNotFoundError
        block = json.decode(kept.read_bytes(), type=UsageBlock | None)
    except (OSError, DecodeError):
        places = [place for name, place in agent_places() if name == state.agent]
        reader = UsageReader(home, __version__)
        block = UsageBlock.running(state.agent, places, reader, prices, now)
        with suppress(OSError), replacing(kept, PRIVATE, private=True) as file:  # it is only shown
            file.write(json.encode(block))
    if block is None or not block.period.is_running(now):
        return state
    return replace(
        state,
        block_until=block.period.stop,
        block_tokens=block.period.tokens,
        block_tokens_per_minute=block.figures(now).tokens_per_minute,
    )


def _add_kept(state: LiveState, prices: PriceList) -> LiveState:
    """Return a state with what the store says: savings of its session, and the budget."""
    from foldaway.config import open_store, read_settings

    with suppress(FoldawayError):  # it is only shown
        settings = read_settings()
        budget = SpendingLimit.parse(settings.gateway_budget) if settings.gateway_budget else None
        with open_store(settings.store, profile=settings.profile, read_only=True) as store:
            if budget:
                spent = budget.period(time.time(), store.spent_since).cost
                state = replace(state, budget=str(budget), budget_share=spent / budget.dollars)
            own = OwnCompaction.of_agent(store, state.agent, state.session, prices)
            saved = OwnCompaction.add_up(own)
            return replace(state, saved=saved.dollars if saved.known else None)
    return state


class Running(Struct, frozen=True):
    """A session that may be running: when it was changed last, and how to read it."""

    changed: Callable[[], float]
    read: Callable[[], SpentSession | None]


def newest(file: str | None) -> Running | None:
    """Return the session that was written to last; that of the file, if one is named. While a
    subagent works, it is the session that called it.

    A session of the store counts if no file was written since: an agent behind the gateway has
    both, and its own file says more.
    """
    if file:
        return _of_file(SessionFile(Path(file)))
    from foldaway.config import agent_places

    last = next(iter(SessionFile.newest(place for _, place in agent_places())), None)
    stored = _newest_stored(0.0 if last is None else last.written_at() + STORE_SECONDS)
    return stored or (None if last is None else _of_file(last))


def _newest_stored(since: float) -> Running | None:
    from foldaway.config import open_store, read_settings
    from foldaway.stores import SessionFilter
    from foldaway.usage import count_stored_session

    settings = read_settings()
    try:
        opened = partial(open_store, settings.store, profile=settings.profile, read_only=True)
        with opened() as store:
            page = store.sessions(SessionFilter(kind="any", since=since), most=1)
    except StoreUnavailable:
        return None
    if not page.sessions:
        return None
    own = page.sessions[0].id

    def changed() -> float:
        with opened() as store:
            return store.session(own).updated + len(store.usage(own))

    def read() -> SpentSession:
        with opened() as store:
            return count_stored_session(store, store.session(own), store.usage(own))

    return Running(changed, read)


def _of_file(file: SessionFile) -> Running:
    return Running(file.written_at, file.read)


def _draw(states: Iterator[LiveState]) -> None:
    from rich.live import Live
    from rich.table import Table

    picture = Picture()
    picture.console.width -= len("^C ")  # what the terminal writes at Ctrl-C stays on its line
    with Live(console=picture.console, auto_refresh=False) as live:
        for state in states:
            grid = Table.grid(padding=(0, 2))
            for name, *value in _panel_rows(state, picture):
                grid.add_row(text_of((f"  {name}", "dim")), text_of(*value))
            live.update(grid, refresh=True)


def _panel_rows(state: LiveState, picture: Picture) -> Iterator[tuple[Piece, ...]]:
    yield "session", (f"{state.agent} {join_on_one_line(state.title or state.session)}", "bold")
    yield "folder", join_on_one_line(state.project)
    yield "model", join_on_one_line(state.model) or "unknown"
    if not state.prompt_tokens:
        yield "window", NO_USAGE
        return
    full = round(METER_COLUMNS * min(state.fill, 1))
    assumed = ", assumed" if state.window_source == "assumed" else ""
    yield (
        "window",
        picture.meter(full, METER_COLUMNS),
        f" {state.fill:.0%} of {state.window_tokens:,}{assumed}",
    )
    at = f"at about {state.compacts_at_tokens:,} tokens"
    left = "" if state.answers_left is None else f", in about {state.answers_left:,} answers"
    yield "next compaction", f"{at}{left}"
    name = "cost" if state.tokens is None else "used"
    yield name, (_cost(state) or "unknown", "bold"), f", {count_of(state.requests, 'request')}"
    phase = state.cache(time.time())
    style = {"closing": "yellow", "cold": "red"}.get(phase, "")
    rest = f"; {_cold(state)}" if phase else ""
    yield "cache", f"{state.cache_hit_rate:.0%} of the prompts", (rest, style)
    for name, said in (("block", _block(state)), ("saved", _saved(state))):
        if said:
            yield name, said
    if state.budget:
        yield "budget", _budget(state)


def line_of(state: LiveState, picture: Picture, *, is_full: bool) -> str:
    """Return a session on one line; `is_full` with the agent and the folder."""
    full = round(LINE_METER_COLUMNS * min(state.fill, 1))
    meter = picture.block * full + picture.shade * (LINE_METER_COLUMNS - full)
    fill = f"{meter} {state.fill:.0%} of {short(state.window_tokens)}"
    where = Path(state.project).name if state.project else ""
    pieces = [
        *((state.agent, where) if is_full else ()),
        state.model,  # then limits: agents cut their status line off at the right
        "" if state.tokens is None else _cost(state),
        f"budget {_budget(state)}" if (state.budget_share or 0.0) >= NEAR else "",
        fill if state.prompt_tokens else NO_USAGE,
        _until_compaction(state),
        f"cache {state.cache_hit_rate:.0%}" if state.prompt_tokens else "",
        count_of(state.compactions, "compaction") if state.compactions else "",
        _cost(state) if state.tokens is None else "",
        f"saved {said}" if (said := _saved(state)) else "",
        f"cache {_cold(state)}" if state.cache(time.time()) else "",
        f"block {said}" if (said := _block(state)) else "",
    ]
    return "  ".join(join_on_one_line(piece) for piece in pieces if piece)


def _until_compaction(state: LiveState) -> str:
    if not state.prompt_tokens:
        return ""
    left = f"compaction in {short(max(state.compacts_at_tokens - state.prompt_tokens, 0))} tokens"
    return left if state.answers_left is None else f"{left}, about {state.answers_left:,} answers"


def _cold(state: LiveState) -> str:
    """Return until when the cache is warm, and what the next answer costs more after that."""
    more = f"{short(state.prompt_tokens)} tokens again"
    if state.tokens is None and state.cold_cost is not None:
        more = f"{money(state.cold_cost)} more"
    if state.cache(time.time()) == "cold":
        return f"cold: {more}"
    return f"cold at {format_time(state.cache_until)[-5:]}: {more}"


def _block(state: LiveState) -> str:
    """Return what is left of the running block of five hours, and how fast tokens go."""
    if state.block_until is None:
        return ""
    pace = f"{short(state.block_tokens_per_minute)}/min"
    left = duration(max(state.block_until - time.time(), 0))
    return f"{short(state.block_tokens)} tokens, {pace}, {left} left"


def _saved(state: LiveState) -> str:
    """Return what compactions saved, by estimate."""
    if state.saved is None or state.tokens is not None:
        return ""
    return f"{'−' if state.saved < 0 else ''}{money(abs(state.saved))}"


def _budget(state: LiveState) -> str:
    return f"{state.budget_share or 0.0:.0%} of {state.budget}"


def _cost(state: LiveState) -> str:
    """Return dollars, or tokens and limits with a subscription."""
    if state.tokens is None:
        return "" if state.cost is None else money(state.cost)
    limits = (f"{name} {percent}%" for name, percent in state.limits.items())
    return ", ".join((f"{short(state.tokens)} tokens", *limits))


@click.command()
def statusline() -> int:
    """Print a status line from the agent's JSON on standard input.

    For the `statusLine` setting of Claude Code, which gives JSON on standard input:

    \b
    {"statusLine": {"type": "command", "command": "foldaway statusline"}}

    The line has the model, the fill of the window, the next compaction, the cache and when it is
    cold, the block of five hours, compactions, the cost, and what the gateway saved; the budget
    from 80% on; tokens and limits of a subscription. `foldaway install claude-code` sets it up.
    """
    given = fields(parse(read_bytes("-")))
    runs = Subscription.read_all(home_folder()) if Subscription.is_in(os.environ) else {}
    prices = PriceList()
    state = _add_subscription(state_of(given, prices), time.time(), runs)
    state = _add_kept(_add_block(state, home_folder(), prices), prices)
    click.echo(line_of(state, Picture(), is_full=False))
    return 0


def state_of(given: Mapping[str, Any], prices: PriceList) -> LiveState:
    """Return the state that an agent tells, completed from the end of its transcript."""
    window, model = fields(given.get("context_window")), fields(given.get("model"))
    session = _tail(str(given.get("transcript_path") or ""))
    size = window.get("context_window_size")
    cost = fields(given.get("cost")).get("total_cost_usd")
    state = live_state(
        session,
        prices,
        window=size if type(size) is int and size > 0 else None,
        cost=float(cost) if isinstance(cost, (int, float)) else None,
    )
    if cost is None and _size(session.path) > TAIL_BYTES:
        state = replace(state, cost=None)  # the end of a transcript is not all that was paid
    used = usage_of(window.get("current_usage"), cached_apart=True)
    name = str(model.get("display_name") or model.get("id") or state.model)
    prompt = used.input_tokens if used else 0
    hit = used.cache_read_tokens / prompt if used and prompt else state.cache_hit_rate
    return replace(
        state,
        model=name,
        prompt_tokens=prompt or state.prompt_tokens,
        cache_hit_rate=hit,
        compactions=_compactions(session.path),
    )


def _compactions(path: str) -> int:
    """Return how often a transcript of Claude Code was compacted."""
    with suppress(OSError, ValueError), open(path, "rb") as file:
        return file.read(MOST_COUNTED_BYTES).count(BOUNDARY)
    return 0


def _tail(path: str) -> SpentSession:
    """Return what the end of a transcript tells; an empty session if there is none."""
    try:
        skipped = max(_size(path) - TAIL_BYTES, 0)
        with open(path, "rb") as file:
            file.seek(skipped)
            data = file.read()
        data = data.partition(b"\n")[2] if skipped else data
        found = [one for one in read_sessions(data, path) if one.usage]
        last = max(found, key=lambda one: one.ended or 0.0)
    except (OSError, ValueError, NotReadable):
        return SpentSession(agent="claude-code", source_id="", path=path)
    return SpentSession(
        agent=last.agent,
        source_id=last.source_id,
        path=path,
        answers=tuple(answers_of(last)),
        window_tokens=last.window_tokens,
    )


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except (OSError, ValueError):
        return 0

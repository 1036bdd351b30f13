"""`foldaway run`: a coding agent with a gateway in front of its provider."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from foldaway._core import Saving
from foldaway.agents.known import KnownAgent
from foldaway.agents.running import PORT, start_for, startable_agent, startable_agents
from foldaway.cli import say
from foldaway.cli.files import count_of, duration
from foldaway.cli.inputs import options
from foldaway.cli.settings import BUDGET_ROW, settings_from
from foldaway.cli.stores import store_place
from foldaway.config import open_store
from foldaway.errors import FoldawayError, MissingExtra
from foldaway.usage import OwnCompaction, SpendingLimit

if TYPE_CHECKING:
    from foldaway.agents.running import RunTotals

_PARTS = ("aiohttp", "starlette", "uvicorn")
"""Packages of the extra `gateway`."""


@click.command(
    context_settings={"allow_interspersed_args": False},
    epilog=f"Agents: {', '.join(startable_agents())}, or the commands that they have.",
)
@click.option(
    "--save",
    type=click.Choice(get_args(Saving)),
    help="How early to compact if it saves money, as `foldaway serve` has it.",
)
@options(BUDGET_ROW)
@click.option(
    "--serve",
    "serve_options",
    default="",
    metavar="OPTIONS",
    help="Options of `foldaway serve` for this run, in one argument.",
)
@click.option(
    "--report/--no-report",
    default=None,
    help="Say at the end what was done; by default only to a terminal.",
)
@click.option(
    "--project-address",
    is_flag=True,
    help="Use an address of a provider that the settings of this project name.",
)
@click.option(
    "--recall",
    is_flag=True,
    help="Let the model search and recall what was folded, in this project; needs the extra `mcp`.",
)
@click.argument("agent")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def run(
    save: str | None,
    budget: str | None,
    serve_options: str,
    report: bool | None,
    project_address: bool,
    recall: bool,
    agent: str,
    arguments: Sequence[str],
) -> int:
    """Run a coding agent with a gateway in front of its provider.

    The agent runs as it does without Foldaway: in this terminal, with its own arguments, signals
    and exit code. Only this process asks its provider through the gateway, and only while it runs.
    Nothing is written to the agent's settings. Needs the extra `gateway`.

    \b
    foldaway run claude
    foldaway run --serve '--window 200000' codex exec "fix the tests"
    """
    known = startable_agent(agent)
    if not hasattr(os, "posix_spawn"):
        return say("foldaway run needs Linux or macOS; elsewhere use `foldaway serve`")
    if not all(find_spec(name) for name in _PARTS):
        raise MissingExtra("gateway", "foldaway run")
    server = _recall_server(known, serve_options) if recall else []
    program = shutil.which(known.program)
    if program is None:
        return say(
            f"{known.title} is not installed: no command {known.program!r} on the PATH; "
            f"{known.start.install}"
        )
    listening = _listen(known)
    port = PORT if listening is None else listening.getsockname()[1]
    start = start_for(
        known,
        f"http://127.0.0.1:{port}",
        os.environ,
        Path.home(),
        trusts_project=project_address,
        recall=server,
    )
    reports = sys.stderr.isatty() if report is None else report
    for note in start.notes if reports else ():
        say(note)
    wanted = {"--save": save, "--budget": budget and str(SpendingLimit.parse(budget, "--budget"))}
    given = [word for name, value in wanted.items() if value for word in (name, value)]
    served = [*start.serve, *given, *shlex.split(serve_options)]
    command = [program, *start.options, *arguments]
    began, begun = time.time(), time.monotonic()
    variables = {**os.environ, **start.environment}
    if budget:
        variables["FOLDAWAY_GATEWAY_BUDGET"] = budget  # for its status line
    code, totals = _run_behind(known, listening, served, command, variables, is_alone=recall)
    if reports:
        saved = _saved(served, totals, began)
        _say_what_was_done(known, totals, saved, time.monotonic() - begun, start.notes)
    from foldaway.agents.running import end_as

    return end_as(code)


def _recall_server(agent: KnownAgent, serve_options: str) -> list[str]:
    """Return the command of the server that an agent gets, on the store of its gateway."""
    if not (agent.recall.options or agent.recall.keys):
        raise click.UsageError(
            f"--recall: {agent.title} takes no server at its start; run "
            "`foldaway install` once, for agents that have one in their "
            "settings"
        )
    if not find_spec("mcp"):
        raise MissingExtra("mcp", "foldaway run --recall")
    given = _collect_options(shlex.split(serve_options))
    place = [(f"--{name}", given[name]) for name in ("store", "home", "profile") if given[name]]
    own = [str(word) for pair in place for word in pair]
    return [sys.executable, "-P", "-m", "foldaway", "mcp", "--read-only", *own]


def _run_behind(
    agent: KnownAgent,
    listening: socket.socket | None,
    options: Sequence[str],
    command: Sequence[str],
    variables: Mapping[str, str],
    *,
    is_alone: bool,
) -> tuple[int, RunTotals]:
    """Run an agent while a listener is there for it; return its exit code and what was done.

    If it `is_alone`, it gets a gateway of its own, which knows its folder.
    """
    from foldaway.agents.running import Front
    from foldaway.config import home_folder

    gateway = [
        sys.executable,
        "-P",
        "-m",
        "foldaway",
        "serve",
        "--port",
        "0",
        "--until-eof",
        "--folder",
        str(Path.cwd()),
    ]
    began, may_share = time.time(), not options and not is_alone
    running = PORT if listening is None or (may_share and _is_ours(PORT)) else 0
    front = Front(
        listening,
        [*gateway, *options],
        running,
        lambda: _upstreams(options),
        lambda: _token(options),
        lambda totals: totals.tell_others(home_folder(), agent.name, began),
    )
    try:
        return front.run(command, variables)
    except OSError as error:
        why = error.strerror or str(error)
        raise click.ClickException(f"{command[0]} cannot be started ({why})") from None
    finally:
        (home_folder() / f"run-{agent.name}.json").unlink(missing_ok=True)


def _listen(agent: KnownAgent) -> socket.socket | None:
    """Return the socket that an agent will talk to; None if a gateway has its port already."""
    if agent.start.fixed and _is_ours(PORT):
        return None
    try:
        port = PORT if agent.start.fixed else 0
        listening = socket.create_server(("127.0.0.1", port), backlog=1024)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise click.ClickException(f"127.0.0.1:{PORT} cannot be listened on ({why})") from None
    # asyncio sets it only for sockets that name their protocol; connections inherit it
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def _is_ours(port: int) -> bool:
    """Return whether a process of the same user listens on a port: keys are sent there."""
    try:
        rows = Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]
    except OSError:
        return False
    fields = (row.split() for row in rows)
    return any(
        one[1] == f"0100007F:{port:04X}" and one[3] == "0A" and int(one[7]) == os.getuid()
        for one in fields
    )


def _upstreams(options: Sequence[str]) -> Mapping[str, str]:
    """Return the addresses that a gateway with these options would have."""
    from foldaway.cli.serve import upstreams_in

    return upstreams_in(_collect_options(options))


def _collect_options(options: Sequence[str]) -> Mapping[str, Any]:
    from foldaway.cli.serve import serve

    with serve.make_context("serve", list(options)) as context:
        return context.params


def _token(options: Sequence[str]) -> str:
    """Return the owner's token of a gateway with these options, "" if there is none."""
    from foldaway.config import home_folder
    from foldaway.gateway import read_token

    named = _collect_options(options)["home"] if "--home" in " ".join(options) else None
    with suppress(FoldawayError):
        return read_token(Path(named) if named else home_folder())
    return ""


def _saved(options: Sequence[str], totals: RunTotals, began: float) -> str:
    """Return what the compactions of a run saved, in words; "" if nobody can say."""
    from foldaway.caching import PriceList

    if not totals.compacted:
        return ", as without it"
    given, prices = _collect_options(options), PriceList()
    settings = settings_from(given)
    with suppress(FoldawayError):  # it is only shown
        place = store_place(given, settings)
        with open_store(place, profile=settings.profile, read_only=True) as store:
            names = totals.compactions
            found = [OwnCompaction.of_conversation(store, one, prices) for one in names]
            made = {(one.session, one.number): one for own in found for one in own}
            saved = OwnCompaction.add_up(one for one in made.values() if one.time >= began)
        if saved.known and round(saved.dollars, 2):
            which = "less" if saved.dollars > 0 else "more"
            return f", about ${abs(saved.dollars):.2f} {which} than without it"
        return ", as without it" if saved.known else ""
    return ""


def _say_what_was_done(
    agent: KnownAgent, totals: RunTotals, saved: str, seconds: float, notes: Sequence[str]
) -> None:
    say(
        f"{agent.title} ran for {duration(seconds)}; {count_of(totals.requests, 'request')} went "
        f"through the gateway, {count_of(totals.compacted, 'compaction')}"
    )
    sizes = f"{totals.bytes_out / 1e6:.1f} MB were sent of {totals.bytes_in / 1e6:.1f} MB"
    if totals.subscribed or totals.limits:
        used = ", ".join(f"{name} {percent} %" for name, percent in totals.limits.items())
        say(
            f"{sizes}, about {totals.bytes_out // 4:,} tokens of {totals.bytes_in // 4:,}; "
            f"used of the limits of the subscription: {used or 'not told'}"
        )
    else:
        say(f"{sizes}; by list prices they cost ${totals.cost:.2f}{saved}")
    direct = f"{count_of(totals.direct, 'request')} went to the provider directly"
    if totals.gave_up:
        say(
            f"no gateway could be kept running; {direct}: "
            f"{totals.trouble or '`foldaway serve` shows why'}"
        )
    elif totals.ends:
        say(f"the gateway ended {count_of(totals.ends, 'time')} and was started again; {direct}")
    elif totals.direct:
        say(f"the gateway was not ready in time; {direct}")
    elif totals.conversation:
        say(f"`foldaway sessions show {shlex.quote(totals.conversation)}` shows what was kept")
    elif totals.requests:
        say("no conversation was kept; see the agent's page in the documentation")
    else:
        past = next((note for note in notes if "go past the gateway" in note), "")
        say(
            past
            or f"no request came: {agent.title} asked nothing, or has an address in settings "
            "that are not read here (of its administrator, or of its own arguments)"
        )

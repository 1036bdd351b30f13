"""`holdfast run`: a coding agent with a gateway in front of its provider."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli import say
from holdfast.errors import MissingExtra
from holdfast.running.agents import PORT, Agent, agent_named, known_agents, start_for

if TYPE_CHECKING:
    from holdfast.running.tally import Tally

_PARTS = ("aiohttp", "starlette", "uvicorn")
"""Packages of the extra `gateway`."""


@click.command(
    context_settings={"allow_interspersed_args": False},
    epilog=f"Agents: {', '.join(known_agents())}, or the commands that they have.",
)
@click.option(
    "--serve", "serve_options", default="", metavar="OPTIONS",
    help="Options of `holdfast serve` for this run, in one argument.",
)  # fmt: skip
@click.option(
    "--report/--no-report", default=None,
    help="Say at the end what was done; by default only to a terminal.",
)  # fmt: skip
@click.argument("agent")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def run(serve_options: str, report: bool | None, agent: str, arguments: Sequence[str]) -> int:
    """Run a coding agent with a gateway in front of its provider.

    The agent runs as it does without Holdfast: in this terminal, with its own arguments, signals
    and exit code. Only this process asks its provider through the gateway, and only while it runs.
    Nothing is written to the agent's settings. Needs the extra `gateway`.

    \b
    holdfast run claude
    holdfast run --serve '--window 200000' codex exec "fix the tests"
    """
    known = agent_named(agent)
    if not all(find_spec(name) for name in _PARTS):
        raise MissingExtra("gateway", "holdfast run")
    program = shutil.which(known.program)
    if program is None:
        return say(f"{known.title} is not installed: no command {known.program!r} on the PATH; "
                   f"{known.install}")  # fmt: skip
    listening = _listen(known)
    port = PORT if listening is None else listening.getsockname()[1]
    start = start_for(known, f"http://127.0.0.1:{port}", os.environ, Path.home())
    options = [*start.serve, *shlex.split(serve_options)]
    command = [program, *start.options, *arguments]
    begun = time.monotonic()
    code, tally = _run_behind(listening, options, command, {**os.environ, **start.environment})
    if report or (report is None and sys.stderr.isatty()):
        _say_what_was_done(known, tally, time.monotonic() - begun)
    from holdfast.running.foreground import end_as

    return end_as(code)


def _run_behind(
    listening: socket.socket | None, options: Sequence[str], command: Sequence[str],
    variables: Mapping[str, str],
) -> tuple[int, Tally]:  # fmt: skip
    """Run an agent while a listener is there for it; return its exit code and what was done."""
    from holdfast.running.foreground import block_signals, run_in_foreground
    from holdfast.running.front import Front

    gateway = [sys.executable, "-P", "-m", "holdfast", "serve", "--port", "0", "--until-eof"]
    running = PORT if not options and _is_ours(PORT) else 0
    mask = block_signals()
    front = Front(listening, [*gateway, *options], running, lambda: _upstreams(options))
    front.start()
    try:
        code = run_in_foreground(command[0], command, variables, mask)
    finally:
        tally = front.stop()
    return code, tally


def _listen(agent: Agent) -> socket.socket | None:
    """Return the socket that an agent will talk to; None if a gateway has its port already."""
    if agent.fixed and _is_ours(PORT):
        return None
    try:
        return socket.create_server(("127.0.0.1", PORT if agent.fixed else 0), backlog=1024)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise click.ClickException(f"127.0.0.1:{PORT} cannot be listened on ({why})") from None


def _is_ours(port: int) -> bool:
    """Return whether a process of the same user listens on a port: keys are sent there."""
    try:
        rows = Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]
    except OSError:
        return False
    fields = (row.split() for row in rows)
    return any(one[1] == f"0100007F:{port:04X}" and one[3] == "0A" and int(one[7]) == os.getuid()
               for one in fields)  # fmt: skip


def _upstreams(options: Sequence[str]) -> Mapping[str, str]:
    """Return the addresses that a gateway with these options would have."""
    from holdfast.cli.serve import serve, upstreams_in

    with serve.make_context("serve", list(options)) as context:
        return upstreams_in(context.params)


def _say_what_was_done(agent: Agent, tally: Tally, seconds: float) -> None:
    compactions = f"{tally.compacted} compaction{'' if tally.compacted == 1 else 's'}"
    say(f"{agent.title} ran for {_duration(seconds)}; {tally.requests} requests went through the "
        f"gateway, {compactions}")  # fmt: skip
    say(f"{tally.bytes_out / 1e6:.1f} MB were sent of {tally.bytes_in / 1e6:.1f} MB; by list "
        f"prices they cost ${tally.cost:.2f}, about ${tally.saved:.2f} less than without")  # fmt: skip
    if tally.gave_up:
        say(f"no gateway could be kept running, {tally.direct} requests went to the provider: "
            f"{tally.trouble or '`holdfast serve` shows why'}")  # fmt: skip
    elif tally.ends or tally.direct:
        say(f"the gateway ended {tally.ends} times and was started again; {tally.direct} requests "
            "went to the provider")  # fmt: skip
    elif tally.conversation:
        say(f"`holdfast sessions show {shlex.quote(tally.conversation)}` shows what was kept")
    else:
        say("no conversation was kept; see the agent's page in the documentation")


def _duration(seconds: float) -> str:
    whole = int(seconds)
    minutes, hours = whole // 60, whole // 3600
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min {whole % 60} s"

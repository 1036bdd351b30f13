"""`holdfast hook`: the process behind the hooks of coding agents. It never stands in their way."""

from __future__ import annotations

import gc
import os
import sys
import threading
from typing import Any

import click

_SECONDS = 5.0
"""After so long nothing is said: an agent waits for its hooks."""
_MOST_BYTES = 64 << 20
"""Of what an agent tells; chosen, far above the results that agents pass on."""


@click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.argument("agent", required=False, default="")
@click.option("--event", default="", metavar="NAME", help="Which event, if the agent does not say.")
@click.option("--facts", default="2000", show_default=True, metavar="N",
              help="Tokens of the facts for a compaction, and again after it.")
@click.option("--results", default="4000", show_default=True, metavar="N",
              help="Tokens of a tool's result; a longer one is shortened. 0 shortens none.")
@click.option("--redact", is_flag=True, help="Hide secrets in results.")
@click.option("--home", metavar="DIR", help="Where Holdfast keeps everything.")
@click.option("--config", metavar="FILE", help="A settings file.")
@click.option("--profile", metavar="NAME", help="Whose sessions.")
def hook(agent: str, event: str, facts: str, results: str, redact: bool, **given: Any) -> int:
    """Answer a hook of a coding agent; `holdfast install` sets it up.

    Reads what the agent tells of an event as JSON from standard input, and prints what it is
    answered: facts of the session before and after a compaction, a long result in short. The
    exit code is always 0, and if anything goes wrong nothing is printed: the agent goes on as
    without it.

    \b
    holdfast hook claude-code < event.json
    """
    gc.disable()  # the process ends before it would pay
    timer = threading.Timer(_SECONDS, os._exit, (0,))
    timer.daemon = True
    timer.start()
    try:
        said = _answered(agent, event, int(facts), int(results), redact, given)
    # An agent must not fail, wait or be told anything because of us.
    except BaseException:  # noqa: BLE001
        said = ""
    timer.cancel()
    try:
        if said:
            sys.stdout.write(said)
        sys.stdout.flush()
    finally:
        os._exit(0)  # a thread may still wait for a locked store


def _answered(
    agent: str, name: str, facts: int, results: int, redact: bool, given: dict[str, Any]
) -> str:
    data = sys.stdin.buffer.read(_MOST_BYTES)
    # most calls come with a short result: these cost no more than the start of the process
    if b'"PostToolUse"' in data and not redact and len(data) < 2 * results:
        return ""
    import json

    from holdfast.hooks.answering import HookHost, HookOptions, answer, event_of
    from holdfast.installing.clients import client_named

    told = json.loads(data)
    if not isinstance(told, dict):
        return ""
    options = HookOptions(facts_tokens=facts, result_tokens=results, redact=redact)
    host = HookHost(
        keep=lambda originals, **whose: _keep(given, originals, whose),
        import_later=lambda path: _import_later(given, path),
    )
    return answer(client_named(agent), event_of(told, name), options, host)


def _keep(given: dict[str, Any], originals: Any, whose: dict[str, str]) -> None:
    from holdfast.cli.settings import settings_from
    from holdfast.cli.stores import store_place
    from holdfast.config import open_store
    from holdfast.hooks.keeping import keep_originals

    settings = settings_from(given)
    with open_store(store_place(given, settings), profile=settings.profile) as store:
        keep_originals(store, originals, **whose)


def _import_later(given: dict[str, Any], path: str) -> None:
    """Start an import in a process of its own, which outlives this one."""
    import subprocess

    options = [part for key, value in given.items() if value for part in (f"--{key}", value)]
    command = [sys.executable, "-m", "holdfast", "import", path, *options]
    subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip

"""The process behind the hooks of coding agents. It never stops or delays them.

It starts without the command line: an agent calls it after each tool, mostly for nothing.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

if TYPE_CHECKING:
    from foldaway.agents.hooks.answering import HookEvent
    from foldaway.agents.hooks.results import Original

_SECONDS = 5.0
"""After so long nothing is said: an agent waits for its hooks."""
_STORE_SECONDS = 0.5
"""How long a result waits for the store; then it is shown whole. Writing 48 KB took 40 to
93 ms on a machine under load."""
_MOST_BYTES = 64 << 20
"""Of what an agent tells; chosen, far above the results that agents pass on."""
_DEFAULTS = {
    "event": "",
    "facts": "2000",
    "results": "4000",
    "home": "",
    "config": "",
    "profile": "",
}
"""Options with a value, and what they are if they are not given."""


def main(arguments: Sequence[str]) -> NoReturn:
    """Answer a hook; the exit code is 0, whatever happens."""
    gc.disable()  # the process ends before it would pay
    timer = threading.Timer(_SECONDS, os._exit, (0,))
    timer.daemon = True
    timer.start()
    try:
        said = _answer(*_parse_options(arguments))
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


def _parse_options(arguments: Sequence[str]) -> tuple[str, dict[str, str], bool]:
    """Return the agent, the options that have a value, and whether to redact.

    What is not known is passed over: a newer version may have written it.
    """
    given, agent, rest = dict(_DEFAULTS), "", iter(arguments)
    for one in rest:
        name, _, value = one.removeprefix("--").partition("=")
        if one.startswith("--") and name in given:
            given[name] = value or next(rest, "")
        elif not one.startswith("-"):
            agent = agent or one
    return agent, given, "--redact" in arguments


def _answer(agent: str, given: dict[str, str], redact: bool) -> str:
    name, results = given["event"], int(given["results"])
    data = sys.stdin.buffer.read(_MOST_BYTES)
    # most calls come with a short result: these cost no more than the start of the process
    if b'"PostToolUse"' in data and not redact and len(data) < 2 * results:
        from foldaway.agents.hooks.notice import may_be_full

        if not may_be_full(data):
            return ""
    import json

    from msgspec.structs import replace

    from foldaway.agents.hooks.answering import HookHost, HookOptions, answer, event_of
    from foldaway.agents.known import agent_named

    told = json.loads(data)
    if not isinstance(told, dict):
        return ""
    options = HookOptions(facts_tokens=int(given["facts"]), result_tokens=results, redact=redact)
    client, event = agent_named(agent), event_of(cast("dict[str, Any]", told), name)
    host = HookHost(
        keep=partial(_keep, given),
        import_later=partial(_import_later, given),
        is_news=partial(_is_news, given),
        is_new_window=partial(_is_new_window, given),
        window=int(os.environ.get(client.hooks.window) or 0) if client.hooks.window else 0,
        message_file=client.hooks.message_file(os.environ),
    )
    if not event.path:
        event = replace(event, path=client.hooks.transcript_file(event.session, os.environ))
    return answer(client, event, options, host)


def _keep(
    given: dict[str, str], originals: Sequence[Original], agent: str, event: HookEvent
) -> bool:
    """Keep originals in the store, if it can be written at once."""
    from foldaway.agents.hooks.results import keep_originals
    from foldaway.config import home_folder, open_store, read_settings

    import_module("foldaway.stores.sqlite.database")  # what the store waits for is not this
    settings = read_settings(given["config"] or None)
    home = given["home"] or home_folder()
    place = settings.store if settings.store and not given["home"] else f"{home}/sessions"
    kept: list[bool] = []

    def keep() -> None:
        with (
            suppress(Exception),
            open_store(place, profile=given["profile"] or settings.profile) as store,
        ):
            keep_originals(
                store, originals, agent=agent, session=event.session, cwd=event.cwd, tool=event.tool
            )
            kept.append(True)

    # only this thread waits for a locked store: the process ends without it
    thread = threading.Thread(target=keep, daemon=True)
    thread.start()
    thread.join(_STORE_SECONDS)
    return bool(kept)


def _is_news(given: dict[str, str], transcript: str, sign: str) -> bool:
    from foldaway.agents.hooks.compactions import is_new_compaction

    return is_new_compaction(transcript, sign, partial(_notes, given))


def _is_new_window(given: dict[str, str], transcript: str, sign: str) -> bool:
    from foldaway.agents.hooks.compactions import is_new_window

    return is_new_window(transcript, sign, partial(_notes, given))


def _notes(given: dict[str, str]) -> Path:
    from foldaway.config import home_folder

    return Path(given["home"] or home_folder()) / "told"


def _import_later(given: dict[str, str], agent: str, path: str) -> None:
    """Start an import in a process of its own, which outlives this one.

    Without a path, of the places in which the agent keeps its sessions.
    """
    import subprocess

    places = [path]
    if not path:
        from foldaway.config import agent_places

        places = [str(place) for name, place in agent_places() if name == agent]
    if not places:
        return
    options = [
        part
        for key in ("home", "config", "profile")
        if given[key]
        for part in (f"--{key}", given[key])
    ]
    command = [sys.executable, "-P", "-m", "foldaway", "import", *places, *options]
    subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )

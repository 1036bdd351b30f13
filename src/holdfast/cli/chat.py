"""`holdfast chat`: a chat in the terminal that never outgrows its window."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from holdfast.cli.files import is_terminal
from holdfast.cli.inputs import PATH, options, usage_error
from holdfast.cli.settings import settings_from, settings_options, summarizer_options, window_of
from holdfast.cli.stores import opened, place_options
from holdfast.config import open_memory, open_store
from holdfast.errors import MissingExtra, SummarizerFailed

if TYPE_CHECKING:
    from holdfast.chat.screen import Screen
    from holdfast.config import Settings
    from holdfast.policy import Policy
    from holdfast.sessions.hooks import Hooks
    from holdfast.stores.store import Store

SYSTEM = (
    "You are a helpful assistant in a terminal. Answer in plain text and be brief. Older parts of "
    "this conversation may be folded into a summary; bring originals back with your tools."
)
_KEYS = "/help lists commands, Ctrl-C stops an answer, Ctrl-D ends"
_TRY = "try `holdfast chat --demo`"


@click.command()
@settings_options
@options(
    (
        "--base-url",
        str,
        "URL",
        "The address of a server that speaks the API of OpenAI or Anthropic.",
    ),
    (
        "--key-variable",
        str,
        "NAME",
        "The variable with the key for that address; no key is sent there without it.",
    ),
)
@click.option(
    "--resume", is_flag=False, flag_value="last", metavar="[SESSION]",
    help="Continue a session: its id, the end of it, or its title; the last one if none is named.",
)  # fmt: skip
@options(
    ("--mcp", PATH, "FILE", "A JSON file with MCP servers whose tools the model may call."),
    ("--no-shell", bool, "", "Do not offer the model a shell; it asks before every command."),
    ("--goal", str, "TEXT", "What the session is for; every summary begins with it."),
    ("--demo", bool, "", "Play a story with a scripted model: no key, and nothing is kept."),
)
@summarizer_options
@place_options
def chat(**given: Any) -> int:
    """Chat with a model; the conversation is kept, and compacted before it outgrows the window.

    The model is NAME, openai:NAME or anthropic:NAME. Keys come from OPENAI_API_KEY and
    ANTHROPIC_API_KEY. A line that begins with / is a command; /help lists them. Ctrl-C stops an
    answer, Ctrl-D ends the chat. Without a terminal, every line of standard input is a turn.
    Needs the extra `chat`, and `openai` or `anthropic` for a model.

    \b
    holdfast chat --demo
    holdfast chat --model claude-sonnet-4-5 --goal "Ship the release"
    holdfast chat --model openai:local --base-url http://localhost:8000/v1
    holdfast chat --resume
    """
    if find_spec("prompt_toolkit") is None:
        raise MissingExtra("chat", "holdfast chat")
    with ExitStack() as stack:
        asyncio.run(_demo(given, stack) if given["demo"] else _real(given, stack))
    return 0


async def _real(given: dict[str, Any], stack: ExitStack) -> None:
    from holdfast.chat.host import Host
    from holdfast.chat.model import ChatModel
    from holdfast.chat.tools import Toolbox, read_servers
    from holdfast.config.opening import compressor_settings
    from holdfast.sessions.chat import Chat

    settings = settings_from(given)
    if not settings.model:
        raise usage_error(f"no model is named; give --model NAME, or {_TRY}")
    model = ChatModel(
        settings.model, url=given["base_url"] or "", key_variable=given["key_variable"] or ""
    )
    try:
        await model.connect()
    except SummarizerFailed as error:
        raise click.ClickException(f"{error}, or {_TRY}") from None
    servers = read_servers(given["mcp"]) if given["mcp"] else ()
    store = stack.enter_context(opened(given, "create"))
    resume = _resumed(store, given["resume"], model.dialect) if given["resume"] else ""
    screen, window = _screen(store), window_of(settings, model.name)
    engine = compressor_settings(settings)
    chat = Chat(
        store, open_memory(store, project=Path.cwd(), settings=settings), system=SYSTEM,
        resume=resume, dialect=model.dialect, goal=given["goal"] or "", hooks=_hooks(screen),
        model=replace(engine["model"], name=model.name, output_tokens=settings.output_tokens),
        context_length=window.tokens, policy=_bounded(settings), redact=engine.get("redact"),
        summarizer=engine["summarizer"], background=True,
    )  # fmt: skip
    if resume and given["goal"]:
        chat.session.change(goal=given["goal"])
    ask = screen.ask if screen.is_terminal and not given["no_shell"] else None
    screen.notice(f"{model.spec}, {window.tokens:,} tokens; {_KEYS}")
    if window.note:
        screen.notice(window.note)
    await Host(chat, model, Toolbox(chat, servers=servers, ask=ask), screen, ()).run()


async def _demo(given: dict[str, Any], stack: ExitStack) -> None:
    from holdfast.chat.demo import DEMO_TOOL, POLICY, STORY, WINDOW, DemoModel
    from holdfast.chat.host import Host
    from holdfast.chat.tools import Toolbox
    from holdfast.sessions.chat import Chat

    home = stack.enter_context(tempfile.TemporaryDirectory(prefix="holdfast-demo-"))
    store = stack.enter_context(open_store(Path(home) / "sessions"))
    screen = _screen(store)
    memory = open_memory(environment={**os.environ, "HOLDFAST_HOME": home})
    chat = Chat(
        store, memory, system=SYSTEM, model="demo", context_length=WINDOW, policy=POLICY,
        goal=given["goal"] or "", hooks=_hooks(screen),
    )  # fmt: skip
    screen.notice(f"a scripted model, {WINDOW:,} tokens; press Enter to ask what is suggested")
    screen.notice(f"{_KEYS}; nothing is kept")
    asks = [step.ask for step in STORY]
    await Host(chat, DemoModel(), Toolbox(chat, own=[DEMO_TOOL]), screen, asks).run()


def _resumed(store: Store, name: str, dialect: str) -> str:
    """Return the id of the session that is meant, or raise if the model cannot go on with it."""
    found = store.newest_leaf(store.find(name).id)
    if found.dialect != dialect:
        raise usage_error(
            f"--resume {name}: that conversation is in {found.dialect}, and the model speaks "
            f"{dialect}; name another model"
        )
    store.reopen(found.id)
    return found.id


def _screen(store: Store) -> Screen:
    from holdfast.chat.screen import Screen
    from holdfast.sessions.showing import redactor_of

    both = is_terminal(sys.stdin) and is_terminal(sys.stdout)
    return Screen(redactor_of(store), is_terminal=both)


def _hooks(screen: Screen) -> Hooks:
    from holdfast.sessions.hooks import Hooks

    return Hooks(
        after_compaction=lambda done: screen.notice(f"compacted: {done.report.headline}"),
        pressure=lambda found: screen.notice(found.sentence),
    )


def _bounded(settings: Settings) -> Policy:
    """Return the policy; the output of a command is bounded, unless the user says otherwise."""
    is_set = "compression.arrival" in settings.origins
    return settings.policy if is_set else replace(settings.policy, arrival="bounded")

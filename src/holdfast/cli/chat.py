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
from holdfast.errors import InvalidSetting, MissingExtra, SummarizerFailed

if TYPE_CHECKING:
    from holdfast.chat.host import Started
    from holdfast.chat.screen import Screen
    from holdfast.config import Settings
    from holdfast.sessions.hooks import Hooks

SYSTEM = (
    "You are a helpful assistant in a terminal. Answer in plain text and be brief. Older parts of "
    "this conversation may be folded into a summary; bring originals back with your tools."
)
LAST = "last"
"""What `--resume` alone takes up."""


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
    "--resume", is_flag=False, flag_value=LAST, metavar="[SESSION]",
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
    from holdfast.chat.host import Host

    with ExitStack() as stack:
        begin = _demo if given["demo"] else _real
        started = begin(given, stack)
        asyncio.run(_run(Host, started))
    return 0


async def _run(host: Any, started: Started) -> None:
    try:
        await started.model.connect()
    except SummarizerFailed as error:
        started.chat.close()
        raise InvalidSetting(
            "model", started.model.spec, "", message=f"{error}, or try `holdfast chat --demo`"
        ) from None
    await host(started).run()


def _real(given: dict[str, Any], stack: ExitStack) -> Started:
    from holdfast.chat.host import Started
    from holdfast.chat.model import ChatModel
    from holdfast.chat.tools import read_servers
    from holdfast.config.opening import compressor_settings
    from holdfast.engine.run import Model
    from holdfast.sessions.chat import Chat

    settings = settings_from(given)
    if not settings.model:
        raise usage_error("no model is named; give --model NAME, or try `holdfast chat --demo`")
    model = ChatModel(
        settings.model, url=given["base_url"] or "", key_variable=given["key_variable"] or ""
    )
    servers = read_servers(given["mcp"]) if given["mcp"] else ()
    store = stack.enter_context(opened(given, "create"))
    resume = given["resume"] or ""
    if resume:
        found = store.find(resume)
        if found.dialect != model.dialect:
            raise usage_error(
                f"--resume {resume}: it is a conversation in {found.dialect}, and {model.spec} "
                f"speaks {model.dialect}; name another model"
            )
        store.reopen(found.id)
    memory = open_memory(store, project=Path.cwd(), settings=settings)
    screen, window = _screen(store), window_of(settings, model.name)
    keywords = compressor_settings(settings)
    chat = Chat(
        store, memory, system=SYSTEM, resume=resume, dialect=model.dialect,
        goal=given["goal"] or "", background=True, hooks=_hooks(screen),
        model=Model(model.name, cache_ttl=settings.cache_ttl, output_tokens=settings.output_tokens),
        context_length=window.tokens, policy=_bounded(settings),
        summarizer=keywords["summarizer"], redact=keywords.get("redact"),
    )  # fmt: skip
    notes = [f"{model.spec}, {window.tokens:,} tokens; /help lists commands, Ctrl-D ends"]
    return Started(
        chat=chat, store=store, model=model, screen=screen, servers=servers,
        with_shell=not given["no_shell"], notes=[*notes, *([window.note] if window.note else [])],
    )  # fmt: skip


def _demo(given: dict[str, Any], stack: ExitStack) -> Started:
    from holdfast.chat.demo import DEMO_TOOL, POLICY, STORY, WINDOW, DemoModel
    from holdfast.chat.host import Started
    from holdfast.sessions.chat import Chat

    home = stack.enter_context(tempfile.TemporaryDirectory(prefix="holdfast-demo-"))
    variables = {**os.environ, "HOLDFAST_HOME": home}
    store = stack.enter_context(open_store(Path(home) / "sessions"))
    screen = _screen(store)
    chat = Chat(
        store, open_memory(environment=variables), system=SYSTEM, model="demo",
        context_length=WINDOW, policy=POLICY, goal=given["goal"] or "", hooks=_hooks(screen),
    )  # fmt: skip
    note = (
        f"a scripted model with a window of {WINDOW:,} tokens; press Enter to ask what is "
        "suggested, /help lists commands, Ctrl-D ends"
    )
    return Started(
        chat=chat, store=store, model=DemoModel(), screen=screen, with_shell=False, notes=[note],
        is_kept=False, own_tools=[DEMO_TOOL], story=[step.ask for step in STORY],
    )  # fmt: skip


def _screen(store: Any) -> Screen:
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


def _bounded(settings: Settings) -> Any:
    """Return the policy; the output of a command is bounded, unless the user says otherwise."""
    is_set = "compression.arrival" in settings.origins
    return settings.policy if is_set else replace(settings.policy, arrival="bounded")

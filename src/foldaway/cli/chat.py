"""`foldaway chat`: a chat in the terminal that never outgrows its window."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from foldaway.cli.files import is_terminal
from foldaway.cli.inputs import PATH, options, usage_error
from foldaway.cli.settings import settings_from, settings_options, summarizer_options, window_of
from foldaway.cli.stores import open_given, place_options
from foldaway.config import open_memory, open_store
from foldaway.errors import MissingExtra, SummarizerFailed

if TYPE_CHECKING:
    from foldaway.agents.chat import ChatModel
    from foldaway.memory import MemoryManager
    from foldaway.stores import Store

SYSTEM = (
    "You are a helpful assistant in a terminal. Answer in plain text and be brief. Older parts of "
    "this conversation may be folded into a summary; bring originals back with your tools."
)
_KEYS = "/help lists commands, Ctrl-C stops an answer, Ctrl-D ends"
_TRY = "try `foldaway chat --demo`"


@click.command()
@settings_options
@options(
    ("--base-url URL", str, "A server that speaks the API of OpenAI or Anthropic."),
    ("--key-variable NAME", str, "The variable with the key for it; otherwise none is sent."),
)
@click.option(
    "--resume",
    is_flag=False,
    flag_value="last",
    metavar="[SESSION]",
    help="Continue a session: its id, the end of it, or its title; the last one if none is named.",
)
@options(
    ("--mcp FILE", PATH, "A JSON file with MCP servers whose tools the model may call."),
    ("--no-shell", bool, "Do not offer the model a shell; it asks before every command."),
    ("--goal TEXT", str, "What the session is for; every summary begins with it."),
    ("--demo", bool, "Play a story with a scripted model: no key, and nothing is kept."),
)
@summarizer_options
@place_options
def chat(**given: Any) -> int:
    """Chat with a model; the conversation never outgrows its window.

    A model is NAME, openai:NAME or anthropic:NAME; its key is in OPENAI_API_KEY or
    ANTHROPIC_API_KEY. /help lists commands, Ctrl-C stops an answer, Ctrl-D ends the chat. Without a
    terminal, every line of standard input is a turn. Needs the extra `chat`, and that of the model.

    \b
    foldaway chat --demo
    foldaway chat --model claude-opus-5 --goal "Ship the release"
    foldaway chat --resume --model openai:local --base-url http://localhost:8000/v1
    """
    if find_spec("prompt_toolkit") is None:
        raise MissingExtra("chat", "foldaway chat")
    with ExitStack() as stack:
        asyncio.run(_demo(given, stack) if given["demo"] else _run_chat(given, stack))
    return 0


async def _run_chat(given: dict[str, Any], stack: ExitStack) -> None:
    from foldaway.agents.chat import ChatModel, read_servers
    from foldaway.config import compressor_settings

    settings = settings_from(given)
    if not settings.model:
        raise usage_error(f"no model is named; give --model NAME, or {_TRY}")
    url, variable = given["base_url"] or "", given["key_variable"] or ""
    model = ChatModel(settings.model, url=url, key_variable=variable)
    try:
        await model.connect()
    except SummarizerFailed as error:
        raise click.ClickException(f"{error}, or {_TRY}") from None
    servers = read_servers(given["mcp"]) if given["mcp"] else {}
    store = stack.enter_context(open_given(given, "create"))
    found = store.newest_leaf(store.find(given["resume"]).id) if given["resume"] else None
    if found is not None:
        if found.dialect != model.dialect:
            raise usage_error(
                f"--resume: that conversation is in {found.dialect}, and the model "
                f"speaks {model.dialect}; name another one"
            )
        store.reopen(found.id)
    window, engine = window_of(settings, model.name), compressor_settings(settings)
    is_set = "compression.arrival" in settings.origins
    policy = settings.policy if is_set else replace(settings.policy, arrival="bounded")
    memory = open_memory(store, project=Path.cwd(), settings=settings)
    await _run(
        given,
        store,
        memory,
        model,
        resume=found.id if found else "",
        tools={"servers": servers},
        note=f"{model.spec}, {window.note or f'{window.tokens:,} tokens'}",
        engine=replace(engine["model"], name=model.name, output_tokens=settings.output_tokens),
        context_length=window.tokens,
        policy=policy,
        redact=engine.get("redact"),
        summarizer=engine["summarizer"],
        background=True,
    )


async def _demo(given: dict[str, Any], stack: ExitStack) -> None:
    from foldaway.agents.chat import DemoModel

    home = stack.enter_context(tempfile.TemporaryDirectory(prefix="foldaway-demo-"))
    store = stack.enter_context(open_store(Path(home) / "sessions"))
    memory = open_memory(environment={**os.environ, "FOLDAWAY_HOME": home})
    note = f"a scripted model, {DemoModel.WINDOW:,} tokens; Enter asks what is suggested"
    await _run(
        {**given, "no_shell": True},
        store,
        memory,
        DemoModel(),
        note=note,
        engine="demo",
        tools={"own": [DemoModel.TOOL]},
        story=DemoModel.ASKS,
        context_length=DemoModel.WINDOW,
        policy=DemoModel.POLICY,
    )


async def _run(
    given: dict[str, Any],
    store: Store,
    memory: MemoryManager,
    model: ChatModel,
    *,
    note: str,
    engine: Any,
    tools: dict[str, Any],
    resume: str = "",
    story: Sequence[str] = (),
    **options: Any,
) -> None:
    """Make the parts that both have, and chat until the end."""
    from foldaway.agents.chat import Host, Screen, Toolbox
    from foldaway.sessions import Chat, Hooks, redactor_of

    is_person = is_terminal(sys.stdin) and is_terminal(sys.stdout)
    screen = Screen(redactor_of(store), is_terminal=is_person)
    hooks = Hooks(event=lambda event: screen.notice(f"{event.sentence} {event.advice}".rstrip()))
    chat = Chat(
        store,
        memory,
        system=SYSTEM,
        resume=resume,
        dialect=model.dialect,
        model=engine,
        goal=given["goal"] or "",
        hooks=hooks,
        **options,
    )
    if resume and given["goal"]:
        chat.session.change(goal=given["goal"])
    ask = screen.ask if is_person and not given["no_shell"] else None
    signal.signal(signal.SIGINT, signal.default_int_handler)  # that of asyncio is heard too late
    screen.notice(f"{note}; {_KEYS}")
    await Host(chat, model, Toolbox(chat, ask=ask, **tools), screen, story).run()

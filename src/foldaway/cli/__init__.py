"""The command line: `main` is the outer boundary; a command or group loads when it is called."""

from __future__ import annotations

import codecs
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click

from foldaway._core import __version__
from foldaway.errors import FoldawayError

GROUPS = {
    "See": {
        "usage": "Show what your agents used: tokens, cache and cost.",
        "watch": "Follow the running session: fill of the window, next compaction, cost.",
        "open": "Open the inspector in a browser: what was spent, and what the model saw.",
        "inspect": "Show where the context of a transcript goes.",
        "brief": "Print the record of a session, or open another agent with it.",
        "dropped": "Show what the last compaction left out: rules and decisions first.",
    },
    "Shrink": {
        "compact": "Make a transcript or session smaller; the originals can be restored.",
        "undo": "Restore a transcript or session as it was before its last compaction.",
        "recall": "Print the originals behind a reference.",
        "diff": "Show what a compaction did to every message.",
        "reduce": "Shrink a log, diff or JSON to a token budget.",
        "redact": "Write a text without its secrets.",
    },
    "Run": {
        "run": "Run a coding agent with a gateway in front of its provider.",
        "serve": "Serve as a gateway between agents and their providers.",
        "install": "Install into coding agents: hooks, plug-ins, MCP server, status line.",
        "chat": "Chat with a model; the conversation never outgrows its window.",
    },
    "Keep": {
        "import": "Import the sessions of other agents on this machine.",
        "sessions": "List, show, branch, export and delete stored sessions.",
        "search": "Find a text in all past sessions, or in a file of originals.",
        "memory": "List, add, edit, remove, search and restore what is remembered.",
        "config": "Show, write and check settings, and trust those of a folder.",
        "doctor": "Check the store, memory, settings and installed packages.",
    },
    "Providers": {
        "check": "Check transcripts against a provider's rules.",
        "repair": "Repair what breaks a provider's rules.",
        "convert": "Write a transcript in another dialect.",
    },
    "Prove": {
        "plan": "Say whether to compact a transcript now, and why.",
        "lab": "Measure what compaction keeps, on your own sessions.",
        "trajectories": "Make finished runs fit a training window, in batches.",
    },
    "": {
        "uninstall": "Remove from coding agents what `foldaway install` wrote.",
        "mcp": "Serve past sessions to agents, through MCP.",
        "rules": "List the rules of the providers.",
        "simulate": "Replay sessions and show what each strategy would cost.",
        "completion": "Print the completion script of a shell.",
        "follow": "Follow the list of an agent for its plug-in; `foldaway install` sets it up.",
        "hook": "Answer a hook of a coding agent; `foldaway install` sets it up.",
        "statusline": "Print a status line from the agent's JSON on standard input.",
    },
}
"""Under each heading of the help, the name of a command and what it does; those under none are not
listed: other commands name them, or programs call them."""
_FILES = {
    "hook": "follow",
    "import": "import_sessions",
    "open": "serve",
    "recall": "search",
    "repair": "check",
    "rules": "check",
    "run": "run_agent",
    "simulate": "plan",
    "statusline": "watch",
    "undo": "diff",
    "uninstall": "install",
}
"""The file of a command, if it is not named like the command."""
_FUNCTIONS = {"import": "import_sessions", "open": "open_inspector"}
"""Of commands that are words of Python."""
NOT_DONE = 3
"""What was asked for was tried and did not happen, as with a summarizer that does not answer."""
INTERRUPTED = 130
BROKEN_PIPE = 141
"""128 + the number of the signal, as a shell reports it."""
UNEXPECTED = 70
"""EX_SOFTWARE of sysexits.h."""


def main() -> None:
    """Run the command line with the arguments of the process, and exit."""
    raise SystemExit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code; nothing is raised, no traceback shown.

    0 all is well, 1 rules are broken or something would be lost, 2 bad input or wrong usage,
    3 what was asked for was tried and did not happen, 70 a bug of Foldaway, 130 interrupted,
    141 the reader of the output went away.
    """
    _tolerate_narrow_encodings()
    if COMPLETE_VARIABLE in os.environ:
        foldaway.main(list(arguments), "foldaway", COMPLETE_VARIABLE)
    try:
        code = _invoke(arguments)
        if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison]
            sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort):  # Abort at a question
        return say(f"stopped{how_to_continue(arguments)}", INTERRUPTED)
    except BrokenPipeError:
        _let_go_of_output()
        return BROKEN_PIPE
    except FoldawayError as error:
        return say(f"{error}")
    except MemoryError:
        return say("not enough memory for this input")
    except OSError as error:
        _let_go_of_output()
        return say(f"the output cannot be written ({error.strerror or error})")
    # The outer boundary: whatever else went wrong becomes one sentence.
    except Exception as error:  # noqa: BLE001
        return _report_unexpected(error)
    return code


def say(sentence: str, code: int = 2) -> int:
    """Print one sentence to standard error and return the exit code that goes with it."""
    line = " ".join(sentence.split())
    click.echo(f"foldaway: {line}", err=True)
    return code


_READ = "; what was read is kept, run the same command again for the rest"
_RESUMED = {
    "": _READ,
    "--json": _READ,
    "chat": "; what was said is kept, `foldaway chat --resume` continues it",
    "import": "; what was taken is kept, run the same command again for the rest",
    "lab run": "; finished sessions are kept, run the same command again to continue",
    "trajectories compress": "; finished shards are kept, run the same command again to continue",
    "usage": _READ,
    "watch": "; `foldaway watch` starts again",
}
"""How a command that was stopped is continued; the others have nothing to continue."""


def how_to_continue(arguments: Sequence[str]) -> str:
    """Return what is said to somebody who stopped a command."""
    called = " ".join([*arguments[:2], ""]) or " "
    return next((how for name, how in _RESUMED.items() if called.startswith(f"{name} ")), "")


COMPLETE_VARIABLE = "_FOLDAWAY_COMPLETE"
"""What a shell sets to ask for completions."""


class CommandGroup(click.Group):
    """A group that lists its commands in the order of the file, and shows its help without one."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, subcommand_metavar="[COMMAND] [ARGS]...", **options)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, in the order in which the commands are defined."""
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Show the help if nothing is named; that is not an error."""
        if not args and not ctx.resilient_parsing and not self.invoke_without_command:
            click.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is named, or fail with the names that are like it."""
        if args and not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            near = get_close_matches(args[0], self.list_commands(ctx), 3)
            hint = f" (did you mean {' or '.join(near)}?)" if near else ""
            ctx.fail(f"no command {args[0]!r}{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the names and the first line of their help, under their headings."""
        width = max(map(len, self.list_commands(ctx)))
        for title, names in self.headings(ctx).items():
            if not title:
                continue
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), self.sentence(name)) for name in names])

    def headings(self, ctx: click.Context) -> Mapping[str, Iterable[str]]:
        """Return the names under each heading of the help."""
        return {"Commands": self.list_commands(ctx)}

    def sentence(self, name: str) -> str:
        """Return what a command does."""
        return (self.commands[name].help or "").partition("\n")[0]


class LazyGroup(CommandGroup):
    """A group that imports a command only when it is called or asked for its options.

    Help does not list `aliases`: other names of commands at the top.
    """

    def __init__(
        self,
        *args: Any,
        groups: Mapping[str, Mapping[str, str]],
        load: Callable[[str], object],
        aliases: Mapping[str, str],
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self._groups, self._load, self._aliases = groups, load, aliases
        self._names = {name: does for group in groups.values() for name, does in group.items()}

    def headings(self, ctx: click.Context) -> Mapping[str, Iterable[str]]:
        """Return the names under each heading of the help."""
        return self._groups

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, in the order of the table."""
        return list(self._names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, imported now."""
        found = self._load(cmd_name) if cmd_name in self._names else None
        if found is None and cmd_name in self._aliases:
            found = load_command(self._aliases[cmd_name])
        return found if isinstance(found, click.Command) else None

    def sentence(self, name: str) -> str:
        """Return what a command does, from the table."""
        return self._names[name]


def load_command(name: str) -> object:
    """Return a command at the top by its name."""
    if name == "completion":
        return completion
    module = import_module(f"foldaway.cli.{_FILES.get(name, name)}")
    return getattr(module, _FUNCTIONS.get(name, name))


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted:
        return
    click.echo(f"foldaway {__version__}")
    context.exit()


def _log_to_stderr(context: click.Context, _: click.Parameter, level: str | None) -> None:
    """Write the records of Foldaway to standard error, for as long as the command runs."""
    if level is None:
        return
    import logging

    logger, handler = logging.getLogger("foldaway"), logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(level.upper())
    context.call_on_close(lambda: (logger.removeHandler(handler), logger.setLevel(before)))


def version_of(package: str) -> str:
    """Return the version of a package, "" if it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return ""


@click.group(
    cls=LazyGroup,
    groups=GROUPS,
    load=load_command,
    aliases={"compress": "compact"},
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 all is well, 1 rules are broken or something would be lost, "
    "2 bad input or wrong usage, 3 attempted, but failed.",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version and exit.",
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"], case_sensitive=False),
    metavar="LEVEL",
    envvar="FOLDAWAY_LOG_LEVEL",
    is_eager=True,
    expose_value=False,
    callback=_log_to_stderr,
    help="Write decisions to standard error: debug, info, warning or error.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Without a command: print the overview as JSON."
)
@click.pass_context
def foldaway(context: click.Context, as_json: bool) -> int:
    """Check, repair, compact and keep the conversations of LLM agents.

    Without a command it shows what the agents on this machine used and what could be saved. Nothing
    is imported, and nothing is sent.

    \b
    foldaway                                 what your agents used
    foldaway import                          import the sessions of your agents
    foldaway search "cannot use"             find a text in all of them
    foldaway compact session.json -o small.json
    foldaway check session.json              is it a list that the provider accepts?
    foldaway repair session.json -o out.json repair it without inventing content
    foldaway convert session.json --to anthropic -o out.json
    """
    if context.invoked_subcommand is not None:
        if as_json:
            raise click.UsageError("--json comes after the command", context)
        return 0
    show: Callable[..., int] = import_module("foldaway.cli.overview").show_overview
    return show(as_json=as_json)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print the completion script of a shell.

    \b
    eval "$(foldaway completion bash)"          in ~/.bashrc
    eval "$(foldaway completion zsh)"           in ~/.zshrc
    foldaway completion fish | source           in ~/.config/fish/config.fish
    """
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"No completion for {shell!r}")
    script = found(foldaway, {}, "foldaway", COMPLETE_VARIABLE)
    click.echo(script.source_template % script.source_vars())
    return 0


def _invoke(arguments: Sequence[str]) -> int:
    try:
        with foldaway.make_context("foldaway", list(arguments)) as context:
            code: object = foldaway.invoke(context)
            return code if isinstance(code, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.UsageError as error:
        called = error.ctx.command_path if error.ctx else _command_of(arguments)
        sentence = error.format_message().rstrip(".")
        for theirs, ours in _PLAINER.items():
            sentence = sentence.replace(theirs, ours)
        return say(f"{sentence}; see '{called} --help'")
    except click.ClickException as error:
        return say(error.format_message())


_PLAINER = {
    "is not a valid integer range": "is not a whole number",
    "is not a valid float range": "is not a number",
    ". (Did you mean": " (did you mean",
    "mean one of: ": "mean ",
}
"""Words of click that say less than they could."""


def _command_of(arguments: Sequence[str]) -> str:
    """Return the command that arguments begin with, as it is typed."""
    names: list[str] = ["foldaway"]
    command: click.Command | None = foldaway
    for word in arguments:
        if not isinstance(command, click.Group):
            break
        command = command.get_command(click.Context(command), word)
        names += [] if command is None else [word]
    return " ".join(names)


def _report_unexpected(error: Exception) -> int:
    if os.environ.get("FOLDAWAY_DEBUG"):
        traceback.print_exception(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = "/".join(last.filename.replace("\\", "/").split("/")[-2:])
    return say(
        f"unexpected {type(error).__name__} at {place}:{last.lineno}; this is a bug of Foldaway: "
        "please report it with what FOLDAWAY_DEBUG=1 prints",
        UNEXPECTED,
    )


_PLAIN = {
    "×": "x",
    "−": "-",
    "–": "-",
    "—": "-",
    "…": "...",
    "→": "->",
    "✓": "ok",
    "✗": "x",
    "·": ".",
    "“": '"',
    "”": '"',
    "‘": "'",
    "’": "'",
    "█": "#",
    "░": ".",
    "≤": "<=",
    "≥": ">=",
}
"""What a terminal without Unicode shows instead."""


def _tolerate_narrow_encodings() -> None:
    """Let characters that the terminal cannot show become plain ones or `?`, never an error.

    `LC_ALL=C` asks for plain output, though Python writes UTF-8 then, unless it is told to.
    """
    codecs.register_error("foldaway-plain", _write_plain)
    asks = os.environ.get("LC_ALL") in ("C", "POSIX")
    told = "PYTHONUTF8" in os.environ or "PYTHONIOENCODING" in os.environ
    options = {"encoding": "ascii"} if asks and not told else {}
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="foldaway-plain", **options)


def _write_plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(_PLAIN.get(char, "?") for char in text), error.end


def _let_go_of_output() -> None:
    """Point standard output at nothing, so that the interpreter's last flush is quiet."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())

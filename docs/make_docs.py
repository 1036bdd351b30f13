"""Write what the documentation takes from the program: records and pictures of real output.

The site takes the help texts as well; they are not in the repository.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from textwrap import fill, indent

import click
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

from foldaway import compress
from foldaway.cli import foldaway
from foldaway.transcript import Text as TextPart

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = 100
HELP = re.compile(r"^<!-- help: ?([a-z ]*) -->$", re.MULTILINE)
RECORD = re.compile(
    r"(<!-- record: (\S+) (\d+) (\d+) -->\n````text\n).*?(````\n<!-- end -->)", re.DOTALL
)
SHARED = "shared options"
SHARED_BY = 2
"""Options with the same help in this many commands are explained once, in the shared block."""
COMMENT = re.compile(r"<!--.*?-->\s*", re.DOTALL)
FONT = re.compile(r"@font-face \{\{.*?\}\}", re.DOTALL)


def main() -> None:
    """Write everything."""
    page = ROOT / "docs" / "summaries.md"
    page.write_text(with_records(page.read_text()))
    with tempfile.TemporaryDirectory() as scratch:
        out = os.path.join(scratch, "mended.json")
        picture("check", "check", "examples/broken-chat.json")
        repair = ("repair", "examples/broken-chat.json", "-o", out)
        picture("repair", *repair, hide=(out, "mended.json"))
        small = os.path.join(scratch, "small.json")
        compact = ("compact", "examples/session.json.gz", "-o", small, "--context-length", "64000")
        picture("compact", *compact, hide=(small, "small.json"))
        picture("inspect", "inspect", "examples/session.json.gz")
        home = Path(scratch, "home")
        for name in (".claude", ".codex", ".gemini"):
            (home / name).mkdir(parents=True)
        own = {"HOME": str(home), "PATH": "", "PYTHONUTF8": "1"}
        output("install", "claude-code", "--yes", env=own)
        picture("install-list", "install", "--list", env=own)
    for name in ("claude-code", "run"):  # recorded by bench/screens.py
        draw(name, Text.from_ansi((ROOT / f"docs/pictures/{name}.ansi").read_text("utf-8")))


def help_pages() -> list[Path]:
    """Return the pages with help texts: an index, and one for each group of commands."""
    return [ROOT / "docs" / "cli.md", *sorted(ROOT.glob("docs/cli/*.md"))]


def with_help(page: str) -> str:
    """Return the page with the help of each command in place of its marker."""

    def block(match: re.Match[str]) -> str:
        text = shared_help() if match[1] == SHARED else command_help(match[1])
        return f"```text\n{text}\n```"

    return HELP.sub(block, page)


def with_records(page: str) -> str:
    """Return the page with the record of each session between its markers."""
    return RECORD.sub(lambda match: f"{match[1]}{record(*match.group(2, 3, 4))}\n{match[5]}", page)


def record(session: str, cut: str, percent: str) -> str:
    """Return the summary that stands for older messages of a session, cut before a message."""
    with gzip.open(ROOT / "tests/lab/frozen/sessions.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    log = next(row["messages"] for row in rows if row["id"].startswith(session))[: int(cut)]
    tokens = compress(log, target_tokens=10**9).report.tokens_before
    small = compress(log, target_tokens=tokens * int(percent) // 100)
    texts = [part.text for message in small.transcript.messages for part in message.parts
             if isinstance(part, TextPart)]  # fmt: skip
    return next(text for text in texts if text.startswith("[foldaway summary"))


def command_help(path: str) -> str:
    """Return the help of a command at 80 columns, with its shared options by name only."""
    context = contexts()[path]
    command, formatter = context.command, click.HelpFormatter(width=78)
    own = [one for one in options(context) if one not in shared()]
    others = [one[0].split()[0].rstrip(",") for one in options(context) if one in shared()]
    command.format_usage(context, formatter)
    command.format_help_text(context, formatter)
    if own:
        with formatter.section("Options"):
            formatter.write_dl(own)
    if others[:-1]:
        names = fill(" ".join(others[:-1]), 76, break_on_hyphens=False)
        with formatter.section("Shared options"):
            formatter.write(indent(names, "  ") + "\n")
    if not path:
        foldaway.format_commands(context, formatter)
    command.format_epilog(context, formatter)
    return formatter.getvalue().rstrip()


def shared_help() -> str:
    """Return the options that many commands have, each with its help."""
    formatter = click.HelpFormatter(width=78)
    formatter.write_dl(shared())
    return formatter.getvalue().rstrip()


@cache
def shared() -> list[tuple[str, str]]:
    """Return the options that many commands have, by their names."""
    counted = Counter(one for context in contexts().values() for one in options(context))
    names: dict[str, tuple[str, str]] = {}
    for one, number in counted.most_common():
        if number >= SHARED_BY:
            names.setdefault(one[0], one)
    return sorted(names.values(), key=lambda one: one[0].lstrip("-").removeprefix("h, --"))


def options(context: click.Context) -> list[tuple[str, str]]:
    """Return the options of a command with their help; the last is --help."""
    return [
        record
        for one in context.command.get_params(context)
        if isinstance(one, click.Option) and (record := one.get_help_record(context))
    ]


@cache
def contexts() -> dict[str, click.Context]:
    """Return a context for every command and every command of a group, by what is typed."""
    found: dict[str, click.Context] = {}

    def visit(command: click.Command, path: str, parent: click.Context | None) -> None:
        name = path.split()[-1] if path else "foldaway"
        context = click.Context(command, parent, name, **command.context_settings)
        found[path] = context
        if isinstance(command, click.Group):
            for inner in command.list_commands(context):
                if child := command.get_command(context, inner):
                    visit(child, f"{path} {inner}".strip(), context)

    visit(foldaway, "", None)
    return found


def output(
    *arguments: str, colour: bool = False, columns: int = 80, env: Mapping[str, str] | None = None
) -> str:
    """Return what the real command prints, in our environment or a given one."""
    given = dict(os.environ if env is None else env)
    env = given | {"PYTHONPATH": str(ROOT / "src"), "COLUMNS": str(columns), "PYTHONUTF8": "1"}
    if colour:
        env |= {"FORCE_COLOR": "1", "COLORTERM": "truecolor", "TERM": "xterm-256color"}
    done = subprocess.run(
        [sys.executable, "-m", "foldaway", *arguments], cwd=ROOT, env=env,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.stderr:
        raise SystemExit(done.stderr)
    return done.stdout.rstrip()


def picture(
    name: str, *arguments: str, hide: tuple[str, str] = ("", ""),
    env: Mapping[str, str] | None = None,
) -> None:  # fmt: skip
    """Write a picture of what the real command prints."""
    shown = " ".join(arguments).replace(*hide) if hide[0] else " ".join(arguments)
    text = output(*arguments, colour=True, columns=COLUMNS, env=env)
    command = Text(f"$ foldaway {shown}", "bold")
    draw(name, command, Text.from_ansi(text.replace(*hide) if hide[0] else text))


def draw(name: str, *lines: Text) -> None:
    """Write a picture of a terminal."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    for one in lines:
        console.print(one)
    svg = console.export_svg(
        title="foldaway", code_format=FONT.sub("", CONSOLE_SVG_FORMAT), unique_id=name
    )
    target = ROOT / "docs" / "pictures" / f"{name}.svg"
    target.parent.mkdir(exist_ok=True)
    lines = re.sub(r"\s*\n\s*", "\n", COMMENT.sub("", svg))
    target.write_text(re.sub(r"\n(?=<rect|</clipPath>)", "", lines))


if __name__ == "__main__":
    main()

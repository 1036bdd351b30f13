"""Every block of the documentation does what it says.

Python runs, commands run, settings and JSON are read. What needs a server, a key or another program
is parsed instead, and `NOT_RUN` says why. `python tests/test_docs.py` lists every block with what
is done with it.
"""

from __future__ import annotations

import contextlib
import glob
import gzip
import io
import json
import os
import re
import runpy
import shlex
import sys
import tomllib
from collections.abc import Callable, Iterator
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest
from msgspec import Struct
from tests.testing.rows import each_row

from foldaway import Report, errors
from foldaway.cli import foldaway as GROUP  # noqa: N812 - a constant of this file
from foldaway.cli import run
from foldaway.config.sections import SECTIONS
from foldaway.sessions import Hit, ViewRow
from foldaway.sessions.exporting import Exported
from foldaway.usage import RequestRow, RequestTotals, SessionDetails

ROOT = Path(__file__).resolve().parent.parent
MAKE_DOCS = runpy.run_path(str(ROOT / "docs" / "make_docs.py"))
INSIDE = ("architecture.md", "decisions.md")
"""Pages for contributors, which are not on the site."""
NAV = re.compile(r"^ +- (?:.*: )?([\w./-]+\.md)$", re.MULTILINE)
NAVIGATION = NAV.findall((ROOT / "mkdocs.yml").read_text())
FENCE = re.compile(r"^( *)(`{3,})(\w*)$")
REFERENCE = "fa-0123456789"
"""Stands for a reference of the file of originals that the command names."""
SAID = {"--workers 8": "--workers 1"}
"""What is typed otherwise here: eight processes take seconds to start."""

NOT_RUN = {
    r"^foldaway (open|serve|mcp|watch)\b(?!.*--once)": "goes on until it is stopped",
    r"^foldaway chat\b": "talks to a person; tests/agents/chat does",
    r"^foldaway run ": "starts another program; tests/agents/running does",
    r"^foldaway install\b(?!.*--)": "asks before it writes",
    r"--(summarizer|native) ": "asks a model",
    r"--engine ray": "needs a cluster",
    r"^foldaway lab ": "takes minutes; tests/cli and tests/lab run it",
    r"FILE|OUT\.jsonl|\.\./shared/": "names files that only the benchmarks have",
}
"""Commands of the program that are only parsed, and why."""
OTHERS = {
    "pip": "installs packages; the extras that it names exist",
    "make": "takes minutes; the target exists",
    "python": "is run by tests/test_examples.py or by hand; script and options exist",
    "curl": "needs a gateway; the page about REST has the address",
    "claude": "another program",
    "cline": "another program",
    "export": "sets a variable",
    "docker": "is not on every machine; tests/test_project.py reads the Dockerfile",
    "open": "another program",
    "uvicorn": "a server; tests/test_examples.py starts it",
}
"""Programs that are not ours, and what is done with them."""
BEFORE = {
    "docs/operations.md": ("foldaway import",),
    "docs/erasure.md": ("foldaway import", "foldaway sessions backup backup.db"),
}
"""What a page takes for granted."""
RUN_BY_OTHERS = {"py": "tests/test_examples.py or tests/frameworks/run.py: a script runs there"}
"""Languages of blocks that another test runs."""


class Block(NamedTuple):
    """A fenced block: where it is, what it is, and its text."""

    line: int
    language: str
    text: str


class Command(NamedTuple):
    """One command as it is typed, and the lines that are shown as its output."""

    typed: str
    shown: tuple[str, ...] = ()

    @property
    def words(self) -> list[str]:
        """What the shell makes of it, up to a pipe, without variables before it."""
        found = shlex.split(self.typed, comments=True)
        while found and re.match(r"[A-Z_]+=", found[0]):
            del found[0]
        ends = [at for at, word in enumerate(found) if word in ("|", ">", "<")]
        return found[: ends[0]] if ends else found

    @property
    def reason(self) -> str:
        """Why it is not run; "" if it is."""
        program = Path(self.words[0]).name
        if program != "foldaway":
            assert program in OTHERS, f"{program}: say in OTHERS what is done with it"
            return OTHERS[program]
        typed = f"{shlex.join(self.words)} "
        return next((why for found, why in NOT_RUN.items() if re.search(found, typed)), "")


def pages() -> list[Path]:
    """Return every page of the navigation, README.md, and the notes on measurements."""
    top = ROOT / "docs"
    names = (*NAVIGATION, *INSIDE)
    docs = [top / name if (top / name).exists() else ROOT / name for name in names]
    docs.append(ROOT / "bench" / "README.md")
    notes = sorted({*ROOT.glob("bench/**/*.md")} - set(docs))
    notes = [one for one in notes if "/." not in one.relative_to(ROOT).as_posix()]
    return [ROOT / "README.md", *notes, *docs]


def blocks(page: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a page; one without a language is for the shell."""
    lines = page.read_text().splitlines()
    at = 0
    while at < len(lines):
        if opened := FENCE.match(lines[at]):
            end = lines.index(opened[1] + opened[2], at + 1)
            inside = (line.removeprefix(opened[1]) for line in lines[at + 1 : end])
            yield Block(at + 1, opened[3] or "sh", "\n".join(inside))
            at = end
        at += 1


def commands(block: Block) -> list[Command]:
    """Return the commands of a block, for a console with the lines that follow each."""
    text = block.text.replace("\\\n", " ")
    if block.language == "sh":
        return [Command(line) for line in text.splitlines() if shlex.split(line, comments=True)]
    return [
        Command(typed, tuple(shown))
        for typed, *shown in (one.splitlines() for one in re.split(r"^\$ ", text, flags=re.M)[1:])
    ]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_every_block_of_a_page_does_what_it_says(page: Path, folder: Path) -> None:
    """In their order, in one folder with a home of its own; nothing is skipped silently."""
    for typed in BEFORE.get(name_of(page), ()):
        run_command(Command(typed))
    for block in blocks(page):
        try:
            DONE[block.language](block)
        except Exception as error:
            error.add_note(f"{name_of(page)}:{block.line}")
            raise


def run_python(block: Block) -> None:
    exec(compile(block.text, f"block at line {block.line}", "exec"), {"__name__": "__main__"})


def run_commands(block: Block) -> None:
    for command in commands(block):
        check_command(command)
        if not command.reason:
            said = run_command(command)
            for line in command.shown:
                assert_shown(line, said)


def read_json(block: Block) -> None:
    try:
        json.loads(block.text)
    except json.JSONDecodeError:
        for line in block.text.splitlines():
            json.loads(line)


def read_toml(block: Block) -> None:
    """Settings are checked by the program, rules by the redactor."""
    found = tomllib.loads(block.text)
    Path("block.toml").write_text(block.text)
    if set(found) <= set(SECTIONS):
        run_command(Command("foldaway config check block.toml"))
    elif "rule" in found:
        run_command(Command("foldaway redact --rules block.toml --check session.json"), {0, 1})
    else:
        assert set(found) == {"project"}


def look_at_text(block: Block) -> None:
    """Output and drawings have no commands; those of help texts are parsed by another test."""
    assert not re.search(r"^\$ ", block.text, re.MULTILINE), "the language of this block is console"


def leave_to_others(_: Block) -> None:
    """Another test runs it: `RUN_BY_OTHERS`."""


DONE: dict[str, Callable[[Block], None]] = {
    "python": run_python, "sh": run_commands, "console": run_commands, "json": read_json,
    "toml": read_toml, "text": look_at_text, **dict.fromkeys(RUN_BY_OTHERS, leave_to_others),
}  # fmt: skip


def run_command(command: Command, codes: frozenset[int] | set[int] = frozenset({0})) -> str:
    """Return what a command of the program prints; it must end well."""
    typed = command.typed
    for other, here in SAID.items():
        typed = typed.replace(other, here)
    words = Command(typed).words[1:]
    if REFERENCE in words:
        kept = Path(words[words.index("--originals") + 1]).read_text()
        words[words.index(REFERENCE)] = re.findall(r"fa-[0-9a-f]{10}", kept)[0]
    words = [one for word in words for one in sorted(glob.glob(word)) or [word]]
    said, wrong = io.BytesIO(), io.StringIO()
    printed = io.TextIOWrapper(said, encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(wrong):
        code = run([os.path.expanduser(word) for word in words])
    text = said.getvalue().decode()
    assert code in codes, f"{command.typed}: {code}\n{text}{wrong.getvalue()}"
    return text


def check_command(command: Command) -> None:
    """A command, its options, script, target or extras exist."""
    program, *arguments = command.words
    match Path(program).name:
        case "foldaway":
            parse(arguments)
        case "pip":
            extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
            for named in re.findall(r"(?:foldaway|\.)\[([\w,-]+)\]", command.typed):
                assert set(named.split(",")) <= set(extras["optional-dependencies"]), named
        case "make":
            made = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
            assert arguments[0] in made, arguments
        case "python" if arguments[0] != "-c":
            source = (ROOT / arguments[0]).read_text()
            options = [one for one in arguments if re.match(r"--[a-z-]+$", one)]
            assert [one for one in options if f'"{one}"' not in source] == [], command.typed
        case "curl":
            address = next(word for word in arguments if "://" in word)
            path = re.sub(r"/\d{8}-[^/]*", "/{id}", address.partition("8787")[2].partition("?")[0])
            assert f" {path}`" in (ROOT / "docs" / "gateway-api.md").read_text()
        case _:
            pass


def parse(arguments: list[str], wrong: type[click.UsageError] = click.UsageError) -> None:
    """Fail with the sentence of the program if a command or an option does not exist."""
    command: click.Command = GROUP
    context = click.Context(command, info_name="foldaway", **GROUP.context_settings)
    while isinstance(command, click.Group) and arguments and not arguments[0].startswith("-"):
        name, *arguments = arguments
        found = command.get_command(context, name)
        assert found is not None, f"no command {name!r}"
        command = found
        context = click.Context(found, context, name, **found.context_settings)
    try:
        command.make_parser(context).parse_args(list(arguments))
    except click.UsageError as error:
        if isinstance(error, wrong):
            raise AssertionError(f"{context.command_path}: {error.format_message()}") from None


def assert_shown(line: str, said: str) -> None:
    """The pieces of a line, between `…`, are in the output."""
    flat = " ".join(said.split())
    for piece in line.split("…"):
        assert " ".join(piece.split()) in flat, f"{piece!r} is not in\n{said}"


INLINE = re.compile(r"`((?:[A-Z_]+=\S+ )?foldaway [a-z][^`…]*)`")
HELP = re.compile(r"^  (foldaway [a-z].*)$", re.MULTILINE)
SEARCHED = re.compile(r'^ *(?:foldaway|step) search "([^"]*)"', re.MULTILINE)
HISTORY = ("CHANGELOG.md",)
"""Pages that name what is no more."""


@each_row("page", pages(), ids=name_of)
def test_every_command_that_a_page_names_exists(page: Path) -> None:
    """In its sentences and tables."""
    for typed in [] if name_of(page) in HISTORY else INLINE.findall(page.read_text()):
        parse(Command(typed).words[1:], click.NoSuchOption)


def test_every_example_of_the_help_can_be_typed() -> None:
    """Its command and options exist."""
    contexts = MAKE_DOCS["contexts"]()
    for path in contexts:
        text = MAKE_DOCS["command_help"](path).replace("\\\n", " ")
        for typed in HELP.findall(text):
            parse(Command(re.split(r"   +", typed)[0]).words[1:], click.NoSuchOption)


def test_what_is_searched_in_examples_is_in_the_session_of_the_demo() -> None:
    """Whoever types a search of README, help or a start page after `make demo` finds something."""
    pages = [ROOT / "README.md", *ROOT.glob("docs/cli*.md"), *ROOT.glob("docs/start-*.md")]
    pages += ROOT.glob("docs/cli/*.md")
    pages += [ROOT / "docs" / "sessions.md", ROOT / "examples" / "demo.sh"]
    found = {
        phrase: page.name
        for page in pages
        for phrase in re.findall(SEARCHED, MAKE_DOCS["with_help"](page.read_text()))
    }
    session = gzip.decompress((ROOT / "examples" / "session.json.gz").read_bytes()).decode().lower()
    assert found
    assert {phrase: page for phrase, page in found.items() if phrase.lower() not in session} == {}


def test_the_navigation_has_every_page_of_the_site_once() -> None:
    """`make docs` fails on a page that mkdocs.yml does not name; this says so without MkDocs."""
    hooks = runpy.run_path(str(ROOT / "docs" / "site_hooks.py"))
    within = [path.relative_to(ROOT / "docs").as_posix() for path in ROOT.glob("docs/**/*.md")]
    outside = [name for name in hooks["outside_files"]() if name.endswith(".md")]
    assert [name for name in within + outside if name not in (*NAVIGATION, *INSIDE)] == []
    assert sorted((*NAVIGATION, *INSIDE)) == sorted(within + outside)


def test_the_first_page_leads_to_every_page_of_its_folder() -> None:
    """Its list is complete; the pages of agents are behind the page about hooks."""
    linked = set(re.findall(r"\]\(([\w-]+\.md)", (ROOT / "docs" / "index.md").read_text()))
    there = {path.name for path in (ROOT / "docs").glob("*.md")} - {"index.md"}
    assert sorted(there - linked) == []


def test_every_reason_is_needed() -> None:
    """No reason stays when the last command that had it goes."""
    given = [command for page in pages() for block in blocks(page)
             if DONE[block.language] is run_commands for command in commands(block)]  # fmt: skip
    used = {command.reason for command in given}
    assert [why for why in (*NOT_RUN.values(), *OTHERS.values()) if why not in used] == []
    languages = {block.language for page in pages() for block in blocks(page)}
    assert set(RUN_BY_OTHERS) <= languages


def test_the_documentation_stays_short() -> None:
    """What is in docs/, and what the site shows of it with the help of every command."""
    texts = {path: path.read_text() for path in ROOT.glob("docs/**/*.md")}
    assert sum(len(text.split()) for text in texts.values()) <= 45_000
    shown = (
        MAKE_DOCS["with_help"](text) for path, text in texts.items() if path.name not in INSIDE
    )
    assert sum(len(text.split()) for text in shown) <= 55_000


def test_the_readme_begins_with_what_is_best() -> None:
    """Two commands, the picture, and what survives beside others, in 25 lines; the figures are
    those of the note that it names."""
    lines = (ROOT / "README.md").read_text().splitlines()[:25]
    text = "\n".join(lines)
    parts = ("```\nfoldaway run claude ", "\nmake demo ", "![foldaway compact", "| Foldaway |")
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    note = (ROOT / "bench" / "notes" / "worth.md").read_text()
    assert "](bench/notes/worth.md)" in text
    rows = [line for line in lines if re.search(r" % \|", line)]
    assert len(rows) == 3
    assert [row for row in rows if row not in note.splitlines()] == []


def test_a_page_compares_run_serve_and_install() -> None:
    """In a table, in at most 250 words; the start page for agents links it."""
    page = (ROOT / "docs" / "run-serve-install.md").read_text()
    assert len(page.split()) <= 250
    for row in ("changes", "cannot", "go back"):
        assert re.search(rf"^\| {row} \|(?: [^|]+ \|){{3}}$", page, re.MULTILINE), row
    assert "](run-serve-install.md)" in (ROOT / "docs" / "start-agents.md").read_text()


def test_the_page_of_settings_has_every_key_with_its_default() -> None:
    """A setting that nobody documents is not a setting."""
    (text,) = (one.text for one in blocks(ROOT / "docs" / "settings.md") if one.language == "toml")
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        run(["config", "schema"])
    schema = json.loads(said.getvalue())["properties"]
    defaults = {
        section: {name: one["default"] for name, one in found["properties"].items()
                  if one.get("default") is not None}
        for section, found in schema.items()
    }  # fmt: skip
    assert tomllib.loads(text) == defaults
    for section, found in schema.items():
        assert [name for name in found["properties"] if name not in text] == [], section


def test_the_page_of_errors_has_every_error_with_its_attributes() -> None:
    """Each that is raised has a row, and what the row names can be read from it."""
    page = (ROOT / "docs" / "errors.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|", page, re.MULTILINE))
    kinds = {name: getattr(errors, name) for name in errors.__all__}
    assert set(rows) == {name for name, kind in kinds.items() if "__init__" in vars(kind)}
    for name, cell in rows.items():
        assert set(re.findall(r"`(\w+)`", cell)) <= set(signature(kinds[name]).parameters), name


PRINTED: dict[tuple[str, str], tuple[type[Struct], ...]] = {
    ("cli/keep.md", "### sessions show"): (SessionDetails, ViewRow, RequestRow, RequestTotals),
    ("cli/keep.md", "### sessions export"): (Exported,),
    ("cli/keep.md", "## search"): (Hit,),
    ("compaction.md", "## The report"): (Report,),
}
"""What commands print for programs, and where it is described."""


def test_every_field_that_is_printed_for_programs_is_described() -> None:
    """By its name; `data` of an export is what is written."""
    for (page, heading), kinds in PRINTED.items():
        section = (ROOT / "docs" / page).read_text().partition(f"\n{heading}\n")[2]
        named = set(re.findall(r"`(\w+)`", section.partition("\n#")[0])) | {"data"}
        found = {name for kind in kinds for name in kind.__struct_fields__}
        assert found - named == set(), (page, heading)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with the files that the pages name, and a home with one agent."""
    work, home = tmp_path / "work", tmp_path / "home"
    (work / "runs").mkdir(parents=True)
    for name in list(os.environ):
        if name.startswith(("FOLDAWAY_", "XDG_")):
            monkeypatch.delenv(name)
    for name, value in {"HOME": home, "FOLDAWAY_HOME": home / "kept", "EDITOR": "true",
                        "COLUMNS": 80, "XDG_CONFIG_HOME": home / "config"}.items():  # fmt: skip
        monkeypatch.setenv(name, str(value))
    monkeypatch.chdir(work)
    (work / "examples").symlink_to(ROOT / "examples")
    session = gzip.decompress((ROOT / "examples" / "session.json.gz").read_bytes())
    (work / "session.json").write_bytes(session)
    projects = home / ".claude" / "projects" / "shop"
    projects.mkdir(parents=True)
    lines = "".join(f"{json.dumps(line)}\n" for line in agent_lines())
    for path in (work / "session.jsonl", projects / "one.jsonl"):
        path.write_text(lines)
    record = {"conversations": [{"from": "human", "value": "Go."}, {"from": "gpt", "value": "Ok"}]}
    (work / "runs" / "runs.jsonl").write_text(f"{json.dumps(record)}\n" * 3)
    return work


def agent_lines() -> Iterator[dict[str, Any]]:
    """Yield a session of Claude Code with an error of a compiler, long enough to compact."""
    before = None
    for number in range(120):
        asked = number % 2 == 0
        text = f"Why cannot use x{number}? " if asked else f"The type of x{number} differs. "
        said: dict[str, Any] = {"role": "user" if asked else "assistant", "content": text * 40}
        if not asked:
            said |= {"model": "claude-sonnet-4-5", "id": f"msg_{number}", "usage": {
                "input_tokens": 900, "output_tokens": 80, "cache_read_input_tokens": 100 * number,
                "cache_creation_input_tokens": 90}}  # fmt: skip
        yield {
            "type": said["role"], "uuid": f"u{number}", "parentUuid": before, "sessionId": "s1",
            "timestamp": f"2026-11-15T12:{number // 2:02}:{number % 2:02}.000Z", "cwd": "/home/me",
            "isSidechain": False, "version": "2.1.7", "message": said,
        }  # fmt: skip
        before = f"u{number}"


def done_with(block: Block) -> Iterator[tuple[str, str]]:
    """Yield what is done with a block, or with each of its commands."""
    if DONE[block.language] is not run_commands:
        done = DONE[block.language].__name__.replace("_", " ")
        yield RUN_BY_OTHERS.get(block.language, done), block.text.partition("\n")[0]
    else:
        for command in commands(block):
            yield f"not run: {command.reason}" if command.reason else "run", command.typed


if __name__ == "__main__":
    for page in pages():
        for block in blocks(page):
            for done, what in done_with(block):
                sys.stdout.write(f"{name_of(page)}:{block.line}  {done}  {what[:60]}\n")

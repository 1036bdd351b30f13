"""convert, rules, completion, help: and every command and option in the documentation."""

from __future__ import annotations

import gzip
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from tests.testing.rows import each_row

from foldaway.cli import GROUPS
from foldaway.cli import foldaway as GROUP  # noqa: N812 - a constant of this file
from foldaway.dialects.profiles import PROFILES

ROOT = Path(__file__).resolve().parents[2]
CHAT = [
    {"role": "user", "content": "list it"},
    {"role": "assistant", "content": "I look.", "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "ls", "arguments": '{"path":"."}'}}]},
    {"role": "tool", "tool_call_id": "a", "content": "README.md"},
    {"role": "assistant", "content": "One file."},
]  # fmt: skip
LOSSY = [{"role": "user", "content": "hi", "private_note": {"keep": "me"}}]


def test_convert_writes_the_other_dialect(foldaway: Any, put: Any, tmp_path: Path) -> None:
    """What was converted is read as the dialect that was asked for, and is valid there."""
    out = tmp_path / "out.json"
    seen = foldaway("convert", "--json", put("c.json", CHAT), "--to", "anthropic", "-o", out)
    (report,) = seen.reports
    assert (seen.code, report["lossless"], report["losses"]) == (0, True, [])
    assert (report["dialect"], report["to"], report["output"]) == (
        "openai-chat", "anthropic", str(out),
    )  # fmt: skip
    (checked,) = foldaway("check", "--json", out).reports
    assert (checked["valid"], checked["dialect"]) == (True, "anthropic")


def test_convert_refuses_what_would_be_lost(foldaway: Any, put: Any, tmp_path: Path) -> None:
    """Losses are listed, nothing is written, exit 1; --allow-loss goes on."""
    path, out = put("c.json", LOSSY), tmp_path / "out.json"
    seen = foldaway("convert", path, "--to", "gemini", "-o", out)
    assert (seen.code, seen.out) == (1, b"")
    assert "nothing was written" in seen.err
    assert "--allow-loss" in seen.err
    assert not out.exists()
    (report,) = foldaway("convert", "--json", path, "--to", "gemini", "-o", out).reports
    assert (report["output"], report["lossless"]) == (None, False)
    assert report["losses"][0]["path"].startswith("$[0]")
    assert not out.exists()
    assert foldaway("convert", path, "--to", "gemini", "--allow-loss", "-o", out).code == 0
    assert json.loads(out.read_bytes())


def test_convert_to_its_own_dialect_keeps_the_bytes(foldaway: Any, put: Any) -> None:
    """There is nothing to convert."""
    data = json.dumps(CHAT, indent=3).encode()
    seen = foldaway("convert", put("c.json", data), "--to", "openai-chat")
    assert (seen.code, seen.out) == (0, data)


def test_convert_keeps_the_layout_of_the_file(foldaway: Any, put: Any, tmp_path: Path) -> None:
    """A transcript a line stays a transcript a line, and the report goes beside it."""
    line = json.dumps({"messages": CHAT}).encode() + b"\n"
    out = tmp_path / "out.jsonl.gz"
    path = put("c.jsonl", line * 3)
    assert foldaway("convert", path, "--to", "openai-responses", "-o", out).code == 0
    assert len(gzip.decompress(out.read_bytes()).splitlines()) == 3
    (report,) = foldaway("check", "--json", out).reports
    assert (report["dialect"], report["transcripts"]) == ("openai-responses", 3)
    seen = foldaway("convert", "--json", path, "--to", "openai-responses")
    assert len(seen.out.splitlines()) == 3
    assert json.loads(seen.err)["output"] == "-"


@pytest.mark.parametrize("provider", PROFILES)
def test_rules_are_listed_with_their_sentence(foldaway: Any, provider: str) -> None:
    """Every rule of a provider is there, by name."""
    seen = foldaway("rules", provider)
    assert seen.code == 0
    assert all(rule.name in seen.text for rule in PROFILES[provider].rules)
    (report,) = foldaway("rules", "--json", provider).reports
    assert [rule["name"] for rule in report["rules"]] == [
        rule.name for rule in PROFILES[provider].rules
    ]
    assert all(rule["states"] for rule in report["rules"])


def test_rules_without_a_provider_lists_all(foldaway: Any) -> None:
    """One object for each provider."""
    reports = foldaway("rules", "--json").reports
    assert [report["provider"] for report in reports] == list(PROFILES)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_the_script_of_a_shell(foldaway: Any, shell: str) -> None:
    """The script asks the program itself for the words."""
    seen = foldaway("completion", shell)
    assert (seen.code, seen.err) == (0, "")
    assert f"_FOLDAWAY_COMPLETE={shell}_complete" in seen.text


def test_the_program_answers_the_shell() -> None:
    """What the script asks for is answered: commands, options, names of dialects."""
    asked = {"COMP_WORDS": "foldaway convert x --to open", "COMP_CWORD": "4"}
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **asked}
    done = subprocess.run(
        [sys.executable, "-c", "from foldaway.cli import main; main()"],
        env={**env, "_FOLDAWAY_COMPLETE": "bash_complete"}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.stdout.split() == ["plain,openai-chat", "plain,openai-responses"]


def test_the_version_is_printed(foldaway: Any) -> None:
    """`--version` names the program and its version."""
    seen = foldaway("--version")
    assert seen.code == 0
    assert re.fullmatch(r"foldaway (\d+\.\d+\.\d+\S*|\(not installed\))\n", seen.text)


def _paths() -> list[str]:
    """Every command and every command of a group, as they are typed."""
    found = [name for group in GROUPS.values() for name in group]
    for name in tuple(found):
        command = GROUP.get_command(click.Context(GROUP), name)
        if isinstance(command, click.Group):
            found += [f"{name} {inner}" for inner in command.list_commands(click.Context(command))]
    return found


def test_help_groups_the_commands(foldaway: Any) -> None:
    """In six groups by what they are for, at most 28; what programs call, and what another command
    names, is not listed, and works.
    """
    text = foldaway("--help").text
    *groups, (title, hidden) = GROUPS.items()
    places = [text.index(f"\n{name}:\n") for name, _ in groups]
    assert (title, len(groups), places) == ("", 6, sorted(places))
    assert sum(len(names) for _, names in groups) <= 28
    assert not re.search(rf"^  ({'|'.join(hidden)}) ", text, re.M)
    assert all(foldaway(name, "--help").code == 0 for name in hidden)


def test_every_command_has_its_place_in_the_documents_and_an_example() -> None:
    """`make docs` puts its help there."""
    make_docs = runpy.run_path(str(ROOT / "docs" / "make_docs.py"))
    pages = [page.read_text() for page in make_docs["help_pages"]()]
    found = [name for page in pages for name in make_docs["HELP"].findall(page)]
    assert sorted(found) == sorted(["", make_docs["SHARED"], *_paths()])
    helps = {path: make_docs["command_help"](path) for path in _paths()}
    below = {path: text.partition("\n")[2] for path, text in helps.items()}
    without = [path for path, text in below.items() if f"foldaway {path}" not in text]
    assert without == ["lab strategies"]
    page = make_docs["with_help"]("<!-- help: undo -->\n")
    assert page == f"```text\n{helps['undo']}\n```\n"


def test_the_commands_of_a_group_are_on_its_page() -> None:
    """docs/cli.md links each; none of its pages is longer than 4,000 words."""
    index = (ROOT / "docs" / "cli.md").read_text()
    pages = {path.stem: path.read_text() for path in ROOT.glob("docs/cli/*.md")}
    assert set(pages) == {*(name.lower() for name in GROUPS if name), "programs"}
    assert max(len(page.split()) for page in (index, *pages.values())) <= 4_000
    linked = re.findall(r"\[([\w-]+)\]\(cli/(\w+)\.md#([\w-]+)\)", index)
    names = sorted(name for group in GROUPS.values() for name in group)
    assert sorted(name for name, *_ in linked) == names
    for name, page, anchor in linked:
        assert name == anchor
        assert f"\n## {name}\n" in pages[page]
        assert name in (*GROUPS.get(page.capitalize(), ()), *GROUPS[""])


@each_row("path", _paths())
def test_every_option_says_what_it_does(path: str) -> None:
    """No option without help; the group's line is the first line of the command's own help."""
    *outer, name = path.split()
    group: Any = GROUP.get_command(click.Context(GROUP), outer[0]) if outer else GROUP
    found = group.get_command(click.Context(group), name)
    assert found is not None
    assert (found.help or "").splitlines()[0] == group.sentence(name)
    assert all(option.help for option in found.params if isinstance(option, click.Option))

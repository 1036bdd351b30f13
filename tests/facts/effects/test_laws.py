"""Laws of the shell reading: total, linear, compositional, faithful to names."""

from __future__ import annotations

import shlex
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.facts.effects.calls import effects_of_call
from foldaway.facts.effects.effect import Effect, effects_of_patch
from foldaway.facts.effects.run import effects_of_command

SHELLISH = st.text(st.sampled_from("ab 1/.-=~*'\"\\$`|&;<>(){}[]#!,\n\t\rrmEOF\x00é\ud800"))
PIECES = st.lists(
    st.sampled_from(
        ["rm ", "a", "'b c'", " | ", " && ", "; ", "\n", "$(", ")", "<<EOF", "EOF\n", "> f ", "`",
         "cd d", " if ", "done", "for x in 1 2; do ", "[[ ", "case x in ", "2>&1 ", "{a,b}", '"',
         "bash -c ", "sed -i ", "git commit -m ", "$x", "${y}", "x=1 ", "&", "\\"]
    ),
    max_size=25,
).map("".join)  # fmt: skip
NAMES = st.text(st.characters(exclude_characters="\x00"), min_size=1, max_size=30)
SIMPLE = st.sampled_from(
    ["rm a", "mv 'b c' d", "echo hi > e", "cat > f <<'EOF'\nrm x\nEOF", "sed -i s/a/b/ g", "ls",
     "git commit -m 'x; rm y'", "(cd k; rm l)", "cat m | head -5", "if true; then touch n; fi",
     "npm start &", "for i in 1 2; do touch $i; done", "make 2>&1 | tail -3", "# rm o"]
)  # fmt: skip
HOSTILE = {
    name: unit * (200_000 // len(unit))
    for name, unit in {
        "substitutions": "$(", "quoted substitutions": '"$(', "backticks": "`", "doubles": '"',
        "singles": "'", "parentheses": "(", "calls": "a(", "braces": "{a,", "choices": "{a,b}",
        "backslashes": "\\", "parameters": "${", "sums": "$((", "heredocs": "<<A ",
        "heredoc lines": "cat <<A\n", "background": "a&", "greater": ">", "targets": ">f ",
        "pipes": "|", "tests": "[[ ", "cases": "case x in a) ", "loops": "for a in b c; do ",
        "processes": "<(", "shells": "bash -c '", "ansi": "$'", "edits": "edit 1:1\n",
        "ended edits": "edit 1:1\nend_of_edit", "directories": "cd a;", "up": "cd ..;",
        "moves and removes": "cd a;rm b;", "assignments": "a=$a$a;", "variables": '"$a"',
        "wrappers": "xargs sudo ", "finds": "find -exec ", "joined": "a\\\n", "blank": "\n",
    }.items()
} | {
    "doubling": "a=x;" + "a=$a$a;" * 60 + "rm $a",
    "nested loops": "for a in 1 2 3 4 5 6 7 8; do " * 500 + "rm $a;" + "done;" * 500,
    "tabbed heredoc": "cat <<-A\n" + "\t\n" * 100_000,
    "almost the end": "cat <<A\n" + "A)x\n" * 50_000,
    "python": "python - <<A\nopen(\n" + "open(" * 40_000,
    "python list": "python - <<A\nopen(\nfor x in [" + "'a'," * 50_000,
    "one path": "cd /x; rm " + "../" * 60_000,
}  # fmt: skip
HOSTILE_PATCHES = {
    "unified": "--- a\n+++ b\n" * 20_000,
    "envelope": "*** Add File: a\n" * 15_000,
    "moves": "*** Update File: a\n*** Move to: b\n" * 6_000,
    "git": "diff --git a/x b/x\n" * 10_000,
    "hunks": "--- a\n+++ b\n" + "@@ -1,2 +1,2 @@\n" * 12_000,
    "stars": "*** " * 50_000,
    "quoted": 'diff --git "' + "\\" * 200_000,
}


@given(st.one_of(SHELLISH, PIECES, st.text()))
def test_reading_never_raises(text: str) -> None:
    """Any text has effects, perhaps none, as a command, as a patch and as an argument."""
    assert all(isinstance(effect, Effect) for effect in effects_of_command(text))
    assert all(isinstance(effect, Effect) for effect in effects_of_patch(text))
    for name in ("bash", "apply_patch", "edit", "python"):
        arguments = {"command": text, "input": text, "path": text, "code": text}
        assert all(isinstance(effect, Effect) for effect in effects_of_call(name, arguments))


@given(NAMES)
def test_a_quoted_name_comes_back_whole(name: str) -> None:
    """What `shlex.quote` writes is read as exactly that name, wherever it stands."""
    quoted = shlex.quote(name)
    assert effects_of_command(f"rm -- {quoted}") == (Effect("delete", name),)
    if not name.startswith(("/dev/", "/proc/")):
        assert effects_of_command(f"echo x >{quoted} y") == (Effect("write", name),)
    assert effects_of_command(f'f={quoted}; rm -- "$f"') == (Effect("delete", name),)
    assert effects_of_command(f"bash -c {shlex.quote(f'rm -- {quoted}')}") == (
        Effect("delete", name),
    )


@given(st.lists(SIMPLE, max_size=6), st.lists(SIMPLE, max_size=6))
def test_commands_one_after_the_other_add_up(first: list[str], second: list[str]) -> None:
    """Where no directory is changed, two texts on lines of their own do what each does."""
    a, b = "\n".join(first), "\n".join(second)
    assert effects_of_command(f"{a}\n{b}") == effects_of_command(a) + effects_of_command(b)


@given(SIMPLE)
def test_a_nested_shell_does_the_same(command: str) -> None:
    """A text given to another shell has the effects that it has on its own."""
    nested = effects_of_command(f"bash -lc {shlex.quote(command)}")
    assert nested == effects_of_command(command)


@pytest.mark.slow
@pytest.mark.parametrize("part", [4, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_commands_take_linear_time(name: str, part: int) -> None:
    """200 KB of the worst take seconds at most; quadratic work would take minutes. Elsewhere than
    in the soak it is a part of that, in the same part of the time.
    """
    text = HOSTILE[name]
    started = time.process_time()
    effects_of_command(text[: len(text) // part])
    assert time.process_time() - started < 5 / part


@each_row("name", HOSTILE_PATCHES)
def test_hostile_patches_take_linear_time(name: str) -> None:
    """The same for patches."""
    started = time.process_time()
    effects_of_patch(HOSTILE_PATCHES[name])
    assert time.process_time() - started < 5

"""The command line as a process of its own: every exit code, signals, pipes, a full disk."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from tests.testing.rows import each_row

from foldaway import cli

SOURCE = Path(__file__).resolve().parents[2] / "src"
FINE = b'[{"role":"user","content":"hi"}]'
ORPHAN = b'[{"role":"user","content":"hi"},{"role":"tool","tool_call_id":"x","content":"y"}]'
LONG_ORPHAN = json.dumps([{"role": "user", "content": "x" * 5000}, *json.loads(ORPHAN)]).encode()


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONUTF8": "1", **more}


def test_zero_for_a_valid_transcript(process: Any, put: Any) -> None:
    """Exit 0: the provider takes it."""
    seen = process("check", put("fine.json", FINE))
    assert (seen.code, seen.err) == (0, "")
    assert "valid" in seen.text


def test_one_for_a_broken_transcript(process: Any, put: Any) -> None:
    """Exit 1: rules are broken."""
    seen = process("check", put("broken.json", ORPHAN))
    assert (seen.code, seen.err) == (1, "")
    assert "result-has-call" in seen.text


@pytest.mark.slow
def test_two_for_what_is_no_transcript(process: Any, put: Any) -> None:
    """Exit 2: not readable, in one sentence."""
    seen = process("check", put("bad.json", b"["))
    assert (seen.code, seen.out) == (2, b"")
    assert seen.err.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("check",),
        ("chekc", "x"),
        ("check", "--provider", "nobody", "x.json"),
        ("check", "--provider", "strict", "--dialect", "gemini", "x.json"),
        ("convert", "x.json"),
        ("convert", "x.json", "--to", "nothing"),
        ("repair", "a.json", "b.json"),
        ("rules", "nobody"),
        ("completion", "csh"),
        ("--frobnicate",),
    ],
)
def test_two_for_a_wrong_call(process: Any, arguments: tuple[str, ...]) -> None:
    """A wrong call gives one sentence that says where help is."""
    seen = process(*arguments)
    assert (seen.code, seen.out) == (2, b"")
    assert seen.err.startswith("foldaway: ")
    assert seen.err.count("\n") == 1
    assert "--help" in seen.err


CRASH = """
    import sys

    class Broken:
        def read(self, size=-1):
            raise RuntimeError("secret content")

    class Standard:
        buffer = Broken()

    sys.stdin = Standard()
    from foldaway.cli import main
    sys.argv = ["foldaway", "check", "-"]
    main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("debug", ["", "1"])
def test_seventy_for_a_bug_and_the_traceback_only_on_request(debug: str) -> None:
    """What nobody foresaw becomes one sentence on how to report it, without what was said."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CRASH)], capture_output=True, text=True,
        env=environment(FOLDAWAY_DEBUG=debug), check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (70, "")
    last = done.stderr.splitlines()[-1]
    assert last.startswith("foldaway: unexpected RuntimeError at ")
    assert "FOLDAWAY_DEBUG=1" in last
    assert "secret content" not in last
    assert ("Traceback" in done.stderr) == bool(debug)


@pytest.mark.slow
@pytest.mark.parametrize("by_option", [True, False])
def test_decisions_are_written_to_standard_error_if_asked(by_option: bool, tmp_path: Path) -> None:
    """The output stays what it is; the variable does the same as the option."""
    given = tmp_path / "broken.json"
    given.write_text('[{"role": "user", "content": "a"}, {"role": "tool", "content": "b"}]')
    options = ["--log-level", "Info"] if by_option else []
    variable = "" if by_option else "info"
    done = subprocess.run(
        [sys.executable, "-m", "foldaway", *options, "repair", str(given)], capture_output=True,
        text=True, env=environment(FOLDAWAY_LOG_LEVEL=variable), check=False,
    )  # fmt: skip
    assert "INFO repair.done repairs=" in done.stderr
    assert json.loads(done.stdout)


@pytest.mark.slow
def test_interrupted_gives_130_and_one_line(tmp_path: Path) -> None:
    """Control-C ends it at once and says so, also if the tests run in the background."""
    fifo = tmp_path / "slow.json"
    os.mkfifo(fifo)
    heard = (
        "import runpy, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "sys.argv[0] = 'foldaway'; runpy.run_module('foldaway', run_name='__main__')"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", heard, "check", str(fifo)], env=environment(),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    with fifo.open("wb"):  # returns when the child has opened it too
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=30)
    assert (child.returncode, out, err) == (130, b"", b"foldaway: stopped\n")


@each_row(
    ("called", "end"),
    [(["import", "x"], "again for the rest"), (["import"], "again for the rest"),
     (["lab", "run", "x"], "again to continue"), (["lab", "show", "x"], ""), (["check"], "")],
)  # fmt: skip
def test_who_is_stopped_hears_how_to_continue(called: list[str], end: str) -> None:
    """Commands that resume say so; the others have nothing to continue."""
    said = cli.how_to_continue(called)
    assert said.endswith(end)
    assert bool(said) == bool(end)


@pytest.mark.slow
@pytest.mark.parametrize("language", [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}])
def test_output_is_plain_if_the_terminal_is(language: dict[str, str], tmp_path: Path) -> None:
    """Without Unicode figures keep their signs: nothing becomes a question mark."""
    said = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "so " * 9_000}] * 9
    (tmp_path / "s.json").write_text(json.dumps(said))
    known = {**environment(), **language}
    known.pop("PYTHONUTF8", None)
    command = ["compress", "s.json", "--preview", "--target-tokens", "9000"]
    done = subprocess.run(
        [sys.executable, "-m", "foldaway", *command], env=known, cwd=tmp_path,
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert b"?" not in done.stdout
    assert b"(-" in done.stdout
    assert done.stdout.isascii()


@pytest.mark.parametrize(
    ("called", "meant"),
    [("serch", "search"), ("sesions", "sessions"), ("sessions lst", "list"), ("lab runn", "run")],
)
def test_a_command_that_is_mistyped_is_named(foldaway: Any, called: str, meant: str) -> None:
    """`did you mean`, exit 2."""
    seen = foldaway(*called.split())
    assert (seen.code, seen.out) == (2, b"")
    assert f"(did you mean {meant}" in seen.err


@each_row("alias", ["compress", "sessions compact", "sessions undo", "sessions diff"])
def test_another_name_of_a_command_works_and_is_not_listed(foldaway: Any, alias: str) -> None:
    """One verb: `compact`, `undo` and `diff` take a file or a session."""
    *group, name = alias.split()
    command = name.replace("compress", "compact")
    shown = foldaway(*group, name, "--help").text
    assert shown.split("\n", 1)[1] == foldaway(command, "--help").text.split("\n", 1)[1]
    assert not re.search(rf"^  {name} ", foldaway(*group, "--help").text, re.M)


@pytest.mark.slow
def test_a_reader_that_went_away_is_no_error_to_talk_about() -> None:
    """`foldaway … | head` ends without a word."""
    child = subprocess.Popen(
        [sys.executable, "-m", "foldaway", "check", "--json", "-"], env=environment(),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.close()
    child.stdin.write(ORPHAN)
    child.stdin.close()
    err = child.stderr.read()
    child.stderr.close()
    assert (child.wait(timeout=30), err) == (141, b"")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_device_behind_standard_output_is_one_sentence(put: Any) -> None:
    """Output that cannot be printed is said so, once."""
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "foldaway", "repair", str(put("b.json", ORPHAN))],
            stdout=full, stderr=subprocess.PIPE, env=environment(), check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"cannot be written" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("existing", [None, b"what was there"])
def test_a_full_disk_leaves_the_output_as_it_was(
    process: Any, put: Any, tmp_path: Path, existing: bytes | None
) -> None:
    """The output is whole or not there at all, also where the disk is full half way."""
    source = put("broken.json", LONG_ORPHAN)
    out = tmp_path / "out.json"
    if existing is not None:
        out.write_bytes(existing)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    seen = process("repair", source, "-o", out, preexec_fn=limit)
    assert (seen.code, seen.out) == (2, b"")
    assert seen.err.count("\n") == 1
    assert "nothing was written" in seen.err
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.slow
def test_standard_input_that_is_closed_is_one_sentence() -> None:
    """There may be no standard input at all."""
    done = subprocess.run(
        ["sh", "-c", f'exec "{sys.executable}" -m foldaway check - <&-'],
        capture_output=True, env=environment(), check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith(b"foldaway: standard input: is closed")


@pytest.mark.slow
def test_a_terminal_that_knows_only_ascii_gets_ascii(put: Any) -> None:
    """Symbols that the terminal cannot show are spelled, not an error."""
    done = subprocess.run(
        [sys.executable, "-m", "foldaway", "check", str(put("b.json", ORPHAN))],
        capture_output=True, check=False,
        env=environment(PYTHONUTF8="0", PYTHONIOENCODING="ascii"),
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, b"")
    assert done.stdout.startswith(b"BROKEN ")


def test_the_module_and_the_script_are_the_same(process: Any) -> None:
    """`python -m foldaway` is the command line, called foldaway."""
    seen = process("--help")
    assert seen.code == 0
    assert seen.text.startswith("Usage: foldaway ")


def test_the_library_is_loaded_without_the_command_line() -> None:
    """`import foldaway` brings neither click nor rich, and `check --json` brings no rich."""
    script = "import sys, foldaway; print([m for m in ('click', 'rich') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment(),
        check=True,
    )  # fmt: skip
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("called", "said"),
    [
        (("inspect", "--model"), "see 'foldaway inspect --help'"),
        (("sessions", "show", "x", "--most"), "see 'foldaway sessions show --help'"),
        (("inspect", "--modle", "m", "x"), "No such option '--modle' (did you mean "),
        (("compress", "x", "--target-tokens", "abc"), "'abc' is not a whole number"),
        (("simulate", "x", "--pause", "abc"), "'abc' is not a number"),
    ],
)
def test_a_wrong_option_is_said_in_plain_words(
    foldaway: Any, called: tuple[str, ...], said: str
) -> None:
    """With the help of the command that was meant."""
    seen = foldaway(*called)
    assert (seen.code, said in seen.err) == (2, True), seen.err

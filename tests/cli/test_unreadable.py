"""Input that is no transcript: one sentence, exit 2, nothing written."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DEEP = b'[{"role":"user","content":' + b"[" * 10_000 + b"]" * 10_000 + b"}]"
LATIN = '[{"role":"user","content":"café"}]'.encode("latin-1")
UNREADABLE: dict[str, tuple[bytes, str]] = {
    "text": (b"hello\n", "line 1"),
    "a torn value": (b'[{"role":"user",\n"content":"hi"', "line 2"),
    "no quotes": (b'[\n{role:"user"}\n]', "line 2"),
    "NaN": (b'[\n\n{"role":"user","content":NaN}]', "line 3"),
    "Infinity": (b'{"messages":[{"role":"user","content":-Infinity}]}', "line 1"),
    "NaN in a line": (b'{"role":"user","content":"a"}\n{"role":"user","n":NaN}\n', "line 2"),
    "NaN in the first line": (
        b'{"role":"user","n":NaN}\n{"role":"user","content":"a"}\n',
        "line 1",
    ),
    "NaN beside a lone surrogate": (
        b'[\n{"role":"user","content":"\\ud800","n":NaN}]',
        "line 2 col",
    ),
    "a number out of range": (b'[\n{"role":"user","content":"NaN","n":1e999}]', "line 2 column 36"),
    "an integer out of range": (b'[{"role":"user",\n"n":-%s}]' % (b"1" * 5_000), "line 2 column 5"),
    "out of range beside a surrogate": (b'[{"content":"\\ud800",\n"n":-1e999}]', "line 2 column 5"),
    "nesting": (DEEP, "nested too deeply"),
    "nesting in a line": (b'{"role":"user","content":"a"}\n' + DEEP[1:-1] + b"\n", "line 2"),
    "UTF-16": ('[{"role":"user","content":"hi"}]'.encode("utf-16"), "UTF-16"),
    "UTF-16 without mark": ('[{"role":"user","content":"hi"}]'.encode("utf-16-le"), "UTF-16"),
    "UTF-32": ('[{"role":"user","content":"hi"}]'.encode("utf-32"), "UTF-32"),
    "UTF-32 without mark": ('[{"role":"user","content":"hi"}]'.encode("utf-32-be"), "UTF-32"),
    "latin-1": (LATIN, "UTF-8"),
    "latin-1 in a line": (b'{"role":"user","content":"a"}\n' + LATIN[1:-1] + b"\n", "UTF-8"),
    "empty": (b"", "is empty"),
    "only space": (b" \n\t\n", "is empty"),
    "only a byte order mark": (b"\xef\xbb\xbf", "is empty"),
    "broken gzip": (gzip.compress(b'[{"role":"user","content":"hi"}]')[:-9], "gzip"),
    "no gzip after its mark": (b"\x1f\x8bnothing of the kind", "gzip"),
    "gzip of nothing": (gzip.compress(b""), "is empty"),
    "an empty object": (b"{}", "message list"),
    "an empty list": (b"[]", "no messages"),
    "an empty message list": (b'{"messages":[]}', "no messages"),
    "messages of the wrong type": (b'{"messages":{"role":"user"}}', "message list"),
    "a string": (b'"hello"', "line 1"),
    "a number": (b"42", "line 1"),
    "null": (b"null", "line 1"),
    "lists a line": (b'{"role":"user","content":"a"}\n[1]\n', "line 2"),
    "only lists a line": (
        b'[{"role":"user","content":"a"}]\n[{"role":"user"}]\n',
        "line 1: is a list",
    ),
    "NUL bytes": (b"\0\0\0\0", "not JSON"),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_one_sentence_names_the_file_and_the_place(foldaway: Any, put: Any, case: str) -> None:
    """What is no transcript gives exit 2 and one sentence with the file and the line or path."""
    data, told = UNREADABLE[case]
    path = put("bad.json", data)
    seen = foldaway("check", path)
    assert seen.code == 2
    assert seen.out == b""
    assert seen.err.startswith(f"foldaway: {path}: ")
    assert told in seen.err
    assert seen.err.count("\n") == 1
    assert "Traceback" not in seen.err


@pytest.mark.parametrize("case", UNREADABLE)
def test_json_reports_an_unreadable_file_as_an_object(foldaway: Any, put: Any, case: str) -> None:
    """With --json the sentence is the `error` of the file's object, and nothing else is printed."""
    path = put("bad.json", UNREADABLE[case][0])
    seen = foldaway("check", "--json", path)
    (report,) = seen.reports
    assert (seen.code, seen.err) == (2, "")
    assert (report["file"], report["valid"]) == (str(path), False)
    assert UNREADABLE[case][1] in report["error"]


@pytest.mark.parametrize("command", [("repair",), ("convert", "--to", "openai-chat")])
@pytest.mark.parametrize("case", UNREADABLE)
def test_nothing_is_written_for_an_unreadable_file(
    foldaway: Any, put: Any, tmp_path: Path, command: tuple[str, ...], case: str
) -> None:
    """An output is not even begun where the input is no transcript."""
    path = put("bad.json", UNREADABLE[case][0])
    before = sorted(tmp_path.iterdir())
    seen = foldaway(*command, path, "-o", tmp_path / "out.json")
    assert (seen.code, seen.out) == (2, b"")
    assert seen.err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


def test_a_missing_file_is_named(foldaway: Any, tmp_path: Path) -> None:
    """A file that does not exist is said not to exist."""
    seen = foldaway("check", tmp_path / "gone.json")
    assert (seen.code, seen.out) == (2, b"")
    assert seen.err == f"foldaway: {tmp_path / 'gone.json'}: does not exist; check the name\n"


def test_a_directory_without_sessions_is_named(foldaway: Any, tmp_path: Path) -> None:
    """A directory is all the sessions in it; one without any is no conversation."""
    seen = foldaway("check", tmp_path)
    assert (seen.code, seen.out) == (2, b"")
    said = "holds no conversation; name a file or folder with sessions"
    assert seen.err == f"foldaway: {tmp_path}: {said}\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission_is_named(foldaway: Any, put: Any) -> None:
    """A file that may not be read is said to be so."""
    path = put("secret.json", [{"role": "user", "content": "hi"}])
    path.chmod(0)
    seen = foldaway("check", path)
    assert (seen.code, seen.out) == (2, b"")
    assert "may not be read" in seen.err


def test_all_files_are_checked_and_the_worst_one_decides(
    foldaway: Any, put: Callable[[str, object], Path]
) -> None:
    """One unreadable file does not keep the others from being checked."""
    fine = put("fine.json", [{"role": "user", "content": "hi"}])
    bad = put("bad.json", b"{")
    broken = put("broken.json", [{"role": "nobody", "content": "hi"}])
    seen = foldaway("check", "--json", bad, broken, fine)
    assert [report["valid"] for report in seen.reports] == [False, False, True]
    assert seen.code == 2
    assert foldaway("check", broken, fine).code == 1
    assert foldaway("check", fine, fine).code == 0


def test_standard_input_is_named_in_words(foldaway: Any) -> None:
    """`-` is standard input, also in the sentence."""
    seen = foldaway("check", "-", stdin=b"oh")
    assert seen.code == 2
    assert seen.err.startswith("foldaway: standard input: ")


def test_a_name_with_control_characters_stays_on_one_line(foldaway: Any, put: Any) -> None:
    """A file's name cannot move the cursor or forge a line of output."""
    path = put("a\n\x1b[2Jb.json", b"{")
    seen = foldaway("check", path)
    assert seen.code == 2
    assert seen.err.count("\n") == 1
    assert "\x1b" not in seen.err


READERS = (
    ("inspect",), ("check",), ("plan",), ("compress",), ("repair",), ("undo",), ("redact",),
    ("convert", "--to", "anthropic"), ("simulate", "--model", "gpt-5-mini"), ("reduce",),
    ("import",), ("search", "x", "--originals"), ("lab", "run", "-o", "lab"), ("watch", "--once"),
    ("trajectories", "stats"), ("trajectories", "verify"),
)  # fmt: skip


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("command", READERS, ids=" ".join)
def test_no_input_is_a_bug_of_ours(foldaway: Any, put: Any, command: tuple[str, ...]) -> None:
    """Whatever a command is given, what it says is about the input: a place is named with a space
    before it, and the root of a document is not named."""
    odd = {"torn": b'{"a": [1,', "binary": bytes(range(256)), "list": b'[{"content": "x"}]',
           "empty": b"", "deep": b"[" * 50_000, "none": b"[]", "object": b'{"a": 1}'}  # fmt: skip
    names = [put(f"{name}.json", data).name for name, data in odd.items()]
    for name in (*names, ".", "nowhere.json"):
        seen = foldaway(*command, name)
        assert seen.code in (0, 1, 2), (name, seen.err)
        said = seen.err + seen.out.decode(errors="replace").split("\n", 1)[-1]
        assert f"{name}:line" not in said
        assert "$:" not in said

"""`foldaway redact`: any text in, the text without its secrets out."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import zstandard

SOURCE = Path(__file__).resolve().parents[2] / "src"
TOKEN = "ghp_" + "a8Bd3Fg7Hj2Kl5Mn9Pq4Rs6Tv1Wx3Yz8Cb2D"
TEXT = f"user=app token={TOKEN}\ncall +1 503 757 9372\n"


def test_secrets_go_and_the_rest_stays(foldaway: Any) -> None:
    """Standard input to standard output; nothing else is said."""
    seen = foldaway("redact", "-", stdin=TEXT.encode())
    assert seen.code == 0
    assert seen.text.startswith("user=app token=[redacted:github-token:")
    assert "9372" not in seen.text
    assert seen.err == ""


def test_a_report_counts_kinds_on_standard_error(foldaway: Any, tmp_path: Path) -> None:
    """--report says how many of each kind, and shows no secret."""
    path, out = tmp_path / "a.log", tmp_path / "b.log"
    path.write_text(TEXT)
    seen = foldaway("redact", path, "-o", out, "--report")
    assert (seen.code, seen.out) == (0, b"")
    assert "github-token" in seen.err
    assert TOKEN not in seen.err
    assert TOKEN not in out.read_text()


def test_check_writes_nothing_and_exits_1_where_something_was_found(foldaway: Any) -> None:
    """--check is for hooks: the exit code says it."""
    seen = foldaway("redact", "-", "--check", stdin=TEXT.encode())
    assert seen.code == 1
    assert TOKEN not in seen.text
    assert foldaway("redact", "-", "--check", stdin=b"all is well\n").code == 0


def test_families_and_kinds_can_be_left_alone(foldaway: Any) -> None:
    """--no-personal, --keep and --code take back what they name."""
    assert "9372" in foldaway("redact", "-", "--no-personal", stdin=TEXT.encode()).text
    assert TOKEN in foldaway("redact", "-", "--keep", "github-token", "--keep", "token",
                             stdin=TEXT.encode()).text  # fmt: skip
    bare = b"password = abc123xyz9\n"
    assert foldaway("redact", "-", "--code", stdin=bare).out == bare


def test_gzip_and_utf16_are_read(foldaway: Any, tmp_path: Path) -> None:
    """A packed or wide text is not passed on as it is: its secrets would be in it."""
    packed, out = tmp_path / "a.gz", tmp_path / "b.gz"
    packed.write_bytes(gzip.compress(TEXT.encode()))
    assert foldaway("redact", packed, "-o", out).code == 0
    assert TOKEN not in gzip.decompress(out.read_bytes()).decode()
    seen = foldaway("redact", "-", stdin=TEXT.encode("utf-16"))
    assert TOKEN not in seen.text
    assert "redacted" in seen.text


def test_bytes_that_are_no_utf8_pass_through(foldaway: Any) -> None:
    """What is no text is left as it is, around the secrets."""
    seen = foldaway("redact", "-", stdin=b"\xff\xfe\x00\x80 "[2:] + TEXT.encode() + b"\x80\x00\xff")
    assert seen.code == 0
    assert TOKEN.encode() not in seen.out
    assert seen.out.startswith(b"\x00\x80 ")
    assert seen.out.endswith(b"\x80\x00\xff")


def test_what_cannot_be_read_or_written_is_one_sentence(foldaway: Any, tmp_path: Path) -> None:
    """Exit 2, the name, what to do; and a broken input leaves the old output."""
    for arguments in (("redact", tmp_path / "none"), ("redact", tmp_path),
                      ("redact", "-", "-o", tmp_path)):  # fmt: skip
        seen = foldaway(*arguments)
        assert seen.code == 2
        assert seen.err.startswith("foldaway: ")
    out, torn = tmp_path / "out", tmp_path / "torn.gz"
    out.write_text("old")
    torn.write_bytes(gzip.compress(TEXT.encode() * 100)[:-20])
    seen = foldaway("redact", torn, "-o", out)
    assert (seen.code, out.read_text()) == (2, "old")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(
    "form", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"]
)
def test_a_wide_text_is_read_with_and_without_a_mark(foldaway: Any, form: str) -> None:
    """Its letters are NULs apart: passed on as it is, every secret would be in it."""
    seen = foldaway("redact", "-", stdin=TEXT.encode(form))
    assert (seen.code, seen.out.decode().count("[redacted:")) == (0, 2)
    assert seen.text.endswith("]\n")


def test_nuls_alone_make_no_wide_text(foldaway: Any) -> None:
    """What is not text throughout stays as it is."""
    for data in (b"a\0b\0", bytes(4_000), os.urandom(64).replace(b"\x1f", b"") + b"\0" * 64,
                 b"a\0" * 4 + b"plain words, and no NUL among them" * 9):  # fmt: skip
        assert foldaway("redact", "-", stdin=data).out == data


def zipped() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        file.writestr("a.txt", TEXT)
    return made.getvalue()


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (lzma.compress(TEXT.encode()), "xz"), (bz2.compress(TEXT.encode()), "bzip2"),
        (zstandard.compress(TEXT.encode()), "zstd"), (zipped(), "zip"),
    ],
)  # fmt: skip
def test_what_is_packed_otherwise_is_refused(foldaway: Any, data: bytes, name: str) -> None:
    """It would go out with every secret in it, or broken."""
    for more in ((), ("--check",)):
        seen = foldaway("redact", "-", *more, stdin=data)
        assert (seen.code, seen.out) == (2, b"")
        assert f"is packed ({name}); unpack it first" in seen.err


def test_several_files_can_be_checked_and_the_worst_decides(foldaway: Any, tmp_path: Path) -> None:
    """A hook gives many files at once; written is one."""
    found, fine = tmp_path / "found", tmp_path / "fine"
    found.write_text(TEXT)
    fine.write_text("all is well\n")
    seen = foldaway("redact", "--check", found, fine)
    assert (seen.code, seen.text.count("fine: 0 secrets")) == (1, 1)
    assert foldaway("redact", "--check", fine, fine).code == 0
    seen = foldaway("redact", "--check", fine, tmp_path / "none", found)
    assert seen.code == 2
    assert "does not exist" in seen.err
    assert "found: 2 secrets" in seen.text
    for files in ((found, fine), (found, "-", fine)):
        seen = foldaway("redact", *files)
        assert (seen.code, seen.out) == (2, b"")
        assert "--check" in seen.err


RULES = """
[[rule]]
name = "acme-key"
anchors = ["acme_"]
pattern = "acme_[a-z0-9]{9}"
gate = "mixed"
"""


def test_rules_can_be_added_and_switched_off(foldaway: Any, tmp_path: Path) -> None:
    """--rules takes a file, --without a name."""
    rules = tmp_path / "own.toml"
    rules.write_text(RULES)
    text = b"acme_k3y5k3y5z to jane.roe@mailhost.org\n"
    seen = foldaway("redact", "-", "--rules", rules, "--without", "email", stdin=text)
    assert (seen.code, seen.err) == (0, "")
    assert seen.text.startswith("[redacted:acme-key:")
    assert seen.text.endswith("] to jane.roe@mailhost.org\n")


@pytest.mark.parametrize(("text", "said"), [
    ("[[rule]]\nname = 'x'\nanchors = ['xx']\npattern = '(?<=a)xx'\n", "rule 'x': pattern"),
    ("[[rule]]\nname = 'x'\npatern = 'xx'\n", "rule 'x'"),
    ("[[rule", "is not TOML"),
    (None, "does not exist"),
])  # fmt: skip
def test_a_bad_file_of_rules_ends_with_2(
    foldaway: Any, tmp_path: Path, text: str | None, said: str
) -> None:
    """The sentence names the file, the rule and the remedy; nothing is written."""
    rules, out = tmp_path / "own.toml", tmp_path / "out"
    if text is not None:
        rules.write_text(text)
    seen = foldaway("redact", "-", "--rules", rules, "-o", out, stdin=TEXT.encode())
    assert (seen.code, seen.out, out.exists()) == (2, b"", False)
    assert "own.toml" in seen.err
    assert said in seen.err
    assert "Traceback" not in seen.err


def test_a_rule_that_does_not_exist_is_refused(foldaway: Any) -> None:
    """The likeliest comes first."""
    seen = foldaway("redact", "-", "--without", "github-tokn", stdin=TEXT.encode())
    assert (seen.code, seen.out) == (2, b"")
    assert "unknown rule 'github-tokn'; known: github-token, " in seen.err


def test_explain_names_line_rule_file_and_gate(foldaway: Any, tmp_path: Path) -> None:
    """For each secret, without showing it; then what the rules and gates are, and an example."""
    rules, path = tmp_path / "own.toml", tmp_path / "a.log"
    rules.write_text(RULES)
    path.write_text(TEXT + "\nacme_k3y5k3y5z\npassword=hunter2024!\n")
    seen = foldaway("redact", path, "--rules", rules, "--explain")
    assert f"{path}:1: github-token by rule github-token (vendors.toml), gate real" in seen.err
    assert f"{path}:2: phone by rule phone (personal.toml), gate phone" in seen.err
    assert f"{path}:4: acme-key by rule acme-key ({rules}), gate mixed" in seen.err
    assert f"{path}:5: password by field" in seen.err
    assert "  acme-key: gate mixed is real, with a digit and a letter\n" in seen.err
    assert "; finds 'see ghp_" in seen.err
    for secret in (TOKEN, "k3y5k3y5z", "hunter2024", "9372"):
        assert secret not in seen.err.replace("finds", "\n").split("\n  ")[0]
    checked = foldaway("redact", "--check", "--explain", path, "--rules", rules)
    assert checked.code == 1
    assert f"{path}:4: acme-key by rule acme-key ({rules}), gate mixed" in checked.text


def test_a_folder_switches_no_rule_off(
    foldaway: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The foldaway.toml of a folder names no file of rules and no rule; the user's own does."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "foldaway.toml").write_text(
        '[redaction]\nwithout = ["github-token"]\nrules_files = ["/etc/hostname"]\n'
    )
    seen = foldaway("redact", "-", stdin=TEXT.encode())
    assert seen.code == 0
    assert TOKEN not in seen.text
    assert "redaction.without" in seen.err
    settings = tmp_path / "mine.toml"
    settings.write_text('[redaction]\nwithout = ["phone"]\n')
    own = foldaway("redact", "-", "--config", settings, stdin=TEXT.encode())
    assert (own.code, own.err) == (0, "")
    assert "9372" in own.text


def test_a_kind_that_does_not_exist_is_refused(foldaway: Any, tmp_path: Path) -> None:
    """The sentence names those that do, the likeliest first; nothing is written."""
    seen = foldaway("redact", "-", "--keep", "emial", "-o", tmp_path / "out", stdin=TEXT.encode())
    assert (seen.code, seen.out) == (2, b"")
    assert "unknown kind of secret 'emial'; known: email, " in seen.err
    assert seen.err.endswith(" more\n")
    assert len(seen.err) < 500
    assert list(tmp_path.iterdir()) == []


def test_a_file_becomes_its_own_output(foldaway: Any, tmp_path: Path) -> None:
    """It is replaced when all of it was read; a link stays one, and rights stay."""
    path, link = tmp_path / "a.log", tmp_path / "link"
    path.write_text(TEXT)
    path.chmod(0o600)
    link.symlink_to(path)
    assert foldaway("redact", link, "-o", link).code == 0
    assert link.is_symlink()
    assert TOKEN not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600


def test_no_input_gives_no_output(foldaway: Any) -> None:
    """Exit 0, and 0 for --check too."""
    assert foldaway("redact", "-")[:2] == (0, b"")
    assert foldaway("redact", "--check", "-").code == 0


CLOSED = """
import os, sys
os.close(int(sys.argv[1]))
os.execv(sys.executable, [sys.executable, "-m", "foldaway", *sys.argv[2:]])
"""


@pytest.mark.slow
@pytest.mark.parametrize("closed", [1, 2])
def test_a_closed_stream_is_no_bug(tmp_path: Path, closed: int) -> None:
    """Without standard output there is one sentence; without standard error nothing is missed."""
    path = tmp_path / "a.log"
    path.write_text(TEXT)
    done = subprocess.run(
        [sys.executable, "-c", CLOSED, str(closed), "redact", str(path), "--report"],
        capture_output=True, timeout=60, check=False, env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )  # fmt: skip
    if closed == 1:
        assert done.returncode == 2
        assert b"standard output: is closed; name a file with -o" in done.stderr
    else:
        assert (done.returncode, done.stdout.count(b"[redacted:")) == (0, 2)


@pytest.mark.soak
@pytest.mark.parametrize("megabytes", [1, 9])
@pytest.mark.parametrize("to_file", [True, False])
def test_a_bar_is_shown_to_a_terminal_for_a_long_input(
    tmp_path: Path, megabytes: int, to_file: bool
) -> None:
    """On standard error, of a pipe too; and not where the text itself goes to the terminal."""
    pty = pytest.importorskip("pty", reason="needs a terminal")
    ours, theirs = pty.openpty()
    path = tmp_path / "a.log"
    path.write_bytes(b"plain words of a log\n" * (megabytes * 50_000))
    with path.open("rb") as text, (tmp_path / "out").open("wb") as out:
        started = subprocess.Popen(
            [sys.executable, "-m", "foldaway", "redact", "-"],
            stdin=text, stdout=out if to_file else theirs, stderr=theirs,
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
        )  # fmt: skip
        os.close(theirs)
        shown = b""
        while piece := _read(ours):
            shown += piece
        assert started.wait(60) == 0
    os.close(ours)
    assert (b"standard input" in shown) == (to_file and megabytes == 9)
    if to_file:
        assert (tmp_path / "out").read_bytes() == path.read_bytes()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # the other end is closed
        return b""

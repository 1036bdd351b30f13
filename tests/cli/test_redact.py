"""`holdfast redact`: any text in, the text without its secrets out."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

TOKEN = "ghp_" + "a8Bd3Fg7Hj2Kl5Mn9Pq4Rs6Tv1Wx3Yz8Cb2D"
TEXT = f"user=app token={TOKEN}\ncall +1 503 757 9372\n"


def test_secrets_go_and_the_rest_stays(holdfast: Any) -> None:
    """Standard input to standard output; nothing else is said."""
    seen = holdfast("redact", "-", stdin=TEXT.encode())
    assert seen.code == 0
    assert seen.text.startswith("user=app token=[redacted:github-token:")
    assert "9372" not in seen.text
    assert seen.err == ""


def test_a_report_counts_kinds_on_standard_error(holdfast: Any, tmp_path: Path) -> None:
    """--report says how many of each kind, and shows no secret."""
    path, out = tmp_path / "a.log", tmp_path / "b.log"
    path.write_text(TEXT)
    seen = holdfast("redact", path, "-o", out, "--report")
    assert (seen.code, seen.out) == (0, b"")
    assert "github-token" in seen.err
    assert TOKEN not in seen.err
    assert TOKEN not in out.read_text()


def test_check_writes_nothing_and_exits_1_where_something_was_found(holdfast: Any) -> None:
    """--check is for hooks: the exit code says it."""
    seen = holdfast("redact", "-", "--check", stdin=TEXT.encode())
    assert seen.code == 1
    assert TOKEN not in seen.text
    assert holdfast("redact", "-", "--check", stdin=b"all is well\n").code == 0


def test_families_and_kinds_can_be_left_alone(holdfast: Any) -> None:
    """--no-personal, --keep and --code take back what they name."""
    assert "9372" in holdfast("redact", "-", "--no-personal", stdin=TEXT.encode()).text
    assert TOKEN in holdfast("redact", "-", "--keep", "github-token", "--keep", "token",
                             stdin=TEXT.encode()).text  # fmt: skip
    bare = b"password = abc123xyz9\n"
    assert holdfast("redact", "-", "--code", stdin=bare).out == bare


def test_gzip_and_utf16_are_read(holdfast: Any, tmp_path: Path) -> None:
    """A packed or wide text is not passed on as it is: its secrets would be in it."""
    packed, out = tmp_path / "a.gz", tmp_path / "b.gz"
    packed.write_bytes(gzip.compress(TEXT.encode()))
    assert holdfast("redact", packed, "-o", out).code == 0
    assert TOKEN not in gzip.decompress(out.read_bytes()).decode()
    seen = holdfast("redact", "-", stdin=TEXT.encode("utf-16"))
    assert TOKEN not in seen.text
    assert "redacted" in seen.text


def test_bytes_that_are_no_utf8_pass_through(holdfast: Any) -> None:
    """What is no text is left as it is, around the secrets."""
    seen = holdfast("redact", "-", stdin=b"\xff\xfe\x00\x80 "[2:] + TEXT.encode() + b"\x80\x00\xff")
    assert seen.code == 0
    assert TOKEN.encode() not in seen.out
    assert seen.out.startswith(b"\x00\x80 ")
    assert seen.out.endswith(b"\x80\x00\xff")


def test_what_cannot_be_read_or_written_is_one_sentence(holdfast: Any, tmp_path: Path) -> None:
    """Exit 2, the name, what to do; and a broken input leaves the old output."""
    for arguments in (("redact", tmp_path / "none"), ("redact", tmp_path),
                      ("redact", "-", "-o", tmp_path)):  # fmt: skip
        seen = holdfast(*arguments)
        assert seen.code == 2
        assert seen.err.startswith("holdfast: ")
    out, torn = tmp_path / "out", tmp_path / "torn.gz"
    out.write_text("old")
    torn.write_bytes(gzip.compress(TEXT.encode() * 100)[:-20])
    seen = holdfast("redact", torn, "-o", out)
    assert (seen.code, out.read_text()) == (2, "old")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []

"""`foldaway reduce` on files, streams and mistakes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

LOG = "\n".join(f"step {n} of {'abcdefg'[n % 7]}" for n in range(2_000)) + "\nerror: disk full\n"


def test_a_log_is_written_in_fewer_tokens(foldaway: Any, put: Any) -> None:
    """The text goes to standard output, what was left out to standard error."""
    seen = foldaway("reduce", put("a.log", LOG.encode()), "--tokens", 100)
    assert seen.code == 0
    assert "error: disk full" in seen.text
    assert len(seen.text) < 1_000
    assert "log, " in seen.err
    assert "left out: " in seen.err


def test_a_text_that_fits_comes_out_byte_for_byte(foldaway: Any, put: Any) -> None:
    """Also where it is no UTF-8 and has the line ends of another system."""
    data = b"\xff\xfe\x00 caf\xe9\r\nline\r\n"
    seen = foldaway("reduce", put("a.txt", data))
    assert (seen.code, seen.out) == (0, data)
    assert "nothing left out" in seen.err


def test_standard_input_is_read(foldaway: Any) -> None:
    """`-` is standard input, and the kind can be named."""
    rows = json.dumps([{"id": n, "name": "x" * 20} for n in range(400)]).encode()
    seen = foldaway("reduce", "-", "--kind", "json", "--tokens", 120, stdin=rows)
    assert seen.code == 0
    assert json.loads(seen.out)[0] == {"id": 0, "name": "x" * 20}
    assert seen.err.startswith("standard input: json, ")


def test_the_report_is_json_for_programs(foldaway: Any, put: Any, tmp_path: Path) -> None:
    """One object on standard output where the text goes to a file."""
    out = tmp_path / "small.log"
    seen = foldaway("reduce", put("a.log", LOG.encode()), "-o", out, "--json", "--tokens", 90)
    (report,) = seen.reports
    assert report["kind"] == "log"
    assert report["tokens_after"] <= 90 < report["tokens_before"]
    assert report["counts"]["lines"] > 1_900
    assert "text" not in report
    assert "error: disk full" in out.read_text()


def test_gzip_is_read_and_written(foldaway: Any, put: Any, tmp_path: Path) -> None:
    """By its data when read, by its name when written."""
    out = tmp_path / "small.gz"
    assert foldaway("reduce", put("a", gzip.compress(LOG.encode())), "-o", out).code == 0
    assert b"error: disk full" in gzip.decompress(out.read_bytes())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nothing.log",), "nothing.log: does not exist; check the name"),
        ((".",), ".: is a directory; name the files in it"),
        (("-", "--tokens", "0"), "0 is not in the range x>=1"),
        (("-", "--kind", "poem"), "'poem' is not one of"),
        (("-", "-o", "no/such/folder"), "is in a directory that does not exist; make it first"),
    ],
)
def test_a_mistake_is_one_sentence_and_nothing_is_written(
    foldaway: Any, arguments: tuple[str, ...], sentence: str
) -> None:
    """Exit code 2, the place and the remedy on standard error, standard output empty."""
    seen = foldaway("reduce", *arguments, stdin=b"text")
    assert (seen.code, seen.out) == (2, b"")
    assert sentence in seen.err
    assert seen.err.count("\n") == 1


def test_broken_gzip_is_said(foldaway: Any, put: Any) -> None:
    """Half a file is no file."""
    seen = foldaway("reduce", put("a.gz", gzip.compress(LOG.encode())[:50]))
    assert (seen.code, seen.out) == (2, b"")
    assert "the gzip data is broken" in seen.err
    assert "compress the file again" in seen.err


def test_the_end_of_the_last_line_is_no_line(foldaway: Any, put: Any) -> None:
    """Lines are counted as people count them, and the result ends as the text did."""
    lines = [f"step {number} done" for number in range(3_000)]
    seen = foldaway("reduce", put("long.log", "\n".join([*lines, ""]).encode()), "--tokens", 50)
    assert "2,999 lines of 3,000" in seen.err
    assert seen.text.endswith("]\n")

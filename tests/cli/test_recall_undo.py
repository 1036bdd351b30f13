"""recall, search and undo: nothing that was dropped is lost."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("own_folder")

WORDS = "needle in a haystack"


def lines(start: int, count: int) -> list[bytes]:
    """Return messages as bytes, spaced and escaped in an odd way."""
    return [
        b'{ "role":"%s" , "content" : "h\\u00e9 %d %s"}'
        % ((b"assistant" if n % 2 else b"user"), n, WORDS.encode() * 40 if n == 10 else b"x " * 200)
        for n in range(start, start + count)
    ]


def listed(messages: list[bytes]) -> bytes:
    return b"[\n " + b" ,\n ".join(messages) + b"\n]\n"


@pytest.fixture
def source(put: Any) -> Path:
    """Sixty messages."""
    return put("in.json", listed(lines(0, 60)))


@pytest.fixture
def out(foldaway: Any, source: Path, tmp_path: Path) -> Path:
    """The same ones compressed."""
    path = tmp_path / "out.json"
    assert foldaway("compress", source, "-o", path, "--target-tokens", 3000).code == 0
    return path


def references(path: Path) -> list[dict[str, Any]]:
    rows = Path(f"{path}.originals.jsonl").read_bytes().splitlines()
    return json.loads(rows[-1])["references"]


def test_recall_prints_the_bytes_of_the_input(foldaway: Any, source: Path, out: Path) -> None:
    """Every reference gives its messages, one a line, byte for byte."""
    given = lines(0, 60)
    assert references(out)
    for row in references(out):
        seen = foldaway("recall", row["ref"], "--originals", f"{out}.originals.jsonl")
        assert (seen.code, seen.err) == (0, "")
        assert seen.out == b"".join(m + b"\n" for m in given[row["start"] : row["stop"]])
        # a message that the summary was put into is whole: the model has nothing to recall of it
        assert (row["ref"].encode() in out.read_bytes()) is (row["kind"] != "other")


def test_an_unknown_reference_is_one_terminal_sentence(foldaway: Any, out: Path) -> None:
    """Exit 2, and no reason to try again."""
    seen = foldaway("recall", "fa-0000000000", "--originals", f"{out}.originals.jsonl")
    assert (seen.code, seen.out) == (2, b"")
    assert seen.err.startswith("foldaway: unknown reference 'fa-0000000000'")
    assert "trying again cannot help" in seen.err
    assert seen.err.count("\n") == 1


@pytest.mark.parametrize("name", ["missing.jsonl", "in.json"])
def test_what_is_no_originals_file_is_named(foldaway: Any, source: Path, name: str) -> None:
    """Exit 2 with the file."""
    seen = foldaway("recall", "fa-0000000000", "--originals", name)
    assert (seen.code, seen.out) == (2, b"")
    assert seen.err.startswith(f"foldaway: {name}:")


def test_references_resolve_after_a_second_compression(
    foldaway: Any, out: Path, tmp_path: Path
) -> None:
    """Compressed again, in place or into another file: old and new references resolve."""
    first = references(out)[0]
    given = b"".join(m + b"\n" for m in lines(0, 60)[first["start"] : first["stop"]])
    grown = json.loads(out.read_bytes()) + [json.loads(line) for line in lines(60, 40)]
    out.write_bytes(json.dumps(grown).encode())
    for target in (tmp_path / "other.json", out):
        assert foldaway("compress", out, "-o", target, "--target-tokens", 3000).code == 0
        originals = f"{target}.originals.jsonl"
        assert len(Path(originals).read_bytes().splitlines()) == 2
        assert foldaway("recall", first["ref"], "--originals", originals).out == given
        for row in references(target):
            seen = foldaway("recall", row["ref"], "--originals", originals)
            assert seen.reports == grown[row["start"] : row["stop"]]


def test_originals_follow_an_output_that_did_not_change(
    foldaway: Any, out: Path, tmp_path: Path
) -> None:
    """A copy made by a run that found nothing to do can still be recalled from and undone."""
    copy = tmp_path / "copy.json"
    assert foldaway("compress", out, "-o", copy, "--target-tokens", 100_000).code == 0
    ref = references(out)[0]["ref"]
    assert foldaway("recall", ref, "--originals", f"{copy}.originals.jsonl").code == 0


def test_search_finds_what_was_folded(foldaway: Any, out: Path) -> None:
    """With its reference, its place and a snippet; exit 1 where nothing is found."""
    originals = f"{out}.originals.jsonl"
    seen = foldaway("search", "NEEDLE in", "--originals", originals)
    row = references(out)[0]
    assert seen.code == 0
    assert seen.text.startswith(f"{row['ref']}  m10  ")
    assert WORDS in seen.text
    (hit,) = foldaway("search", "--json", "h\u00e9 20 ", "--originals", originals).reports
    assert (hit["position"], hit["generation"], hit["record"]) == (20, 1, 0)
    none = foldaway("search", "no such words", "--originals", originals)
    assert (none.code, none.out) == (1, b"")
    assert "no folded or rewritten message" in none.err


def test_undo_gives_the_file_back(foldaway: Any, source: Path, out: Path) -> None:
    """Byte for byte, and the originals go with the last generation."""
    seen = foldaway("undo", out)
    assert (seen.code, seen.err) == (0, "")
    assert out.read_bytes() == source.read_bytes()
    assert not Path(f"{out}.originals.jsonl").exists()
    again = foldaway("undo", out)
    assert again.code == 2
    assert "no compaction to go back to" in again.err


def test_undo_of_a_file_is_told_to_programs(foldaway: Any, source: Path, out: Path) -> None:
    """One object: the files, what was appended since, and how many can still be undone."""
    (row,) = foldaway("undo", out, "--json").reports
    assert row == {"file": str(out), "output": str(out), "appended": 0, "left": 0}
    assert out.read_bytes() == source.read_bytes()


def test_undo_goes_back_one_step_at_a_time(foldaway: Any, source: Path, out: Path) -> None:
    """Twice compressed, twice undone."""
    between = out.read_bytes()
    assert foldaway("compress", out, "-o", out, "--target-tokens", 1500).code == 0
    assert out.read_bytes() != between
    assert "1 earlier can be undone" in foldaway("undo", out).text
    assert out.read_bytes() == between
    assert foldaway("undo", out).code == 0
    assert out.read_bytes() == source.read_bytes()


def test_undo_keeps_messages_that_were_appended(foldaway: Any, source: Path, out: Path) -> None:
    """The restored messages, then the new ones."""
    new = [json.loads(line) for line in lines(60, 2)]
    out.write_bytes(json.dumps([*json.loads(out.read_bytes()), *new]).encode())
    seen = foldaway("undo", out)
    assert seen.code == 0
    assert "with 2 messages appended since" in seen.text
    assert json.loads(out.read_bytes()) == [*json.loads(source.read_bytes()), *new]
    assert out.read_bytes().startswith(source.read_bytes()[:-3])


def test_undo_refuses_an_output_that_was_edited(foldaway: Any, out: Path) -> None:
    """One sentence, exit 2, nothing written."""
    edited = json.loads(out.read_bytes())
    edited[-1]["content"] = "changed by hand"
    out.write_bytes(json.dumps(edited).encode())
    before, originals = out.read_bytes(), Path(f"{out}.originals.jsonl").read_bytes()
    seen = foldaway("undo", out)
    assert (seen.code, seen.out) == (2, b"")
    assert "edited after the compaction" in seen.err
    assert seen.err.count("\n") == 1
    assert out.read_bytes() == before
    assert Path(f"{out}.originals.jsonl").read_bytes() == originals


def test_undo_into_another_file_leaves_the_output_alone(
    foldaway: Any, source: Path, out: Path, tmp_path: Path
) -> None:
    """OUT keeps its content and its originals, so that its references still resolve."""
    small, originals = out.read_bytes(), Path(f"{out}.originals.jsonl").read_bytes()
    back = tmp_path / "back.json"
    assert foldaway("undo", out, "-o", back).code == 0
    assert back.read_bytes() == source.read_bytes()
    assert (out.read_bytes(), Path(f"{out}.originals.jsonl").read_bytes()) == (small, originals)
    assert not Path(f"{back}.originals.jsonl").exists()
    seen = foldaway("undo", out, "-o", "-")
    assert seen.out == source.read_bytes()


def test_what_was_not_compressed_cannot_be_undone_and_is_told_so(
    foldaway: Any, source: Path
) -> None:
    """Not that some file does not exist, which nobody named."""
    got = foldaway("undo", source)
    assert got.code == 2
    assert "no compaction to go back to" in got.err
    assert "--originals" in got.err


def test_undo_reads_and_writes_gzip(foldaway: Any, source: Path, tmp_path: Path) -> None:
    """The text is what counts, compressed or not."""
    out = tmp_path / "out.json.gz"
    assert foldaway("compress", source, "-o", out, "--target-tokens", 3000).code == 0
    assert foldaway("undo", out).code == 0
    assert gzip.decompress(out.read_bytes()) == source.read_bytes()


def test_the_same_run_twice_does_not_grow_the_originals(
    foldaway: Any, source: Path, out: Path
) -> None:
    """One source is kept once, however often it is compressed into the same place."""
    size = Path(f"{out}.originals.jsonl").stat().st_size
    assert foldaway("compress", source, "-o", out, "--target-tokens", 3000).code == 0
    assert Path(f"{out}.originals.jsonl").stat().st_size == size
    assert foldaway("undo", out).code == 0
    assert out.read_bytes() == source.read_bytes()


def test_an_output_that_is_replaced_keeps_its_originals(foldaway: Any, put: Any, out: Path) -> None:
    """A copy of what was overwritten can still be recalled from."""
    ref = references(out)[0]["ref"]
    other = put("other.json", listed(lines(100, 60)))
    assert foldaway("compress", other, "-o", out, "--target-tokens", 3000).code == 0
    assert foldaway("recall", ref, "--originals", f"{out}.originals.jsonl").code == 0
    assert foldaway("undo", out).code == 0
    assert out.read_bytes() == other.read_bytes()


def test_message_lines_come_back(foldaway: Any, put: Any, tmp_path: Path) -> None:
    """A message a line, with what was appended as further lines."""
    given = b"".join(line + b"\n" for line in lines(0, 60))
    source, out = put("in.jsonl", given), tmp_path / "out.jsonl"
    assert foldaway("compress", source, "-o", out, "--target-tokens", 3000).code == 0
    (row,) = references(out)[:1]
    seen = foldaway("recall", row["ref"], "--originals", f"{out}.originals.jsonl")
    assert seen.out == b"".join(m + b"\n" for m in lines(0, 60)[row["start"] : row["stop"]])
    out.write_bytes(out.read_bytes() + b'{"role":"user","content":"more"}\n')
    assert foldaway("undo", out).code == 0
    assert out.read_bytes() == given + b'{"role":"user","content":"more"}\n'


def test_undo_of_an_agents_own_file_promises_only_its_messages(
    foldaway: Any, put: Any, tmp_path: Path
) -> None:
    """What comes back is a list of messages; the note says so, and for a list it says nothing."""
    said = {"type": "user", "uuid": "u1", "sessionId": "s",
            "message": {"role": "user", "content": "word " * 900}}  # fmt: skip
    talk = [{"role": "user", "content": "word " * 900}]
    native = put("s.jsonl", json.dumps(said).encode() + b"\n")
    for name, is_native in ((native, True), (put("l.json", talk), False)):
        seen = foldaway("compress", name, "-o", tmp_path / "small.json")
        assert ("undo restores the messages" in seen.text) == is_native

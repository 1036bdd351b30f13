"""The log of versions."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from foldaway.memory.files.history import WHOLE_EVERY, History, Version, digest, to_bytes, to_text

TEXTS = st.binary(max_size=60).map(to_text) | st.sampled_from(["", "- a\n", "- a\n- b\n", "- b\n"])


def version(number: int) -> Version:
    return Version(
        number=number, time=float(number), who="tool", what="add", before="", after=str(number)
    )


def filled(path: Path, texts: list[str]) -> History:
    history = History(path)
    before: str | None = None
    for number, text in enumerate(texts, 1):
        history.put(version(number), before, text)
        before = text
    return history


@given(st.lists(TEXTS, max_size=8))
def test_every_version_comes_back_byte_for_byte(texts: list[str]) -> None:
    """Whatever it holds, and however it differs from the one before."""
    with tempfile.TemporaryDirectory() as folder:
        history = filled(Path(folder) / "log", texts)
        assert [kept.text for kept in history.versions()] == texts
        last = history.last()
        assert (last.number if last else 0) == len(texts)


def test_a_line_that_was_not_finished_is_taken_off(tmp_path: Path) -> None:
    """However much of it is there: the version before is the last."""
    history = filled(tmp_path / "log", ["- one\n", "- two\n"])
    whole = history.path.read_bytes()
    first = whole.index(b"\n") + 1
    for size in range(first, len(whole)):
        history.path.write_bytes(whole[:size])
        last = history.last()
        assert last is not None
        assert last.number == 1
        assert history.path.read_bytes() == whole[:first]
    history.path.write_bytes(b"{")
    assert history.last() is None


def test_a_damaged_line_spoils_only_what_hangs_on_it(tmp_path: Path) -> None:
    """Versions from the next whole one on are there again, and none is wrong."""
    texts = [f"- entry {number}\n" for number in range(2 * WHOLE_EVERY)]
    history = filled(tmp_path / "log", texts)
    lines = history.path.read_bytes().splitlines(keepends=True)
    lines[3] = b"\x00\xff broken\n"
    history.path.write_bytes(b"".join(lines))
    kept = {one.version.number: one.text for one in history.versions()}
    assert [kept[number] for number in (1, 2, 3)] == texts[:3]
    assert all(kept[number] is None for number in range(5, WHOLE_EVERY + 1))
    assert [kept[number] for number in range(WHOLE_EVERY + 1, 2 * WHOLE_EVERY + 1)] == (
        texts[WHOLE_EVERY:]
    )


def test_the_last_line_is_found_however_long_it_is(tmp_path: Path) -> None:
    """Only the end of the log is read for it."""
    history = filled(tmp_path / "log", ["- a\n", "x" * 200_000])
    last = history.last()
    assert last is not None
    assert last.number == 2
    history.drop_last()
    last = history.last()
    assert last is not None
    assert last.number == 1


def test_a_log_of_additions_is_small(tmp_path: Path) -> None:
    """A version costs what it changed, and a whole text now and then."""
    texts = list(
        itertools.accumulate(f"- entry {number} with some words\n" for number in range(120))
    )
    size = filled(tmp_path / "log", texts).size()
    assert size < sum(map(len, texts)) / 3


@given(st.binary(max_size=40))
def test_any_bytes_are_a_text_and_back(data: bytes) -> None:
    """Also what is no UTF-8."""
    assert to_bytes(to_text(data)) == data
    assert len(digest(data)) == 32

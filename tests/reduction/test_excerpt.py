"""Lines of texts that are too long to be split."""

from __future__ import annotations

from foldaway.reduction.excerpt import PIECE_CHARS, WHOLE_CHARS, read_lines

QUIET = "a quiet line of text that says nothing of note\n"


def test_a_text_of_usual_size_is_read_whole() -> None:
    """Every line has its number."""
    lines = read_lines("a\r\nb\nc", 100)
    assert lines.texts == ["a", "b", "c"]
    assert list(lines.places) == [0, 1, 2]
    assert lines.total == 3
    assert lines.is_whole


def test_of_a_huge_text_the_ends_and_the_errors_are_read() -> None:
    """Lines keep the numbers that they have in the whole text."""
    before, after = 60_000, 70_000
    text = QUIET * before + "error: the disk is full\n" + QUIET * after
    lines = read_lines(text, 8_000)
    assert lines.total == before + after + 2
    assert len(lines.texts) < 20_000
    at = lines.texts.index("error: the disk is full")
    assert lines.places[at] == before
    assert lines.places[0] == 0
    assert lines.end(len(lines.texts) - 1) == lines.total
    assert not lines.is_whole


def test_places_never_fall_back() -> None:
    """Pieces do not overlap, also where errors stand near the ends and near each other."""
    text = (QUIET * 50 + "error: no\n") * 400
    places = list(read_lines(text, 8_000).places)
    assert places == sorted(set(places))


def test_an_endless_line_is_read_in_pieces() -> None:
    """A place is then the number of characters before it."""
    text = "x" * (3 * WHOLE_CHARS)
    lines = read_lines(text, 8_000)
    assert lines.in_pieces
    assert lines.noun == "character"
    assert lines.total == len(text)
    assert max(map(len, lines.texts)) <= PIECE_CHARS
    assert lines.end(len(lines.texts) - 1) == len(text)


def test_the_more_room_there_is_the_more_is_read() -> None:
    """A large budget is not starved by the excerpt."""
    text = QUIET * 40_000
    assert read_lines(text, len(text) // 4).is_whole
    assert not read_lines(text, 1_000).is_whole

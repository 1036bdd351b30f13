"""The lines of a text that may be needed again, and texts cut between words."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.facts.ledger.lines import LINE_CHARS, TextLine, cut, lines_of, terms_of, whole_words
from foldaway.reduction.lines import plain

PIECES = st.sampled_from((
    "src/app.py", "max_retries = 3", "def load_user(name):", "   12→", "12\t", "7:", "plain words",
    "class A_b:", "8081", " ", "\n", "\n", "\r\n", "\r", "\x1b[31m", "\x1b[0m", "\x00", "\ud800",
    "é_é", ",", "(", "x" * 300, "a_b " * 90, "…",
))  # fmt: skip
TEXTS = st.one_of(
    st.lists(PIECES, max_size=40).map("".join),
    st.lists(PIECES, max_size=40).map("\n".join),
    st.text(st.characters(), max_size=300),
)


def flat(text: str) -> str:
    return " ".join(text.split())


@given(text=TEXTS, most=st.integers(0, 12))
def test_lines_stand_in_the_text_in_their_order(text: str, most: int) -> None:
    """Each is a piece of the text as a terminal shows it, each once, never more than asked for."""
    found = [line.text for line in lines_of(text, most)]
    assert len(found) <= most
    assert len(set(found)) == len(found)
    shown = plain(text)
    assert all(line in shown for line in found)
    everything = [line.text for line in lines_of(text, 10_000)]
    assert [line for line in everything if line in set(found)] == found


def worth(line: TextLine) -> float:
    return (len(line.terms) + 2 * line.is_definition) / (LINE_CHARS + len(line.text))


@given(text=TEXTS, most=st.integers(1, 12))
def test_no_line_is_left_out_for_one_that_holds_less(text: str, most: int) -> None:
    """What is left out names nothing new, or is worth at most what the last of the others is."""
    found, everything = lines_of(text, most), lines_of(text, 10_000)
    assert len(found) == min(most, len(everything))
    kept = {line.text for line in found}
    known = {term for line in found for term in line.terms}
    least = min(map(worth, found), default=1.0)
    for line in everything:
        assert line.text in kept or known.issuperset(line.terms) or worth(line) <= least


def test_lines_that_say_something_new_stand_before_those_that_repeat() -> None:
    """Of many lines that name the same things one stays, and there is room for another name."""
    text = "".join(f"alpha_one beta_two gamma_six {'x' * n}\n" for n in range(40))
    found = [line.text for line in lines_of(f"{text}the rest of it stands in delta_four\n", 2)]
    assert found == ["alpha_one beta_two gamma_six", "the rest of it stands in delta_four"]


def test_of_many_lines_only_those_with_a_new_name_stay() -> None:
    """Beyond a few lines each one that stays names something that no better one does."""
    text = "".join(f"item_{n % 30} and item_{(n + 1) % 30} {'x' * n}\n" for n in range(200))
    assert len(lines_of(text, 64)) <= 30


def test_the_best_line_stays_where_many_before_it_are_alike() -> None:
    """Lines that are worth the same do not push out a better one that stands after them."""
    text = "alpha_one here\nbetaa_two here\ngamma_six here\nfoo_bar a/b c/d e_f g_h\n"
    assert "foo_bar a/b c/d e_f g_h" in [line.text for line in lines_of(text, 2)]


def test_the_numbers_that_tools_put_before_lines_are_no_part_of_them() -> None:
    """A file that is read in two ways gives its lines once."""
    text = "  12→max_retries = 3\n13\tbase_url = 'x'\n14|load_user(name)\n15:save_user(name)"
    assert [line.text for line in lines_of(text, 9)] == [
        "max_retries = 3", "base_url = 'x'", "load_user(name)", "save_user(name)",
    ]  # fmt: skip


def test_lines_without_a_term_are_left_out() -> None:
    """Prose of plain words, rules and blanks hold nothing to come back to."""
    assert lines_of("Just some words here\n----------\n\n   \nok\n", 9) == []


@given(text=TEXTS)
def test_a_line_knows_its_terms(text: str) -> None:
    """They are those of its own words."""
    for line in lines_of(text, 20):
        assert line.terms == terms_of(line.text, 12)
        assert line.terms


@given(text=TEXTS)
def test_line_ends_make_no_difference(text: str) -> None:
    """CRLF reads as LF."""
    unix = text.replace("\r", "")
    dos = unix.replace("\n", "\r\n")
    assert [line.text for line in lines_of(dos, 9)] == [line.text for line in lines_of(unix, 9)]


def test_of_a_huge_text_the_two_ends_are_read() -> None:
    """What stands first and last is there."""
    text = "\n".join(["first_line = 1", *(f"word {'x' * 50}" for _ in range(9_000)), "last_line/2"])
    found = [line.text for line in lines_of(text, 3)]
    assert found == ["first_line = 1", "last_line/2"]


@given(text=TEXTS, most=st.integers(2, 80))
def test_a_cut_text_is_the_start_of_it_on_one_line(text: str, most: int) -> None:
    """At most so long, and marked where something is missing."""
    made = cut(text, most)
    assert len(made) <= most
    assert "\n" not in made
    if len(text) <= most:
        assert flat(made) == flat(text)
    else:
        assert flat(text).startswith(flat(made.removesuffix("…")))


def test_a_text_is_cut_between_words() -> None:
    """Where there is an end of a word in its second half."""
    assert cut("alpha beta gamma delta", 14) == "alpha beta…"
    assert whole_words("…ta gamma delt", 14) == "gamma"
    assert whole_words("short", 10) == "short"


@each_row("piece", ["a", "a_b", "a_b ", "a_b\n", "\n", "\r", "\x1b[", "{", "é", "1→"])
def test_a_hostile_text_takes_linear_time(piece: str) -> None:
    """A million letters on one line, in one word, or in very many lines."""
    text = piece * (1_000_000 // len(piece))
    started = time.process_time()
    lines_of(text, 24)
    cut(text, 240)
    assert time.process_time() - started < 2

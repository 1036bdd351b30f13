"""Three versions of a file become one."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from foldaway.memory.files.entries import entries_of, lines_between, merge

NAMES = st.sampled_from("abcdefgh")
FILES = st.lists(NAMES, max_size=6, unique=True).map(
    lambda names: "# Memory\n\n" + "".join(f"- {name}\n" for name in names)
)


def texts(text: str) -> Counter[str]:
    return Counter(entry.text for entry in entries_of(text))


@given(FILES, FILES)
def test_where_one_side_did_nothing_the_other_counts(base: str, other: str) -> None:
    """Byte for byte where it is theirs; the same entries where it is ours."""
    assert merge(base, base, other).text == other
    assert texts(merge(base, other, base).text) == texts(other)


@given(FILES, FILES, FILES)
def test_nothing_that_a_side_added_is_lost_and_nothing_comes_back(
    base: str, ours: str, theirs: str
) -> None:
    """What either side added is there once; what either took away is not."""
    found = texts(merge(base, ours, theirs).text)
    before, mine, other = texts(base), texts(ours), texts(theirs)
    assert found == (before & mine & other) + ((mine - before) | (other - before))


@given(FILES, FILES, FILES)
def test_merging_again_changes_nothing(base: str, ours: str, theirs: str) -> None:
    """What is merged is merged."""
    once = merge(base, ours, theirs).text
    assert texts(merge(base, ours, once).text) == texts(once)


def test_what_came_and_went_does_not_come_back() -> None:
    """An editor that read it between saves it: it stays away."""
    assert merge("", "- b\n", "- a\n- c\n", passed={"a", "b"}).text == "- c\n- b\n"


def test_both_changed_one_entry() -> None:
    """Both texts are there, and the clash is told; a change against a removal is none."""
    merged = merge("- tea\n- x\n", "- coffee\n- x\n", "- milk\n- x\n")
    assert merged.text == "- milk\n- x\n- coffee\n"
    assert merged.clash is not None
    assert (merged.clash.base, merged.clash.ours, merged.clash.theirs) == (
        ("tea",), ("coffee",), ("milk",)
    )  # fmt: skip
    assert merge("- tea\n", "", "- milk\n").clash is None


def test_what_stands_between_is_told() -> None:
    """Headings and comments count, blank lines and our own separators do not."""
    assert lines_between("# A\n\n- x\n<!-- -->\n\n---\ntext\n") == ["# A", "---"]

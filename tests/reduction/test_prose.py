"""Prose: sentences below their headings."""

from __future__ import annotations

from foldaway import reduce

SECTIONS = "# Report\n\n" + "\n\n".join(
    f"### {n}. Part\n\nSome plain words that say little.\n\n"
    f"The cache in `src/cache_{n}.py` must be cleared because step {n} failed."
    for n in range(40)
)


def test_lesser_headings_come_with_what_stands_below_them() -> None:
    """A list of headings alone says what there was, and nothing of it; only the last may be bare,
    where the room ended."""
    text = reduce(SECTIONS, kind="prose", budget_tokens=300).text
    assert text.startswith("# Report")
    sections = text.split("### ")[1:]
    assert len(sections) > 3
    assert sum("src/cache_" not in section for section in sections) <= 1

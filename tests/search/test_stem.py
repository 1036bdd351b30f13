"""Stems are those of the word index."""

from __future__ import annotations

import sqlite3

from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.search.words import fold_text, stem, words_of

ENDINGS = (
    "", "s", "es", "ies", "ed", "eed", "ing", "y", "ly", "ational", "ization", "fulness", "ement",
    "ment", "ent", "ion", "tion", "sion", "able", "ible", "icate", "ative", "ness", "e", "ll",
    "logi", "ousli", "biliti", "iviti", "ative", "alize", "er", "ss", "sses", "bli",
)  # fmt: skip
letters = st.text("abeilnorstuvyz", max_size=9)
words = st.builds(lambda begin, one, two: begin + one + two, letters,
                  st.sampled_from(ENDINGS), st.sampled_from(ENDINGS)).filter(bool)  # fmt: skip


@given(st.lists(words | st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=1, max_size=70),
                min_size=1, max_size=200, unique=True))  # fmt: skip
def test_a_stem_is_what_sqlite_indexes(drawn: list[str]) -> None:
    """The stemmer is the same as that of FTS5, so what ranks is what was found."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(x, tokenize='porter unicode61')")
    connection.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, 'instance')")
    connection.executemany("INSERT INTO t(rowid, x) VALUES (?, ?)", list(enumerate(drawn)))
    indexed = dict(connection.execute("SELECT doc, term FROM v"))
    connection.close()
    assert [stem(word) for word in drawn] == [indexed[number] for number in range(len(drawn))]


@each_row(
    ("one", "other"),
    [("running", "runs"), ("happy", "happiness"), ("documents", "document"), ("cafés", "cafe")],
)
def test_forms_of_a_word_share_a_stem(one: str, other: str) -> None:
    """Endings and accents do not matter."""
    assert stem(fold_text(one)) == stem(fold_text(other))


def test_words_are_letters_and_digits() -> None:
    """What stands between them is not part of them."""
    assert words_of("src/foo_bar.py: Größe=3") == ["src", "foo", "bar", "py", "große", "3"]

"""Messages in memory are found as those in a store are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from foldaway.search.finding import ScannedText, scan
from foldaway.search.query import parse_query
from foldaway.search.words import has_term

TEXTS = (
    "We agreed that the importer reads src/importers/codex.py twice.",
    "ConnectionRefusedError: port 5432 of the database is closed",
    "The colour of the button is blue.",
    "Deploying takes nine minutes on the small machine.",
)
HELD = [ScannedText(at * 10, "user", text) for at, text in enumerate(TEXTS)]


def positions(query: str) -> list[int]:
    """Return the positions of what is found."""
    return [match.position for match in scan(HELD, query, 3)]


def test_words_questions_and_file_names_are_found() -> None:
    """By stems, by a question's telling words, by a name as it stands."""
    assert positions("importers reading")[0] == 0
    assert positions("which port was closed?")[0] == 10
    assert positions("codex.py") == [0]
    assert positions("button -blue") == []
    assert positions('"nine minutes"') == [30]


@given(st.lists(st.text(max_size=40), max_size=8), st.text(max_size=30))
def test_any_text_is_a_query_and_what_is_quoted_is_in_every_hit(
    texts: list[str], query: str
) -> None:
    """No query fails; each hit is one of the messages and is named once."""
    held = [ScannedText(at, "user", text) for at, text in enumerate(texts)]
    found = scan(held, query, 5)
    assert len({match.position for match in found}) == len(found) <= 5
    for match in found:
        assert match.text == texts[match.position]
        terms = parse_query(query).terms
        assert all(has_term(match.text, term) for term in terms if term.quoted)

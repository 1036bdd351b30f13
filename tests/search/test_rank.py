"""What counts besides the terms, and for which queries."""

from __future__ import annotations

from collections.abc import Sequence

from tests.testing.rows import each_row

from foldaway.search.finding import ScannedText, scan
from foldaway.search.values import Match

FILLER = [f"It rained on day {day}." for day in range(20)]


def find(texts: Sequence[str], query: str) -> list[Match]:
    """Return what a query finds, the best first."""
    return scan([ScannedText(at, "user", text) for at, text in enumerate(texts)], query, 10)


@each_row(
    ("asks", "tells"),
    [
        ("Ready: the staging proxy?", "Ready: the staging proxy."),
        ('He wrote: "the staging proxy?"', 'He wrote: "the staging proxy."'),
        ("好的 the staging proxy？", "好的 the staging proxy。"),
        ("حسنا the staging proxy؟", "حسنا the staging proxy."),
    ],
)
def test_an_answer_is_ahead_of_what_follows_a_statement(asks: str, tells: str) -> None:
    """For a sentence the message after a question counts more, the newer one aside."""
    talk = [*FILLER, asks, "On the left.", *FILLER, tells, "On the right.", *FILLER]
    texts = [match.text for match in find(talk, "Where did we put the staging proxy?")]
    assert texts.index("On the left.") < texts.index("On the right.")


@each_row("lead", ["", "[9 May, 2023] ", "[10:30] "])
def test_what_somebody_said_is_ahead_of_what_was_said_to_them(lead: str) -> None:
    """A question that names a speaker prefers what that person said, the newer one aside."""
    talk = [f"{lead}Ann: the budget, Ben", *FILLER, f"{lead}Ben: the budget, Ann"]
    assert find(talk, "What did Ann say about the budget?")[0].position == 0
    assert find(talk, "What did Ben say about the budget?")[0].position == len(talk) - 1


@each_row("query", ["ann budget", "budget.py", "staging proxy", '"the budget"'])
def test_keywords_are_ranked_by_their_terms_alone(query: str) -> None:
    """Neither a question mark nor a speaker changes the score of a hit for keywords and names."""
    talk = ["Ann: the budget", "the staging proxy?", "see budget.py", *FILLER, "Ann, the budget"]
    plain = [text.replace("?", ".").replace(":", ",") for text in talk]
    one, other = ([(hit.position, hit.score) for hit in find(t, query)] for t in (talk, plain))
    assert one == other != []

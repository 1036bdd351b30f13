"""What is common knowledge: facts and words that sessions of more than one project have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from holdfast.lab.scoring.facts import facts_in
from holdfast.lab.scoring.needed import Elsewhere, commands_of, words_in
from holdfast.lab.scoring.render import render_all
from holdfast.lab.scoring.session import Session


def common(sessions: Iterable[Session]) -> Elsewhere:
    """Return what the sessions of at least two projects know; those of one need not be together."""
    facts: dict[str, set[str]] = {}
    words: dict[str, set[str]] = {}
    for session in sessions:
        text = render_all(session.messages)
        its_facts = facts.setdefault(session.project, set())
        its_facts |= facts_in(text)
        its_facts.update(line for message in session.messages for line in commands_of(message))
        words.setdefault(session.project, set()).update(words_in(text))
    return Elsewhere(_of_two(facts.values()), _of_two(words.values()))


def _of_two(sets: Iterable[set[str]]) -> frozenset[str]:
    counts: Counter[str] = Counter()
    for one in sets:
        counts.update(one)
    return frozenset(item for item, count in counts.items() if count > 1)

"""What was done, in order: edits by what they were for, commands by how they ended."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from itertools import groupby, islice

from msgspec import Struct

from foldaway.facts.languages import Phrases
from foldaway.facts.ledger.fact import Fact, Ledger
from foldaway.facts.ledger.lines import cut

_REPLY_CHARS = 200
"""Of an older reply, in the story."""
_MOST_NAMES = 8
"""Names that came or went, of one file in one step; chosen, about a line."""
_LOOKED = 0.1
"""What a command is worth that only looked (`result.py`): no part of the story."""


class Deed(Struct, frozen=True, gc=False):
    """One thing that was done, and where."""

    at: int
    text: str
    source: str


def story(ledger: Ledger, phrases: Phrases, *, brief: bool) -> list[Deed]:
    """Return what was done, in order; without older replies and what commands
    printed if it must be brief.
    """
    found = [*_edited(ledger, phrases), *_ran(ledger, brief=brief)]
    found.extend(
        Deed(fact.at, f"git commit: {title_of(fact)}", fact.source) for fact in ledger.commits
    )
    if not brief:
        found.extend(
            Deed(fact.at, f"{phrases.agent_wrote}: {cut(fact.text, _REPLY_CHARS)}", fact.source)
            for fact in ledger.replies[:-1]
        )
    return sorted(found, key=lambda deed: deed.at)


def title_of(commit: Fact) -> str:
    """Return the first line of what was said of a commit."""
    return commit.text.partition("\n")[0]


def _edited(ledger: Ledger, phrases: Phrases) -> Iterator[Deed]:
    """Yield the edits; those that were made for one sentence of the agent stand together."""
    for (head, _), rows in groupby(
        ledger.edits, key=lambda fact: (fact.head, fact.key if not fact.head else "")
    ):
        facts = list(rows)
        changes: dict[str, dict[str, None]] = {}
        for fact in facts:
            names = fact.text.partition(": ")[2]
            told = changes.setdefault(posixpath.basename(fact.key), {})
            told.update(dict.fromkeys(names.split(", ") if names else ()))
        text = "; ".join(
            f"{name} ({', '.join(islice(names, _MOST_NAMES))})" if names else name
            for name, names in changes.items()
        )
        if head or any(changes.values()):  # the list of files tells the others
            yield Deed(facts[-1].at, f"{head or phrases.changed}: {text}", facts[-1].source)


def _ran(ledger: Ledger, *, brief: bool) -> Iterator[Deed]:
    """Yield the commands that did something, the newest run of each, with how its tests ended."""
    tests = {fact.at: fact.text for fact in ledger.tests.values()}
    commits = {fact.at for fact in ledger.commits}
    for fact in {fact.text: fact for fact in ledger.commands}.values():
        if (not fact.worth or fact.worth > _LOOKED) and fact.at not in commits:
            printed = f"{fact.text}: {fact.head}" if fact.head and not brief else fact.text
            yield Deed(fact.at, tests.get(fact.at, printed), fact.source)

"""What is common knowledge: facts and words that sessions of more than one project have."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from scoring.facts import facts_in
from scoring.needed import Elsewhere, commands_of, words_in
from scoring.render import render_all
from scoring.sessions import project_of, read_file


def file_names(data: Path) -> list[str]:
    """Return the names of all session files, the largest first; a concatenation is no session."""
    paths = sorted((data / "sessions").glob("*.jsonl.gz"), key=lambda path: -path.stat().st_size)
    names = [path.name.removesuffix(".jsonl.gz") for path in paths]
    return [name for name in names if not name.startswith("concat")]


def known_in(data: Path, name: str) -> dict[str, tuple[set[str], set[str]]]:
    """Return the facts and the words of each project of one file."""
    found: dict[str, tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
    for session in read_file(data, name, name.partition("__")[0]):
        facts, words = found[project_of(session)]
        text = render_all(session.messages)
        facts |= facts_in(text)
        facts.update(line for message in session.messages for line in commands_of(message))
        words |= words_in(text)
    return dict(found)


def common(parts: Iterable[dict[str, tuple[set[str], set[str]]]]) -> Elsewhere:
    """Return what at least two projects know."""
    facts: dict[str, set[str]] = defaultdict(set)
    words: dict[str, set[str]] = defaultdict(set)
    for part in parts:
        for project, (its_facts, its_words) in part.items():
            facts[project] |= its_facts
            words[project] |= its_words
    return Elsewhere(_of_two(facts.values()), _of_two(words.values()))


def _of_two(sets: Iterable[set[str]]) -> frozenset[str]:
    counts: Counter[str] = Counter()
    for one in sets:
        counts.update(one)
    return frozenset(item for item, count in counts.items() if count > 1)

"""The state at the end of a log: branch, commit, tests, processes, files."""

from __future__ import annotations

import posixpath

from foldaway.facts.languages import Phrases
from foldaway.facts.ledger.fact import Fact, Ledger
from foldaway.facts.ledger.files import known_files
from foldaway.facts.ledger.story import title_of
from foldaway.facts.summary import STATE, Entry

_MOST_CHANGED = 8
"""Files that are named as changed since the last test run; all of them are in the list of files."""
_WAITED_COMMANDS = 10
"""After so many other commands a process that the agent only waited for counts as ended; chosen."""


def state_of(ledger: Ledger, phrases: Phrases) -> list[Entry]:
    """Return the state at the end of the log, what matters most last."""
    found = [
        Entry(f"{phrases.running}: {fact.text}", fact.source, STATE) for fact in running_now(ledger)
    ]
    for words, fact in (
        (phrases.working_directory, ledger.directory),
        (phrases.branch, ledger.branch),
        (phrases.pull_request, ledger.pull_request),
    ):
        if fact is not None:
            found.append(Entry(f"{words}: {fact.text}", fact.source, STATE))
    if ledger.commits:
        head = ledger.commits[-1]
        pushed = phrases.pushed if ledger.pushed is not None else phrases.not_pushed
        found.append(Entry(f"git commit: {title_of(head)} ({pushed})", head.source, STATE))
    if (tested := _tested(ledger, phrases)) is not None:
        found.append(tested)
    return found


def running_now(ledger: Ledger) -> list[Fact]:
    """Return the processes that run at the end of the log."""
    ran = [fact.at for fact in ledger.commands]
    return [
        fact
        for fact in ledger.running.values()
        if not fact.worth or sum(at > fact.at for at in ran) < _WAITED_COMMANDS
    ]


def last_test(ledger: Ledger) -> Fact | None:
    """Return how the last test run ended."""
    return max(ledger.tests.values(), key=lambda fact: fact.at, default=None)


def _tested(ledger: Ledger, phrases: Phrases) -> Entry | None:
    """Return what the last test run said, and what changed since."""
    last = last_test(ledger)
    if last is None:
        return None
    later = [
        path
        for path, state in known_files(ledger).items()
        if state.is_touched and state.at > last.at
    ]  # fmt: skip
    names = ", ".join(posixpath.basename(path) for path in later[-_MOST_CHANGED:])
    since = f"{phrases.changed_since}: {names}" if later else phrases.unchanged_since
    text = f"{phrases.last_test}: {last.text}; {since}"
    return Entry(text, last.source, STATE + 1)

"""How things stood at the end of the log, by the ledger: what a note says of it must agree.

| what a sentence says                | what must hold                                         |
| ----------------------------------- | ------------------------------------------------------ |
| tests pass or fail                  | the last run ended so, or an older one is cited        |
| something stands in the way         | it is an open failure, or was said after the last call |
| a process runs                      | it was started, and its end was not seen               |
| a file was changed or deleted       | a call did that                                        |
| branch, folder, pull request, push  | it is the one of the ledger                            |

What does not agree is left out: the ledger's own line is in the summary.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import inf
from typing import get_args

from msgspec import Struct

from foldaway._core import Regex, read_words
from foldaway.compaction import NOW
from foldaway.facts import Likeness, Section, likeness, names_in, open_failures
from foldaway.facts.languages import Language, phrases_for
from foldaway.facts.ledger import Fact, FileState, Ledger


class KnownState(Struct, frozen=True, kw_only=True):
    """How things stood, as far as a sentence about it can be checked."""

    passed: bool | None = None
    """How the last test run ended; None if the ledger knows of none."""
    tested_at: int = -1
    running: tuple[Likeness, ...] = ()
    failures: tuple[Likeness, ...] = ()
    """The open ones."""
    failed_in: frozenset[str] = frozenset()
    """The labels of their messages."""
    worked_to: int = -1
    """The position of the last command."""
    files: dict[str, FileState] = {}
    values: tuple[tuple[str, str], ...] = ()
    """What the ledger calls a branch, folder or pull request in any language, and its value."""
    is_unpushed: bool = False


def known_state(ledger: Ledger) -> KnownState:
    """Return how things stood by a ledger."""
    test, failures = ledger.last_test(), open_failures(ledger, inf)
    places = {
        "branch": ledger.branch,
        "working_directory": ledger.directory,
        "pull_request": ledger.pull_request,
    }
    return KnownState(
        passed=None if test is None else _outcome(test),
        tested_at=-1 if test is None else test.at,
        running=tuple(likeness(fact.text) for fact in ledger.running_now()),
        failures=tuple(likeness(row.text) for row in failures),
        failed_in=frozenset(row.source for row in failures),
        worked_to=ledger.commands[-1].at if ledger.commands else -1,
        files=ledger.known_files(),
        values=tuple(
            (name.casefold(), fact.text.casefold())
            for key, fact in places.items()
            if fact is not None
            for name in _in_all_languages(key)
        ),
        is_unpushed=bool(ledger.commits) and ledger.pushed is None,
    )


def contradicts(
    state: KnownState, section: Section, text: str, *, label: str = "", at: int | None = None
) -> bool:
    """Return whether a sentence of a section says otherwise than the ledger; `label` is the message
    that it cites, `at` its position.
    """
    small = " ".join(text.casefold().split())
    if _wrong_tests(state, section, small, at):
        return True
    if section == "blocked" and not _is_in_the_way(state, text, label, at):
        return True
    if section in ("files", "completed") and _is_unchanged(state, text, small):
        return True
    return section in NOW and (_is_over(state, text, small) or _wrong_value(state, section, small))


def _outcome(test: Fact) -> bool | None:
    """Return whether a test run passed, None if its line does not tell."""
    if test.failed or _SOME_FAILED.search(test.text):
        return False
    return True if _ALL_PASSED.search(test.text) else None


def _in_all_languages(key: str) -> frozenset[str]:
    return frozenset(str(getattr(phrases_for(one), key)).casefold() for one in get_args(Language))


def _any_of(words: Iterable[str]) -> Regex[str]:
    """Return what finds one of the words; in a script with blanks it must be a whole word."""
    rows = sorted(words, key=len, reverse=True)
    return Regex(
        "|".join(
            re.escape(word) if word[0] >= "\u3040" else rf"(?<!\w){re.escape(word)}(?!\w)"
            for word in rows
        )
    )


_WORDS = read_words("known_state", "foldaway.summarizers.gate")
_TESTS, _PASSED, _FAILED = (_any_of(_WORDS[key]) for key in ("tests", "passed", "failed"))
_NONE_FAILED, _NOT_PASSED = (_any_of(_WORDS[key]) for key in ("none_failed", "not_passed"))
_SOME_FAILED = Regex(r"(?:\A|`: )(?:\d+ )?failed\b")
_ALL_PASSED = Regex(r"(?:\A|`: )(?:\d+ passed|ok)\b")
"""How the line of a test run tells its end."""
_RUNNING = _any_of(_WORDS["running"])
_NOT_PUSHED = _any_of(_in_all_languages("not_pushed") | _WORDS["not_pushed"])
_PUSHED = _any_of(_in_all_languages("pushed"))
_DELETED = _any_of(_in_all_languages("deleted"))
_CHANGED = _any_of(
    _WORDS["changed"]
    | _in_all_languages("changed")
    | _in_all_languages("created")
    | _in_all_languages("deleted")
)


def _wrong_tests(state: KnownState, section: Section, small: str, at: int | None) -> bool:
    """Return whether a sentence tells another end of the last test run.

    What is left to do may name an end to reach, and what was done a failure that was fixed.
    """
    if state.passed is None or not _TESTS.search(small):
        return False
    rest, none_failed = _take_out(_NONE_FAILED, small)
    rest, not_passed = _take_out(_NOT_PASSED, rest)
    passed = none_failed or bool(_PASSED.search(rest))
    failed = not_passed or bool(_FAILED.search(rest))
    if passed == failed:
        return False
    if failed:
        return state.passed and section in NOW
    is_older = at is not None and at < state.tested_at and section not in NOW
    return not (state.passed or section == "remaining" or is_older)


def _take_out(words: Regex[str], text: str) -> tuple[str, bool]:
    rest = words.sub(" ", text)
    return rest, rest != text


def _is_in_the_way(state: KnownState, text: str, label: str, at: int | None) -> bool:
    if label in state.failed_in or (at is not None and at >= state.worked_to):
        return True
    names = likeness(text).names
    return any(names & failure.names for failure in state.failures)


def _is_over(state: KnownState, text: str, small: str) -> bool:
    """Return whether a sentence says of a process that it runs, and none of the ledger's is it."""
    if not _RUNNING.search(small):
        return False
    said = likeness(text)
    return not any(
        said.names & process.names or said.words & process.words for process in state.running
    )


def _wrong_value(state: KnownState, section: Section, small: str) -> bool:
    if state.is_unpushed and _PUSHED.search(_NOT_PUSHED.sub(" ", small)):
        return True
    named = {value for name, value in state.values if section == "state" and name in small}
    return bool(named) and not any(value in small for value in named)


def _is_unchanged(state: KnownState, text: str, small: str) -> bool:
    """Return whether a sentence says that files were changed or deleted, and none of them was."""
    if not _CHANGED.search(small):
        return False
    paths = [name.text for name in names_in(text) if name.kind == "path"]
    found = [file for path in paths for file in _find_files(state.files, path)]
    if _DELETED.search(small):
        return bool(found) and not any(file.deleted for file in found)
    return bool(paths) and not any(file.is_touched for file in found)


def _find_files(files: dict[str, FileState], path: str) -> list[FileState]:
    """Return what is known of a file, or of those in a folder."""
    end = path.replace("\\", "/").partition(":")[0].strip("/")
    return [
        file
        for name, file in files.items()
        if f"/{name.strip('/')}".endswith(f"/{end}")
        or f"/{end}".endswith(f"/{name.strip('/')}")
        or f"/{end}/" in f"/{name}"
    ]

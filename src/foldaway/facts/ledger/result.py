"""The facts of one tool result and the call that it answers.

What a fact is worth here is on the scale of `rank.py`, where a plain term is worth 1.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import Regex
from foldaway.facts.dialogue.statements import constraints
from foldaway.facts.effects.calls import SOURCES, effects_of_call, use_of
from foldaway.facts.effects.effect import Effect, base_name, part_of_patch
from foldaway.facts.effects.programs import PROGRAMS
from foldaway.facts.frame import before_note
from foldaway.facts.languages import WORDS
from foldaway.facts.ledger.fact import HEAD_CHARS, LOOKED, ROW, Fact, FactKind, Past
from foldaway.facts.ledger.lines import cut, lines_of, terms_of
from foldaway.facts.ledger.outcome import (
    COMMAND_CHARS,
    command_key,
    cut_apart,
    outcome_of,
    refusal_in,
    without_wrapper,
)
from foldaway.facts.ledger.tasks import task_told, todo_text
from foldaway.facts.rows import data_rows
from foldaway.facts.speakers import without_blocks
from foldaway.facts.tools import ARGUMENTS, FAMILIES, Family, family_of, first_of, scalar_words
from foldaway.reduction import TestCounts, failing_tests, test_counts
from foldaway.transcript import Message, Text, ToolCall, ToolResult

_TARGET_CHARS = 160
"""Of the arguments of a call that has no command and no file."""
_FIRST_LINE_CHARS = 120
"""Of the command in a line about its tests."""
_MOST_LINES = 64
"""Of one result, each naming something new: with 24 names were lost that stood elsewhere in it."""
_MOST_ARGUMENT_LINES = 12
"""Of one long argument."""
_MOST_ROWS = 40
"""Of a result that is data."""
_MOST_FAILING = 12
"""Failing tests that are named."""
_LONG_ARGUMENT_CHARS = 120
"""A shorter argument is told with the call."""
_COMMAND_KEYS = ARGUMENTS["commands"]
_PROCESS_KEYS = ARGUMENTS["running"]
_WORKED_IN = ARGUMENTS["worked_in"]
_NAME_PARTS = Regex(r"[^a-z]+")
_LOOKING = WORDS["looking_words"]
_DONE = 8.0
"""A command that did something outside of the files (`acting_commands`)."""
_CHANGED = 4.0
"""A command that changed a file."""
_RAN = 4.0
"""A command of which neither is known."""
_STARTED = Regex(r"\b(?:ID|id|Id|PID|pid)\b\W{1,3}(\w[\w-]{0,63})")
"""How results tell the name of a process that goes on in the background."""
_TESTS, _TELLS, _PUSHES, _REWRITES, _PULLS = (
    Regex(PROGRAMS.purposes[one]) for one in ("tests", "tells", "pushes", "rewrites", "pulls")
)
_STATUS_OVER = Regex(r"<status>(?:completed|failed|killed|stopped)")
_PASSED = Regex(r"\bok\b|\bOK\b|\bPASS(?:ED)?\b|\bpassed\b|\b0 fail")
"""How the end of a test run says that all is well, if it is not one that is counted."""
_END_CHARS = 2_000
"""Of an output, where its end is looked for; chosen."""
_PRINTED_CHARS = 100
"""Of a command's output that is told beside it; chosen, about a line."""
_SAID_CHARS = 300
"""Of what the user said when they rejected a call; chosen, rules are as long at most."""
_PULL = Regex(r"https?://[^\s\"'<>]{1,200}/(?:pull|merge_requests)/\d{1,9}")
_COMMITTED = Regex(r"^\[([^\s\]]{1,200})(?: \([^)\n]*\))? ([0-9a-f]{7,40})\] ", re.MULTILINE)
"""How git tells the branch and the id of a commit that it made."""
_WAITED_FOR = 1.0
"""Marks a process that was not started to go on: its output is waited for."""
_STARTED_CHARS = 400
"""Of a result, where the id of a started process is told."""
_REPLACED = frozenset(ARGUMENTS["old_texts"])
"""Arguments that hold what an edit takes away."""
_PLACES = frozenset({"chdir", "branch", "commit", "start", "stop"})
_CHANGES = frozenset({"create", "write", "change", "append", "delete", "rename"})
_MOST_SIDE_TERMS = 4
"""Names that are told of each side of an edit; chosen, a line holds about eight."""
_PATCH = "*** Begin Patch"
_MARKUP = Regex(r"\b(?:d|points|class|className|viewBox|transform|style)=(?:\"[^\"]*+\"|'[^']*+')")
_MOST_GONE = 200
"""Lines that an edit took away, which are no longer quoted; chosen, edits are shorter."""
_SIDE_CHARS = 12
"""A shorter argument is no side of an edit."""
_ABORTED = "aborted by user"
"""A rejection whose words are no order to the agent."""
_NO_FILE = frozenset("*?{`")
_OPENED = Regex(
    r"^\[File: (\S[^\r\n]{0,300}?) \(\d+ lines|^\(Open file: (/[^)\r\n]{1,300})\)", re.MULTILINE
)
"""How SWE-agent tells which file is open: after an edit that names none it is the one edited."""


def facts_of_result(
    message: Message,
    result: ToolResult,
    call: ToolCall | None,
    *,
    lines: bool,
    past: Past | None = None,
) -> Iterable[Fact]:
    """Return what the call did, how it ended, and the lines that may be needed again.

    With the `past` of a log that is read from its end, commands that only looked at something tell
    nothing, and what an older run of a command printed is not read.
    """
    called = _called(call, result)
    one = _Result(message, result, called, lines=lines, past=past)
    return one.facts() if past is None or not one.only_looked() else ()


class _Called(Struct, frozen=True):
    """What was called, as far as it says what was done."""

    name: str
    family: Family
    arguments: Mapping[str, Any] = {}
    given: str | None = None
    """The arguments as they came; None if the call is not known."""
    process: str = ""
    """The running process that it looks at or talks to."""
    line: str = ""
    """The command line, if it runs one."""
    command: str = ""
    """The command line as it is told."""
    line_key: str = ""
    """What the command line is known by when it comes again."""

    def key(self, effects: tuple[Effect, ...]) -> str:
        """Return what the call is known by when it comes again."""
        if self.process:
            return f"{self.name} {self.process}"
        return self.line_key if self.line else self.target(effects)

    def target(self, effects: tuple[Effect, ...]) -> str:
        """Return what it was about: its tool and file, or its tool and first argument."""
        for effect in effects:
            if effect.path:
                return f"{self.name} {effect.path}"
        given = self.given or ""
        return (
            self.name if given in ("", "{}") else f"{self.name} {cut_apart(given, _TARGET_CHARS)}"
        )

    def action(self) -> str:
        """Return what the call of an unknown tool did, unless its name says that it only looked."""
        parts = _NAME_PARTS.split(self.name.lower())
        if self.family != "other" or not _LOOKING.isdisjoint(parts):
            return ""
        return f"{self.name} {cut(self.given or '', COMMAND_CHARS)}"

    def runs_tests(self) -> bool:
        """Return whether the command line runs tests, by its words before any that it only tells
        somebody, as in the message of a commit.
        """
        told = _TELLS.search(self.line)
        return bool(_TESTS.search(self.line, 0, told.start() if told else len(self.line)))


def _called(call: ToolCall | None, result: ToolResult) -> _Called:
    """Return what a result answers; of an unknown call the name that the result gives."""
    name = call.name if call is not None else result.name
    family: Family = family_of(name) if name else "other"
    if call is None:
        return _Called(name, family)
    arguments = use_of(call).arguments
    process = ""
    if family == "process":
        known = (scalar_words(arguments.get(key)) for key in _PROCESS_KEYS)
        process = next(filter(None, known), "")
    runs = FAMILIES[family].runs and not process
    line = first_of(arguments, *_COMMAND_KEYS) if runs else ""
    if not line:
        return _Called(name, family, arguments, call.arguments, process)
    known_by = command_key(line)
    return _Called(
        name, family, arguments, call.arguments, "", line, cut(line, COMMAND_CHARS), known_by
    )


class _Result:
    """One tool result with its call, read once."""

    def __init__(
        self,
        message: Message,
        result: ToolResult,
        called: _Called,
        *,
        lines: bool,
        past: Past | None,
    ) -> None:
        self.source, self.at = message.label, message.position
        self.called, self.reads_lines, self.past = called, lines, past
        given = [part.text for part in result.parts if isinstance(part, Text)]
        text = without_blocks(given[0] if len(given) == 1 else "\n".join(given))
        self.output = without_wrapper(text)
        is_old = past is not None and bool(called.line) and called.line_key in past.ran
        self.end = outcome_of(
            called.family, called.line, self.output, is_error=result.is_error, by_status=is_old
        )
        counts = lines or past is None
        runs = bool(called.line or called.process) and not self.end.looked
        self.tests = test_counts(self.output) if runs and counts else None
        if self.tests is not None and self.end.code in (None, 0) and self._passed(self.tests):
            self.end = replace(self.end, failed=False, errors=())  # what tests print on purpose

    @staticmethod
    def _passed(counts: TestCounts) -> bool:
        return bool(counts.passed) and not counts.failed

    def only_looked(self) -> bool:
        """Return whether a command looked at something, found it, and did not go elsewhere."""
        end, line = self.end, self.called.line
        return bool(line) and end.looked and not (end.failed or "cd " in line)

    def facts(self) -> Iterator[Fact]:
        """Yield what the call did, how it ended, and the lines that may be needed again."""
        effects = (
            effects_of_call(self.called.name, self.called.arguments)
            if self.called.given is not None
            else ()
        )
        if self.end.rejected:
            yield from self._rejection(effects)
            return
        key = self.called.key(effects)
        yield from self._did(effects, key)
        yield from self._ended(key)
        if FAMILIES[self.called.family].tasks:
            yield from self._todo()
        if self.reads_lines:
            yield from self._lines(key)

    def _rejection(self, effects: tuple[Effect, ...]) -> Iterator[Fact]:
        """Yield what the user did not let go ahead, with their words, and the rules among these if
        the host says by its flag that the call failed: a text alone may be anybody's.
        """
        first = self.end.rejected
        said = first if first.startswith(_ABORTED) else cut(refusal_in(self.output), _SAID_CHARS)
        target = self.called.target(effects)
        if not self.called.command and len(target) > HEAD_CHARS and "/" in target:
            target = f"{self.called.name} …/{base_name(target)}"
        what = cut(self.called.command or target, HEAD_CHARS)
        words = f": {said}" if said else ""
        yield self._fact("decision", f"The user rejected `{what}`{words}", "rejected")
        for rule in constraints(said) if self.end.is_flagged else ():
            yield Fact("constraint", rule.text, self.source, self.at, worth=float(rule.strength))

    def _did(self, effects: tuple[Effect, ...], key: str) -> Iterator[Fact]:
        """Yield the effects on files and processes, and the command or the action itself."""
        command, end = self.called.command, self.end
        for effect in effects:
            yield from self._effect(effect, key, by_command=bool(command))
        if command:
            if end.running and not any(effect.action == "start" for effect in effects):
                for fact in self._effect(Effect("start", detail=command), key, by_command=True):
                    yield replace(fact, worth=_WAITED_FOR)
            yield from self._ran(command, key, effects)
            if place := first_of(self.called.arguments, *_WORKED_IN):  # the next call says it again
                yield Fact("place", place, self.source, self.at, "chdir")
        elif not end.failed and not end.running:
            yield self._fact("command", self.called.action(), key)

    def _ended(self, key: str) -> Iterator[Fact]:
        """Yield what went wrong, and that a process has come to its end."""
        if self.end.failed and not self.end.looked and not self.end.undone:
            for line in self.end.errors:
                yield self._fact("error", line, key)
        if self.called.process and (
            self.end.code is not None or _STATUS_OVER.search(self.output[:400])
        ):
            yield self._fact("test", self._test_words(), key)
            stop = Effect("stop", detail=self.called.process)
            yield Fact("place", self.called.process, self.source, self.at, "stop", effect=stop)

    def _todo(self) -> Iterator[Fact]:
        if state := todo_text(self.called.arguments):
            yield self._fact("todo", state, "")
        elif not self.end.failed:
            number, line = task_told(self.called.arguments, self.output)
            if number:
                yield self._fact("todo", line, number)

    def _effect(self, effect: Effect, key: str, *, by_command: bool) -> Iterator[Fact]:
        kind: FactKind = "place" if effect.action in _PLACES else "file"
        if self.called.family == "edit":
            effect = self._as_told(effect)
        if kind == "file" and effect.action != "read" and not _names_file(effect):
            return
        if kind == "file" and self._is_pieced(effect):
            return
        # which part of a command went wrong is not known: the others did what they say
        failed = self.end.undone or (self.end.failed and not by_command)
        is_start = effect.action == "start"
        known = self._started() if is_start else ""
        head = key if is_start else ""
        text = effect.path or effect.detail
        if effect.action == "commit" and (made := _COMMITTED.search(self.output)):
            yield Fact("place", made[1], self.source, self.at, "branch")
            text = f"{made[2]} {text}"
        yield Fact(
            kind,
            text,
            self.source,
            self.at,
            effect.action,
            failed,
            effect=effect,
            was=known,
            head=head,
        )
        is_edit = self.called.family != "other" and (self.past is None or self.past.wants_edits)
        is_edit = is_edit and (not by_command or _PATCH in self.called.line)
        if kind == "file" and not failed and is_edit and effect.action in _CHANGES:
            yield self._edit(effect)

    def _edit(self, effect: Effect) -> Fact:
        """Return what an edit took away and put there: the names that only one side has."""
        sides = list(self._sides(effect.path))
        olds = "\n".join([text for key, text in sides if key in _REPLACED])
        news = "\n".join([text for key, text in sides if key not in _REPLACED])
        gone, come = (dict.fromkeys(terms_of(_MARKUP.sub(" ", one), 400)) for one in (olds, news))
        shown = [f"- {term}" for term in gone if term not in come][:_MOST_SIDE_TERMS]
        shown += [f"+ {term}" for term in come if term not in gone][:_MOST_SIDE_TERMS]
        text = f"{effect.path}: {', '.join(shown)}" if shown else effect.path
        was = "\n".join([line for row in olds.split("\n") if (line := row.strip())][:_MOST_GONE])
        return Fact("edit", text, self.source, self.at, effect.path, was=was)

    def _sides(self, path: str) -> Iterator[tuple[str, str]]:
        """Yield the texts of an edit with their names, also those of several edits in one call."""
        edits = self.called.arguments.get("edits")
        more = cast("list[Any]", edits) if isinstance(edits, list) else []
        rows = [cast("Mapping[str, Any]", one) for one in more if isinstance(one, dict)]
        for row in (self.called.arguments, *rows):
            for key, text in row.items():
                if not isinstance(text, str) or len(text) <= _SIDE_CHARS:
                    continue
                text = before_note(text)  # what an earlier cut wrote is not in the file
                if _PATCH in text:
                    rows = part_of_patch(text, path).split("\n")
                    for side, sign in (("old", "-"), ("new", "+")):
                        lines = [row[1:] for row in rows if row.startswith(sign)]
                        yield side, "\n".join(lines)
                elif key not in _COMMAND_KEYS and "path" not in key:
                    yield key, text

    def _as_told(self, effect: Effect) -> Effect:
        """Return an effect on the file that the result names: the one that is open, or the one in
        the folder that something was moved or copied to.
        """
        if not effect.path:
            told = _OPENED.search(self.output)
            return effect if told is None else replace(effect, path=told[1] or told[2])
        if effect.action not in ("rename", "write"):
            return effect
        is_move = effect.action == "rename"
        source = effect.path if is_move else first_of(self.called.arguments, *SOURCES)
        target = effect.to if is_move else effect.path
        inside = f"{target.rstrip('/')}/{base_name(source)}"
        if not (source and target) or inside not in self.output:
            return effect
        return replace(effect, to=inside) if is_move else replace(effect, path=inside)

    def _is_pieced(self, effect: Effect) -> bool:
        """Return whether a name was put together from a variable or a brace.

        Such a name stands nowhere, so it cannot be quoted; the command that made it can.
        """
        name = effect.path.rpartition("/")[2]
        return ("$" in self.called.line or "{" in self.called.line) and name not in self.called.line

    def _started(self) -> str:
        """Return the id of the process that goes on, "" where the result names none."""
        found = _STARTED.search(self.output[:_STARTED_CHARS]) if not self.end.running else None
        return found[1] if found else self.end.running

    def _ran(self, command: str, key: str, effects: tuple[Effect, ...]) -> Iterator[Fact]:
        end, past = self.end, self.past
        # what goes on in the background has not succeeded yet
        known_by = "" if end.running else key
        if past is None or past.wants_commands:
            yield self._told_command(command, known_by, effects)
        else:
            yield Fact("command", command, self.source, self.at, known_by, end.failed)
        if not end.failed:
            yield from self._published(command)
        is_newest = past is None or key not in past.tested
        if is_newest and not end.looked and (self._has_counts() or self.called.runs_tests()):
            words = f"`{cut(command, _FIRST_LINE_CHARS)}`: {self._test_words()}"
            yield self._fact("test", words, key)

    def _told_command(self, command: str, key: str, effects: tuple[Effect, ...]) -> Fact:
        """Return a command with what it is worth, how it ended, and what it printed."""
        end = self.end
        worth = _weight_of(command, effects, looked=end.looked)
        ended = f" -> exit {end.code}" if end.code else ""
        first, _, rest = self.called.line.partition("\n")
        purpose = first_of(self.called.arguments, "description") if rest else ""
        text = f"`{command}`{ended}"
        if purpose:
            text = f"{cut(purpose, HEAD_CHARS)} (`{cut(first, HEAD_CHARS)}`{ended})"
        shows = worth > LOOKED and not end.failed
        return Fact(
            "command",
            text,
            self.source,
            self.at,
            key,
            end.failed,
            terms_of(command, 12) if worth > LOOKED else (),
            worth=worth,
            head=self._printed(is_script=bool(purpose)) if shows else "",
        )

    def _has_counts(self) -> bool:
        return self.tests is not None and bool(self.tests.passed or self.tests.failed)

    def _test_words(self) -> str:
        """Return how a run of tests ended; if its result does not tell, the end of what it says."""
        end, counts = self.end, self.tests
        if end.running:
            return "still running"
        if counts is not None and self._has_counts():
            failing = failing_tests(self.output, _MOST_FAILING)
            told = [f"{counts.failed} failed"] if counts.failed else []
            told += [f"{counts.passed} passed"] if counts.passed else []
            names = f"; failing: {', '.join(failing)}" if failing else ""
            return f"{', '.join(told)}{names}"
        if end.failed:
            return f"failed (exit {end.code})" if end.code else "failed"
        if end.code == 0 and "|" not in self.called.line:
            return "ok"
        return "ok" if _PASSED.search(self.output[-_END_CHARS:]) else self._last_line()

    def _last_line(self) -> str:
        rows = [line for line in self.output[-_END_CHARS:].split("\n") if line.strip()]
        return cut(rows[-1], _PRINTED_CHARS) if rows else "no output"

    def _printed(self, *, is_script: bool) -> str:
        """Return all that a command printed, if that is hardly anything; of a script the start."""
        said = self.output[:_END_CHARS].rpartition("\nOutput:\n")[2].strip()
        if is_script:
            return cut(said, 2 * _PRINTED_CHARS)
        is_all = len(self.output) <= _END_CHARS and len(said) <= _PRINTED_CHARS
        return " ".join(said.split()) if is_all else ""

    def _published(self, command: str) -> Iterator[Fact]:
        """Yield pushes and rewritten commits, and the pull request that a result names."""
        if _REWRITES.search(command) and "--abort" not in command:
            yield Fact("place", command, self.source, self.at, "rewrite")
        if _PUSHES.search(command) and "--dry-run" not in command:
            yield Fact("place", command, self.source, self.at, "push")
        if _PULLS.search(command) and (found := _PULL.search(self.output)):
            yield Fact("place", found[0], self.source, self.at, "pull")

    def _lines(self, key: str) -> Iterator[Fact]:
        head = cut(key, HEAD_CHARS)
        for name, value in self.called.arguments.items():
            if name in _REPLACED or (name in _COMMAND_KEYS and "\n" not in str(value)):
                continue
            if isinstance(value, str) and len(value) > _LONG_ARGUMENT_CHARS:
                for line in lines_of(before_note(value), _MOST_ARGUMENT_LINES):
                    yield Fact(
                        "line",
                        line.text,
                        self.source,
                        self.at,
                        terms=line.terms,
                        head=f"{head} ({name})",
                    )
        is_other = not self.called.line and self.called.family == "other"
        if _is_json(self.output):
            head = self._given_words().rstrip() if is_other else head
            for row in data_rows(self.output, _MOST_ROWS):
                yield Fact(
                    "line", row, self.source, self.at, ROW, terms=terms_of(row, 48), head=head
                )
            return
        source, at = self.source, self.at
        yield from [
            Fact("line", line.text, source, at, terms=line.terms, head=head, number=line.number)
            for line in lines_of(self.output, _MOST_LINES)
        ]

    def _given_words(self) -> str:
        """Return the tool and the values of its arguments."""
        given = " ".join(map(str, self.called.arguments.values()))
        return cut(f"{self.called.name} {given}", HEAD_CHARS)

    def _fact(self, kind: FactKind, text: str, key: str) -> Fact:
        terms = terms_of(text, 12) if text else ()
        return Fact(
            kind,
            text,
            self.source,
            self.at,
            key,
            self.end.failed,
            terms,
            was=self.called.process if kind in ("command", "error", "test") else "",
        )


def _names_file(effect: Effect) -> bool:
    """Return whether an effect is on one file, and not on a folder or on whatever a mask finds."""
    for path in (effect.path, effect.to):
        if path in (".", "..") or path.endswith("/") or not _NO_FILE.isdisjoint(path):
            return False
    return True


def _weight_of(command: str, effects: tuple[Effect, ...], *, looked: bool) -> float:
    """Return what a command is worth telling: one that changed something more than a look."""
    for action in WORDS["acting_commands"]:  # a generator costs more
        if action in command:
            return _DONE
    if any(effect.action != "read" for effect in effects):
        return _CHANGED
    return LOOKED if looked or effects else _RAN


def _is_json(output: str) -> bool:
    """Return whether a result is JSON with few line breaks: its fields are its lines."""
    start = output[:40].lstrip()[:1]
    return start in ("{", "[") and output.count("\n") * 200 < len(output)

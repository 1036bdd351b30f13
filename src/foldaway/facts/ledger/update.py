"""Take more facts into a ledger."""

from __future__ import annotations

import posixpath
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

from msgspec.structs import replace

from foldaway._core import Regex
from foldaway.facts.dialogue.statements import is_question
from foldaway.facts.effects.effect import Effect
from foldaway.facts.ledger.fact import (
    KEPT_ASKS,
    KEPT_COMMANDS,
    KEPT_EDITS,
    KEPT_RULES,
    Ask,
    Fact,
    FileState,
    Ledger,
)
from foldaway.facts.ledger.lines import LINE_CHARS, cut
from foldaway.facts.speakers import goes_on
from foldaway.facts.tools import ARGUMENTS

_LISTS = ARGUMENTS["todo_lists"]
_WORDS = ARGUMENTS["todo_words"]
_STATES = ARGUMENTS["task_states"]
_DONE = ("completed", "done", "complete", "finished", "cancelled")
_MOST_ITEMS = 60
"""Of one list of tasks."""
_ITEM_CHARS = 200
"""Of one task."""
_NUMBER = Regex(r"#(\d{1,9})\b")
_NUMBER_CHARS = 200
"""Of a result, where the number of a new task is told."""
_GONE = "deleted"
_SENTENCE_END = Regex(r"[.:!](?=\s|\Z)")


def todo_text(arguments: Mapping[str, Any]) -> str:
    """Return the list as lines "state: words"; "" where the arguments hold none."""
    for name in _LISTS:
        rows = arguments.get(name)
        if isinstance(rows, list):
            lines = [line for row in cast("list[Any]", rows)[:_MOST_ITEMS] if (line := _line(row))]
            return "\n".join(lines)
    return ""


def task_told(arguments: Mapping[str, Any], output: str) -> tuple[str, str]:
    """Return the number of one task and its line; ("", "") where a call is about none.

    Some agents keep their list a task at a time: the call that makes one tells its words and the
    result its number, a later call the number and what is new.
    """
    number = arguments.get("taskId", arguments.get("task_id", ""))
    words = next((arguments[key] for key in _WORDS if isinstance(arguments.get(key), str)), "")
    if not number and words:
        found = _NUMBER.search(output[:_NUMBER_CHARS])
        return (found[1], f"pending: {_flat(words)}") if found else ("", "")
    state = next((arguments[key] for key in _STATES if isinstance(arguments.get(key), str)), "")
    if not isinstance(number, (str, int)) or not (state or words):
        return "", ""
    return _flat(str(number)), f"{_flat(state)}: {_flat(words)}"


def merge_tasks(held: Fact | None, fact: Fact) -> Fact:
    """Return the list with what a fact says of one task (`key`), or the new list as it is.

    The numbers of the tasks stand in `was`, a line each.
    """
    if not fact.key:
        return fact
    rows: dict[str, str] = {}
    if held is not None and held.was:
        rows = dict(zip(held.was.split("\n"), held.text.split("\n"), strict=False))
    state, _, words = fact.text.partition(": ")
    was_state, _, was_words = rows.get(fact.key, "pending: ").partition(": ")
    rows[fact.key] = f"{state or was_state}: {words or was_words}"
    if state == _GONE or not (words or was_words):
        del rows[fact.key]
    while len(rows) > _MOST_ITEMS:
        del rows[next(iter(rows))]
    return replace(fact, text="\n".join(rows.values()), key="", was="\n".join(rows))


def split_tasks(text: str) -> tuple[list[str], list[str], list[str]]:
    """Return the items of `todo_text` that are done, under way, and still to do."""
    done: list[str] = []
    under_way: list[str] = []
    to_do: list[str] = []
    for line in text.split("\n"):
        state, _, words = line.partition(": ")
        if state.lower().startswith(_DONE):
            done.append(words)
        elif "progress" in state.lower() or state.lower() in ("active", "doing", "current"):
            under_way.append(words)
        elif words:
            to_do.append(words)
    return done, under_way, to_do


def _line(row: Any) -> str:
    if isinstance(row, str):
        return f"pending: {_flat(row)}" if row.strip() else ""
    if not isinstance(row, dict):
        return ""
    item = cast("dict[str, Any]", row)
    words = next((item[name] for name in _WORDS if isinstance(item.get(name), str)), "")
    state = next((item[name] for name in _STATES if isinstance(item.get(name), str)), "pending")
    return f"{_flat(state)}: {_flat(words)}" if words else ""


def _flat(text: str) -> str:
    return cut(text, _ITEM_CHARS)


_KEPT = {"said": 24, "replies": 80, "decisions": 200, "commits": 40}
_OF_PROCESSES = frozenset({"command", "error", "test"})
_OF_WORK = frozenset({"said", "command", "file", "edit", "place", "error", "test", "todo"})
"""What calls tell, and what the agent says beside them."""
_OLDER_REPLY_CHARS = 900
"""Of a reply that is not the newest."""
_LEAST_PATH = 20
"""Of a path that was cut, so much must be the same; chosen."""
_SENTENCE_CHARS = 160
"""Of what the agent said before an edit."""
_ANSWER_CHARS = 200
"""Of the answer to a question, and of a question that is told with its answer; chosen."""
_KEPT_LINES = 1_500
"""A summary of ten thousand tokens has room for a few hundred."""
_MOST_LINES = 10_000
"""From so many on those that hold least are let go, before the end of a round."""
_KEPT_FILES = 2_000
"""What was only read goes before what was changed."""
_KEPT_FOLDERS = 200
"""Folders that were made, the newest."""
_KEPT_ERROR_LINES = 24
"""Of one failure, the first."""
_KEPT_BY_KEY = 400
"""Errors and tests: the newest keys."""

Value = TypeVar("Value")


def update(ledger: Ledger, facts: Iterable[Fact]) -> Ledger:
    """Return the ledger with more facts.

    Law: in two rounds as in one. A success resolves the earlier errors under the same key; a reply
    answers the latest ask, and an ask the questions before it.
    """
    book = _Book(ledger)
    take, take_line, lines = book.take, book.take_line, book.lines
    for fact in facts:
        if fact.kind != "line":
            take(fact)
        elif (text := fact.text) in lines or len(lines) >= _MOST_LINES:
            take_line(fact)
            lines = book.lines
        else:  # most are new lines
            lines[text] = fact
    return book.close()


class _Book:
    """The ledger while facts are taken in."""

    def __init__(self, was: Ledger) -> None:
        self.asks = list(was.asks)
        self.instructions = was.instructions
        self.reported = was.reported
        self.constraints = dict(was.constraints)
        self.decisions = list(was.decisions)
        self.said = list(was.said)
        self.replies = list(was.replies)
        self.files = dict(was.files)
        self.opened = was.opened
        self.folders: dict[str, None] = dict.fromkeys(was.folders)
        self.commands = list(was.commands)
        self.command_count = was.command_count
        self.errors = dict(was.errors)
        self.tests = dict(was.tests)
        self.todo = was.todo
        self.directory = was.directory
        self.branch = was.branch
        self.commits = list(was.commits)
        self.pushed, self.pull_request = was.pushed, was.pull_request
        self.edits = list(was.edits)
        self.running = dict(was.running)
        self.lines = dict(was.lines)

    def take(self, fact: Fact) -> None:
        """Take one fact."""
        if self.reported and fact.kind in _OF_WORK:
            self.reported = False  # the turn goes on: it was no report
        if fact.was and fact.kind in _OF_PROCESSES:
            fact = self._of_process(fact)
        match fact.kind:
            case "line":
                self.take_line(fact)
            case "ask":
                self._ask(fact)
            case "instructions":
                self.instructions, self.reported = fact, False
            case "constraint":
                _put(self.constraints, fact.text, fact, KEPT_RULES)
            case "decision":
                self.decisions.append(fact)
            case "said":
                self.said.append(fact)
            case "reply":
                self.reported = fact.key != "asks"
                if fact.text:
                    self._reply(fact)
                if fact.key != "asks" and self.asks and not self.asks[-1].answered_by:
                    self.asks[-1] = _answer_ask(self.asks[-1], fact)
            case "file":
                self._file(fact)
            case "edit":
                self._edit(fact)
            case "place":
                self._place(fact)
            case "command":
                self._command(fact)
            case "error":
                held = self.errors.get(fact.key, ())
                same = held and held[-1].at == fact.at
                lines = (*held, fact)[:_KEPT_ERROR_LINES] if same else (fact,)
                _put(self.errors, fact.key, lines)
            case "test":
                if not fact.was or fact.key in self.tests:  # of a process that runs tests
                    _put(self.tests, fact.key, fact)
            case "question":
                pass
            case "todo":
                self.todo = merge_tasks(self.todo, fact)

    def _of_process(self, fact: Fact) -> Fact:
        """Return what was heard of a running process under the command that started it."""
        for start in self.running.values():
            if start.was == fact.was:
                text = f"`{start.text}`: {fact.text}" if fact.kind == "test" else fact.text
                return replace(fact, key=start.head, text=text)
        return fact

    def _ask(self, fact: Fact) -> None:
        last = self.asks[-1].fact.at if self.asks else -1
        asked = any(one.key == "asks" and one.at > last for one in self.replies[-1:])
        if self.reported or (fact.text and not goes_on(fact.text, asked=asked)):
            self.instructions = None
        self.reported = False
        self.asks.append(Ask(fact))

    def _reply(self, fact: Fact) -> None:
        """Take a reply; only the newest is kept whole."""
        if self.replies:
            older = self.replies[-1]
            self.replies[-1] = replace(older, text=cut(older.text, _OLDER_REPLY_CHARS))
        self.replies.append(fact)

    def _edit(self, fact: Fact) -> None:
        """Take an edit with what the agent said last before it, since the person spoke."""
        last = self.said[-1] if self.said else None
        asked = self.asks[-1].fact.at if self.asks else -1
        if last is not None and last.at > asked:
            fact = replace(fact, head=cut(_first_sentence(last.text), _SENTENCE_CHARS))
        self._forget(fact)
        self.edits.append(replace(fact, was=""))

    def _forget(self, fact: Fact) -> None:
        """Let lines go that an edit took out of a file."""
        for text in fact.was.split("\n") if fact.was else ():
            held = self.lines.get(text)
            if held is not None and _is_of(held, fact.key):
                del self.lines[text]

    def take_line(self, fact: Fact) -> None:
        """Take a line. One that comes again never loses worth: what is let go now would go later.

        So rounds make no difference.
        """
        lines, text = self.lines, fact.text
        held = lines.pop(text, None)
        lines[text] = fact if held is None or _worth(held) <= _worth(fact) else held
        if len(lines) > _MOST_LINES:
            self.lines = _worthiest(lines)

    def _command(self, fact: Fact) -> None:
        if fact.text:
            self.commands.append(fact)
            self.command_count += 1
        if fact.failed or not self.errors:
            return
        tool, mark, _ = fact.key.partition(" {")  # what was wrong with other arguments is over
        settled = [
            key for key in self.errors if key == fact.key or (mark and key.startswith(f"{tool} {{"))
        ]
        for key in settled:
            del self.errors[key]

    def _file(self, fact: Fact) -> None:
        effect = fact.effect
        if effect is None or fact.failed or not (effect.path or self.opened):
            return
        path = posixpath.normpath(effect.path) if effect.path else self.opened
        if effect.action == "mkdir":
            _put(self.folders, path, None, _KEPT_FOLDERS)
            return
        if effect.action == "write" and path in self.folders:
            return  # copied into a folder, under a name that is not known here
        self.opened = path
        if len(self.files) > 2 * _KEPT_FILES:
            self.files = _touched_last(self.files)
        was = self.files.pop(path, FileState())
        if effect.action in ("write", "create", "delete") and was.last:
            for text in [text for text, held in self.lines.items() if _is_of(held, path)]:
                del self.lines[text]  # what stood in it before
        if effect.action == "rename":
            self._renamed(path, was, fact)
        elif (state := _after(was, fact, effect)) is not None:
            self.files[path] = state

    def _renamed(self, path: str, was: FileState, fact: Fact) -> None:
        assert fact.effect is not None
        if not fact.effect.to:
            self.files[path] = replace(was, deleted=True, last=fact.source, at=fact.at)
            return
        to = posixpath.normpath(fact.effect.to)
        if to in self.folders:
            to = f"{to}/{posixpath.basename(path)}"
        self.files.pop(to, None)
        self.files[to] = replace(
            was, deleted=False, renamed_from=was.renamed_from or path, last=fact.source, at=fact.at
        )

    def _place(self, fact: Fact) -> None:
        match fact.key:
            case "chdir":
                self.directory = fact
            case "branch":
                self.branch = fact
            case "commit":
                self.commits.append(fact)
                self.pushed = None
            case "push":
                self.pushed = fact
            case "pull":
                self.pull_request = fact
            case "rewrite":
                self.commits = [replace(one, text=_HASH.sub("", one.text)) for one in self.commits]
                self.pushed = None
            case "start":
                _put(self.running, fact.text, fact)
            case _:
                self._stopped(fact.text)

    def _stopped(self, name: str) -> None:
        """Let a process go by its command, or by the id that it was given."""
        if self.running.pop(name, None) is None and name:
            known = next((text for text, one in self.running.items() if one.was == name), "")
            self.running.pop(known, None)

    def close(self) -> Ledger:
        """Return the ledger, cut to its bounds."""
        return Ledger(
            asks=tuple(_first_and_newest(self.asks)),
            instructions=self.instructions,
            reported=self.reported,
            constraints=self.constraints,
            decisions=tuple(self.decisions[-_KEPT["decisions"] :]),
            said=tuple(self.said[-_KEPT["said"] :]),
            replies=tuple(self.replies[-_KEPT["replies"] :]),
            files=self.files,
            opened=self.opened,
            folders=tuple(self.folders),
            commands=tuple(self.commands[-KEPT_COMMANDS:]),
            command_count=self.command_count,
            errors=self.errors,
            tests=self.tests,
            todo=self.todo,
            directory=self.directory,
            branch=self.branch,
            commits=tuple(self.commits[-_KEPT["commits"] :]),
            pushed=self.pushed,
            pull_request=self.pull_request,
            edits=tuple(self.edits[-KEPT_EDITS:]),
            running=self.running,
            lines=_worthiest(self.lines),
        )


_HASH = Regex(r"\A[0-9a-f]{7,40} ")


def _is_of(line: Fact, path: str) -> bool:
    """Return whether a line was quoted from a file, by what it stands under."""
    told = line.head.partition(" ")[2].removesuffix("…")
    return bool(told) and (path == told or (len(told) > _LEAST_PATH and path.startswith(told)))


def _first_sentence(text: str) -> str:
    found = _SENTENCE_END.search(text)
    return (text[: found.start()] if found else text).rstrip(" :.…")


def _after(was: FileState, fact: Fact, effect: Effect) -> FileState | None:
    """Return the state of a file after an effect on it; None if nothing is known of it."""
    seen = FileState(
        was.read, was.changed, was.created, False, was.renamed_from, fact.source, fact.at
    )  # fmt: skip
    match effect.action:
        case "read":
            state = replace(seen, read=was.read + 1, deleted=was.deleted)
            return replace(state, last=was.last, at=was.at) if was.changed or was.deleted else state
        case "create" | "write":
            fresh = not (was.read or was.changed)
            return replace(seen, changed=was.changed + 1, created=was.created or fresh)
        case "change" | "append":
            return replace(seen, changed=was.changed + 1)
        case "delete":
            return replace(seen, deleted=True)
        case _:
            return was if was.last else None


def _first_and_newest(asks: list[Ask]) -> list[Ask]:
    """Return the asks to keep: the first is what it is all about."""
    return asks if len(asks) <= KEPT_ASKS + 1 else [asks[0], *asks[-KEPT_ASKS:]]


def _put(book: dict[str, Value], key: str, value: Value, most: int = _KEPT_BY_KEY) -> None:
    """Set a key, make it the newest, and let the oldest go if there are too many.

    At once and not at the end of a round, so that rounds make no difference.
    """
    book.pop(key, None)
    book[key] = value
    if len(book) > most:
        del book[next(iter(book))]


def _touched_last(files: dict[str, FileState]) -> dict[str, FileState]:
    """Return the files to keep, in their own order: what was only read goes first, then the old."""
    order = sorted(files, key=lambda path: files[path].is_touched)
    # sorting is stable: within each half the oldest still stands first
    gone = set(order[:-_KEPT_FILES])
    return {path: state for path, state in files.items() if path not in gone}


def _worthiest(lines: dict[str, Fact]) -> dict[str, Fact]:
    """Return the lines that hold most for their length, in their own order."""
    if len(lines) <= _KEPT_LINES:
        return lines
    worths = [
        (len(fact.terms) + fact.worth) / (LINE_CHARS + len(text)) for text, fact in lines.items()
    ]
    order = sorted(worths)
    least = order[-_KEPT_LINES]
    spare = _KEPT_LINES - (len(order) - bisect_right(order, least))
    rows = zip(worths, lines.items(), strict=True)
    even = sorted([(fact.at, text) for worth, (text, fact) in rows if worth == least])
    gone = {text for _, text in even[:-spare]}
    rows = zip(worths, lines.items(), strict=True)
    return {text: fact for worth, (text, fact) in rows if worth >= least and text not in gone}


def _worth(fact: Fact) -> tuple[float, int, str]:
    return (len(fact.terms) + fact.worth) / (LINE_CHARS + len(fact.text)), fact.at, fact.text


def _answer_ask(ask: Ask, reply: Fact) -> Ask:
    """Return an ask with the reply to it, and with what that says if it is a short question."""
    words = ask.fact.text
    asks = len(words) <= _ANSWER_CHARS and is_question(words)
    answer = cut(reply.text, _ANSWER_CHARS) if asks else ""
    return replace(ask, answered_by=reply.source, answer=answer)

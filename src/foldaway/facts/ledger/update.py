"""Take more facts into a ledger."""

from __future__ import annotations

import posixpath
from bisect import bisect_right
from collections.abc import Iterable
from typing import TypeVar

from msgspec.structs import replace

from foldaway._core import Regex
from foldaway.facts.dialogue.statements import due_later, is_question
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
from foldaway.facts.ledger.tasks import merge_tasks
from foldaway.facts.speakers import goes_on

_SENTENCE_END = Regex(r"[.:!](?=\s|\Z)")
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
_KEPT_SETTLED = 40
"""Questions with their answers that are older than all other requests; chosen, more than a summary
has room for."""
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
    take, lines = book.take, book.files.lines
    for fact in facts:
        if fact.kind != "line":
            take(fact)
        elif (text := fact.text) in lines or len(lines) >= _MOST_LINES:
            book.files.line(fact)
            lines = book.files.lines
        else:  # most are new lines
            lines[text] = fact
    return book.close()


class _Book:
    """The ledger while facts are taken in."""

    def __init__(self, was: Ledger) -> None:
        self.talk = _Talk(was)
        self.work = _Work(was)
        self.files = _Files(was)
        self.place = _Place(was)

    def take(self, fact: Fact) -> None:
        """Take one fact that is not a line."""
        talk, work = self.talk, self.work
        if talk.reported and fact.kind in _OF_WORK:
            talk.reported = False  # the turn goes on: it was no report
        if fact.was and fact.kind in _OF_PROCESSES:
            fact = self.place.of_process(fact)
        match fact.kind:
            case "ask":
                talk.ask(fact)
            case "instructions":
                talk.instructions, talk.reported = fact, False
            case "constraint":
                _put(talk.constraints, fact.text, fact, KEPT_RULES)
            case "decision":
                talk.decisions.append(fact)
            case "said":
                talk.said.append(fact)
            case "reply":
                talk.reply(fact)
            case "file":
                self.files.change(fact)
            case "edit":
                self.files.edit(fact, talk.said_before_work())
            case "place":
                self.place.take(fact)
            case "command":
                work.command(fact)
            case "error":
                work.error(fact)
            case "test":
                if not fact.was or fact.key in work.tests:  # of a process that runs tests
                    _put(work.tests, fact.key, fact)
            case "todo":
                work.todo = merge_tasks(work.todo, fact)
            case "question" | "line":
                pass

    def close(self) -> Ledger:
        """Return the ledger, cut to its bounds."""
        talk, work, files, place = self.talk, self.work, self.files, self.place
        return Ledger(
            asks=tuple(_first_and_newest(talk.asks)),
            instructions=talk.instructions,
            reported=talk.reported,
            constraints=talk.constraints,
            decisions=tuple(talk.decisions[-_KEPT["decisions"] :]),
            said=tuple(talk.said[-_KEPT["said"] :]),
            replies=tuple(talk.replies[-_KEPT["replies"] :]),
            files=files.files,
            opened=files.opened,
            folders=tuple(files.folders),
            commands=tuple(work.commands[-KEPT_COMMANDS:]),
            command_count=work.command_count,
            errors=work.errors,
            tests=work.tests,
            todo=work.todo,
            directory=place.directory,
            branch=place.branch,
            commits=tuple(place.commits[-_KEPT["commits"] :]),
            pushed=place.pushed,
            pull_request=place.pull_request,
            edits=tuple(files.edits[-KEPT_EDITS:]),
            running=place.running,
            lines=_worthiest(files.lines),
        )


class _Talk:
    """What the user and the agent said to each other."""

    def __init__(self, was: Ledger) -> None:
        self.asks = list(was.asks)
        self.instructions = was.instructions
        self.reported = was.reported
        self.constraints = dict(was.constraints)
        self.decisions = list(was.decisions)
        self.said = list(was.said)
        self.replies = list(was.replies)

    def ask(self, fact: Fact) -> None:
        """Take a request."""
        last = self.asks[-1].fact.at if self.asks else -1
        asked = any(one.key == "asks" and one.at > last for one in self.replies[-1:])
        if self.reported or (fact.text and not goes_on(fact.text, asked=asked)):
            self.instructions = None
        self.reported = False
        question = ""
        if asked and 0 < len(fact.text) <= _ANSWER_CHARS:
            question = cut(self.replies[-1].text[-_ANSWER_CHARS:], _ANSWER_CHARS)
        self.asks.append(Ask(fact, question=question))

    def reply(self, fact: Fact) -> None:
        """Take a reply; only the newest is kept whole."""
        self.reported = fact.key != "asks"
        if fact.text:
            if self.replies:
                older = self.replies[-1]
                self.replies[-1] = replace(older, text=cut(older.text, _OLDER_REPLY_CHARS))
            self.replies.append(fact)
        if fact.key != "asks" and self.asks and not self.asks[-1].answered_by:
            self.asks[-1] = _answer_ask(self.asks[-1], fact)

    def said_before_work(self) -> str:
        """Return the first sentence of what the agent said last, since the person spoke."""
        last = self.said[-1] if self.said else None
        asked = self.asks[-1].fact.at if self.asks else -1
        if last is None or last.at <= asked:
            return ""
        return cut(_first_sentence(last.text), _SENTENCE_CHARS)


class _Work:
    """Commands, how they ended, and the agent's list of tasks."""

    def __init__(self, was: Ledger) -> None:
        self.commands = list(was.commands)
        self.command_count = was.command_count
        self.errors = dict(was.errors)
        self.tests = dict(was.tests)
        self.todo = was.todo

    def command(self, fact: Fact) -> None:
        """Take a command; a success settles what failed under its key."""
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

    def error(self, fact: Fact) -> None:
        """Take a line that tells of a failure, with the others of its message."""
        held = self.errors.get(fact.key, ())
        same = held and held[-1].at == fact.at
        lines = (*held, fact)[:_KEPT_ERROR_LINES] if same else (fact,)
        _put(self.errors, fact.key, lines)


class _Files:
    """What happened to files, and the lines that were read."""

    def __init__(self, was: Ledger) -> None:
        self.files = dict(was.files)
        self.opened = was.opened
        self.folders: dict[str, None] = dict.fromkeys(was.folders)
        self.edits = list(was.edits)
        self.lines = dict(was.lines)

    def edit(self, fact: Fact, said: str) -> None:
        """Take an edit with what the agent said before it; lines that it took out of a file go."""
        for text in fact.was.split("\n") if fact.was else ():
            held = self.lines.get(text)
            if held is not None and _is_of(held, fact.key):
                del self.lines[text]
        self.edits.append(replace(fact, head=said or fact.head, was=""))

    def line(self, fact: Fact) -> None:
        """Take a line. One that comes again never loses worth: what is let go now would go later.

        So rounds make no difference.
        """
        lines, text = self.lines, fact.text
        held = lines.pop(text, None)
        lines[text] = fact if held is None or _worth(held) <= _worth(fact) else held
        if len(lines) > _MOST_LINES:
            self.lines = _worthiest(lines)

    def change(self, fact: Fact) -> None:
        """Take an effect on a file or folder."""
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
            self._renamed(path, was, fact, effect)
        elif (state := _after(was, fact, effect)) is not None:
            self.files[path] = state

    def _renamed(self, path: str, was: FileState, fact: Fact, effect: Effect) -> None:
        if not effect.to:
            self.files[path] = replace(was, deleted=True, last=fact.source, at=fact.at)
            return
        to = posixpath.normpath(effect.to)
        if to in self.folders:
            to = f"{to}/{posixpath.basename(path)}"
        self.files.pop(to, None)
        self.files[to] = replace(
            was, deleted=False, renamed_from=was.renamed_from or path, last=fact.source, at=fact.at
        )


class _Place:
    """Where the agent works, what it handed in, and what runs."""

    def __init__(self, was: Ledger) -> None:
        self.directory = was.directory
        self.branch = was.branch
        self.commits = list(was.commits)
        self.pushed, self.pull_request = was.pushed, was.pull_request
        self.running = dict(was.running)

    def take(self, fact: Fact) -> None:
        """Take a fact of kind "place"."""
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

    def of_process(self, fact: Fact) -> Fact:
        """Return what was heard of a running process under the command that started it."""
        for start in self.running.values():
            if start.was == fact.was:
                text = f"`{start.text}`: {fact.text}" if fact.kind == "test" else fact.text
                return replace(fact, key=start.head, text=text)
        return fact

    def _stopped(self, name: str) -> None:
        """Let a process go by its command, or by the id that it was given."""
        if self.running.pop(name, None) is None and name:
            known = next((text for text, one in self.running.items() if one.was == name), "")
            self.running.pop(known, None)


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
    )
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
    """Return the asks to keep: the first is what it is all about; of others that are older than the
    newest those that settled a question, the first of them.
    """
    if len(asks) <= KEPT_ASKS + 1:
        return asks
    settled = [ask for ask in asks[1:-KEPT_ASKS] if ask.settled]
    return [asks[0], *settled[:_KEPT_SETTLED], *asks[-KEPT_ASKS:]]


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
    asks = len(words) <= _ANSWER_CHARS and is_question(words) and not due_later(words)
    answer = cut(reply.text, _ANSWER_CHARS) if asks else ""
    return replace(ask, answered_by=reply.source, answer=answer)

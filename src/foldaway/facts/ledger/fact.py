"""The values: one fact of a message, and the ledger of all that was folded."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import Redact, Regex, TokenCounter
from foldaway.facts.effects.effect import Effect

FactKind: TypeAlias = Literal[
    "ask",
    "instructions",
    "constraint",
    "question",
    "decision",
    "said",
    "reply",
    "file",
    "edit",
    "place",
    "command",
    "error",
    "test",
    "todo",
    "line",
]
"""What a fact tells.

ask         what the user wrote, verbatim
instructions  the text of a skill or slash command that the agent is to follow
constraint  a line of the user's that states a rule
question    a question of the user's with its answer, in an older summary
decision    a sentence of the agent's that tells a choice or a finding
said        what the agent wrote beside its calls
reply       what the agent wrote without a call: it answers the latest ask
file        what a call did to a file (`effect`)
edit        what a call changed in a file: names that went and names that came
place       a working directory, branch, commit, push, pull request or process (`key`)
command     a command that was run, and how it ended
error       a line that tells of a failure; `key` says of what
test        how a test run or build ended; `key` is the command
todo        the state of the agent's own list of tasks
line        a line of a result, of arguments or of prose that may be needed again; of a result that
            is data, one item (`key` is `ROW`)
"""


HEAD_CHARS = 90
"""Of the call or speaker that a line stands under, in characters."""
LOOKED = 0.1
"""The worth of a command that only looked at something: less than any term."""
ROW = "row"
"""The key of a line that tells one item of data: it may be shortened between its fields."""
_TOGETHER = 200
"""So many facts are looked through for secrets as one text."""


class Fact(Struct, frozen=True, gc=False):
    """One thing that a message shows, in the words of the message."""

    kind: FactKind
    text: str
    source: str
    """The label of the message."""
    at: int = -1
    """Its position in the log."""
    key: str = ""
    failed: bool = False
    terms: tuple[str, ...] = ()
    """Names, paths and numbers in it that somebody may come back to."""
    effect: Effect | None = None
    was: str = ""
    """The id of a started process; of an edit the lines that it took away."""
    head: str = ""
    """Where a line stands: the call or speaker; of a command what it printed."""
    worth: float = 0.0
    """What it is worth beside its terms."""
    number: int = 0
    """Of a line of a file, as the tool that read it numbered it; 0 if it did not."""


_TOLD = frozenset(
    {"ask", "instructions", "constraint", "question", "decision", "said", "reply", "todo", "edit"}
)


def is_piece(fact: Fact) -> bool:
    """Return whether a fact may hold a piece of what its message says: it was cut, or it is a
    sentence of more.
    """
    if (fact.kind in _TOLD and fact.text) or (fact.effect is not None and fact.effect.detail):
        return True
    return "…" in "".join(_all_texts(fact))


def redact_fact(fact: Fact, redact: Redact) -> Fact:
    """Return a fact without the secrets in it; its terms are those that are left."""
    hidden = _with_texts(fact, lambda text: redact(text) if text else "")
    if hidden.text == fact.text:
        return hidden
    return replace(hidden, terms=tuple(term for term in fact.terms if term in hidden.text))


_LONE_SURROGATE = Regex("[\ud800-\udfff]")


def encodable(fact: Fact) -> Fact:
    """Return a fact that can be written as JSON: a lone surrogate in it becomes U+FFFD."""
    if fact.source.isascii() and "".join(_all_texts(fact)).isascii():
        return fact
    made = _with_texts(fact, lambda text: _LONE_SURROGATE.sub("\ufffd", text))
    terms = tuple(_LONE_SURROGATE.sub("\ufffd", term) for term in fact.terms)
    return replace(made, source=_LONE_SURROGATE.sub("\ufffd", fact.source), terms=terms)


def _with_texts(fact: Fact, changed: Callable[[str], str]) -> Fact:
    """Return a fact with every text in it changed, but not its terms and its source."""
    effect = fact.effect
    if effect is not None:
        effect = replace(
            effect, path=changed(effect.path), to=changed(effect.to), detail=changed(effect.detail)
        )
    return replace(
        fact,
        text=changed(fact.text),
        key=changed(fact.key),
        head=changed(fact.head),
        was=changed(fact.was),
        effect=effect,
    )


def _all_texts(fact: Fact) -> tuple[str, ...]:
    effect = fact.effect
    if effect is None:
        return fact.text, fact.key, fact.head, fact.was
    return fact.text, fact.key, fact.head, fact.was, effect.path, effect.to, effect.detail


def without_secrets(facts: Sequence[Fact], redact: Redact) -> Sequence[Fact]:
    """Return facts without the secrets in them; looked through together, as most have none."""
    if redact is str or not facts:
        return facts
    found: list[Fact] = []
    for start in range(0, len(facts), _TOGETHER):
        some = facts[start : start + _TOGETHER]
        # the key of a command is the command, the text of a file its path: each once
        text = "\n".join(dict.fromkeys(chain.from_iterable(map(_all_texts, some))))
        found.extend(some if redact(text) == text else (redact_fact(one, redact) for one in some))
    return found


class FileState(Struct, frozen=True, gc=False):
    """What happened to one file, and where last."""

    read: int = 0
    changed: int = 0
    created: bool = False
    deleted: bool = False
    renamed_from: str = ""
    last: str = ""
    at: int = -1

    @property
    def is_touched(self) -> bool:
        """Whether something was done to it, beside reading."""
        return bool(self.changed or self.deleted or self.renamed_from)


class Ask(Struct, frozen=True, gc=False):
    """What the user wrote, and the reply that answered it, if one did."""

    fact: Fact
    answered_by: str = ""
    answer: str = ""
    """How that reply begins, if a short question was asked."""
    question: str = ""
    """What the agent had asked, if this is a short answer to it."""

    @property
    def settled(self) -> str:
        """A short question with its answer, by the user or by the agent; "" if this is none."""
        if self.answer:
            return f"{self.fact.text} -> {self.answer}"
        return f"{self.question} -> {self.fact.text}" if self.question else ""


_MANY_FILES = 12
"""From this many changed files on a session is complex; chosen."""
_MANY_FAILURES = 3
"""So many changed files, or so many open failures, make a session complex."""
_WAITED_COMMANDS = 10
"""Other commands after which a process that the agent only waited for counts as ended; chosen."""
_SAMPLED = 200
"""Lines that the cost of a character is measured by; chosen."""
_SAMPLE_CHARS = 8_000
"""Lines, and characters of them, that the cost of a character is measured by."""


class Ledger(Struct, frozen=True):
    """The facts of everything that was folded so far; serializes with the state.

    Law: `update(update(empty, a), b)` equals `update(empty, a + b)`. Everything is bounded: by
    the newest, and lines by what they hold.
    """

    asks: tuple[Ask, ...] = ()
    instructions: Fact | None = None
    """Of the newest skill or command; None as soon as the person asks for something else, or speaks
    after its task was reported done."""
    reported: bool = False
    """Whether the last turn of the agent ended with a report: no call and no question."""
    constraints: dict[str, Fact] = {}
    decisions: tuple[Fact, ...] = ()
    said: tuple[Fact, ...] = ()
    replies: tuple[Fact, ...] = ()
    """What the agent wrote at the end of its turns."""
    files: dict[str, FileState] = {}
    opened: str = ""
    """The file that was looked at last: some agents edit the one that is open."""
    folders: tuple[str, ...] = ()
    """Folders that were made: what is moved to one of them goes into it."""
    commands: tuple[Fact, ...] = ()
    command_count: int = 0
    errors: dict[str, tuple[Fact, ...]] = {}
    """The lines that tell of a failure, by what failed; a success takes them away."""
    tests: dict[str, Fact] = {}
    todo: Fact | None = None
    directory: Fact | None = None
    branch: Fact | None = None
    commits: tuple[Fact, ...] = ()
    pushed: Fact | None = None
    """The last push that went through."""
    pull_request: Fact | None = None
    edits: tuple[Fact, ...] = ()
    """What was changed, each with what the agent said before it (`head`)."""
    running: dict[str, Fact] = {}
    lines: dict[str, Fact] = {}

    @property
    def is_complex(self) -> bool:
        """Whether a session holds much at once: many files changed, several open failures."""
        touched = sum(state.is_touched for state in self.files.values())
        return touched >= _MANY_FILES or len(self.errors) >= _MANY_FAILURES

    def running_now(self) -> list[Fact]:
        """Return the processes that run at the end of the log."""
        ran = [fact.at for fact in self.commands]
        return [
            fact
            for fact in self.running.values()
            if not fact.worth or sum(at > fact.at for at in ran) < _WAITED_COMMANDS
        ]

    def last_test(self) -> Fact | None:
        """Return how the last test run ended."""
        return max(self.tests.values(), key=lambda fact: fact.at, default=None)

    def known_files(self) -> dict[str, FileState]:
        """Return the files of a ledger; one that was named from its folder and by its whole path is
        one.
        """
        folder = self.directory.text if self.directory is not None else ""
        whole = [path for path in self.files if path.startswith("/")]
        found: dict[str, FileState] = {}
        for path, state in self.files.items():
            name = path if path.startswith(("/", "~")) else _whole(path, whole, folder)
            held = found.pop(name, None)
            found[name] = state if held is None else _joined(held, state)
        return found

    def tokens_per_char(self, counter: TokenCounter) -> float:
        """Return what a character of the ledger's facts costs, by a sample of them."""
        facts = [*islice(self.lines.values(), _SAMPLED), *(ask.fact for ask in self.asks[:8])]
        text = "\n".join([fact.text for fact in facts])[:_SAMPLE_CHARS]
        return max(counter.count(text) / len(text), 0.1) if text else 0.3


def _whole(path: str, whole: Iterable[str], folder: str) -> str:
    """Return the one whole path that a path is the end of; itself if none or several are."""
    if "/" not in path:
        ends = [one for one in whole if folder and one == posixpath.join(folder, path)]
    else:
        ends = [one for one in whole if one.endswith(f"/{path}")]
    return ends[0] if len(ends) == 1 else path


def _joined(one: FileState, other: FileState) -> FileState:
    # as everywhere, a look does not count as the last thing that was done to a changed file
    older, newer = sorted((one, other), key=lambda state: (state.is_touched, state.at))
    return replace(
        newer,
        read=one.read + other.read,
        changed=one.changed + other.changed,
        created=one.created or other.created,
        renamed_from=newer.renamed_from or older.renamed_from,
    )


KEPT_ASKS = 400
"""Beside the first, the newest: a summary has room for fewer."""
KEPT_COMMANDS = 200
"""The newest; others are only counted."""
KEPT_EDITS = 200
"""The newest; a summary has room for fewer."""
KEPT_RULES = 200
"""The most different rules that a ledger keeps: a rule with this many newer ones is dropped."""


class Past:
    """What was read of a log that is read from its end: commands, test runs, rules, how many
    requests and edits. What a ledger lets go for them need not be read.
    """

    def __init__(self, *, all_edits: bool) -> None:
        """Begin at the end; with `all_edits` older ones count too, for the lines that they took
        out of files.
        """
        self.ran: set[str] = set()
        """The keys of commands: what an older run of one printed is out of date."""
        self.tested: set[str] = set()
        """The keys of test runs: how an older one ended is out of date."""
        self.asked = 0
        self._rules: set[str] = set()
        self._commands = 0
        self._edits = 0
        self._all_edits = all_edits

    def copy(self) -> Past:
        """Return another one that goes on from here."""
        other = Past(all_edits=self._all_edits)
        other.ran, other.tested, other._rules = set(self.ran), set(self.tested), set(self._rules)
        other.asked, other._commands, other._edits = self.asked, self._commands, self._edits
        return other

    def take(self, facts: Iterable[Fact]) -> None:
        """Note the facts of one more message."""
        for fact in facts:
            match fact.kind:
                case "command":
                    self.ran.add(fact.key)
                    self._commands += bool(fact.text)
                case "test" if not fact.was:  # of a running process the key is not known here
                    self.tested.add(fact.key)
                case "edit":
                    self._edits += 1
                case "constraint":
                    self._rules.add(fact.text)
                case "ask":
                    self.asked += 1
                case _:
                    pass

    @property
    def wants_asks(self) -> bool:
        """Whether a ledger would keep the words of an older request."""
        return self.asked < KEPT_ASKS

    @property
    def wants_rules(self) -> bool:
        """Whether it would keep an older rule."""
        return len(self._rules) < KEPT_RULES

    @property
    def wants_edits(self) -> bool:
        """Whether it would keep an older edit."""
        return self._all_edits or self._edits < KEPT_EDITS

    @property
    def wants_commands(self) -> bool:
        """Whether it would keep an older command, and not only count it."""
        return self._commands < KEPT_COMMANDS

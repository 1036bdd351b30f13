"""The facts of one message, without a model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.pipeline.dialogue.constraints import weighed_constraints
from holdfast.pipeline.dialogue.decisions import decisions
from holdfast.pipeline.dialogue.fields import fields
from holdfast.pipeline.dialogue.identifiers import identifiers
from holdfast.pipeline.dialogue.questions import questions
from holdfast.pipeline.digests import given_to
from holdfast.pipeline.digests.line import first_of
from holdfast.pipeline.effects import Effect, effects_of_call
from holdfast.pipeline.frame import origin_of, summary_body
from holdfast.pipeline.ledger.fact import Fact, FactKind, encodable
from holdfast.pipeline.ledger.injected import directory_told, own_words, without_blocks
from holdfast.pipeline.ledger.lines import cut, lines_of, whole_words
from holdfast.pipeline.ledger.terms import terms_of
from holdfast.pipeline.ledger.todo import todo_text
from holdfast.pipeline.tools import family_of
from holdfast.reduction import signals
from holdfast.transcript import Message, Text, ToolCall, ToolResult, is_ask, texts

_ASK_CHARS = 6_000
_SHORT_ASK_CHARS = 1_500
"""In a longer one, wishes are mostly words of something pasted."""
_SAID_CHARS = 600
_REPLY_CHARS = 900
_COMMAND_CHARS = 240
_TARGET_CHARS = 160
HEAD_CHARS = 90
_MOST_LINES = 24
_MOST_SAID_LINES = 12
_MOST_ARGUMENT_LINES = 12
_MOST_FIELDS = 40
_MOST_ERRORS = 12
_MOST_FAILING = 12
_MOST_SLOTS = 8
_LONG_ARGUMENT_CHARS = 120
_COMMAND_KEYS = ("command", "cmd", "script", "code", "input", "chars")
_FAILURES = ("rror", "FAIL", "ailed", "xception", "atal", "anic", "not found", "enied", "No such",
             "Traceback", "ERR")  # fmt: skip
_REJECTIONS = (
    "doesn't want to proceed", "tool use was rejected", "rejected by user", "user chose not to",
    "execution denied", "request interrupted by user", "user rejected", "user declined",
)  # fmt: skip
_DEEDS = frozenset((
    "create", "update", "delete", "add", "send", "post", "save", "set", "book", "cancel", "move",
    "merge", "close", "remove", "insert", "submit", "modify", "exchange", "return", "transfer",
    "assign", "publish", "upload", "place", "order", "schedule", "pay", "refund",
))  # fmt: skip
_NAME_PARTS = re.compile(r"[^a-z]+")
_OUTCOMES = frozenset((
    "status", "state", "result", "error", "success", "ok", "message", "outcome", "balance",
    "total", "refund", "conclusion",
))  # fmt: skip
_PRIVATE = frozenset(("dob", "zip", "zip_code", "phone", "postal_code", "date_of_birth"))
_OUTCOME = 2.0
_DONE = 6.0
_CHANGED = 3.0
_DEED_COMMANDS = (
    "git commit", "git push", "git merge", "git rebase", "git tag ", "git stash", "git reset",
    "git cherry-pick", "gh pr create", "gh pr merge", "gh issue create", "npm publish",
    "docker push", "kubectl apply", "terraform apply",
)  # fmt: skip
_RAN = 1.0
_LOOKED = 0.1
_LOOKS = (
    "cat ", "head ", "tail ", "sed -n", "grep ", "rg ", "ls", "find ", "pwd", "wc ", "nl ",
    "which ",
    "git status", "git log", "git diff", "git show", "git branch", "git rev-parse", "echo ",
)  # fmt: skip
_REFUSAL_CHARS = 400
_REFUSALS = (
    "tool_use_error", "doesn't want to proceed", "not been applied", "no replacement was performed",
    "introduced new syntax error", "string to replace not found", "verification failed",
    "was rejected", "permission denied", "operation not permitted",
)  # fmt: skip
_STARTED = re.compile(r"\b(?:ID|id|Id|PID|pid)\b\W{1,3}(\w[\w-]{0,63})")
"""How results tell the name of a process that goes on in the background."""
_STARTED_CHARS = 400
_REPLACED = frozenset({"old_string", "old_str", "old_text", "old", "search"})
"""Arguments that hold what an edit takes away."""
_CLOSERS = " *_)\"'”`\n"
_FILLERS = ("Let me ", "Now let me ", "Now I'll ", "I'll now ", "Next, I'll ")
_LOOKING = frozenset({"read", "search", "glob", "list", "web_search", "fetch"})
_PLACES = frozenset({"chdir", "branch", "commit", "start", "stop"})


def facts_of(
    message: Message, calls: Mapping[str, ToolCall], *, lines: bool = True
) -> tuple[Fact, ...]:
    """Return the facts of one message. `calls` holds the calls that its results answer.

    Generated messages have none: what they report was recorded from the originals. Without
    `lines` what is found by reading every line is left out.
    """
    if message.origin != "real" or message.role in ("system", "developer"):
        return ()
    found: list[Fact] = []
    if message.role == "assistant":
        found.extend(_said(message, lines=lines))
    for part in message.parts:
        if isinstance(part, ToolResult):
            if not lines and _only_looks(part, calls.get(part.call_id)):
                continue
            found.extend(_Result(message, part, calls.get(part.call_id), lines=lines).facts())
    if is_ask(message):
        found.extend(_asked(message, lines=lines))
    return tuple(map(encodable, found))


def _only_looks(result: ToolResult, call: ToolCall | None) -> bool:
    """Return whether a call only looked at something, and nothing went wrong."""
    return call is not None and not result.is_error and family_of(call.name) in _LOOKING


def _asked(message: Message, *, lines: bool) -> Iterator[Fact]:
    source, at = message.label, message.position
    given = [text for text in texts(message) if _is_own(text)]
    for text in given:
        if place := directory_told(text):
            yield Fact("place", place, source, at, "chdir", effect=Effect("chdir", place))
    own = [words for text in given if (words := own_words(text))]
    words = "\n".join(own).strip()
    if words not in "\n".join(given):
        words = max(own, key=len)  # what is quoted stands so in the message
    if not words:
        return
    is_long = len(words) > _ASK_CHARS
    shown = whole_words(words[:_ASK_CHARS], _ASK_CHARS) if is_long else words
    yield Fact("ask", shown, source, at, terms=terms_of(shown))
    least = 1 if len(words) <= _SHORT_ASK_CHARS else 3 if is_long else 2
    for rule in weighed_constraints(words):
        if rule.strength >= least:
            yield Fact("constraint", rule.text, source, at)
    if not lines:
        return
    for mention in identifiers(words, _MOST_SLOTS):
        if mention.slot:
            yield Fact("slot", mention.value, source, at, mention.slot, was=mention.was)
    if is_long:
        for line in lines_of(words[len(shown) :], _MOST_LINES):
            yield Fact("line", line.text, source, at, terms=line.terms, head="user")


def _is_own(text: str) -> bool:
    """Return whether these are the user's words, and no mark or summary that stands beside them."""
    return text[:1] not in ("[", "T") or (origin_of(text) == "real" and summary_body(text) is None)


def _said(message: Message, *, lines: bool) -> Iterator[Fact]:
    is_reply = not any(type(part) is ToolCall for part in message.parts)
    if not (lines or is_reply):
        return
    words = "\n".join(texts(message)).strip()
    if not words:
        return
    source, at = message.label, message.position
    kind: FactKind = "reply" if is_reply else "said"
    asks_back = words.rstrip(_CLOSERS).endswith(("?", "？", "؟"))
    if not lines:
        # of what an agent wrote long ago only that it answered is kept
        if is_reply and not asks_back:
            yield Fact(kind, "", source, at)
        return
    yield Fact(kind, cut(words, _REPLY_CHARS if is_reply else _SAID_CHARS), source, at,
               "asks" if asks_back else "")  # fmt: skip
    for decision in decisions(words):
        yield Fact("decision", decision.text, source, at, terms=terms_of(decision.text, 8))
    if is_reply:
        for question in questions(words):
            yield Fact("question", question, source, at)
    for mention in identifiers(words, _MOST_SLOTS):
        if mention.slot:
            yield Fact("slot", mention.value, source, at, mention.slot, was=mention.was)
    for line in lines_of(words, _MOST_SAID_LINES):
        if not line.text.startswith(_FILLERS):
            yield Fact("line", line.text, source, at, terms=line.terms, head="agent")


class _Result:
    """One tool result with its call, read once."""

    def __init__(
        self, message: Message, result: ToolResult, call: ToolCall | None, *, lines: bool
    ) -> None:
        self.reads_lines = lines
        self.source, self.at = message.label, message.position
        given = "\n".join(part.text for part in result.parts if isinstance(part, Text))
        self.output = without_blocks(given)
        self.call = call
        self.name = call.name if call is not None else result.name
        self.arguments: Mapping[str, Any] = given_to(call) if call is not None else {}
        self.family = family_of(self.name) if self.name else "other"
        self.code = signals.exit_status(self.output)
        self.refused = result.is_error or _is_refusal(self.output[:_REFUSAL_CHARS].lower())
        found = signals.error_lines(self.output, _MOST_ERRORS) if self._may_fail() else ()
        self.errors = tuple(whole_words(line, signals.SHOWN_CHARS) for line in found)
        if self.refused and not self.errors:
            self.errors = (cut(self.output, 300),) if self.output.strip() else ()

    def _may_fail(self) -> bool:
        """Return whether errors are worth looking for."""
        if self.code is not None:
            return self.code != 0
        if self.family == "shell" and self._command().startswith(_LOOKS):
            return self.refused
        output = self.output
        return self.refused or any(sign in output for sign in _FAILURES)

    @property
    def failed(self) -> bool:
        """Whether the call went wrong, as far as its result tells."""
        if self.code is not None:
            return self.code != 0
        return self.refused or bool(self.errors and self.family in ("shell", "process", "notebook"))

    def facts(self) -> Iterator[Fact]:
        """Yield what the call did, how it ended, and the lines that may be needed again."""
        command = self._command()
        effects = effects_of_call(self.name, self.arguments) if self.call is not None else ()
        if self.refused and _is_rejection(self.output[:_REFUSAL_CHARS].lower()):
            what = cut(command or self._target(effects), HEAD_CHARS)
            yield self._fact("decision", f"The user rejected `{what}`", "")
            return
        for effect in effects:
            yield from self._effect(effect, by_command=bool(command))
        key = command or self._target(effects)
        if command:
            yield from self._ran(command, _weight_of(command, effects))
        if self.failed:
            for line in self.errors:
                yield self._fact("error", line, key)
        elif not command:
            yield self._fact("command", self._deed(), key)
        if self.family in ("todo", "plan") and (state := todo_text(self.arguments)):
            yield self._fact("todo", state, "")
        if self.reads_lines:
            yield from self._lines(key)

    def _deed(self) -> str:
        """Return what a call of an unknown tool did, where its name says that it did something."""
        words = set(_NAME_PARTS.split(self.name.lower()))
        if self.family != "other" or not words & _DEEDS:
            return ""
        return f"{self.name} {cut(self.call.arguments if self.call else '', _COMMAND_CHARS)}"

    def _command(self) -> str:
        if self.family not in ("shell", "process", "notebook"):
            return ""
        return cut(first_of(self.arguments, *_COMMAND_KEYS), _COMMAND_CHARS)

    def _target(self, effects: tuple[Effect, ...]) -> str:
        """Return what a call was about: its tool and file, or its tool and first argument."""
        for effect in effects:
            if effect.path:
                return f"{self.name} {effect.path}"
        given = self.call.arguments if self.call is not None else ""
        return f"{self.name} {cut(given, _TARGET_CHARS)}" if given not in ("", "{}") else self.name

    def _effect(self, effect: Effect, *, by_command: bool) -> Iterator[Fact]:
        kind: FactKind = "place" if effect.action in _PLACES else "file"
        # which part of a command went wrong is not known: the others did what they say
        failed = self.failed and not by_command
        found = _STARTED.search(self.output[:_STARTED_CHARS]) if effect.action == "start" else None
        yield Fact(kind, effect.path or effect.detail, self.source, self.at,
                   effect.action, failed, effect=effect, was=found[1] if found else "")  # fmt: skip

    def _ran(self, command: str, worth: float) -> Iterator[Fact]:
        ended = f" -> exit {self.code}" if self.code else ""
        yield Fact("command", f"`{command}`{ended}", self.source, self.at, command, self.failed,
                   terms_of(command, 12) if worth > _LOOKED else (), worth=worth)  # fmt: skip
        counts = signals.test_counts(self.output) if self.reads_lines else None
        if counts is None:
            return
        failing = signals.failing_tests(self.output, _MOST_FAILING)
        told = [f"{counts.passed} passed"]
        if counts.failed:
            told.insert(0, f"{counts.failed} failed")
        names = f"; failing: {', '.join(failing)}" if failing else ""
        yield self._fact("test", f"`{cut(command, 120)}`: {', '.join(told)}{names}", command)

    def _lines(self, key: str) -> Iterator[Fact]:
        head = cut(key, HEAD_CHARS)
        for name, value in self.arguments.items():
            if name in _REPLACED or (name in _COMMAND_KEYS and "\n" not in str(value)):
                continue
            if isinstance(value, str) and len(value) > _LONG_ARGUMENT_CHARS:
                for line in lines_of(value, _MOST_ARGUMENT_LINES):
                    yield Fact("line", line.text, self.source, self.at, terms=line.terms,
                               head=f"{head} ({name})")  # fmt: skip
        if _is_json(self.output):
            for field in fields(self.output, _MOST_FIELDS):
                name = field.path.rpartition(".")[2].partition("[")[0]
                text = f"{name}: {field.value}" if name else field.value
                if name in _PRIVATE:
                    continue
                terms = terms_of(field.value, 8)
                worth = _OUTCOME if name in _OUTCOMES else 0.0
                yield Fact("field", text, self.source, self.at, terms=terms, head=head,
                           worth=worth)  # fmt: skip
            return
        for line in lines_of(self.output, _MOST_LINES):
            yield Fact("line", line.text, self.source, self.at, terms=line.terms, head=head)

    def _fact(self, kind: FactKind, text: str, key: str) -> Fact:
        return Fact(kind, text, self.source, self.at, key, self.failed, terms_of(text, 12))


def _is_rejection(start: str) -> bool:
    """Return whether the user did not let a call go ahead."""
    return any(words in start for words in _REJECTIONS)


def _weight_of(command: str, effects: tuple[Effect, ...]) -> float:
    """Return what a command is worth telling: one that changed something more than a look."""
    if any(deed in command for deed in _DEED_COMMANDS):
        return _DONE
    if any(effect.action != "read" for effect in effects):
        return _CHANGED
    return _LOOKED if command.startswith(_LOOKS) or effects else _RAN


def _is_refusal(start: str) -> bool:
    """Return whether a result begins by saying that nothing was done."""
    return start.startswith(("error", "<error")) or any(words in start for words in _REFUSALS)


def _is_json(output: str) -> bool:
    """Return whether a result is JSON with few line breaks: its fields are its lines."""
    start = output[:40].lstrip()[:1]
    return start in ("{", "[") and output.count("\n") * 200 < len(output)

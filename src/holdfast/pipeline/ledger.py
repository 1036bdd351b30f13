"""Facts taken from messages without a model: asks, files, commands, errors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from holdfast.pipeline.digests import arguments_of
from holdfast.pipeline.digests.files import EDIT_TOOLS, READ_TOOLS, WRITE_TOOLS
from holdfast.pipeline.digests.line import clip, error_line, exit_code, first_of
from holdfast.pipeline.digests.shell import TOOLS as SHELL_TOOLS
from holdfast.pipeline.frame import origin_of, summary_body
from holdfast.pipeline.summary import Entry, Section, Summary
from holdfast.ports import Redact
from holdfast.transcript import Message, Text, ToolCall, ToolResult, is_ask, texts

FactKind: TypeAlias = Literal["ask", "said", "read", "wrote", "edited", "command", "error"]

_PATHS = ("file_path", "path", "filePath", "filename", "file", "target_file", "notebook_path")
_PATCH_FILE = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$", re.M)
_ASK_CHARS = 4_000
_SAID_CHARS = 400
_TOOL_KINDS: dict[str, FactKind] = {
    **dict.fromkeys(READ_TOOLS, "read"),
    **dict.fromkeys(WRITE_TOOLS, "wrote"),
    **dict.fromkeys(EDIT_TOOLS, "edited"),
    **dict.fromkeys(SHELL_TOOLS, "command"),
}


class Fact(Struct, frozen=True, gc=False):
    """One thing that a message shows. `key` is what it is about; `text` says it in a line."""

    kind: FactKind
    key: str
    text: str
    source: str
    failed: bool = False


class FileState(Struct, frozen=True, gc=False):
    """What happened to one file, and where last."""

    read: int = 0
    changed: int = 0
    created: bool = False
    last: str = ""


class Ledger(Struct, frozen=True):
    """The facts of everything that was folded so far; serialises with the state.

    Law: `update(update(empty, a), b)` equals `update(empty, a + b)`.
    """

    asks: tuple[Fact, ...] = ()
    said: tuple[Fact, ...] = ()
    files: dict[str, FileState] = {}
    commands: tuple[Fact, ...] = ()
    command_count: int = 0
    errors: dict[str, Fact] = {}

    @property
    def is_empty(self) -> bool:
        """Whether nothing was recorded."""
        return not (self.asks or self.said or self.files or self.commands or self.errors)


_KEPT_COMMANDS = 200
_KEPT_SAID = 12


def facts_of(message: Message, calls: Mapping[str, ToolCall]) -> tuple[Fact, ...]:
    """Return the facts of one message. `calls` holds the calls that its results answer.

    Generated messages have none: what they report was recorded from the originals.
    """
    if message.origin != "real":
        return ()
    found: list[Fact] = []
    if is_ask(message):
        own = (text for text in texts(message) if _is_own(text))
        words = "\n".join(own).strip()
        if words:
            found.append(Fact("ask", message.label, words[:_ASK_CHARS].rstrip(), message.label))
        return tuple(found)
    for part in message.parts:
        if isinstance(part, ToolResult):
            call = calls.get(part.call_id)
            if call is not None:
                found.extend(_facts_of_call(call, part, message.label))
        elif isinstance(part, Text) and message.role == "assistant" and part.text.strip():
            found.append(Fact("said", message.label, clip(part.text, _SAID_CHARS), message.label))
    return tuple(found)


def _is_own(text: str) -> bool:
    """Return whether these are the user's words, and no mark or summary that stands beside them."""
    return text[:1] not in ("[", "T") or (origin_of(text) == "real" and summary_body(text) is None)


def _facts_of_call(call: ToolCall, result: ToolResult, source: str) -> Iterable[Fact]:
    name = call.name.rpartition("__")[2].lower()
    kind = _TOOL_KINDS.get(name)
    output = "\n".join(part.text for part in result.parts if isinstance(part, Text))
    if kind == "command":
        yield from _command(call, output, source)
        return
    failed = result.is_error or output[:200].lower().startswith(("error", "<error"))
    if kind is not None:
        arguments = arguments_of(call)
        path = first_of(arguments, *_PATHS)
        if path:
            shown = "edited" if _is_edit(arguments) else kind
            yield Fact(shown, path, path, source, failed)
        else:
            for action, name in _PATCH_FILE.findall(call.arguments.replace("\\n", "\n")):
                yield Fact("wrote" if action == "Add" else "edited", name.strip(), name, source,
                           failed)  # fmt: skip
    if failed:
        yield Fact("error", name, error_line(output) or clip(output, 160), source, True)


def _is_edit(arguments: Mapping[str, object]) -> bool:
    return arguments.get("command") in ("str_replace", "insert", "create", "undo_edit")


def _command(call: ToolCall, output: str, source: str) -> Iterable[Fact]:
    command = first_of(arguments_of(call), "command", "cmd", "script", "code", "input")
    code = exit_code(output)
    error = error_line(output) if code != 0 else ""
    failed = bool(code) or (code is None and bool(error))
    ended = f" -> exit {code}" if code is not None else ""
    shown = clip(command, 200)
    yield Fact("command", shown, f"`{shown}`{ended}", source, failed)
    if failed and error:
        yield Fact("error", shown, f"`{clip(command, 80)}`: {error}", source, True)


def update(ledger: Ledger, facts: Iterable[Fact]) -> Ledger:
    """Return the ledger with more facts; a command that succeeds resolves its earlier error."""
    asks, said = list(ledger.asks), list(ledger.said)
    files, errors = dict(ledger.files), dict(ledger.errors)
    commands = list(ledger.commands)
    count = ledger.command_count
    for fact in facts:
        match fact.kind:
            case "ask":
                asks.append(fact)
            case "said":
                said.append(fact)
            case "command":
                commands.append(fact)
                count += 1
                if not fact.failed:
                    errors.pop(fact.key, None)
            case "error":
                errors.pop(fact.key, None)
                errors[fact.key] = fact
            case "read" | "wrote" | "edited":
                _touch(files, fact)
    return Ledger(
        tuple(asks), tuple(said[-_KEPT_SAID:]), files, tuple(commands[-_KEPT_COMMANDS:]), count,
        errors,
    )  # fmt: skip


def _touch(files: dict[str, FileState], fact: Fact) -> None:
    was = files.pop(fact.key, FileState())
    changed = fact.kind != "read" and not fact.failed
    files[fact.key] = FileState(
        was.read + (fact.kind == "read"),
        was.changed + changed,
        was.created or (fact.kind == "wrote" and changed and not was.read),
        fact.source,
    )


def summarise(
    ledger: Ledger, redact: Redact, *, live_asks: frozenset[str] = frozenset()
) -> Summary:
    """Return the ledger as a summary in thirteen sections. Says of itself that no model wrote it.

    `live_asks` are labels of asks that stand verbatim outside the summary.
    """
    asks = [fact for fact in ledger.asks if fact.source not in live_asks]
    sections: dict[Section, tuple[Entry, ...]] = {}

    def put(section: Section, rows: Iterable[tuple[str, str, float]]) -> None:
        found = tuple(Entry(redact(text), source, weight) for text, source, weight in rows)
        if found:
            sections[section] = found

    first = [fact for fact in ledger.asks[:1] if fact.source not in live_asks]
    last = [fact for fact in asks[-1:] if fact not in first]
    others = [fact for fact in asks if fact not in (*first, *last)]
    put("task", [(f"The user wrote: {fact.text}", fact.source, 9.0) for fact in last])
    put("goal", [(f"First request: {fact.text}", fact.source, 8.0) for fact in first])
    put("completed", [(fact.text, fact.source, 1.0 + rank / 1000 - 0.5 * fact.failed)
                      for rank, fact in enumerate(ledger.commands)])  # fmt: skip
    put("blocked", [(fact.text, fact.source, 5.0) for fact in ledger.errors.values()])
    put("pending", [(f"The user wrote: {fact.text}", fact.source, 6.0 + rank / 1000)
                    for rank, fact in enumerate(others)])  # fmt: skip
    put("files", [(_file_line(path, state), state.last, 4.0 if state.changed else 2.0)
                  for path, state in ledger.files.items()])  # fmt: skip
    put("in_progress", [(f"The agent wrote: {fact.text}", fact.source, 3.0 + rank / 1000)
                        for rank, fact in enumerate(ledger.said)])  # fmt: skip
    put("critical", [("This record was made without a model, from the messages themselves; it "
                      "may be incomplete.", "", 10.0)])  # fmt: skip
    return Summary(sections, "ledger", ledger.command_count)


def _file_line(path: str, state: FileState) -> str:
    done: list[str] = []
    if state.created:
        done.append("created")
    if state.changed:
        done.append(f"changed {state.changed} times" if state.changed > 1 else "changed")
    if state.read:
        done.append(f"read {state.read} times" if state.read > 1 else "read")
    return f"{path}: {', '.join(done) or 'touched'}"

"""The built-in memory: what the agent learnt, who the user is, what the project says.

It gives the model the tool `memory` and a part of the system prompt: the same bytes for the same
files. A project's AGENTS.md and CLAUDE.md are only read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import Struct

from foldaway._core import Redact
from foldaway.dialects import dump_text
from foldaway.errors import FoldawayError, InvalidSetting, MemoryRefused, NotReadable
from foldaway.memory.files.entries import MemoryEntry
from foldaway.memory.files.memory_file import Limit, MemoryFile
from foldaway.memory.files.prompt import (
    entries_section,
    knowledge_section,
    read_knowledge,
    render_sections,
)
from foldaway.memory.provider import MemoryProvider
from foldaway.redaction import RedactionPolicy, Redactor
from foldaway.transcript import estimate_text

Recall: TypeAlias = Callable[[str, str], str]
"""What past sessions say about a text: the text, the id of the session that asks."""

_PROFILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_ANSWER_CHARS = 7_000
"""Of an answer to `list` or `search`: below `recalled_chars` of the manager, which cuts JSON."""
_MOST_FOUND = 10
"""Entries in the answer to `search`."""

ACTIONS: Final = ("add", "replace", "remove", "list", "search")
TARGETS: Final = ("memory", "user")

TOOL: Final[dict[str, object]] = {
    "name": "memory",
    "description": (
        "Keep what should be known in later sessions: facts about the user (target user), and "
        "what you learnt about their projects, tools and wishes (target memory). One fact an "
        "entry, in a sentence that makes sense alone. Not for what is only true today, and never "
        "for secrets. Replace or remove what is no longer true. Entries are notes, not "
        "instructions."
    ),
    "parameters": {
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": list(ACTIONS)},
            "target": {
                "type": "string",
                "enum": list(TARGETS),
                "description": "Which file: memory where it is not said.",
            },
            "content": {"type": "string", "description": "For add and replace: the entry."},
            "entry": {
                "type": "string",
                "description": "For replace and remove: an id, or a piece of text that only this "
                "entry holds.",
            },
            "query": {"type": "string", "description": "For search: words to look for."},
        },
        "required": ["action"],
    },
}
"""The tool by which an agent writes its memory; constant, so that prompts stay cached."""


class Bounds(Struct, frozen=True, kw_only=True):
    """How much may be kept, and how much of it stands in a system prompt."""

    memory: Limit = Limit(chars=6_000, tokens=2_000)
    user: Limit = Limit(chars=3_000, tokens=1_000)
    prompt_tokens: int = 6_000
    """Of both files and of what the project says; the user comes first, the project last."""


def memory_folder(home: Path, profile: str = "default") -> Path:
    """Return where the memory of a profile is kept; it need not exist."""
    if not _PROFILE.fullmatch(profile):
        raise InvalidSetting(
            "profile", profile, "a name of letters, digits, dots, dashes and underscores"
        )
    return home / "memory" / profile


def memory_files(
    folder: Path, bounds: Bounds, *, redact: Redact | None = None
) -> dict[str, MemoryFile]:
    """Return the two files of a folder, `memory` and `user`."""
    return {
        "memory": MemoryFile(folder / "MEMORY.md", bounds.memory, redact=redact),
        "user": MemoryFile(folder / "USER.md", bounds.user, redact=redact),
    }


class FilesProvider(MemoryProvider):
    """Memory in `MEMORY.md` and `USER.md` of a folder, and in the files of a project."""

    name = "files"

    def __init__(
        self,
        folder: Path,
        *,
        project: Path | None = None,
        recall: Recall | None = None,
        bounds: Bounds | None = None,
        redact: Redact | None = None,
    ) -> None:
        """Take the folder of a profile (`memory_folder`); nothing is read or made yet.

        `project` is a folder whose AGENTS.md and CLAUDE.md, up to the root of its repository, are
        read too. `recall` says what past sessions know.
        """
        self.bounds = bounds or Bounds()
        self._folder, self._has_redactor = folder, redact is not None
        self._use(redact or Redactor(RedactionPolicy(personal=False)))
        self._project = project
        self._recall = recall

    def _use(self, redact: Redact) -> None:
        self._redact = redact
        self.files = memory_files(self._folder, self.bounds, redact=redact)
        self._rendered: tuple[object, str] = (None, "")

    def hide_with(self, redact: Redact) -> None:
        """Take the redactor of the conversation, if none was given."""
        if not self._has_redactor:
            self._use(redact)

    def does(self, method: str) -> bool:
        """Return whether it does anything there: without sessions nothing is recalled."""
        return super().does(method) and (method != "prefetch" or self._recall is not None)

    def system_text(self) -> str:
        """Return both files and the project's within the budget; the same bytes until one changed.

        A file that cannot be read is told in a line, and the others are there.
        """
        user, memory = (_read(self.files[target]) for target in ("user", "memory"))
        project = read_knowledge(self._project) if self._project is not None else ()
        if self._rendered[0] != (user, memory, project):
            sections = [
                entries_section("Who the user is (USER.md)", self._redact(user)),
                entries_section("What you learnt (MEMORY.md)", self._redact(memory)),
                # the nearest folder knows best, if not all fits
                *(knowledge_section(one.name, self._redact(one.text)) for one in project[::-1]),
            ]
            text = render_sections(sections, self.bounds.prompt_tokens)
            self._rendered = ((user, memory, project), text)
        return self._rendered[1]

    def tools(self) -> Sequence[Mapping[str, object]]:
        """Return the one tool, `memory`."""
        return (TOOL,)

    def call(self, name: str, arguments: Mapping[str, object]) -> str:
        """Do what the tool is asked for; what is refused is said in a sentence."""
        if name != TOOL["name"]:
            raise LookupError(name)
        try:
            return self._call(arguments)
        except FoldawayError as error:
            return f"Not done. {error}"

    def prefetch(self, query: str, session_id: str) -> str:
        """Return what past sessions say about it, if there is a way to ask them."""
        return self._recall(query, session_id) if self._recall is not None else ""

    def forget(self, holds: Callable[[str], bool], *, dry_run: bool = False) -> int:
        """Remove entries from both files and from all their versions."""
        return sum(file.forget(holds, dry_run=dry_run) for file in self.files.values())

    def _call(self, arguments: Mapping[str, object]) -> str:
        action = _text(arguments, "action")
        target = _text(arguments, "target") or "memory"
        if action not in ACTIONS or target not in TARGETS:
            raise MemoryRefused(
                "memory",
                f"no action {action!r} on {target!r}",
                remedy=f"actions: {', '.join(ACTIONS)}; targets: {', '.join(TARGETS)}",
            )
        file = self.files[target]
        content, which = _text(arguments, "content"), _text(arguments, "entry")
        match action:
            case "add":
                return self._report("Kept as", file, file.add(content, "tool"))
            case "replace":
                return self._report("Changed to", file, file.replace(which, content, "tool"))
            case "remove":
                return self._report("Removed", file, file.remove(which, "tool"))
            case "search":
                return _format_entries(file.search(_text(arguments, "query"), _MOST_FOUND))
            case _:
                return _format_entries(file.entries()[::-1])

    def _report(self, did: str, file: MemoryFile, entry: MemoryEntry) -> str:
        text = file.text()
        share = max(len(text) / file.limit.chars, estimate_text(text) / file.limit.tokens)
        return f"{did} {entry.id}; {file.name} is {share:.0%} full."


def _read(file: MemoryFile) -> str:
    try:
        return file.text()
    except NotReadable as error:
        return f"- {file.name} {error.what}.\n"


def _text(arguments: Mapping[str, object], name: str) -> str:
    given = arguments.get(name)
    if given is None:
        return ""
    if not isinstance(given, str):
        raise MemoryRefused("memory", f"{name} is no text", remedy="give a text")
    return given


def _format_entries(entries: Sequence[MemoryEntry]) -> str:
    """Return entries as JSON, as many as an answer may hold."""
    rows: list[dict[str, str]] = []
    room = _ANSWER_CHARS
    for entry in entries:
        room -= len(entry.text) + 40
        if room < 0 and rows:
            break
        rows.append({"id": entry.id, "text": entry.text})
    return dump_text({"entries": rows, "left_out": len(entries) - len(rows)})

"""What a project says to agents: its AGENTS.md and CLAUDE.md, which are only read."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from holdfast.errors import NotReadable
from holdfast.memory.files.disk import look

NAMES = ("AGENTS.md", "CLAUDE.md")
OUTSIDE = "(This file links to a place outside the project, so it is not read.)"
_MOST_FOLDERS = 64


class Knowledge(Struct, frozen=True):
    """A file of a project: its name from the root of the project on, and its text."""

    name: str
    text: str


def knowledge_of(folder: Path) -> tuple[Knowledge, ...]:
    """Return the files from a folder up to the root of its repository, the root's first.

    Without a repository only the folder itself counts. A text that an earlier file has already is
    left out, and so is what cannot be read. Of a file that links outside the project, itself or
    through a folder, only that is said: whoever made the project does not decide what else of this
    machine goes into a prompt.
    """
    folders = _up_to_root(folder)
    root = folders[0]
    inside = Path(os.path.realpath(root))
    found: dict[str, Knowledge] = {}
    for one in folders:
        for name in NAMES:
            shown = os.path.relpath(one / name, root).replace(os.sep, "/")
            real = Path(os.path.realpath(one / name))
            if not real.is_relative_to(inside):
                if real.exists():
                    found[shown] = Knowledge(shown, OUTSIDE)
            elif (text := _text(real)).strip():
                found.setdefault(text, Knowledge(shown, text))
    return tuple(found.values())


def _up_to_root(folder: Path) -> list[Path]:
    """Return the folders, the root of the repository first."""
    here = Path(os.path.abspath(folder))
    folders = [here, *here.parents][:_MOST_FOLDERS]
    for number, one in enumerate(folders):
        if os.path.lexists(one / ".git"):
            return folders[number::-1]
    return [here]


def _text(path: Path) -> str:
    try:
        return look(path, cut=True).data.decode("utf-8", "replace").removeprefix("\ufeff")
    except NotReadable:
        return ""

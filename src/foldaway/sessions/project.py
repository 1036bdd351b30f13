"""What may leave a store towards an agent: which messages, and sessions of which folders."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, cast

from msgspec import Struct

SPEAKERS: Final = ("user", "assistant", "tool")
"""The roles whose messages may leave. System and developer prompts stay in the store, and so does
a message of an unknown role: it may be a system prompt in another spelling."""


def may_leave(role: str, payload: Any = None) -> bool:
    """Return whether a message may be shown outside its session: no prompt, no tool definitions."""
    defines = isinstance(payload, dict) and "tools" in cast("dict[str, Any]", payload)
    return role in SPEAKERS and not defines


class Project(Struct, frozen=True):
    """A folder; the sessions that ran in it, or in folders inside it, belong to the project."""

    root: str
    """Its real path."""
    deep: bool = True
    """Whether folders inside it belong to it."""

    def pick(self, folders: Iterable[str]) -> tuple[str, ...]:
        """Return those of the folders, as they are spelled, that belong to the project."""
        return tuple(folder for folder in folders if self._has(folder))

    def _has(self, folder: str) -> bool:
        real = _real(folder)
        if not self.deep or real == self.root:
            return real == self.root
        return real.startswith(os.path.join(self.root, ""))


def project_of(folder: Path, *, home: Path) -> Project:
    """Return the project that a folder is part of: the nearest folder upward that has a `.git`.

    Without one it is the folder itself. The home folder and those above it are no projects,
    because all of them would be inside: there, only sessions of exactly that folder belong.
    """
    here = Path(_real(str(folder.absolute())))
    above_home = {Path(_real(str(home))), *Path(_real(str(home))).parents}
    inside = [one for one in (here, *here.parents) if one not in above_home]
    if not inside:
        return Project(str(here), deep=False)
    return Project(str(next((one for one in inside if (one / ".git").exists()), here)))


def project_at(folder: Path) -> Project:
    """Return a named folder, with all inside it, as a project."""
    return Project(_real(str(folder.absolute())))


@lru_cache(maxsize=4_096)  # a few hundred folders of a person, looked up for every answer
def _real(folder: str) -> str:
    """Return a real path, "" if it cannot be one: what is relative belongs to no known folder."""
    try:
        return os.path.normcase(os.path.realpath(folder)) if os.path.isabs(folder) else ""
    except (OSError, ValueError):
        return ""

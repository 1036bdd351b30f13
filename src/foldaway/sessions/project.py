"""Which sessions belong to a project: those of its folder, and of the folders inside it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from msgspec import Struct


class Project(Struct, frozen=True):
    """A folder; the sessions that ran in it, or in folders inside it, belong to the project."""

    root: str
    """Its real path."""
    deep: bool = True
    """Whether folders inside it belong to it."""

    @classmethod
    def at(cls, folder: Path) -> Project:
        """Return a named folder, with all inside it, as a project."""
        return cls(_real(str(folder.absolute())))

    @classmethod
    def around(cls, folder: Path, *, home: Path) -> Project:
        """Return the project that a folder is part of: the nearest folder upward that has a `.git`.

        Without one it is the folder itself. The home folder and those above it are no projects,
        because all of them would be inside: there, only sessions of exactly that folder belong.
        """
        here = Path(_real(str(folder.absolute())))
        above_home = {Path(_real(str(home))), *Path(_real(str(home))).parents}
        inside = [one for one in (here, *here.parents) if one not in above_home]
        if not inside:
            return cls(str(here), deep=False)
        return cls(str(next((one for one in inside if (one / ".git").exists()), here)))

    def pick(self, folders: Iterable[str]) -> tuple[str, ...]:
        """Return those of the folders, as they are spelled, that belong to the project."""
        return tuple(folder for folder in folders if self._has(folder))

    def _has(self, folder: str) -> bool:
        real = _real(folder)
        if not self.deep or real == self.root:
            return real == self.root
        return real.startswith(os.path.join(self.root, ""))


@lru_cache(maxsize=4_096)  # a few hundred folders of a person, looked up for every answer
def _real(folder: str) -> str:
    """Return a real path, "" if it cannot be one: what is relative belongs to no known folder."""
    try:
        return os.path.normcase(os.path.realpath(folder)) if os.path.isabs(folder) else ""
    except (OSError, ValueError):
        return ""

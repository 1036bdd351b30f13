"""Which files hold the records: names and folders to sources, in an order that never changes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from holdfast.errors import NotReadable
from holdfast.trajectories.files import MANIFEST, STATE

Form: TypeAlias = Literal["lines", "value", "parquet"]
"""A record a line; one JSON value; a table."""
_FORMS: dict[str, Form] = {
    ".jsonl": "lines", ".ndjson": "lines", ".json": "value", ".parquet": "parquet",
}  # fmt: skip
_PACKED = (".gz", ".zst", ".zstd")
KNOWN = ".jsonl, .ndjson, .json (each also .gz or .zst) or .parquet"


class Source(Struct, frozen=True):
    """A file of records. `name` is how reports call it, whatever folder it lies in today."""

    path: str
    name: str
    form: Form
    size: int


def find_sources(names: Sequence[str]) -> list[Source]:
    """Return the files that are named and those in the folders that are, by path in each.

    Hidden files are passed over, and what stands beside the records in the folder of a batch.
    Raises `NotReadable` for what does not exist, holds no such file, or has a name that says
    nothing.
    """
    found: list[Source] = []
    for name in names:
        path = Path(name)
        inside = list(_inside(path)) if path.is_dir() else [_file(path)]
        if not inside:
            raise NotReadable("holds no records", where=name, remedy=f"expected {KNOWN}")
        found.extend(inside)
    return found


def _file(path: Path) -> Source:
    if not path.exists():
        raise NotReadable("does not exist", where=str(path), remedy="check the name")
    form = _form_of(path.name)
    if form is None:
        remedy = f"expected {KNOWN}"
        raise NotReadable("has a name that says no format", where=str(path), remedy=remedy)
    return Source(str(path), path.name, form, path.stat().st_size)


def _inside(folder: Path) -> Iterator[Source]:
    for where, folders, files in os.walk(folder):
        if STATE in folders and MANIFEST in files:
            folders[:], files = [], [name for name in files if name.startswith("part-")]
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        for name in sorted(files):
            form = None if name.startswith(".") else _form_of(name)
            if form is not None:
                path = Path(where) / name
                if not path.is_file():  # a pipe would be waited for
                    continue
                shown = path.relative_to(folder).as_posix()
                yield Source(str(path), shown, form, path.stat().st_size)


def _form_of(name: str) -> Form | None:
    bare = name.lower()
    for ending in _PACKED:
        bare = bare.removesuffix(ending)
    return _FORMS.get(os.path.splitext(bare)[1])

"""The files of the pages: scripts, styles and pictures that came with the package."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
ROOT: Final = "/inspector"
_STATIC: Final = HERE / "static"


@cache
def asset(name: str) -> str:
    """Return the address of a file; it changes if any of them does, and modules find each other
    beside them.
    """
    return f"{ROOT}/static/{files_mark()}/{name}"


@cache
def files_mark() -> str:
    """Return what tells one version of all files from another."""
    mark = hashlib.blake2b(digest_size=6)
    for name in sorted(file_names()):
        mark.update(name.encode() + b"\0" + file_of(name))
    return mark.hexdigest()


@cache
def file_names() -> frozenset[str]:
    """Return the names of all files, such as `vendor/uPlot.min.css`."""
    found = (one for one in _STATIC.rglob("*.*") if one.is_file())
    return frozenset(str(one.relative_to(_STATIC)) for one in found)


@cache
def file_of(name: str) -> bytes:
    """Return a file; raises `ValueError` for what is none of them."""
    if name not in file_names():
        raise ValueError(f"no file of the pages: {name}")
    return (_STATIC / name).read_bytes()

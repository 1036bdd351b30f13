"""The files of the pages: scripts, styles and pictures that came with the package."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Final

from msgspec import Struct

HERE: Final = Path(__file__).parent
ROOT: Final = "/inspector"
_STATIC: Final = HERE / "static"
_CODE: Final = "code.css"
"""The one file that is made, from the colors of code."""


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
    found = (str(one.relative_to(_STATIC)) for one in _STATIC.rglob("*.*") if one.is_file())
    return frozenset((_CODE, *found))


@cache
def file_of(name: str) -> bytes:
    """Return a file; raises `ValueError` for what is none of them."""
    if name == _CODE:
        return stylesheet().encode()
    if name not in file_names():
        raise ValueError(f"no file of the pages: {name}")
    return (_STATIC / name).read_bytes()


class CodeColors(Struct, frozen=True, kw_only=True):
    """Colors of one theme. Each has a contrast of at least 4.5:1 to what it is written on."""

    back: str
    """Behind code."""
    text: str
    comment: str
    keyword: str
    string: str
    value: str
    """Numbers, constants and names that the language has."""
    function: str
    """Names of functions and classes in their definitions."""
    tag: str
    """Tags and attributes."""
    file: str
    """Lines of a diff that name a file."""
    hunk: str
    """Lines of a diff that say where a change is."""
    added: str
    added_back: str
    deleted: str
    deleted_back: str


LIGHT: Final = CodeColors(
    back="#f6f8fa",
    text="#1f2328",
    comment="#59636e",
    keyword="#b31d28",
    string="#0a3069",
    value="#0550ae",
    function="#6639ba",
    tag="#116329",
    file="#1f2328",
    hunk="#6639ba",
    added="#0b4d1f",
    added_back="#dafbe1",
    deleted="#82071e",
    deleted_back="#ffebe9",
)
DARK: Final = CodeColors(
    back="#161b22",
    text="#e6edf3",
    comment="#9198a1",
    keyword="#ff7b72",
    string="#a5d6ff",
    value="#79c0ff",
    function="#d2a8ff",
    tag="#7ee787",
    file="#e6edf3",
    hunk="#d2a8ff",
    added="#aff5b4",
    added_back="#12351f",
    deleted="#ffdcd7",
    deleted_back="#4a1a1e",
)

_RULES: Final = """\
.code { background: var(--code-back); color: var(--code-text); white-space: pre-wrap; \
overflow-wrap: anywhere; tab-size: 4 }
.code code { font: inherit }
.code .c { color: var(--code-comment); font-style: italic }
.code .k { color: var(--code-keyword) }
.code .s { color: var(--code-string) }
.code .v { color: var(--code-value) }
.code .f { color: var(--code-function) }
.code .t { color: var(--code-tag) }
.diff .file, .diff .hunk, .diff .add, .diff .del { display: block }
.diff .file { color: var(--code-file); font-weight: bold }
.diff .hunk { color: var(--code-hunk) }
.diff .add { color: var(--code-added); background: var(--code-added-back) }
.diff .del { color: var(--code-deleted); background: var(--code-deleted-back) }
.prose .right { text-align: right }
.prose .center { text-align: center }
.prose :is(p, li, td, th, h4, h5, h6), pre.text { unicode-bidi: plaintext }
"""


def stylesheet() -> str:
    """Return the CSS: colors as the system prefers, or as `data-theme` says."""
    light, dark = _variables(LIGHT), _variables(DARK)
    return (
        f":root {{ {light} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
        f":root[data-theme=light] {{ {light} }}\n"
        f":root[data-theme=dark] {{ {dark} }}\n"
        f"{_RULES}"
    )


def _variables(colors: CodeColors) -> str:
    rows = ((name, getattr(colors, name)) for name in colors.__struct_fields__)
    return "; ".join(f"--code-{name.replace('_', '-')}: {color}" for name, color in rows)

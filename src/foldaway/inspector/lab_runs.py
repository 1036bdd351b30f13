"""Runs of `foldaway lab run` in the folders that the inspector was given, and their reports."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from foldaway.errors import NotReadable
from foldaway.gateway import NotThere
from foldaway.inspector.site import HEADERS, Answer, Inspector
from foldaway.lab import PAGE, SUMMARY, read_summary, report

_MOST_RUNS = 50
"""That are listed; a folder rarely has more than a few."""
_MOST_BYTES = 64 << 20
"""Of a report; with plots of forty families it takes a tenth of it."""
_DIGITS = 16
"""Of the mark of a run in addresses: 64 bits tell any number of folders apart."""
_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
_POLICY = (
    "default-src 'none'; {scripts} style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; sandbox allow-scripts allow-popups"
)
"""A report is a page of its own, without an origin and without the network: what is in it can ask
nobody. It draws with inline styles; of scripts only the one that this version writes runs."""


class LabRun(Struct, frozen=True, kw_only=True):
    """One run that can be opened."""

    name: str
    """In addresses."""
    folder: str
    time: float
    sessions: int
    strategies: int
    has_page: bool


def lab_runs(places: Sequence[Path]) -> list[LabRun]:
    """Return the runs in these folders and directly below them, the newest first."""
    found: list[LabRun] = []
    for folder in _folders(places):
        try:
            manifest = read_summary(folder).manifest
            changed = (folder / SUMMARY).stat().st_mtime
        except (NotReadable, OSError):
            continue
        found.append(LabRun(
            name=_name(folder), folder=str(folder), time=changed,
            sessions=len(manifest.sessions), strategies=len(manifest.strategies),
            has_page=(folder / PAGE).is_file(),
        ))  # fmt: skip
    return sorted(found, key=lambda one: -one.time)


def lab_report(inspector: Inspector, request: Request) -> Answer:
    """Return the report of a run, as a page that can do nothing outside itself."""
    name = str(request.path_params["name"])
    for folder in _folders(inspector.lab_places):
        page = folder / PAGE
        if _name(folder) == name and page.is_file() and page.stat().st_size <= _MOST_BYTES:
            body = page.read_bytes()
            headers = {**HEADERS, "content-security-policy": policy_for(body)}
            return Response(body, headers=headers, media_type="text/html; charset=utf-8")
    raise NotThere(f"no run of the lab is called {name!r}; the list of runs has their addresses")


def policy_for(page: bytes) -> str:
    """Return what a browser may do with a report: run our own script in it, and no other."""
    ours = [one for one in _SCRIPT.findall(page) if one.strip() == _script()]
    marks = [base64.b64encode(hashlib.sha256(one).digest()).decode() for one in ours]
    allowed = " ".join(f"'sha256-{mark}'" for mark in marks)
    return _POLICY.format(scripts=f"script-src {allowed};" if allowed else "script-src 'none';")


@cache
def _script() -> bytes:
    return (Path(report.__file__).parent / "page.js").read_bytes().strip()


def _folders(places: Sequence[Path]) -> list[Path]:
    """Return the folders in which a summary is; no link is followed out of a place."""
    found: dict[Path, None] = {}
    for place in places:
        try:
            inside = sorted(one for one in place.iterdir() if one.is_dir() and not one.is_symlink())
        except OSError:
            continue
        found |= {one: None for one in (place, *inside) if (one / SUMMARY).is_file()}
    return list(found)[:_MOST_RUNS]


def _name(folder: Path) -> str:
    said = str(folder.absolute()).encode("utf-8", "replace")
    return hashlib.blake2b(said, digest_size=_DIGITS // 2).hexdigest()

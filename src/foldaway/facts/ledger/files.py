"""Files as a summary tells them: each once, by one name."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

from msgspec.structs import replace

from foldaway.facts.languages import Phrases, counted
from foldaway.facts.ledger.fact import FileState, Ledger


def known_files(ledger: Ledger) -> dict[str, FileState]:
    """Return the files of a ledger; one that was named from its folder and by its whole path is
    one.
    """
    folder = ledger.directory.text if ledger.directory is not None else ""
    whole = [path for path in ledger.files if path.startswith("/")]
    found: dict[str, FileState] = {}
    for path, state in ledger.files.items():
        name = path if path.startswith(("/", "~")) else _whole(path, whole, folder)
        held = found.pop(name, None)
        found[name] = state if held is None else _joined(held, state)
    return found


def _whole(path: str, whole: Iterable[str], folder: str) -> str:
    """Return the one whole path that a path is the end of; itself if none or several are."""
    if "/" not in path:
        ends = [one for one in whole if folder and one == posixpath.join(folder, path)]
    else:
        ends = [one for one in whole if one.endswith(f"/{path}")]
    return ends[0] if len(ends) == 1 else path


def _joined(one: FileState, other: FileState) -> FileState:
    # as everywhere, a look does not count as the last thing that was done to a changed file
    older, newer = sorted((one, other), key=lambda state: (state.is_touched, state.at))
    return replace(
        newer, read=one.read + other.read, changed=one.changed + other.changed,
        created=one.created or other.created, written="",
        renamed_from=newer.renamed_from or older.renamed_from,
    )  # fmt: skip


def file_line(path: str, state: FileState, phrases: Phrases) -> str:
    """Return a file that was changed, with what was done to it."""
    done: list[str] = []
    beside = ""
    if state.renamed_from:
        done.append(f"{phrases.renamed_to} {path}")
        path = state.renamed_from
    elif state.written and state.written != path:
        # a path that no call has is not for quoting: the name as it stood, its folder beside it
        path, beside = state.written, f" ({path[: -len(state.written) - 1]}/)"
    if state.created:
        done.append(phrases.created)
    edits = state.changed - state.created
    if edits > 1:
        done.append(f"{phrases.changed} {counted(phrases, phrases.times, edits)}")
    elif edits:
        done.append(phrases.changed)
    if state.deleted:
        done.append(phrases.deleted)
    return f"{path}: {', '.join(done)}{beside}"


def by_folder(paths: Iterable[str]) -> list[list[str]]:
    """Return paths in groups, those of one folder together, in their order."""
    groups: dict[str, list[str]] = {}
    for path in paths:
        groups.setdefault(posixpath.dirname(path), []).append(path)
    return list(groups.values())

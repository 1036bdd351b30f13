"""Where agents keep their sessions, and the sessions of a folder."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

from foldaway.agents.importers import opencode, openhands
from foldaway.agents.importers.files import is_outside
from foldaway.agents.importers.imported import ImportedSession
from foldaway.agents.importers.read import is_history, read_file
from foldaway.agents.known import known_agents
from foldaway.dialects import Limits
from foldaway.errors import NotReadable

_ENDINGS = (".jsonl", ".json", ".traj", ".db", ".sqlite", "aider.chat.history.md")
_PAGE = ".md"
"""A history of aider may have any name; other pages are passed over."""
SUBAGENT_FILE = "agent-"
"""How Claude Code names the files of subagents: read after the sessions that called them."""
_PASSED_OVER = frozenset({".git", ".venv", "node_modules", "__pycache__"})
_LOCKS = ("-lock.sqlite", "-writer.sqlite", ".lock.sqlite")
"""What agents keep beside their sessions and is none; nobody needs to hear of it."""


def usual_places(
    home: Path, environment: Mapping[str, str], here: Path | None = None
) -> Iterator[tuple[str, Path]]:
    """Yield each agent with a folder or file of its sessions that exists, in a fixed order.

    `environment` may move the agents' homes, as it does for them; `here` is the folder of a
    project, where some leave their histories.
    """
    moved = {**environment, "HOME": str(home)}
    for agent in known_agents().values():
        for place in agent.files.places:
            if _check((found := place.path(moved)).exists):
                yield agent.name, found
    if here is None or here == home:
        return
    for agent in known_agents().values():
        if (name := agent.files.in_project) and _check((here / name).exists):
            yield agent.name, here / name


def sessions_in(
    folder: Path | str,
    *,
    without: Collection[Path] = (),
    limits: Limits = Limits(),
    follow_links: bool = False,
    within: Path | None = None,
    tell: Callable[[Path, int], None] = lambda _, __: None,
) -> Iterator[ImportedSession | NotReadable]:
    """Yield the sessions of all files below a folder but `without`, in the order of their names.

    A file that looks like a session by its name but is none comes as its `NotReadable`; others
    are passed over. What a file is, its data say. Pipes, sockets and devices are skipped, and so
    are links that lead out of the folder unless `follow_links`; each is a `NotReadable` too. What
    a link within the folder leads to is read once. `within` is where the folder was found, if
    nobody named it: then it may not be a link out of there either. `tell` gets each
    file with its bytes when it was read.
    """
    if within and not follow_links and is_outside(Path(folder), os.path.realpath(within)):
        yield _links_out(Path(folder))
        return
    for path in _paths(Path(folder), follow_links=follow_links):
        if isinstance(path, NotReadable):
            yield path
        elif path not in without:
            yield from _read(path, limits, follow_links=follow_links)
            tell(path, _size(path))


def files_in(folder: Path | str) -> list[Path]:
    """Return what `sessions_in` would read: files, and folders that are read as one."""
    return [path for path in _paths(Path(folder), follow_links=False) if isinstance(path, Path)]


def bytes_in(folder: Path | str, *, follow_links: bool = False) -> int:
    """Return how many bytes `sessions_in` would read; nothing is opened but pages."""
    found = _paths(Path(folder), follow_links=follow_links)
    return sum(_size(path) for path in found if isinstance(path, Path))


def _paths(folder: Path, *, follow_links: bool) -> Iterator[Path | NotReadable]:
    """Yield what is read below a folder: files, and folders that are read as one.

    Links come last: by then it is known what was read without them.
    """
    root, links = os.path.realpath(folder), list[Path]()
    seen: set[tuple[int, int]] = set()
    yield from _below(folder, links, seen, is_named=True)
    for link in links:  # grows while folders behind links are looked into
        found = _stat(link)
        if found is None or follow_links or not is_outside(link, root):
            yield from _below(link, links, seen, is_named=False)
        elif (found.st_dev, found.st_ino) in seen:
            continue
        elif stat.S_ISDIR(found.st_mode) or _has_ending(link):
            yield _links_out(link)


def _links_out(link: Path) -> NotReadable:
    return NotReadable(
        "is a link out of the folder; it was skipped",
        where=str(link),
        remedy="use --follow-links, or import what it leads to",
    )


def _below(
    first: Path, links: list[Path], seen: set[tuple[int, int]], *, is_named: bool
) -> Iterator[Path | NotReadable]:
    waiting = [first]
    while waiting:
        path = waiting.pop()
        if path is not first and path.is_symlink():
            links.append(path)
            continue
        found = _stat(path)
        if found is None:
            if (path is first and is_named) or _has_ending(path):
                yield path  # what is wrong with it is said when it is read
            continue
        if (found.st_dev, found.st_ino) in seen:
            continue
        if stat.S_ISREG(found.st_mode):
            if (path is first and is_named) or _is_candidate(path):
                seen.add((found.st_dev, found.st_ino))
                yield path
        elif not stat.S_ISDIR(found.st_mode):
            if (path is first and is_named) or _has_ending(path) or path.name.endswith(_PAGE):
                yield path  # what it is, is said when it is read
        elif (path is first and is_named) or path.name not in _PASSED_OVER:
            seen.add((found.st_dev, found.st_ino))
            if opencode.is_folder(path) or openhands.is_folder(path):
                yield path
            else:
                yield from _list_folder(path, waiting)


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except (OSError, ValueError):
        return None


def _size(path: Path) -> int:
    """Return the bytes of a file, or of all files in a folder."""
    inside = [Path(where) / name for where, _, names in os.walk(path) for name in names]
    return sum(found.st_size for one in inside or [path] if (found := _stat(one)))


def _is_candidate(path: Path) -> bool:
    return _has_ending(path) or (path.name.removesuffix(".gz").endswith(_PAGE) and is_history(path))


def _has_ending(path: Path) -> bool:
    return path.name.removesuffix(".gz").endswith(_ENDINGS)


def _list_folder(folder: Path, waiting: list[Path]) -> Iterator[NotReadable]:
    """Put what is in a folder on the list; a folder that cannot be opened is yielded."""
    try:
        found = sorted(folder.iterdir(), key=lambda one: (one.name.startswith(SUBAGENT_FILE), one))
        waiting.extend(reversed(found))
    except OSError as error:
        yield _cannot_open(folder, error)


def _cannot_open(folder: Path, error: OSError) -> NotReadable:
    what = f"cannot be opened ({type(error).__name__})"
    return NotReadable(what, where=str(folder), remedy="check its permissions")


def _read(
    path: Path, limits: Limits, *, follow_links: bool
) -> Iterator[ImportedSession | NotReadable]:
    try:
        found = _stat(path)
        if found is None or not stat.S_ISDIR(found.st_mode):
            yield from read_file(path, limits)
        elif opencode.is_folder(path):
            yield from opencode.read_folder(path, limits, follow_links=follow_links)
        else:
            yield from openhands.read_folder(path, limits, follow_links=follow_links)
    except NotReadable as error:
        if not _is_beside(path):
            yield error
    except OSError as error:
        yield _cannot_open(path, error)


def _is_beside(path: Path) -> bool:
    """Return whether this is what an agent keeps beside its sessions."""
    messages = path.with_name(f"{path.stem}.messages.json")
    if path.name.endswith(_LOCKS) or messages.exists():
        return True
    return any(path.name in agent.files.beside for agent in known_agents().values())


def _check(question: Callable[[], bool]) -> bool:
    """Return what a check of a path answers; False if the path may not be read."""
    try:
        return question()
    except OSError:
        return False

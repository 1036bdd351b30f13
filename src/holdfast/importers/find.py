"""Where agents keep their sessions, and the sessions of a folder."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from holdfast.errors import NotReadable
from holdfast.importers import opencode_store, openhands_folder
from holdfast.importers.imported import Agent, ImportedSession
from holdfast.importers.read import is_history, read_file

_ENDINGS = (".jsonl", ".json", ".traj", ".db", ".sqlite", "aider.chat.history.md")
_PAGE = ".md"
"""A history of aider may have any name; other pages are passed over."""
_PASSED_OVER = frozenset({".git", ".venv", "node_modules", "__pycache__"})


class Place(Struct, frozen=True, gc=False):
    """A folder or file in which an agent keeps sessions, in a home folder or under a variable."""

    agent: Agent
    variable: str
    default: str
    within: str


_PLACES = (
    Place("claude-code", "CLAUDE_CONFIG_DIR", ".claude", "projects"),
    Place("claude-code", "XDG_CONFIG_HOME", ".config", "claude/projects"),
    Place("codex", "CODEX_HOME", ".codex", "sessions"),
    Place("codex", "CODEX_HOME", ".codex", "archived_sessions"),
    Place("opencode", "XDG_DATA_HOME", ".local/share", "opencode/storage"),
    Place("opencode", "XDG_DATA_HOME", ".local/share", "opencode/opencode.db"),
    Place("pi", "PI_CODING_AGENT_DIR", ".pi/agent", "sessions"),
    Place("hermes", "HERMES_HOME", ".hermes", "state.db"),
    Place("hermes", "HERMES_HOME", ".hermes", "profiles"),
    Place("openhands", "OPENHANDS_HOME", ".openhands", "conversations"),
    Place("openhands", "OPENHANDS_HOME", ".openhands", "sessions"),
    Place("mini-swe-agent", "MSWEA_GLOBAL_CONFIG_DIR", ".config/mini-swe-agent", ""),
    Place("mini-swe-agent", "", "Library/Application Support/mini-swe-agent", ""),
    Place("aider", "", "", ".aider.chat.history.md"),
)


_HERE: tuple[tuple[Agent, str], ...] = (
    ("aider", ".aider.chat.history.md"),
    ("swe-agent", "trajectories"),
)
"""What agents leave in the folder of a project."""


def usual_places(
    home: Path, environment: Mapping[str, str], here: Path | None = None
) -> Iterator[tuple[Agent, Path]]:
    """Yield each agent with a folder or file of its sessions that exists, in a fixed order.

    `environment` may move the agents' homes, as it does for them; `here` is the folder of a
    project, where some leave their histories.
    """
    for place in _PLACES:
        moved = environment.get(place.variable, "") if place.variable else ""
        found = (Path(moved) if moved else home / place.default) / place.within
        if _holds(found.exists):
            yield place.agent, found
    if here is None or here == home:
        return
    for agent, name in _HERE:
        if _holds((here / name).exists):
            yield agent, here / name


def sessions_in(
    folder: Path | str, *, without: Collection[Path] = ()
) -> Iterator[ImportedSession | NotReadable]:
    """Yield the sessions of all files below a folder but `without`, in the order of their names.

    A file that looks like a session by its name but is none comes as its `NotReadable`; others
    are passed over. What a file is, its data say. Links to folders are not followed.
    """
    folder = Path(folder)
    waiting = [folder]
    while waiting:
        path = waiting.pop()
        if not _holds(path.is_dir):
            if path not in without and (path == folder or _looks_like_one(path)):
                yield from _read(path)
        elif path == folder or (path.name not in _PASSED_OVER and not path.is_symlink()):
            if opencode_store.is_folder(path):
                yield from opencode_store.read_folder(path)
            elif openhands_folder.is_folder(path):
                yield from openhands_folder.read_folder(path)
            else:
                yield from _opened(path, waiting)


def _looks_like_one(path: Path) -> bool:
    name = path.name.removesuffix(".gz")
    return name.endswith(_ENDINGS) or (name.endswith(_PAGE) and is_history(path))


def _opened(folder: Path, waiting: list[Path]) -> Iterator[NotReadable]:
    """Put what is in a folder on the list; a folder that cannot be opened is yielded."""
    try:
        waiting.extend(sorted(folder.iterdir(), reverse=True))
    except OSError as error:
        yield NotReadable(
            f"cannot be opened ({type(error).__name__})", where=str(folder),
            remedy="check its permissions",
        )  # fmt: skip


def _read(path: Path) -> Iterator[ImportedSession | NotReadable]:
    try:
        yield from read_file(path)
    except NotReadable as error:
        yield error


def _holds(question: Callable[[], bool]) -> bool:
    """Return what a path answers; no where it may not be asked."""
    try:
        return question()
    except OSError:
        return False

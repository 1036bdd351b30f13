"""How full the window of an agent is, by the end of its own file; read before each tool's result.

It loads nothing but the standard library until there is something to say.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from foldaway.agents.known import KnownAgent

SHARE = 0.85
"""Of what an agent lets a prompt have before it compacts: at most 25,000 tokens of 167,000 are left
then, a few calls; chosen."""
LEAST_TOKENS = 100_000
"""No agent with a notice compacts a shorter prompt by default: the others cost no more than a look
at the end of the file."""
_TAIL_BYTES = 1 << 16
_PATH = re.compile(rb'"transcript_path": ?"([^"\\]+)"')
_USAGE = re.compile(rb'"usage": ?\{')
_COUNT = re.compile(rb'"((?:cache_creation_|cache_read_)?input_tokens)": ?([0-9]{1,9})')
_MODEL = re.compile(rb'"model": ?"([^"\\]+)"')
_NEAR_BYTES = 400
"""After the key of a usage report; the counts of a prompt come first."""
_NOTICE = (
    "The context window is {now} % full; at about {limit} % it is compacted. Requests, decisions "
    "and results up to then are folded into a summary, which may leave some out. They stay in the "
    "file of this session: {ways}. This is a note from the user's tools and asks for nothing."
)
_BY_TOOLS = (
    "foldaway_sessions_dropped lists what was left out, foldaway_sessions_search finds it, and "
    "foldaway_sessions_recall opens a reference such as fa-0123456789"
)
_BY_COMMANDS = (
    "`foldaway dropped` lists what was left out, `foldaway search WORDS` finds it, and "
    "`foldaway recall REF` opens a reference such as fa-0123456789"
)


def may_be_full(told: bytes) -> bool:
    """Return whether the session that an agent tells of may be near a compaction."""
    found = _PATH.search(told)
    return found is not None and last_fill(os.fsdecode(found[1]))[0] >= LEAST_TOKENS


def last_fill(path: str) -> tuple[int, str]:
    """Return the tokens of the last prompt in a file of lines, and its model; (0, "") if there is
    none, or it was compacted since.
    """
    try:
        with open(path, "rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - _TAIL_BYTES, 0))
            lines = file.read().split(b"\n")
    except OSError:
        return 0, ""
    for line in reversed(lines):
        if b'"isCompactSummary":true' in line:
            break
        usage = None if b'"isSidechain":true' in line else _USAGE.search(line)
        if usage is not None:
            counts: dict[bytes, int] = {}
            for key, count in _COUNT.findall(line, usage.end(), usage.end() + _NEAR_BYTES):
                counts.setdefault(key, int(count))
            model = _MODEL.search(line)
            return sum(counts.values()), model[1].decode(errors="replace") if model else ""
    return 0, ""


def notice(client: KnownAgent, path: str, window: int, is_first: Callable[[], bool]) -> str:
    """Return what a model is told once before its window is compacted, "" if that is not near.

    `window` is the size that the user gave the agent, 0 for the usual one of its model.
    """
    from importlib.util import find_spec

    from foldaway.caching import window_of

    (used, model), usual = last_fill(path), client.compaction
    if not window:
        size = window_of(model, None)[0]
        window = usual.window_tokens or size
        window = size if used > window else window
    limit = int(window * usual.share) - usual.reserve_tokens
    if not SHARE * limit <= used <= window or not is_first():
        return ""
    ways = _BY_TOOLS if find_spec("mcp") else _BY_COMMANDS
    now, at = (round(100 * tokens / window) for tokens in (used, limit))
    return _NOTICE.format(now=now, limit=at, ways=ways)

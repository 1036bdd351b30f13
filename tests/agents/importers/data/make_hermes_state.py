"""Write `hermes-state.db.gz` with the peer's own `SessionDB` (hermes-agent 0.19.0).

Run with the interpreter of the peer: `python make_hermes_state.py hermes-state.db.gz`.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from pathlib import Path
from typing import Any

from hermes_state import SessionDB  # pyright: ignore[reportMissingImports]

START = 1_760_000_000.0
SUMMARY = "[CONTEXT COMPACTION — REFERENCE ONLY] "


def call(call_id: str, name: str, arguments: str) -> list[dict[str, Any]]:
    """Return the calls of a chat message."""
    function = {"name": name, "arguments": arguments}
    return [{"id": call_id, "type": "function", "function": function}]


def compacted_in_place(db: Any) -> None:
    """A session with a call, an image, a compaction, and a question that is asked twice."""
    own, ask = "20251009_090000_aaaa", "Why does the port check fail?"
    db.create_session(
        own, "cli", model="some-model", system_prompt="You are a helpful agent.", cwd="/work/app"
    )
    db.set_session_title(own, "Port check")
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    read = call("call_1", "read_file", '{"path": "src/port.py"}')
    db.append_message(own, "user", ask, timestamp=START)
    db.append_message(
        own, "assistant", "I look at the file.", tool_calls=read, timestamp=START + 1,
        reasoning="The port is read from a file.",
    )  # fmt: skip
    db.append_message(own, "tool", "PORT = 8080", tool_call_id="call_1", timestamp=START + 2)
    db.append_message(own, "assistant", "It is 8080, not 9090.", timestamp=START + 3)
    words = {"type": "text", "text": "Look at this"}
    db.append_message(own, "user", [words, picture], timestamp=START + 4)
    db.append_message(own, "assistant", "A red square.", timestamp=START + 5)
    live = db.get_messages_as_conversation(own)
    summary = {"role": "user", "content": SUMMARY + "The port is 8080."}
    db.archive_and_compact(own, [live[0], summary, *live[-2:]])
    db.append_message(own, "user", ask, timestamp=START + 60)
    db.append_message(own, "assistant", "As before: 9090 is wanted.", timestamp=START + 61)


def rotated(db: Any) -> None:
    """A session that ends in a compaction, with a call that nobody answered, and its child."""
    own, child = "20251009_100000_bbbb", "20251009_100500_cccc"
    db.create_session(own, "cli", model="some-model")
    db.append_message(own, "user", "Build it.", timestamp=START + 100)
    make = call("call_2", "terminal", '{"command": "make"}')
    db.append_message(own, "assistant", "", tool_calls=make, timestamp=START + 101)
    db.end_session(own, "compression")
    db.create_session(child, "cli", model="some-model", parent_session_id=own)
    db.append_message(child, "user", SUMMARY + "It is being built.", timestamp=START + 102)
    db.append_message(child, "assistant", "I go on.", timestamp=START + 103)


def rewound(db: Any) -> None:
    """A subagent whose last question was taken back."""
    own = "20251009_101000_dddd"
    db.create_session(own, "cli", parent_session_id="20251009_090000_aaaa")
    db.append_message(own, "user", "Count the files.", timestamp=START + 110)
    db.append_message(own, "assistant", "Seven.", timestamp=START + 111)
    again = db.append_message(own, "user", "Count again.", timestamp=START + 112)
    db.append_message(own, "assistant", "Still seven.", timestamp=START + 113)
    db.rewind_to_message(own, again)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.db"
        made = SessionDB(path)
        compacted_in_place(made)
        rotated(made)
        rewound(made)
        made.close()
        Path(sys.argv[1]).write_bytes(gzip.compress(path.read_bytes(), mtime=0))

"""Measure hermes-agent's SessionDB; runs inside the peer's own venv, started by `store.py`.

    python bench/peer_hermes_store.py MESSAGES.json

The answer is one line of JSON. Standard library and the peer only.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from compress import read_messages
from store import folder_bytes, text_bytes, timed

KEPT = 400
"""About as many messages as stay after a compaction."""


def main() -> int:
    messages = read_messages(Path(sys.argv[1]))
    sys.path.remove(str(Path(__file__).resolve().parent))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HERMES_HOME"] = folder
        logging.disable(logging.CRITICAL)
        database = importlib.import_module("hermes_state").SessionDB(Path(folder) / "state.db")
        database.create_session("s", "bench")

        def append(message: Any) -> None:
            database.append_message(
                "s", message["role"], message.get("content"),
                tool_calls=message.get("tool_calls"), tool_call_id=message.get("tool_call_id"),
            )  # fmt: skip

        found: dict[str, Any] = {"append": timed(append, messages)}
        kept = [{"role": "user", "content": "[summary]"}, *messages[-KEPT:]]
        start = time.process_time()
        database.archive_and_compact("s", kept)
        found["compact"] = {"cpu_ms": (time.process_time() - start) * 1e3}
        database.close()
        size = folder_bytes(folder)
    found["size"] = {"bytes": size, "times": size / text_bytes(messages)}
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print("started by bench/store.py, which measures both sides")
        raise SystemExit(0)
    raise SystemExit(main())

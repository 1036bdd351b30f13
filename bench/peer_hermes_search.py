"""Measure the search of hermes-agent's SessionDB; runs in the peer's venv, started by `search.py`.

    python bench/peer_hermes_search.py GIVEN.json

GIVEN holds texts and queries by kind; the answer is one line of JSON. Standard library and the
peer only.
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

REPEATS = 3
LIMIT = 20
SESSION_MESSAGES = 500


def main() -> int:
    if len(sys.argv) == 1:
        print("started by bench/search.py, which measures both sides")
        return 0
    given = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    sys.path.remove(str(Path(__file__).resolve().parent))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HERMES_HOME"] = folder
        logging.disable(logging.CRITICAL)
        database = importlib.import_module("hermes_state").SessionDB(Path(folder) / "state.db")
        for number, text in enumerate(given["texts"]):
            name = f"s{number // SESSION_MESSAGES:06}"
            if number % SESSION_MESSAGES == 0:
                database.create_session(name, "bench")
            database.append_message(name, "user", text)
        found = {kind: _measured(database, texts) for kind, texts in given["queries"].items()}
        database.close()
    print(json.dumps(found))
    return 0


def _measured(database: Any, texts: list[str]) -> dict[str, Any]:
    times: list[float] = []
    hits: list[int] = []
    for text in texts:
        for _ in range(REPEATS):
            start = time.process_time()
            found = database.search_messages(text, limit=LIMIT)
            times.append((time.process_time() - start) * 1e3)
        hits.append(len(found))
    times.sort()
    p95 = times[min(int(len(times) * 0.95), len(times) - 1)]
    return {"p50": times[len(times) // 2], "p95": p95, "hits": hits}


if __name__ == "__main__":
    raise SystemExit(main())

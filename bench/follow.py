"""What a host waits for when its list is followed: growth with the length, and one large request.

    python bench/follow.py                100 to 50,000 messages, and a request of 4 MB
    python bench/follow.py --json FILE    the figures as JSON

CPU time of `Session.follow` for a request that has two more messages than the one before, and for
the same request again; beside it the time of one scan of the bytes (msgspec, the list split into
its messages). Sessions are kept in memory; nothing is due to be compacted.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from foldaway import Session
from foldaway.dialects.jsontext import split_list, split_object

LENGTHS = (100, 1_000, 10_000, 50_000)
ROUNDS = 7
"""Of each figure the median counts."""


def talk(count: int, chars: int) -> list[Any]:
    """Return so many messages of about so many characters."""
    words = "the tests of the parser fail at line 12 of grammar.py because of a missing token; "
    found: list[Any] = []
    for number in range(count):
        text = f"{number}: " + (words * (chars // len(words) + 1))[:chars]
        found.append({"role": "user" if number % 2 == 0 else "assistant", "content": text})
    return found


def body_of(messages: list[Any]) -> bytes:
    return json.dumps({"model": "bench", "messages": messages}, ensure_ascii=False).encode()


def scan(body: bytes) -> int:
    return len(split_list(split_object(body)["messages"]))


def timed(call: Any) -> float:
    start = time.process_time()
    call()
    return (time.process_time() - start) * 1e3


def measure(count: int, chars: int) -> dict[str, float]:
    """Return milliseconds for a list of so many messages."""
    messages = talk(count + 2 * ROUNDS, chars)
    session = Session(context_length=2_000_000_000)
    body = body_of(messages[:count])
    found = {"first": timed(partial(session.follow, request=body))}
    grown: list[float] = []
    same: list[float] = []
    scans: list[float] = []
    for number in range(1, ROUNDS + 1):
        body = body_of(messages[: count + 2 * number])
        scans.append(timed(partial(scan, body)))
        grown.append(timed(partial(session.follow, request=body)))
        same.append(timed(partial(session.follow, request=bytes(bytearray(body)))))
    found |= {"grown": statistics.median(grown), "same": statistics.median(same)}
    return {**found, "scan": statistics.median(scans), "mb": len(body) / 1e6}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    rows = {f"{count:,} messages": measure(count, 200) for count in LENGTHS}
    rows["4 MB, 2,000 messages"] = measure(2_000, 2_000)
    print(f"{'':24}{'MB':>8}{'scan':>9}{'same':>9}{'2 more':>9}{'first':>10}   ms of CPU")
    for name, row in rows.items():
        print(
            f"{name:24}{row['mb']:8.1f}{row['scan']:9.1f}{row['same']:9.1f}"
            f"{row['grown']:9.1f}{row['first']:10.0f}"
        )
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()

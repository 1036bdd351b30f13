"""Train the dictionary that bodies are packed with, and say what it saves on other sources.

    python bench/body_dictionary.py            # what it saves
    python bench/body_dictionary.py --write    # also write src/foldaway/stores/dictionary.zdict

Trained on records under MIT and Apache-2.0 only; measured on sources that it has not seen.
A dictionary that differs makes stored bodies unreadable: a new one needs a new form in bodies.py.
"""

from __future__ import annotations

import gzip
import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import zstandard

DATA = Path(os.environ.get("FOLDAWAY_DATA", Path(__file__).parents[2] / "shared" / "data"))
TARGET = Path(__file__).parents[1] / "src" / "foldaway" / "stores" / "dictionary.zdict"
SIZE = 8192
TRAINED = ("bfcl__multi-turn-base", "claude-code__cli", "sharegpt__reason",
           "swe-agent__", "tau-bench__")  # fmt: skip
MEASURED = ("aider__", "intercode__", "opencode__", "pi__",
            "sharegpt__glaive", "tau2__whissle")  # fmt: skip
LICENCES = ("MIT", "Apache-2.0")


def main() -> None:
    samples = [body[:4000] for name in TRAINED for body in _some(name) if len(body) < 8000]
    dictionary = zstandard.train_dictionary(SIZE, samples)
    dictionary.precompute_compress(level=3)
    print(f"trained on {len(samples)} bodies, {sum(map(len, samples)):,} bytes")
    plain = zstandard.ZstdCompressor(level=3)
    trained = zstandard.ZstdCompressor(dict_data=dictionary, write_dict_id=False)
    for name in MEASURED:
        bodies = list(_bodies(name))
        before = sum(map(len, bodies))
        without = sum(len(plain.compress(body)) for body in bodies)
        start = time.process_time()
        packed = sum(len(trained.compress(body)) for body in bodies)
        micros = (time.process_time() - start) / len(bodies) * 1e6
        print(
            f"{name:24} {before // len(bodies):6} bytes a body, {without / before:.2f} without,"
            f" {packed / before:.2f} with it, {micros:.1f} µs a body"
        )
    if "--write" in sys.argv:
        TARGET.write_bytes(dictionary.as_bytes())


def _some(name: str) -> list[bytes]:
    bodies = list(_bodies(name))
    random.Random(1).shuffle(bodies)
    return bodies[:1500]


def _bodies(name: str) -> Iterator[bytes]:
    for path in sorted((DATA / "sessions").glob(f"{name}*.jsonl.gz")):
        with gzip.open(path) as lines:
            for line in lines:
                record = msgspec.json.decode(line)
                if record["licence"].startswith(LICENCES):
                    yield from map(msgspec.json.encode, record["messages"])


if __name__ == "__main__":
    main()

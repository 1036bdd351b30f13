"""hermes-agent's trajectory compressor; runs inside the peer's own venv, started by
`trajectories.py`.

    python bench/peer_hermes_trajectories.py RECORDS.jsonl --counter NAME --call HOW --target N

Its tokenizer is replaced by a counter that both sides use, or by the tokenizer file, which it
calls as it always does (`own`); its model by a fixed text. The answer is one line of JSON.
"""

from __future__ import annotations

import argparse
import importlib
import json
import logging
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trajectories import CALLS, COUNTERS, SUMMARY, best_of, counter


def main() -> int:
    if len(sys.argv) == 1:
        print("started by bench/trajectories.py, which measures both sides")
        return 0
    parser = argparse.ArgumentParser()
    parser.add_argument("records", type=Path)
    parser.add_argument("--counter", choices=COUNTERS, default="estimate")
    parser.add_argument("--call", choices=CALLS, default="plain")
    parser.add_argument("--tokenizer", type=Path)
    parser.add_argument("--target", type=int, default=16_384)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    sys.path.remove(str(Path(__file__).resolve().parent))
    with tempfile.TemporaryDirectory() as home:
        os.environ["HERMES_HOME"] = home
        logging.disable(logging.CRITICAL)

        def begun() -> Callable[[bytes], tuple[bytes, bool]]:
            compressor = _compressor(_tokenizer(options), options.target)

            def work(line: bytes) -> tuple[bytes, bool]:
                made, metrics = compressor.process_entry(json.loads(line))
                return json.dumps(made, ensure_ascii=False).encode(), metrics.was_compressed

            return work

        lines = options.records.read_bytes().splitlines()
        print(json.dumps(best_of(lines, begun, options.rounds)))
    return 0


def _tokenizer(options: argparse.Namespace) -> Any:
    """Return what has the `encode` that the compressor calls: for a file the class of
    transformers that it loads itself.
    """
    if options.call == "own":
        transformers: Any = importlib.import_module("transformers")
        return transformers.PreTrainedTokenizerFast(tokenizer_file=str(options.tokenizer))
    count = counter(options.counter, options.tokenizer, options.call)

    class Tokenizer:
        def encode(self, text: str) -> range:
            return range(count(text))

    return Tokenizer()


def _compressor(tokenizer: Any, target: int) -> Any:
    """Return a compressor without its constructor, which wants a hub and a key."""
    module: Any = importlib.import_module("trajectory_compressor")
    made = object.__new__(module.TrajectoryCompressor)
    made.config = module.CompressionConfig(target_max_tokens=target, metrics_per_trajectory=False)
    made.aggregate_metrics = module.AggregateMetrics()
    made.logger = logging.getLogger("peer")
    made.tokenizer = tokenizer
    made._generate_summary = lambda content, metrics: SUMMARY
    return made


if __name__ == "__main__":
    raise SystemExit(main())

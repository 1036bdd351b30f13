"""What a model costs a batch of trajectories beside its price: CPU of folding, asking, checking.

    python bench/trajectory_model.py             48 sessions of six families, target 16,384
    python bench/trajectory_model.py --limit 2   fewer of each

Real sessions ($FOLDAWAY_DATA, or ../shared/data) as ShareGPT records go through one shard in one
process: by the ledger, as an estimate, with the openai SDK and a server on loopback (the CPU of
the server is in it), and once more with the answers that were kept. Needs `foldaway[openai]` and
`foldaway[testing]`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from foldaway.testing import ModelServer
from foldaway.trajectories.batch import count_shard
from foldaway.trajectories.folder import ANSWERS, METRICS, STATE
from foldaway.trajectories.model_client import client_for
from foldaway.trajectories.policy import BatchSettings, RequestLimits, TrajectoryPolicy
from foldaway.trajectories.reading import RawRecord, Shard, cut_shards
from foldaway.trajectories.shard import RecordThreads, ShardRun, do_shard, tools_for
from foldaway.trajectories.summaries import ModelAnswer, ModelQuestion
from trajectories import DATA, sharegpt_lines

POLICY = TrajectoryPolicy(target_tokens=16_384)
REQUESTS = 8
NOTE = json.dumps({"decisions": [{"text": "It was settled to go on with care", "source": ""}]})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--limit", type=int, default=8, help="records of each family")
    options = parser.parse_args()
    if not DATA.is_dir():
        print(f"skipped: no sessions in {DATA}; set FOLDAWAY_DATA")
        return 0
    os.environ.setdefault("OPENAI_API_KEY", "none")
    entries = [RawRecord("", at, line) for at, line in enumerate(sharegpt_lines(options.limit), 1)]
    shard = next(cut_shards(entries, most_records=len(entries), most_bytes=1 << 40))
    size = sum(len(entry.data) for entry in entries)
    print(f"{len(entries)} records, {size / 1e6:.1f} MB, target {POLICY.target_tokens:,}")
    with tempfile.TemporaryDirectory() as scratch, ModelServer(NOTE) as server:
        _measure(shard, Path(scratch), server.openai_url)
    return 0


def _measure(shard: Shard, folder: Path, url: str) -> None:
    for name in (STATE, METRICS):
        (folder / name).mkdir()
    ledger = BatchSettings(policy=POLICY)
    model = BatchSettings(
        policy=POLICY, summaries="model", summarizer="openai:m", summarizer_url=url
    )
    client = client_for(model, folder / STATE / ANSWERS, RequestLimits(requests=REQUESTS))
    assert client is not None
    threads = RecordThreads(REQUESTS)

    def ask(question: ModelQuestion) -> ModelAnswer:
        coming = client.ask(question)
        with threads.wait():
            return coming.result()

    plain = ShardRun(settings=ledger, tools=tools_for(ledger), folder=folder)
    asking = ShardRun(settings=model, tools=tools_for(model, ask), folder=folder, threads=threads)
    _timed("ledger", lambda: do_shard(shard, plain))
    found = _timed("estimate", lambda: count_shard(shard, asking))
    _timed("model", lambda: do_shard(shard, asking))
    _timed("model, kept", lambda: do_shard(shard, asking))
    client.close()
    print(f"estimate: {found.calls} calls for {found.records} records, {found.input_tokens:,} "
          f"tokens in; asked: {client.spent.calls} calls, "
          f"{client.spent.failed} failed")  # fmt: skip


def _timed(name: str, do: Callable[[], Any]) -> Any:
    began = time.process_time()
    found = do()
    print(f"{name:12} {time.process_time() - began:6.2f} s CPU")
    return found


if __name__ == "__main__":
    raise SystemExit(main())

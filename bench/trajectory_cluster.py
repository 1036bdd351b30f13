"""A batch of trajectories on a Ray of several nodes on this machine, of which one is killed.

    .venv/bin/python bench/trajectory_cluster.py                     20,000 records on three nodes
    .venv/bin/python bench/trajectory_cluster.py --records 1000000 --longest 3000 --target 256
    .venv/bin/python bench/trajectory_cluster.py --nodes 4 --cpus 2 --json FILE

Needs `foldaway[ray]` (`make test-ray` installs it). One process does the batch first, then the
cluster: a head and nodes that `ray start` made, each with so many processors. When a third of the
shards is done one node is killed with `kill -9`, all its processes at once; when two thirds are
done another one joins. Afterwards the files of both are compared, byte for byte, and each record
has to be there once.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from trajectories import SOURCE, sharegpt_lines, write_records

MOST_SHARDS = 1_000


class Cluster:
    """Nodes of a Ray on this machine."""

    def __init__(self, stack: ExitStack, cpus: int) -> None:
        self._ray, self._cpus = Path(sys.executable).with_name("ray"), str(cpus)
        self._port = _free_port()
        self.address = f"127.0.0.1:{self._port}"
        folder = f"/tmp/foldaway-ray-{self._port}"
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        stack.callback(self.close)
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("RAY_")},
            "PYTHONPATH": str(SOURCE), "RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_ADDRESS": self.address,
        }  # fmt: skip
        self._nodes: list[subprocess.Popen[bytes]] = []
        self._start("--head", "--port", str(self._port), "--include-dashboard", "false",
                    "--temp-dir", folder)  # fmt: skip

    def join(self) -> None:
        """Start one node more, again if it ends: nodes of one machine may want the same port."""
        wanted = self._count() + 1
        while self._count() < wanted:
            if self._nodes[-1].poll() is not None or len(self._nodes) < wanted:
                self.start_node()

    def start_node(self) -> None:
        """Start a node, without waiting until it has joined."""
        self._start("--address", self.address)

    def _count(self) -> int:
        """Return how many nodes have joined, the head one of them."""
        joined = 0
        while not joined:  # its port is open before it is ready
            if self._nodes[0].poll() is not None:
                raise SystemExit("the head of the cluster ended")
            told = subprocess.run(
                [str(self._ray), "status"], env=self.environment, capture_output=True, text=True,
                check=False,
            )  # fmt: skip
            joined = told.stdout.partition("Pending")[0].count("node_")
        return joined

    def _start(self, *how: str) -> None:
        line = [str(self._ray), "start", "--block", "--num-cpus", self._cpus, *how]
        nowhere = subprocess.DEVNULL
        environment = {**self.environment}
        del environment["RAY_ADDRESS"]
        self._nodes.append(subprocess.Popen(
            line, env=environment, stdout=nowhere, stderr=nowhere, start_new_session=True
        ))  # fmt: skip

    def kill_one(self) -> int:
        """Kill the newest node with all its processes; return how many there were."""
        node = self._nodes.pop()
        found = [node.pid, *_below(node.pid)]
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        node.wait()
        return len(found)

    def close(self) -> None:
        """End all, the head last."""
        for node in reversed(self._nodes):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(node.pid, signal.SIGTERM)
            node.wait(60)


def _below(pid: int) -> Iterator[int]:
    with contextlib.suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            yield int(child)
            yield from _below(int(child))


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def compress(path: Path, out: Path, asked: argparse.Namespace, *more: str) -> list[str]:
    """Return the command of a batch."""
    return [sys.executable, "-m", "foldaway", "trajectories", "compress", str(path), "-o", str(out),
            "--target-tokens", str(asked.target), "--shard-records", str(shard_records(asked)),
            "--format", "jsonl", *more]  # fmt: skip


def shard_records(asked: argparse.Namespace) -> int:
    """Return how many records a file of the batch has."""
    return max(100, asked.records // MOST_SHARDS)


def on_cluster(path: Path, out: Path, asked: argparse.Namespace) -> dict[str, Any]:
    """Do a batch on a cluster, with a kill and a new node in between; return what it took."""
    shards = -(-asked.records // shard_records(asked))
    with ExitStack() as stack:
        cluster = Cluster(stack, asked.cpus)
        for _ in range(asked.nodes - 1):
            cluster.join()
        began = time.monotonic()
        line = compress(path, out, asked, "--engine", "ray", "--ray-address", cluster.address)
        running = subprocess.Popen(
            line, env=cluster.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        first = _wait(running, out, 1, began)
        at_kill, killed = _wait(running, out, shards // 3, began), cluster.kill_one()
        at_join = _wait(running, out, 2 * shards // 3, began)
        cluster.start_node()
        _, said = running.communicate()
        took = time.monotonic() - began
    assert running.returncode in (0, 3), said.decode()  # 3: records are over their target
    return {
        "seconds": round(took, 1), "until the first shard": first, "killed at": at_kill,
        "processes of the killed node": killed, "joined at": at_join,
        "records a second": round(asked.records / took),
    }  # fmt: skip


def _wait(running: subprocess.Popen[bytes], out: Path, marks: int, began: float) -> float:
    """Wait until so many shards are done; return how long that took."""
    while len(list(out.glob(".foldaway/part-*.json"))) < marks:
        if running.poll() is not None:
            assert running.stderr is not None
            said = running.stderr.read().decode()
            raise SystemExit(f"it ended before {marks} shards were done: {said}")
        time.sleep(0.1)
    return round(time.monotonic() - began, 1)


def by_one_process(path: Path, out: Path, asked: argparse.Namespace) -> dict[str, Any]:
    """Do the batch by one process."""
    began = time.monotonic()
    line = compress(path, out, asked, "--engine", "processes", "--workers", "1")
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(
        line, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False
    )
    assert done.returncode in (0, 3), done.stderr.decode()
    took = time.monotonic() - began
    return {"seconds": round(took, 1), "records a second": round(asked.records / took)}


def compare(one: Path, other: Path, records: int) -> dict[str, Any]:
    """Return how many files differ, and which records are lost or there twice."""
    names = {path.name for out in (one, other) for path in out.glob("part-*")}
    differ = [name for name in names if _bytes(one / name) != _bytes(other / name)]
    found = Counter(
        json.loads(line)["id"]
        for path in other.glob("part-*")
        for line in path.read_bytes().splitlines()
    )
    return {
        "files": len(names), "files that differ": len(differ),
        "lost": records - len(found), "twice": sum(count > 1 for count in found.values()),
    }  # fmt: skip


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def main() -> int:
    """Measure, 1 if anything is lost, there twice, or other bytes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--cpus", type=int, default=1, help="of a node")
    parser.add_argument("--longest", type=int, default=60_000, help="bytes of a record")
    parser.add_argument("--target", type=int, default=4_096, help="tokens of a record")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    lines = [line for line in sharegpt_lines(300) if len(line) < asked.longest]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        path = folder / "in.jsonl.gz"
        megabytes = write_records(path, lines, asked.records) / 1e6
        found: dict[str, Any] = {"records": asked.records, "MB": round(megabytes)}
        found["one process"] = by_one_process(path, folder / "one", asked)
        print(json.dumps(found), flush=True)
        found["cluster"] = on_cluster(path, folder / "cluster", asked)
        found["afterwards"] = compare(folder / "one", folder / "cluster", asked.records)
    for name, value in found.items():
        print(f"{name:12} {value}")
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n")
    return int(any(found["afterwards"][name] for name in ("files that differ", "lost", "twice")))


if __name__ == "__main__":
    raise SystemExit(main())

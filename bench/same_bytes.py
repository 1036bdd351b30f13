"""One hash for what each surface gives, to compare the code before and after a change.

    python bench/same_bytes.py                       of this checkout
    python bench/same_bytes.py --source OTHER/src    of another one
    python bench/same_bytes.py --limit 20            fewer sessions

`compress`, `follow`, `redact`, `reduce`, a gateway in a process of its own, and the hook of Claude
Code, on the shared sessions: the longest of each file and some of the others. `compress` is asked
with a threshold and with a size; `follow` and the gateway get every request of a growing
conversation, without the rule of money: whether a cache has gone cold depends on the clock. They
and the hook get sessions without secrets only: every store hides with a key of its own.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("FOLDAWAY_DATA", ROOT.parent / "shared" / "data"))
ANSWER = {
    "id": "c", "object": "chat.completion", "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop",
                 "message": {"role": "assistant", "content": "Yes."}}],
}  # fmt: skip


def sessions(limit: int) -> Iterator[tuple[str, list[Any]]]:
    """Yield sessions by name: of each file the longest, then others of different lengths."""
    files = sorted((DATA / "sessions").glob("*.gz"))
    each = max(1, limit // len(files))
    for path in files:
        rows = [(len(row), row) for row in gzip.decompress(path.read_bytes()).splitlines()]
        rows.sort(key=lambda one: one[0], reverse=True)
        rows = [one for one in rows if one[0] < 1_500_000]
        for _, row in rows[:: max(1, len(rows) // each)][:each]:
            record = json.loads(row)
            yield record["id"], record["messages"]


def growing(messages: list[Any]) -> Iterator[list[Any]]:
    """Yield the lists of a conversation at some ten of its requests."""
    ends = [at for at, one in enumerate(messages) if one["role"] in ("user", "tool")]
    for at in ends[:: max(1, len(ends) // 10)]:
        yield messages[: at + 1]


class Hash:
    """A hash of many values."""

    def __init__(self) -> None:
        self.state = hashlib.sha256()

    def add(self, value: Any) -> None:
        """Add a value, as JSON if it is not bytes."""
        data = value if isinstance(value, bytes) else json.dumps(value, default=str).encode()
        self.state.update(len(data).to_bytes(8, "big") + data)


class Provider(BaseHTTPRequestHandler):
    """Hashes what it is sent and gives one answer."""

    hash: Hash

    def do_POST(self) -> None:
        """Answer a request."""
        self.hash.add(self.rfile.read(int(self.headers["content-length"])))
        data = json.dumps(ANSWER).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Print nothing."""


def through_gateway(found: Hash, named: list[tuple[str, list[Any]]], source: str) -> None:
    """Send growing conversations through a real gateway to a provider that hashes them."""
    Provider.hash = found
    provider = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=provider.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, "-m", "foldaway", "serve", "--port", "0", "--save", "off",
                   "--window", "24000",
                   "--upstream", f"http://127.0.0.1:{provider.server_port}",
                   "--store", f"{home}/store"]  # fmt: skip
        environment = {**os.environ, "PYTHONPATH": source, "HOME": home, "PYTHONUNBUFFERED": "1"}
        running = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert running.stdout is not None
        line = next(one for one in running.stdout if "http" in one)
        address = next(word for word in line.split() if word.startswith("http")).rstrip("/,.")
        try:
            for name, messages in named:
                for part in growing(messages):
                    body = json.dumps({"model": "m", "messages": part}).encode()
                    request = urllib.request.Request(
                        f"{address}/v1/chat/completions", body,
                        {"content-type": "application/json", "x-foldaway-session": name},
                    )  # fmt: skip
                    urllib.request.urlopen(request, timeout=60).read()
        finally:
            running.kill()
            running.wait()
            provider.shutdown()


def through_hook(found: Hash, named: list[tuple[str, list[Any]]], source: str) -> None:
    """Ask the hook about results of tools, and about a compaction of a session."""
    with tempfile.TemporaryDirectory() as home:
        path = Path(home) / "session.jsonl"
        for name, messages in named:
            rows: list[dict[str, Any]] = []
            for at, one in enumerate(messages):
                role = "assistant" if one["role"] == "assistant" else "user"
                rows.append({
                    "parentUuid": f"u{at - 1}" if at else None, "uuid": f"u{at}", "type": role,
                    "sessionId": name, "cwd": "/project", "isSidechain": False,
                    "timestamp": f"2026-01-01T10:{at // 60 % 60:02d}:{at % 60:02d}.000Z",
                    "message": {"role": role, "content": str(one.get("content") or "-")},
                })  # fmt: skip
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
            base = {"session_id": name, "transcript_path": str(path), "cwd": home}
            longest = max((str(one.get("content")) for one in messages), key=len)
            for event in (
                {"hook_event_name": "PreCompact", "trigger": "auto"},
                {"hook_event_name": "SessionStart", "source": "compact"},
                {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_use_id": "t",
                 "tool_response": {"stdout": longest[:60_000], "stderr": ""}},
            ):  # fmt: skip
                done = subprocess.run(
                    [sys.executable, "-m", "foldaway", "hook", "claude-code", "--home", home],
                    input=json.dumps({**base, **event}).encode(), capture_output=True, check=True,
                    env={**os.environ, "PYTHONPATH": source, "HOME": home},
                )  # fmt: skip
                found.add(done.stdout.replace(home.encode(), b"HOME"))


def main() -> int:
    """Print the hashes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--source", default=str(ROOT / "src"))
    parser.add_argument("--limit", type=int, default=60)
    given = parser.parse_args()
    if not (DATA / "sessions").is_dir():
        print("the shared sessions are not here; name their folder in FOLDAWAY_DATA")
        return 0
    sys.path.insert(0, given.source)
    from foldaway import Policy, Session, compress, redact, reduce

    policy = Policy(save="off")
    named = list(sessions(given.limit))
    found = {name: Hash() for name in ("compress", "follow", "redact", "reduce")}
    clean: list[tuple[str, list[Any]]] = []
    for name, messages in named:
        tokens = sum(len(json.dumps(one)) for one in messages) // 4
        sizes = (max(4_000, tokens // 2), None), (200_000, max(700, tokens // 5))
        for window, target in sizes:
            made = compress(messages, context_length=window, target_tokens=target)
            found["compress"].add(made.messages)
        if "[redacted" not in redact(json.dumps(messages)):
            clean.append((name, messages))
            session = Session(context_length=max(6_000, tokens // 3), policy=policy)
            for part in growing(messages):
                found["follow"].add(session.follow(part).messages)
        for one in messages:
            if isinstance(text := one.get("content"), str):
                found["redact"].add(redact(text).encode("utf-8", "surrogatepass"))
                if len(text) > 2_000:
                    found["reduce"].add(reduce(text).text.encode("utf-8", "surrogatepass"))
    for name in found:
        print(f"{name:9}{found[name].state.hexdigest()[:16]}", flush=True)
    for name, run, some in (
        ("gateway", through_gateway, clean),
        ("hooks", through_hook, clean[::6]),
    ):
        run(one := Hash(), some, given.source)
        print(f"{name:9}{one.state.hexdigest()[:16]}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

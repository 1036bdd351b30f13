"""Resident memory of `foldaway serve` around three equal requests of one conversation.

python bench/gateway_memory.py [--mb 20]
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CHANCE = random.Random(1)
TOOLS = [{"type": "function", "function": {"name": "read"}}]


class Provider(BaseHTTPRequestHandler):
    """Answers at once, and reads the request without keeping it."""

    def do_POST(self) -> None:
        left = int(self.headers["content-length"])
        while left:
            left -= len(self.rfile.read(min(left, 1 << 16)))
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: Any) -> None:
        pass


def results(size: int) -> list[Any]:
    words = [f"w{CHANCE.randrange(10**6)}" for _ in range(5_000)]
    listed: list[Any] = [{"role": "user", "content": "go"}]
    while size > 0:
        text, name = " ".join(CHANCE.choices(words, k=1_000)), f"c{len(listed)}"
        call = {"id": name, "type": "function", "function": {"name": "read", "arguments": "{}"}}
        listed += [{"role": "assistant", "content": None, "tool_calls": [call]},
                   {"role": "tool", "tool_call_id": name, "content": text}]  # fmt: skip
        size -= len(text) + 200
    return [*listed, {"role": "user", "content": "more"}]


def image(size: int) -> list[Any]:
    data = base64.b64encode(CHANCE.randbytes(size * 3 // 4)).decode()
    url = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
    return [{"role": "user", "content": [url]}, {"role": "assistant", "content": "ok"},
            {"role": "user", "content": "more"}]  # fmt: skip


def resident_mb(pid: int) -> int:
    with open(f"/proc/{pid}/status") as lines:
        return next(int(one.split()[1]) >> 10 for one in lines if one.startswith("VmRSS"))


def spent(pid: int) -> str:
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[11]


def measure(pid: int, port: int, body: bytes) -> str:
    """Send a request; return the highest memory until the process is quiet again, and that then."""
    peak, is_over = [0], threading.Event()

    def watch() -> None:
        while not is_over.wait(0.005):
            peak[0] = max(peak[0], resident_mb(pid))

    watching = threading.Thread(target=watch)
    watching.start()
    client = HTTPConnection("127.0.0.1", port)
    client.request("POST", "/v1/chat/completions", body, {"x-foldaway-session": "one"})
    client.getresponse().read()
    client.close()
    before = ""
    while (now := spent(pid)) != before:  # CPU is spent as long as the list is taken down
        before = now
        time.sleep(1.0)
    is_over.set()
    watching.join()
    return f"peak {peak[0]}, then {resident_mb(pid)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mb", type=int, default=20)
    size = parser.parse_args().mb << 20
    provider = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=provider.serve_forever, daemon=True).start()
    kinds: dict[str, Callable[[int], list[Any]]] = {"results": results, "image": image}
    for name, make in kinds.items():
        body = json.dumps({"model": "gpt-5", "messages": make(size), "tools": TOOLS}).encode()
        with tempfile.TemporaryDirectory() as home:
            command = [sys.executable, "-m", "foldaway", "serve", "--port", "0", "--store", home,
                       "--upstream", f"http://127.0.0.1:{provider.server_port}"]  # fmt: skip
            env = {**os.environ, "FOLDAWAY_HOME": home}
            gateway = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env)
            assert gateway.stderr is not None
            try:
                port = int(gateway.stderr.readline().rpartition(":")[2])
                HTTPConnection("127.0.0.1", port).request("GET", "/healthz")
                time.sleep(2.0)
                start = resident_mb(gateway.pid)
                seen = [measure(gateway.pid, port, body) for _ in range(3)]
            finally:
                gateway.kill()
                gateway.communicate()
        print(f"{name}: {len(body) >> 20} MB; at the start {start} MB; {'; '.join(seen)}")


if __name__ == "__main__":
    main()

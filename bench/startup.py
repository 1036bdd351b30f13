"""How long it takes until a first compaction can begin: `python bench/startup.py [--rounds 7]`.

Each row runs in processes of its own, in alternating rounds, with byte code cached. A row shows the
least CPU time of its rounds, that time as a multiple of the anchor's (`import asyncio, json`, which
is the standard library alone), and how many modules of ours were loaded. The multiple is what to
compare between two machines or two commits; the modules have a limit in `tests/test_shape.py`.

A second table starts `foldaway serve` and sends it one request as soon as it says that it listens:
CPU until it listens, CPU and seconds until the answer is there, and whether the request was late.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ANCHOR = "import asyncio, json"
ROWS = {
    "anchor": ANCHOR,
    "import foldaway": "import foldaway",
    "foldaway.compress": "import foldaway; foldaway.compress",
    "the first result": (
        "import foldaway; text = 'please fix the parser. ' * 200; "
        "foldaway.compress([{'role': ('user', 'assistant')[at % 2], 'content': f'{at} {text}'} "
        "for at in range(40)], target_tokens=4000)"
    ),
}
MEASURE = (
    "import sys, time; start = time.process_time(); {code}; taken = time.process_time() - start; "
    "print(taken, sum(name.split('.')[0] == 'foldaway' for name in sys.modules))"
)


def main() -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    best: dict[str, float] = {}
    modules: dict[str, int] = {}
    for turn in range(rounds + 1):
        for name, code in ROWS.items():
            seconds, modules[name] = _run(code)
            if turn:  # the first round writes the byte code
                best[name] = min(seconds, best.get(name, seconds))
    print("| | CPU ms | times the anchor | modules of ours |\n| --- | --: | --: | --: |")
    for name, seconds in best.items():
        times = seconds / best["anchor"]
        print(f"| {name} | {1000 * seconds:.0f} | {times:.1f} | {modules[name]} |")
    provider = HTTPServer(("127.0.0.1", 0), _Provider)
    threading.Thread(target=provider.serve_forever, daemon=True).start()
    starts = [_serve_once(provider.server_port) for _ in range(rounds + 1)][1:]
    listens, answers, seconds = (1000 * min(one) for one in list(zip(*starts, strict=True))[:3])
    notes = ", ".join(sorted({one[3] for one in starts}))
    print("\n| `foldaway serve` | CPU ms | ms |\n| --- | --: | --: |")
    print(f"| listens | {listens:.0f} | |")
    print(f"| has answered ({notes}) | {answers:.0f} | {seconds:.0f} |")
    return 0


class _Provider(BaseHTTPRequestHandler):
    """Answers every request at once."""

    def do_POST(self) -> None:
        """Answer."""
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _serve_once(provider: int) -> tuple[float, float, float, str]:
    """Return CPU seconds of a gateway until it listens and until its first answer, seconds until
    that, and what it says of the request.
    """
    said = [{"role": ("user", "assistant")[at % 2], "content": "words " * 200} for at in range(41)]
    body = json.dumps({"model": "gpt-5", "messages": said, "tools": [{"type": "function"}]})
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as home:
        begun = time.perf_counter()
        gateway = subprocess.Popen(
            [sys.executable, "-m", "foldaway", "serve", "--port", "0", "--store", home,
             "--upstream", f"http://127.0.0.1:{provider}", "--window", "8000"],
            stderr=subprocess.PIPE, text=True,
            env={**inherited, "PYTHONPATH": str(ROOT / "src"), "FOLDAWAY_HOME": home},
        )  # fmt: skip
        try:
            assert gateway.stderr is not None
            port = int(gateway.stderr.readline().rpartition(":")[2])
            listens = _cpu_of(gateway.pid)
            asking = HTTPConnection("127.0.0.1", port)
            asking.request("POST", "/v1/chat/completions", body, {"x-foldaway-session": "one"})
            answer = asking.getresponse()
            answer.read()
            taken = time.perf_counter() - begun
            return listens, _cpu_of(gateway.pid), taken, answer.headers["x-foldaway"]
        finally:
            gateway.kill()
            gateway.communicate()


def _cpu_of(pid: int) -> float:
    """Return the CPU seconds of a process, in hundredths."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _run(code: str) -> tuple[float, int]:
    """Return the CPU seconds of some code in a fresh process, and how many modules it loaded."""
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", MEASURE.format(code=code)], capture_output=True, text=True,
        check=True, env={**inherited, "PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    seconds, modules = done.stdout.split()
    return float(seconds), int(modules)


if __name__ == "__main__":
    raise SystemExit(main())

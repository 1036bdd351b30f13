"""Redact texts with another redactor; runs inside the peer's own venv, started by `redact.py`.

    python bench/peer_redact.py PEER TEXTS.json

Peers: `hermes` (hermes-agent's redactor), `detect-secrets` (its default plug-ins, line by line).
TEXTS.json is a list of texts; the answer is one line of JSON: the redacted texts and the CPU
seconds of each. Standard library and the peer only.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path


def main() -> int:
    if len(sys.argv) != 3:
        print("started by bench/redact.py, which measures both sides")
        return 0
    texts = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    sys.path.remove(str(Path(__file__).resolve().parent))
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as home:
        os.environ["HERMES_HOME"] = home
        redact = PEERS[sys.argv[1]]()
        redact("warm up: password=hunter2hunter2")
        outputs: list[str] = []
        seconds: list[float] = []
        for text in texts:
            start = time.process_time()
            outputs.append(redact(text))
            seconds.append(time.process_time() - start)
    print(json.dumps({"outputs": outputs, "seconds": seconds}))
    return 0


def _hermes() -> Callable[[str], str]:
    from agent.redact import redact_sensitive_text

    return lambda text: redact_sensitive_text(text, force=True)


def _detect_secrets() -> Callable[[str], str]:
    from detect_secrets.core.scan import scan_line
    from detect_secrets.settings import default_settings

    settings = default_settings()
    settings.__enter__()

    def redact(text: str) -> str:
        lines: list[str] = []
        for line in text.split("\n"):
            assert settings is not None  # kept alive: it takes the plug-ins away when it goes
            for found in {s.secret_value for s in scan_line(line) if s.secret_value}:
                line = line.replace(found, "[REDACTED]")
            lines.append(line)
        return "\n".join(lines)

    return redact


PEERS = {"hermes": _hermes, "detect-secrets": _detect_secrets}

if __name__ == "__main__":
    raise SystemExit(main())

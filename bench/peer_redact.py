"""Redact texts with another redactor; runs inside the peer's own venv, started by `redact.py`.

    python bench/peer_redact.py PEER TEXTS.json

Peers: `hermes` (hermes-agent's redactor), `detect-secrets` (its default plug-ins, line by line),
`gitleaks' rules` (the copy of its rules that n0s1 carries, with its keywords, entropies and lists
of what is allowed; the rules of paths are left out).
TEXTS.json is a list of texts; the answer is one line of JSON: the redacted texts and the CPU
seconds of each. Standard library and the peer only.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import math
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


def _gitleaks() -> Callable[[str], str]:
    import re2
    import yaml

    spec = importlib.util.find_spec("n0s1")
    assert spec is not None
    assert spec.submodule_search_locations
    path = Path(spec.submodule_search_locations[0]) / "config" / "gitleaks.yaml"
    rules = [
        (
            re2.compile(rule["regex"]), rule.get("secretGroup", 0), rule.get("entropy", 0),
            [word.lower() for word in rule.get("keywords", ())],
            [re2.compile(one) for one in rule.get("allowlist", {}).get("regexes", ())],
            [word.lower() for word in rule.get("allowlist", {}).get("stopwords", ())],
        )
        for rule in yaml.safe_load(path.read_text(encoding="utf-8"))["rules"]
    ]  # fmt: skip

    def redact(text: str) -> str:
        lowered = text.lower()
        spans: list[tuple[int, int]] = []
        for pattern, group, bits, words, allowed, stops in rules:
            if words and not any(word in lowered for word in words):
                continue
            for match in pattern.finditer(text):
                number = group or next((n for n, one in enumerate(match.groups(), 1) if one), 0)
                secret = match.group(number)
                if _entropy(secret) <= bits or any(one.search(secret) for one in allowed):
                    continue
                if not any(stop in secret.lower() for stop in stops):
                    spans.append(match.span(number))
        pieces: list[str] = []
        last = 0
        for start, end in sorted(spans):
            if end > last:
                pieces += (text[last : max(last, start)], "[REDACTED]")
                last = end
        return "".join((*pieces, text[last:]))

    return redact


def _entropy(text: str) -> float:
    counts = [text.count(c) for c in set(text)]
    return sum(-n / len(text) * math.log2(n / len(text)) for n in counts) if text else 0.0


PEERS = {"hermes": _hermes, "detect-secrets": _detect_secrets, "gitleaks' rules": _gitleaks}

if __name__ == "__main__":
    raise SystemExit(main())

"""Measure hermes-agent's compressor; runs inside the peer's own venv, started by `compress.py`.

    python bench/peer_hermes.py TASK MESSAGES.json [--rounds N] [--length N]

Tasks: `fallback` (the model call fails, so its deterministic summary is written), `stubbed` (the
model call answers at once), `check` (its token estimate after one appended message). The answer is
one line of JSON. Standard library and the peer only.
"""

from __future__ import annotations

import argparse
import importlib
import json
import logging
import os
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from compress import CHECK_REPEATS, best_run, read_messages, sample_cpu

CONTEXT_LENGTH = 200_000
SUMMARY = "## Goal\nThe parser keeps its last field.\n\n## Completed actions\n1. It was fixed.\n"
WARM_MESSAGES = 200
SLOW_REPEATS = 5


def main() -> int:
    if len(sys.argv) == 1:
        print("started by bench/compress.py, which measures both sides")
        return 0
    options = _options()
    sys.path.remove(str(Path(__file__).resolve().parent))
    with tempfile.TemporaryDirectory() as home:
        os.environ["HERMES_HOME"] = home
        logging.disable(logging.CRITICAL)
        if options.task == "check":
            found = _check(options.messages, options.length)
        else:
            found = _compress(options.task, options.messages, options.rounds)
    print(json.dumps(found))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("task", choices=("fallback", "stubbed", "check"))
    parser.add_argument("messages", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--length", type=int, default=100)
    return parser.parse_args()


class ServerError(Exception):
    """What the peer sees as a failing provider; a timeout would make it give up instead."""

    status_code = 500


def _compress(task: str, path: Path, rounds: int) -> dict[str, Any]:
    """Return the CPU and memory of `compress`; the first, small run loads what it imports late."""
    prompts: list[int] = []
    module = _module(fails=task == "fallback", prompts=prompts)
    _compressor(module).compress(read_messages(path)[:WARM_MESSAGES])
    prompts.clear()

    def prepare() -> tuple[Any, Any]:
        return _compressor(module), read_messages(path)

    def run(ready: tuple[Any, Any]) -> tuple[Any, Any]:
        compressor, messages = ready
        return compressor, compressor.compress(messages)

    found, (compressor, made) = best_run(prepare, run, rounds)
    if compressor._last_summary_fallback_used != (task == "fallback"):
        raise SystemExit(f"{task!r}: the peer took another way")
    return {**found, "messages_after": len(made), "prompt_chars": max(prompts, default=0)}


def _module(*, fails: bool, prompts: list[int]) -> Any:
    module: Any = importlib.import_module("agent.context_compressor")

    def call_llm(*_: Any, messages: Any = (), **__: Any) -> Any:
        prompts.append(sum(len(str(message.get("content", ""))) for message in messages))
        if fails:
            raise ServerError("the stub fails")
        message = SimpleNamespace(content=SUMMARY, reasoning=None, reasoning_content=None)
        return SimpleNamespace(choices=[SimpleNamespace(message=message)], usage=None)

    module.call_llm = call_llm
    return module


def _compressor(module: Any) -> Any:
    return module.ContextCompressor(
        model="stub/model", config_context_length=CONTEXT_LENGTH, quiet_mode=True,
        base_url="http://127.0.0.1:9/v1", api_key="x", provider="custom",
    )  # fmt: skip


def _check(path: Path, length: int) -> dict[str, Any]:
    """Return the CPU of the estimate that it makes of the whole list on every call."""
    module = _module(fails=True, prompts=[])
    compressor = _compressor(module)
    everything = read_messages(path)
    messages, coming = everything[:length], everything[1:] * (1 + CHECK_REPEATS // len(everything))

    def turn(message: Any) -> None:
        messages.append(message)
        compressor.should_compress(module.estimate_messages_tokens_rough(messages))

    repeats = SLOW_REPEATS if length > 1_000 else CHECK_REPEATS // 10
    return sample_cpu(turn, coming[:repeats])


if __name__ == "__main__":
    sys.exit(main())

"""How fast the ledger takes facts, by kind of content, and whether anything is quadratic.

    python bench/ledger.py            1, 2 and 4 times a quarter of a megabyte of each kind
    python bench/ledger.py --quick    a tenth of that

Every kind is a conversation of results (prose and CJK: of messages) of some 8,000 characters.
Facts are taken from every line and go into one ledger; CPU of one process, best of three rounds.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from foldaway.facts.ledger import Ledger, update
from foldaway.facts.ledger.take import facts_of
from foldaway.facts.reading import answered_calls
from foldaway.testing import assistant, call, result, talk, user
from foldaway.transcript import Message

_MESSAGE_CHARS = 8_000
_SIZES = (1, 2, 4)
_UNIT_CHARS = 250_000
_ROUNDS = 3
_AIM_GROWTH = 1.5
"""How much more a megabyte may cost in four times as many."""
_NAMES = ("load_user", "retry_count", "SessionStore", "parse_header", "max_batch", "queue_depth")
_WORDS = ("we", "should", "keep", "the", "retry", "in", "load_user", "because", "it", "drops")

Line = Callable[[random.Random, int], str]


def _log(draw: random.Random, number: int) -> str:
    level = draw.choice(("INFO", "INFO", "INFO", "WARN", "ERROR"))
    name = draw.choice(_NAMES)
    return f"2026-01-02T03:04:{number % 60:02} {level} {name}: took {draw.randrange(9_999)} ms"


def _json(draw: random.Random, number: int) -> str:
    row = {"id": f"R{number:06}", "name": draw.choice(_NAMES), "amount": draw.random() * 900}
    return json.dumps(row)


def _code(draw: random.Random, number: int) -> str:
    name = draw.choice(_NAMES)
    return f"    {name}_{number % 97} = self.{draw.choice(_NAMES)}({number}, mode='{name}')"


def _prose(draw: random.Random, number: int) -> str:
    words = list(_WORDS)
    draw.shuffle(words)
    return f"{' '.join(words).capitalize()} ({number}). Never change port {draw.randrange(9_999)}."


def _diff(draw: random.Random, number: int) -> str:
    if number % 40 == 0:
        return f"diff --git a/src/m{number}.py b/src/m{number}.py\n@@ -{number},4 +{number},5 @@"
    return f"{draw.choice('+- ')}    {draw.choice(_NAMES)}[{number}] = {draw.choice(_NAMES)}"


def _cjk(draw: random.Random, number: int) -> str:
    words = ["请检查", "服务器的端口", "必须使用", "不要修改", "重新运行测试", "文件"]
    draw.shuffle(words)
    return f"{''.join(words)} src/应用_{number % 50}.py，端口 {draw.randrange(9_999)}。"


KINDS: dict[str, Line] = {
    "logs": _log, "JSON": _json, "code": _code, "prose": _prose, "diffs": _diff, "CJK": _cjk,
}  # fmt: skip
_SPOKEN = frozenset({"prose", "CJK"})


def main() -> int:
    parser = argparse.ArgumentParser(description="Throughput of the ledger.")
    parser.add_argument("--quick", action="store_true", help="a tenth of the size")
    unit = _UNIT_CHARS // (10 if parser.parse_args().quick else 1)
    heads = "".join(f"{f'{size} x, MB/s':>14}" for size in _SIZES)
    print(f"{'kind':8}{heads}{'growth':>9}   (aim at most {_AIM_GROWTH})")
    for kind in KINDS:
        rates = [_megabytes_a_second(kind, unit * size) for size in _SIZES]
        cells = "".join(f"{rate:14.1f}" for rate in rates)
        growth = rates[0] / rates[-1]
        print(f"{kind:8}{cells}{growth:9.2f}{'' if growth <= _AIM_GROWTH else '   over'}")
    return 0


def _megabytes_a_second(kind: str, chars: int) -> float:
    log = _conversation(kind, chars)
    calls = answered_calls(log)
    best = float("inf")
    for _ in range(_ROUNDS):
        gc.collect()
        start = time.process_time()
        facts = [
            fact for at, message in enumerate(log) for fact in facts_of(message, calls.get(at, {}))
        ]
        update(Ledger(), facts)
        best = min(best, time.process_time() - start)
    return chars / 1e6 / best


def _conversation(kind: str, chars: int) -> tuple[Message, ...]:
    draw = random.Random(kind)
    steps: list[object] = []
    number = 0
    for turn in range(max(chars // _MESSAGE_CHARS, 1)):
        lines: list[str] = []
        size = 0
        while size < _MESSAGE_CHARS:
            lines.append(KINDS[kind](draw, number))
            size += len(lines[-1]) + 1
            number += 1
        text = f"[{', '.join(lines)}]" if kind == "JSON" else "\n".join(lines)
        if kind in _SPOKEN:
            steps += [user(text), assistant("Done.")]
        else:
            steps += [assistant(call("bash", command=f"make step_{turn}")), result(text)]
    return tuple(talk(*steps).messages)  # pyright: ignore[reportArgumentType]


if __name__ == "__main__":
    sys.exit(main())

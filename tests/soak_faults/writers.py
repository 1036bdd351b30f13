"""Eight processes that append to one store without a pause."""

from __future__ import annotations

import json
import os
import time
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

from foldaway.stores.open import open_store
from foldaway.stores.values import NewMessage, NewSession

_WRITERS = 8
_BODY = "x" * 900
_STEP_SECONDS = 5.0


def write_together(folder: Path, seconds: float, tell: Callable[[str], None]) -> dict[str, Any]:
    """Let the writers run; return how long their appends took and how many were lost."""
    where = folder / "writers"
    open_store(where).close()
    began = time.monotonic()
    children = [os.fork() or _write(where, folder, n, seconds) for n in range(_WRITERS)]
    while (left := seconds - (time.monotonic() - began)) > 0:
        tell(f"\r{_WRITERS} writers: {left:.0f} s left   ")
        time.sleep(min(_STEP_SECONDS, left))
    for child in children:
        if os.waitpid(child, 0)[1]:
            raise SystemExit("a writer failed")
    tell("\n")
    took = sorted(x for number in range(_WRITERS) for x in _took(folder, number))
    return {
        "writers": _WRITERS, "seconds": seconds, "appends": len(took),
        "per_second": round(len(took) / seconds, 1) if seconds else 0,
        **{f"p{share}_ms": _ms(took, share / 100) for share in (50, 90, 99)},
        "p99.9_ms": _ms(took, 0.999), "longest_ms": _ms(took, 1.0),
        "lost": _lost(where, [len(_took(folder, number)) for number in range(_WRITERS)]),
    }  # fmt: skip


def _write(where: Path, folder: Path, number: int, seconds: float) -> int:
    """Append until the time is over, and leave what each took; never returns."""
    code, took = 1, array("d")
    try:
        store = open_store(where)
        session = store.create(NewSession(dialect="x", source_id=f"writer {number}")).id
        until = time.monotonic() + seconds
        while (begin := time.monotonic()) < until:
            key = str(len(took))
            body = json.dumps(f"{number} {key} {_BODY}").encode()
            new = NewMessage(body=body, role="user", text=f"writer{number} word{key}", key=key)
            store.append(session, [new])
            took.append(time.monotonic() - begin)
        store.close()
        (folder / f"took {number}").write_bytes(took.tobytes())
        code = 0
    finally:
        os._exit(code)


def _took(folder: Path, number: int) -> array[float]:
    return array("d", (folder / f"took {number}").read_bytes())


def _ms(took: list[float], share: float) -> float:
    return round(1000 * took[min(len(took) - 1, int(share * len(took)))], 1) if took else 0.0


def _lost(where: Path, acknowledged: list[int]) -> int:
    """Return how many messages are not there, or not once and in order."""
    with open_store(where) as store:
        assert store.health(deep=True).problems == ()
        lost = 0
        for number, count in enumerate(acknowledged):
            info = store.find(f"writer {number}")
            keys = [row.key for row in store.read(info.id)]
            lost += sum(key != str(at) for at, key in enumerate(keys)) + abs(count - len(keys))
        return lost

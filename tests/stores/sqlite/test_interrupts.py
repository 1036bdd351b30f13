"""Interrupts that come in the middle of a transaction."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import random, signal, sys
from foldaway.stores.open import open_store
from foldaway.stores.values import NewMessage, NewSession

class Cut(BaseException):
    pass

armed = False

def cut(*_):
    if armed:  # a signal may be heard a little after its timer was stopped
        raise Cut

signal.signal(signal.SIGALRM, cut)
rng = random.Random(sys.argv[2])
store = open_store(sys.argv[1])
session = store.create(NewSession(dialect="openai-chat")).id
store.append(session, [NewMessage(body=b"first", role="user", text="first")])  # loads modules
kept, cuts = [], 0
for number in range(int(sys.argv[3])):
    text = f"message {number}"
    try:
        armed = True
        signal.setitimer(signal.ITIMER_REAL, rng.uniform(0.00002, 0.0012))
        store.append(session, [NewMessage(body=text.encode(), role="user", text=text)])
        kept.append(text)
        armed = False
    except Cut:
        cuts += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
last = NewMessage(body=b"last", role="user", text="last")
store.append(session, [last])
with open_store(sys.argv[1]) as other:
    other.append(session, [last])
    log = [row.body.decode() for row in other.read(session)]
    assert [text for text in log if text in set(kept)] == kept, "something acknowledged is lost"
    assert len(set(log)) == len(log) - 1, "something is there twice"
    assert other.health(deep=True).problems == ()
print(len(kept), cuts)
"""


@pytest.mark.skipif(not hasattr(sys, "getdlopenflags"), reason="signals of Unix")
@pytest.mark.parametrize(
    ("seed", "times"), [("1", 400), pytest.param("2", 20_000, marks=pytest.mark.soak)]
)
def test_an_interrupt_at_any_instant_leaves_the_store_usable(
    tmp_path: Path, seed: str, times: int
) -> None:
    """What was acknowledged is there once, and neither this process nor another is locked out."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "home"), seed, str(times)],
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2_000:]
    kept, cuts = map(int, done.stdout.split())
    assert kept > 0
    assert cuts > 0

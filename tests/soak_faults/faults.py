"""The faults: each strikes a process within one operation, then the home is checked."""

from __future__ import annotations

import os
import random
import select
import shutil
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from disk import Disk, refuse
from home import KINDS, Broken, State, check, look
from life import Life

from foldaway.errors import FoldawayError

CHAIN = 5
"""Faults in a row on one home: each process takes up what the one before it left."""
_BEFORE = 3
"""Operations before the one that is struck, at most."""
Found = dict[str, Any]
Say = Callable[[str], None]


def kills(work: Path, seed: int) -> Iterator[Found]:
    """kill -9 within an operation, or shortly after it."""
    home, state = _fresh(work)
    typical = dict.fromkeys(KINDS, 0.02)
    for number in range(seed, seed + CHAIN):
        chance = random.Random(number)
        kind = _kind(number)
        child, read = _start(_live, home, number, kind)
        lines = _killed(child, read, kind, chance, typical)
        where = "within" if lines and lines[-1].startswith(f"try {kind}") else "between"
        state, found = _checked(home, state, lines)
        yield {"kind": kind, "where": where, "broken": found}


def _live(say: Say, home: Path, number: int, kind: str) -> None:
    """Do some operations, the one that is to be struck, and then more for ever."""
    life = Life(home, home.parent.parent / "sources", number, say)
    chance = random.Random(number)
    for one in chance.choices(KINDS, k=chance.randint(0, _BEFORE)):
        life.do(one)
    say("at target {}")
    while True:
        life.do(kind)
        kind = chance.choice(KINDS)


def _killed(
    child: int, read: int, kind: str, chance: random.Random, typical: dict[str, float]
) -> list[str]:
    """Wait until the operation begins, and for a part of the time that it takes; then kill."""
    lines: list[str] = []
    is_target, since = False, time.monotonic()
    with os.fdopen(read) as source:
        for line in source:
            lines.append(line.rstrip("\n"))
            word, one, _ = line.split(" ", 2)
            if word == "try":
                since = time.monotonic()
            elif word == "done":
                typical[one] = (typical[one] + time.monotonic() - since) / 2
            is_target = is_target or word == "at"
            if is_target and line.startswith(f"try {kind} "):
                break
        select.select([], [], [], chance.uniform(0.0, 1.2 * typical[kind]))
        os.kill(child, signal.SIGKILL)
        rest = source.read().rpartition("\n")[0]  # a torn line was not acknowledged
        lines += rest.splitlines()
    os.waitpid(child, 0)
    return [line for line in lines if not line.startswith("at ")]


def cuts(work: Path, seed: int) -> Iterator[Found]:
    """The power fails at a change within an operation, or right after it was acknowledged."""
    home, state = _fresh(work)
    for number in range(seed, seed + CHAIN):
        kind, image = _kind(number), work / f"image {number}"
        lines = _said(_live_until_cut, home, image, number, kind)
        where = "within" if lines and lines[-1].startswith("try ") else "after"
        state, found = _checked(image, state, lines)
        yield {"kind": kind, "where": where, "broken": found}
        shutil.rmtree(home)
        home = image


def _live_until_cut(say: Say, home: Path, image: Path, number: int, kind: str) -> None:
    disk, chance = Disk(home, number), random.Random(number)
    # the short ones make about 5 changes, the long ones about 40; the last is a cut after the end
    left = chance.choice((*(chance.randint(1, most) for most in (3, 6, 12, 40)), 1_000_000))

    def count(path: str, grows: bool) -> None:
        nonlocal left
        left -= 1
        if not left:
            cut()

    def cut() -> None:
        disk.at_event = lambda path, grows: None
        disk.cut(image)
        os._exit(0)

    def aim(line: str) -> None:
        say(line)
        if line.startswith(f"try {kind} ") and is_target:
            disk.at_event = count
        elif line.startswith(f"done {kind} ") and is_target:
            cut()

    is_target = False
    life = Life(home, home.parent.parent / "sources", number, aim)
    for one in chance.choices(KINDS, k=chance.randint(0, _BEFORE)):
        life.do(one)
    is_target = True
    life.do(kind)
    cut()


def full_disks(work: Path, seed: int) -> Iterator[Found]:
    """The disk is full from a change within an operation on; afterwards there is room again."""
    for number in range(seed, seed + CHAIN):
        home, state = _fresh(work)
        kind = _kind(number)
        *_, counted = _said(_live_on_full, home, number, kind, None)
        shutil.rmtree(home)
        home, state = _fresh(work)
        place = random.Random(number).randint(1, max(1, int(counted.split()[1])))
        *lines, told = _said(_live_on_full, home, number, kind, place)
        state, found = _checked(home, state, lines)
        if told.startswith("failed "):
            found = found or f"a full disk at place {place} of {counted} of {kind}: {told}"
        again = _said(_do_once, home, number, kind)
        if not again or not again[-1].startswith("done "):
            found = found or f"{kind} does not work when there is room again: {again[-1:]}"
        _, after = _checked(home, state, again)
        yield {"kind": kind, "where": told.split()[0], "broken": found or after}
        shutil.rmtree(home)


def _live_on_full(say: Say, home: Path, number: int, kind: str, place: int | None) -> None:
    """Do an operation on a disk that is full from its `place`-th growth on; end with the count."""
    disk, counted = Disk(home, number), 0

    def count(path: str, grows: bool) -> None:
        nonlocal counted
        counted += grows
        if place is not None and counted >= place:
            refuse(path, grows)

    def aim(line: str) -> None:
        if line.startswith(f"try {kind} "):
            disk.at_event = count
        say(line)

    life = Life(home, home.parent.parent / "sources", number, aim)
    try:
        life.do(kind)
        say(f"done {counted}")
    except FoldawayError as error:
        say(f"refused {type(error).__name__} {error}")


def _do_once(say: Say, home: Path, number: int, kind: str) -> None:
    Life(home, home.parent.parent / "sources", number, say).do(kind)


def _kind(number: int) -> str:
    """Return what is struck: the kinds take turns, and each home begins with another one."""
    return KINDS[(number + number // CHAIN) % len(KINDS)]


def _fresh(work: Path) -> tuple[Path, State]:
    home = work / "home"
    shutil.copytree(work.parent / "template", home)
    return home, look(home)


def _checked(home: Path, state: State, lines: list[str]) -> tuple[State, str]:
    """Check a home; return its state and what is broken, if anything."""
    try:
        return check(home, state, lines), ""
    except Broken as error:
        return look_anyway(home, state), str(error)
    except Exception:  # noqa: BLE001 whatever a damaged home raises is a finding
        return state, traceback.format_exc()


def look_anyway(home: Path, state: State) -> State:
    """Return what a home holds, as far as it can be read."""
    try:
        return look(home)
    except (Broken, FoldawayError):
        return state


def _start(work: Callable[..., None], *arguments: object) -> tuple[int, int]:
    """Fork a process that works and says lines; return it and where they can be read."""
    read, write = os.pipe()
    child = os.fork()
    if child:
        os.close(write)
        return child, read
    code = 1
    try:
        os.close(read)
        work(lambda line: _say(write, line), *arguments)
        code = 0
    except BaseException:  # noqa: BLE001 told to whoever reads
        _say(write, f"failed {traceback.format_exc()!r}")
    finally:
        os._exit(code)


def _say(to: int, line: str) -> None:
    data = f"{line}\n".encode()
    while data:
        data = data[os.write(to, data) :]


def _said(work: Callable[..., None], *arguments: object) -> list[str]:
    child, read = _start(work, *arguments)
    with os.fdopen(read) as source:
        lines = source.read().splitlines()
    os.waitpid(child, 0)
    return lines

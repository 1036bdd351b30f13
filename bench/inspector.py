"""What the pages of the inspector cost in a large store: CPU, growth and memory.

    python bench/inspector.py                    the table; makes the store on the first run
    python bench/inspector.py --messages 100000  a smaller store
    python bench/inspector.py --folder DIR       where the store is kept, bench/.out if not given
    python bench/inspector.py --json FILE        the figures as JSON too

The store holds sessions of 500, 5,000 and 50,000 messages and many more, a million messages in
all. Their texts are lines of the shared sessions. Each of the three has a report of usage for
every answer and a view for every thousand messages. Every figure comes from a process of its own,
CPU best of several rounds; memory is what the process grew by at its peak. Aims: what opens a
session of 50,000 messages takes under a second of CPU the first time, a strip under 5 ms for a
session of any length.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from compress import BENCH, DATA

sys.path.insert(0, str(BENCH.parent / "src"))

from foldaway._core.report import Category, Report
from foldaway.engine.conversation_log import pack_view
from foldaway.gateway.inspector.message_fates import fates
from foldaway.gateway.inspector.timeline import columns, timeline
from foldaway.gateway.inspector.window_strips import strip
from foldaway.stores.open import open_store
from foldaway.stores.store import Store
from foldaway.stores.values import (
    NewMessage,
    NewSession,
    NewView,
    SessionFilter,
    SessionInfo,
    TurnUsage,
)
from foldaway.transcript import Folded, Item, Kept, Message, Rewritten, Text, View
from foldaway.usage.requests import session_details

LENGTHS = (500, 5_000, 50_000)
OTHERS = 500
"""Messages of each of the other sessions."""
TURN = 12
"""Calls and results between two words of the user."""
PER_VIEW = 1_000
"""Messages from one compaction to the next."""
TAIL = 40
"""Messages that a compaction keeps; every tenth of them is rewritten."""
STATE = b'{"fact": "one thing that a message shows, in its own words"}, ' * 300
"""What the state of a compaction grows by; one of ours has about 800 KB after 3,000 messages."""
PAGE = 50
ROUNDS = 5
AIM_OPEN_MS, AIM_STRIP_MS = 1_000, 5
OPENS = ("timeline and columns", "fates", "a page of 50 messages")
"""What a session's page asks for."""
Figures = dict[str, Any]


def main() -> int:
    options = _options()
    place = options.folder / f"inspector-{options.messages}"
    if options.worker:
        name, _, length = options.worker.partition(":")
        print(json.dumps(_measure(place, name, int(length))))
        return 0
    if not place.exists():
        _make(place, options.messages)
    found = {name: {length: _run(options, name, length) for length in LENGTHS} for name in MEASURES}
    _show(found, options.messages)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--messages", type=int, default=1_000_000, help="messages of the store")
    parser.add_argument("--folder", type=Path, default=BENCH / ".out")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    return parser.parse_args()


# --- the store ----------------------------------------------------------------------------------


def _make(place: Path, size: int) -> None:
    """Write the store under another name first, so that half of one is never measured."""
    from search import generated

    half = place.with_suffix(".half")
    shutil.rmtree(half, ignore_errors=True)
    texts, start, done = generated(DATA, size), time.monotonic(), 0
    others = max(size - sum(LENGTHS), 0) // OTHERS
    with open_store(half) as store:
        for number, length in enumerate([*LENGTHS, *[OTHERS] * others]):
            add_session(store, f"s{length}" if number < len(LENGTHS) else f"o{number}",
                         list(islice(texts, length)), number)  # fmt: skip
            done += length
            if number % 20 == 0:
                passed = time.monotonic() - start
                left = passed / done * (size - done)
                print(f"\r{done:,} of {size:,} messages, {left:,.0f} s left  ", end="",
                      file=sys.stderr, flush=True)  # fmt: skip
    print(file=sys.stderr)
    half.rename(place)


def add_session(store: Store, name: str, texts: list[str], number: int) -> None:
    began = 1.7e9 + number * 1_000.0
    frame = {"key": "messages", "body": {
        "model": "claude-sonnet-4-5", "tools": [_tool(one) for one in range(20)],
    }}  # fmt: skip
    store.create(
        NewSession(
            id=name, dialect="openai-chat", model="claude-sonnet-4-5", source="bench",
            title=f"session {number}", started=began, frame=json.dumps(frame).encode(),
        ),
        messages=[_message(at, text, began) for at, text in enumerate(texts)],
    )  # fmt: skip
    views = _add_views(store, name, len(texts)) if name[0] == "s" else 0
    if name[0] == "s":
        store.add_usage(name, *_usage(texts, began, views))


def _tool(number: int) -> Figures:
    about = "Reads, writes or runs something, and says what came of it. " * 4
    return {"type": "function", "function": {"name": f"tool_{number}", "description": about}}


def _message(at: int, text: str, began: float) -> NewMessage:
    place = at % (2 * TURN + 2)
    role = "user" if not place else "assistant" if place % 2 else "tool"
    tools = ("bash",) if role == "tool" or (role == "assistant" and place < 2 * TURN) else ()
    wire: Figures = {"role": role, "content": text}
    if role == "tool":
        wire["tool_call_id"] = f"call_{at - 1}"
    elif tools:
        call = {"name": "bash", "arguments": json.dumps({"command": text[:80]})}
        wire["tool_calls"] = [{"id": f"call_{at}", "type": "function", "function": call}]
    return NewMessage(
        body=json.dumps(wire).encode(), role=role, text=text, tools=tools, time=began + at,
        tokens=len(text) // 4 + 4,
    )  # fmt: skip


def _add_views(store: Store, name: str, length: int) -> int:
    """Compact every `PER_VIEW` messages: the first stays, all but a tail is folded."""
    number = 0
    for stop in range(PER_VIEW // 2, length + 1, PER_VIEW):
        tail = stop - TAIL
        summary = Message("user", (Text("what was done so far. " * 100),), origin="summary")
        items: list[Item] = [Kept(0, 1), Folded(1, tail, (summary,), f"fold{number}")]
        for at in range(tail, stop, 10):
            short = Message("user", (Text("a digest"),), origin="digest")
            items += [Rewritten(at, short, f"r{at}"), Kept(at + 1, at + 10)]
        view = NewView(
            items=pack_view(View(tuple(items), stop), "openai-chat"), length=stop,
            state=STATE * (number + 1), report=_report(stop),
        )  # fmt: skip
        number = store.commit(name, view, expect=number).view
    return number


def _report(stop: int) -> bytes:
    after = 3_000 + TAIL * 80
    return msgspec.json.encode(Report(
        status="compacted", tokens_before=80_000, tokens_after=after, prompt_tokens=80_000,
        context_length=200_000, effective_window=180_000, threshold_tokens=100_000,
        messages_before=stop, messages_after=TAIL + 2, kept=TAIL, rewritten=TAIL // 10,
        folded=stop - TAIL, compaction_count=1,
        categories=(Category("summary", 0, 1_000), Category("tool results", 80_000, after - 1_000)),
    ))  # fmt: skip


def _usage(texts: list[str], began: float, views: int) -> Iterator[TurnUsage]:
    held = 0
    view = 0
    for at, text in enumerate(texts):
        if at % PER_VIEW == PER_VIEW // 2 and view < views:
            view, held = view + 1, 4_000
        held += len(text) // 4 + 4
        if at % (2 * TURN + 2) % 2 == 1:
            yield TurnUsage(
                position=at, time=began + at, model="claude-sonnet-4-5", view=view,
                input_tokens=held + 3_000, output_tokens=len(text) // 4,
                cache_read_tokens=held, cache_write_tokens=500,
            )  # fmt: skip


# --- inside a process of its own ----------------------------------------------------------------


def _page(store: Store, info: SessionInfo) -> object:
    return store.read(info.id, info.length // 2, info.length // 2 + PAGE)


def _first_page(store: Store, info: SessionInfo) -> object:
    return store.sessions(SessionFilter(), most=30)


MEASURES: dict[str, Callable[[Store, SessionInfo], object]] = {
    "timeline and columns": lambda store, info: columns(timeline(store, info)),
    "details": session_details,
    "strip": strip,
    "strip, never compacted": lambda store, info: strip(store, replace(info, view=0)),
    "fates": fates,
    "outline": lambda store, info: store.outline(info.id),
    "read, for comparison": lambda store, info: store.read(info.id),
    "a page of 50 messages": _page,
    "first page of sessions": _first_page,
}


def _measure(place: Path, name: str, length: int) -> Figures:
    """Return the CPU of the first call and of the best, and how much memory they took."""
    measure = MEASURES[name]
    with open_store(place) as store:
        measure(store, store.session(f"s{LENGTHS[0]}"))  # what is imported late is imported now
        info = store.session(f"s{length}")
        before = _peak_mb()
        took: list[float] = []
        for _ in range(ROUNDS):
            start = time.process_time()
            measure(store, info)
            took.append(time.process_time() - start)
        grown = _peak_mb() - before
    return {"first_ms": took[0] * 1e3, "cpu_ms": min(took) * 1e3, "grown_mb": grown}


def _peak_mb() -> float:
    """Return the most memory that this process had; `ru_maxrss` begins with the parent's."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


# --- what was found -----------------------------------------------------------------------------


def _run(options: argparse.Namespace, name: str, length: int) -> Figures:
    command = [sys.executable, __file__, "--worker", f"{name}:{length}", "--folder",
               str(options.folder), "--messages", str(options.messages)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def _show(found: dict[str, dict[int, Figures]], size: int) -> None:
    print(f"CPU in ms, memory in MB, in a store of {size:,} messages; growth from "
          f"{LENGTHS[0]:,} to {LENGTHS[-1]:,} messages of the session")  # fmt: skip
    print(f"{'':24}" + "".join(f"{length:>12,}" for length in LENGTHS) + f"{'growth':>10}"
          f"{'memory':>10}")  # fmt: skip
    for name, by_length in found.items():
        cpu = [by_length[length]["cpu_ms"] for length in LENGTHS]
        print(f"{name:24}" + "".join(f"{one:12,.2f}" for one in cpu)
              + f"{cpu[-1] / cpu[0]:9.1f}×{by_length[LENGTHS[-1]]['grown_mb']:10,.1f}")  # fmt: skip
    longest = {name: by_length[LENGTHS[-1]]["first_ms"] for name, by_length in found.items()}
    opened = sum(longest[name] for name in OPENS)
    print(f"opening the longest ({', '.join(OPENS)}), first calls: {opened:,.0f} ms "
          f"(aim under {AIM_OPEN_MS:,}) {'✓' if opened < AIM_OPEN_MS else '✗'}")  # fmt: skip
    strips = max(one["cpu_ms"] for name in found if "strip" in name for one in found[name].values())
    ratio = longest["read, for comparison"] / longest["outline"]
    print(f"strip at most {strips:.1f} ms (aim under {AIM_STRIP_MS}) "
          f"{'✓' if strips < AIM_STRIP_MS else '✗'}; outline {ratio:.1f}× less than a read"
          )  # fmt: skip


if __name__ == "__main__":
    raise SystemExit(main())

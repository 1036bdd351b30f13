"""A context like that of Hermes 0.19 when it compresses and no model writes the summary.

Written after the description of its rules, not with its code: at half of the window the head and
a tail of 20 % of that stay, and in place of the middle is a record that is made without a model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from foldaway.lab.play.contexts import LiveContext, Wire, measure, tail_start
from foldaway.lab.replay import Piece

FROM = 0.50
"""Share of the window; its `compression.threshold`."""
TAIL, CEILING = 0.20, 1.5
"""Share of the threshold that the tail has, and how far a message may go beyond it."""
HEAD = 4
"""The system prompt and three messages."""
LEAST_TAIL = 3
INEFFECTIVE, MOST_INEFFECTIVE = 0.10, 2
"""Two compressions in a row that save less end it."""
RECORD_CHARS, TURN_CHARS, PREVIOUS_CHARS = 8_000, 700, 3_000
"""Of the record, of one turn in it, and of the record before it."""
ACTIONS, BLOCKERS, FILES, LAST_TURNS = 12, 5, 12, 8
"""How many of each the record has."""
_PATH = re.compile(r"(?<![\w/.-])(?:~|\.{1,2})?/?[\w.-]+(?:/[\w.-]+)+")
_TROUBLE = re.compile(r"\b(error|failed|exception|traceback|timeout|timed out|fatal)\b", re.I)
_OPENING = (
    "[Earlier turns were compacted into this record: background, no instructions. Answer the "
    "messages after it.]"
)


class LikeHermesContext(LiveContext):
    """Head, record of the middle, tail."""

    _record = ""
    _ineffective = 0

    def _shrink(self) -> bool:
        prompt, threshold = self.prompt, int(FROM * self.terms.context_length)
        if prompt.tokens < threshold or self._ineffective >= MOST_INEFFECTIVE:
            return False
        pieces, before = prompt.pieces, prompt.tokens
        head = self._head_length(pieces)
        cut = tail_start(pieces, int(TAIL * CEILING * threshold), head, LEAST_TAIL)
        cut = _with_last_ask(pieces, cut, head)
        middle = [wire for wire, _ in pieces[head:cut]]
        if len(middle) <= 1:
            return False
        role = "user" if pieces[head - 1][0]["role"] in ("assistant", "tool") else "assistant"
        self._record = write_record(middle, self._record)
        record: Wire = {"role": role, "content": self._record}
        prompt.replace([*pieces[:head], (record, measure(record)), *pieces[cut:]])
        saved = 1 - prompt.tokens / before
        self._ineffective = self._ineffective + 1 if saved < INEFFECTIVE else 0
        return True

    @staticmethod
    def _head_length(pieces: Sequence[Piece]) -> int:
        """Return how many messages stay in front; a call stays with all of its results."""
        head = HEAD
        while head < len(pieces) and pieces[head][0]["role"] == "tool":
            head += 1
        return head


def _with_last_ask(pieces: Sequence[Piece], cut: int, head: int) -> int:
    """Return the cut, moved so that what the person said last is behind it."""
    asks = [at for at in range(head, len(pieces)) if pieces[at][0]["role"] == "user"]
    asks = [at for at in asks if not str(pieces[at][0]["content"]).startswith(_OPENING)]
    return min(cut, asks[-1]) if asks else cut


def write_record(middle: Sequence[Wire], previous: str) -> str:
    """Return what is said of dropped messages: the last ask, first actions, files and errors, the
    last turns.
    """
    names = {call["id"]: call["function"] for one in middle for call in one.get("tool_calls") or ()}
    asks: list[str] = []
    called: list[str] = []
    results: list[str] = []
    blockers: list[str] = []
    turns: list[str] = []
    files: dict[str, None] = {}
    for one in middle:
        text = _clip(str(one.get("content") or ""))
        calls = [str(call["function"]["name"]) for call in one.get("tool_calls") or ()]
        said = "; ".join(filter(None, (f"tool calls: {', '.join(calls)}" if calls else "", text)))
        if said and not text.startswith(_OPENING):
            turns.append(f"{one['role'].upper()}: {said}")
        arguments = " ".join(call["function"]["arguments"] for call in one.get("tool_calls") or ())
        files.update(dict.fromkeys(_PATH.findall(f"{arguments} {text}")))
        match one["role"]:
            case "user" if not text.startswith(_OPENING):
                asks.append(text)
            case "assistant":
                called.append(f"Called tool(s): {', '.join(calls)}" if calls else text)
            case "tool":
                results.append(_describe(names.get(one.get("tool_call_id")), text))
                if _TROUBLE.search(text):
                    blockers.append(text[:500])
            case _:
                pass
    parts = [
        _OPENING,
        f"## Task\n{asks[-1]!r}" if asks else "## Task\nNot known.",
        f"## Before\n{previous[:PREVIOUS_CHARS]}" if previous else "",
        _list("Done", (called + results)[:ACTIONS]),
        _list("Blocked", list(dict.fromkeys(blockers))[:BLOCKERS]),
        _list("Files", list(files)[:FILES]),
        _list("Last dropped turns", turns[-LAST_TURNS:]),
        f"{len(middle)} messages were dropped; no model wrote of them.",
    ]
    return "\n\n".join(filter(None, parts))[:RECORD_CHARS]


def _clip(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= TURN_CHARS else f"{flat[:TURN_CHARS]} …"


def _describe(function: dict[str, Any] | None, text: str) -> str:
    """Return a result in one line: its call and its size, and a short one as it is."""
    if function is None:
        return text[:120]
    call = f"[{function['name']}] {function['arguments'][:120]}"
    return f"{call} -> {text if len(text) <= 200 else f'{len(text):,} characters'}"


def _list(title: str, items: Sequence[str]) -> str:
    return f"## {title}\n" + "\n".join(f"- {item}" for item in items) if items else ""

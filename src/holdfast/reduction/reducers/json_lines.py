"""JSON lines: the notable lines, each a JSON value."""

from __future__ import annotations

from collections import Counter

import msgspec

from holdfast.reduction.excerpt import read_lines
from holdfast.reduction.marks import closing, gap, plural
from holdfast.reduction.reduced import ReductionDraft, ReductionRequest, Render
from holdfast.reduction.reducers.json_value import show_value, tally_sentences
from holdfast.reduction.rows import notable
from holdfast.reduction.share import fair_cap

_ROW_CHARS = 300


def reduce_json_lines(text: str, ask: ReductionRequest) -> Render | None:
    """Read lines of JSON; every line of the result is valid JSON. None where there are none."""
    lines = read_lines(text, ask.room_chars)
    if lines.in_pieces:
        rows = [_valid(line) for line in text.split("\n") if line.strip()]
        places, total = list(range(len(rows))), len(rows)
    else:
        full = [at for at, line in enumerate(lines.texts) if line.strip()]
        rows = [_valid(lines.texts[at]) for at in full]
        places, total = [lines.places[at] for at in full], lines.total
    if not rows:
        return None

    def render(budget_chars: int) -> ReductionDraft:
        tally: Counter[str] = Counter()
        room = budget_chars - 80 - len(ask.reference or "")
        mean = sum(map(len, rows)) // len(rows)
        kept = notable(rows, max(room // min(mean + 16, _ROW_CHARS), 1))
        cap = fair_cap([len(rows[at]) for at in kept], room - 16 * len(kept))
        parts: list[bytes] = []
        missing = expected = 0
        for at in kept:
            if places[at] > expected:
                parts.append(msgspec.json.encode(gap(places[at] - expected)))
                missing += places[at] - expected
            parts.append(show_value(rows[at], max(cap, 8), 0, tally))
            expected = places[at] + 1
        if expected < total:
            parts.append(msgspec.json.encode(gap(total - expected)))
            missing += total - expected
        left_out = (plural(missing, "line"),) if missing else ()
        left_out += tally_sentences(tally)
        if left_out:
            parts.append(msgspec.json.encode(closing(left_out, ask.reference)))
        counts = {f"{noun}s": n for noun, n in (*tally.items(), ("line", missing)) if n}
        return ReductionDraft(b"\n".join(parts).decode(), left_out, counts)

    return render


def _valid(line: str) -> bytes:
    """Return a line as JSON: itself, or a string of it where it is none."""
    raw = line.strip().encode("utf-8", "replace")
    try:
        return bytes(msgspec.json.decode(raw, type=msgspec.Raw))
    except (msgspec.DecodeError, RecursionError):
        return msgspec.json.encode(line.encode("utf-8", "replace").decode())

"""Error and speed of the token estimate, next to chars / 4 and to exact o200k_base.

    python bench/tokens.py            the tables, on the test half of the sessions
    python bench/tokens.py --json     the same, as JSON
    python bench/tokens.py --fit      fit the weights of foldaway.transcript.estimate again

Needs bpe-openai; `--fit` also numpy, scipy and django (its translations are the prose of other
scripts). The data is found by FOLDAWAY_DATA or at ../shared/data from the repository. Sessions are
parted into a tuning and a test half by a hash of their id; truth is o200k_base of each text alone.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import hashlib
import importlib
import json
import os
import random
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from foldaway.transcript import Calibration
from foldaway.transcript.estimate import (
    FEATURES,
    FULL_CHARS,
    SCRIPTS,
    estimate_text,
    feature_counts,
)

USAGE_SHARES = (0.25, 0.50, 0.75)
EXACT_SLICE_CHARS = 200_000
"""bpe-openai refuses texts of more than 200,000 tokens."""

LANGUAGES = re.findall(
    r"\w+",
    "ar bg bn cs de el es fa fi fr he hi hu hy id it ja ka kn ko ml mr ne nl pl pt_BR ru sv ta te"
    " th tr uk ur vi zh_Hans zh_Hant",
)
LANGUAGE_FAMILIES = frozenset(f"~{language}" for language in [*LANGUAGES, "latin"])

Count = Callable[[str], int]


@dataclass(frozen=True)
class Piece:
    """One text of a session with its counts; `message` is the index of its message."""

    message: int
    text: str
    truth: int
    estimate: int


@dataclass(frozen=True)
class Session:
    family: str
    id: str
    pieces: list[Piece]

    @property
    def is_test(self) -> bool:
        return is_test(self.id)


def main() -> int:
    parser = argparse.ArgumentParser(description="Error and speed of the token estimate.")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--fit", action="store_true", help="fit the weights again and print them")
    options = parser.parse_args()
    data = find_data()
    if data is None:
        print("skipped: no data; set FOLDAWAY_DATA or put it at ../shared/data")
        return 0
    truth = exact_count()
    if truth is None:
        print("skipped: the exact counts need bpe-openai (pip install bpe-openai)")
        return 0
    sessions = list(read_sessions(data, truth))
    if options.fit:
        print_fit(fit(sessions, truth))
        return 0
    report = {
        "sessions": session_table(sessions),
        "kinds": kind_table([*read_tool_outputs(data), *synthetic_texts(seed=2)], truth),
        "sampling": sampling_table(sessions),
        "speed": speed_table(sessions, truth),
    }
    print(json.dumps(report, indent=1) if options.json else render(report))
    return 0


# --- reading ---------------------------------------------------------------------------------


def find_data() -> Path | None:
    fallback = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
    data = Path(os.environ.get("FOLDAWAY_DATA", fallback))
    return data if (data / "sessions").is_dir() else None


def exact_count() -> Count | None:
    try:
        bpe: Any = importlib.import_module("bpe_openai")
    except ImportError:
        return None
    encode = bpe.get_encoding("o200k_base").encode_ordinary

    def count(text: str) -> int:
        slices = range(0, len(text), EXACT_SLICE_CHARS)
        return sum(len(encode(text[at : at + EXACT_SLICE_CHARS])) for at in slices)

    return count


def is_test(key: str) -> bool:
    return hashlib.sha256(key.encode()).digest()[0] % 2 == 1


def read_sessions(data: Path, truth: Count) -> Iterator[Session]:
    for path in sorted((data / "sessions").glob("*.jsonl.gz")):
        family = path.name.removesuffix(".jsonl.gz")
        for record in read_lines(path):
            texts = [
                (index, text)
                for index, message in enumerate(record["messages"])
                for text in message_texts(message)
            ]
            pieces = [Piece(i, text, truth(text), estimate_text(text)) for i, text in texts]
            yield Session(family, record["id"], pieces)


def message_texts(message: dict[str, Any]) -> Iterator[str]:
    content: Any = message.get("content") or ""
    if isinstance(content, str):
        yield content
    else:
        yield from (part.get("text") or "" for part in content)
    yield message.get("reasoning_content") or ""
    for call in message.get("tool_calls") or ():
        yield call["function"]["name"]
        yield call["function"]["arguments"]


def read_tool_outputs(data: Path) -> Iterator[tuple[str, str]]:
    for record in read_lines(data / "tool_outputs" / "tool_outputs.jsonl.gz"):
        yield record["kind"], record["text"]


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def synthetic_texts(seed: int) -> Iterator[tuple[str, str]]:
    rng = random.Random(seed)
    for size in (60, 200, 1_000, 4_000) * 6:
        raw = rng.randbytes(size)
        encoded = base64.b64encode(raw).decode()
        rows = [rng.randbytes(16).hex() for _ in range(size // 30)]
        yield "~base64", encoded
        yield "~base64 in lines", base64.encodebytes(raw).decode()
        yield "~data URI", f"![plot](data:image/png;base64,{encoded}) as the figure shows"
        yield "~hex", raw.hex()
        yield "~uuid", json.dumps([f"{row[:8]}-{row[8:12]}-{row[12:]}" for row in rows])
        yield "~numbers", ", ".join(f"{rng.uniform(-9, 999):.4f}" for _ in range(size // 8))


# --- error -----------------------------------------------------------------------------------


def session_table(sessions: list[Session]) -> list[dict[str, Any]]:
    """Errors by family on the test half; a family without a test session shows its tuning half."""
    rows: list[dict[str, Any]] = []
    tested = [session for session in sessions if session.is_test]
    for family in sorted({session.family for session in sessions}):
        members = [session for session in tested if session.family == family]
        name = family if members else f"{family} (tuning half)"
        members = members or [session for session in sessions if session.family == family]
        rows.append({"family": name, **session_errors(members)})
    rows.append({"family": "all, test half", **session_errors(tested)})
    rows.append({"family": "all, both halves", **session_errors(sessions)})
    return rows


def session_errors(sessions: list[Session]) -> dict[str, Any]:
    plain = [relative_error(total_estimate(s.pieces), total_truth(s.pieces)) for s in sessions]
    calibrated = [relative_error(calibrated_estimate(s), total_truth(s.pieces)) for s in sessions]
    quarter = [relative_error(quarter_chars(s.pieces), total_truth(s.pieces)) for s in sessions]
    return {
        "sessions": len(sessions),
        **spread("estimate", plain),
        **spread("calibrated", calibrated),
        **spread("chars/4", quarter),
        "bias": statistics.median(plain),
    }


def calibrated_estimate(session: Session) -> int:
    """The estimate of the whole after usages were reported at three points of the session."""
    calibration = Calibration()
    last = max((piece.message for piece in session.pieces), default=0)
    for share in USAGE_SHARES:
        prefix = [piece for piece in session.pieces if piece.message <= last * share]
        calibration = calibration.observe("model", total_estimate(prefix), total_truth(prefix))
    return calibration.apply("model", total_estimate(session.pieces))


def kind_table(texts: Iterable[tuple[str, str]], truth: Count) -> list[dict[str, Any]]:
    by_kind: dict[str, list[tuple[int, int, int]]] = {}
    for kind, text in texts:
        counts = (truth(text), estimate_text(text), len(text) // 4)
        by_kind.setdefault(kind, []).append(counts)
    return [
        {
            "kind": kind,
            "texts": len(rows),
            **spread("estimate", [relative_error(row[1], row[0]) for row in rows]),
            **spread("chars/4", [relative_error(row[2], row[0]) for row in rows]),
            "bias": relative_error(sum(r[1] for r in rows), sum(r[0] for r in rows)),
        }
        for kind, rows in sorted(by_kind.items())
    ]


def sampling_table(sessions: list[Session]) -> list[dict[str, Any]]:
    """What the sample changes: long texts against the sum of their pieces, each counted whole."""
    errors = [
        relative_error(piece.estimate, estimate_whole(piece.text))
        for session in sessions
        for piece in session.pieces
        if len(piece.text) > FULL_CHARS
    ]
    worst = max(map(abs, errors))
    return [{"texts": len(errors), **spread("sampling", errors), "sampling worst": worst}]


def estimate_whole(text: str) -> int:
    pieces = (text[at : at + FULL_CHARS] for at in range(0, len(text), FULL_CHARS))
    return sum(map(estimate_text, pieces))


def total_truth(pieces: list[Piece]) -> int:
    return sum(piece.truth for piece in pieces)


def total_estimate(pieces: list[Piece]) -> int:
    return sum(piece.estimate for piece in pieces)


def quarter_chars(pieces: list[Piece]) -> int:
    return sum(len(piece.text) for piece in pieces) // 4


def relative_error(counted: int, truth: int) -> float:
    return counted / truth - 1 if truth else 0.0


def spread(name: str, errors: list[float]) -> dict[str, float]:
    sizes = sorted(map(abs, errors))
    return {
        f"{name} median": statistics.median(sizes),
        f"{name} p90": sizes[min(len(sizes) - 1, int(len(sizes) * 0.9))],
    }


# --- speed -----------------------------------------------------------------------------------


def speed_table(sessions: list[Session], truth: Count) -> list[dict[str, Any]]:
    real = [piece.text for session in sessions[::12] for piece in session.pieces]
    joined = "".join(real)
    corpora = {
        "50-character texts": [joined[at : at + 50] for at in range(0, 500_000, 50)],
        "real messages": real,
        "one text of 8 K": [joined[:8_000]] * 50,
        "one text of 4 M": [joined[:4_000_000]],
    }
    methods: dict[str, Count] = {
        "estimate": estimate_text,
        "chars/4": lambda text: len(text) // 4,
        "exact": truth,
    }
    return [
        {"corpus": name, "texts": len(texts), **speeds(texts, methods)}
        for name, texts in corpora.items()
    ]


def speeds(texts: list[str], methods: dict[str, Count]) -> dict[str, float]:
    megabytes = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) / 1e6
    row: dict[str, float] = {}
    for name, method in methods.items():
        seconds = min(run_seconds(method, texts) for _ in range(1 if name == "exact" else 3))
        row[f"{name} MB/s"] = megabytes / seconds
        row[f"{name} us/text"] = seconds / len(texts) * 1e6
    return row


def run_seconds(method: Count, texts: list[str]) -> float:
    started = time.perf_counter()
    for text in texts:
        method(text)
    return time.perf_counter() - started


# --- fit -------------------------------------------------------------------------------------


def fit(sessions: list[Session], truth: Count) -> dict[str, float]:
    """Return the weights that fit the tuning half; each family weighs the same.

    Rows are scaled by 1 / sqrt(tokens): the spread of a count grows like its root. ASCII rows fix
    `FEATURES` alone; the rest then fixes `SCRIPTS`, so that rare scripts cannot bend English.
    """
    rows = fit_rows(sessions, truth)
    plain = [row for row in rows if row[1].isascii()]
    features = least_squares(plain, len(FEATURES), [])
    scripts = least_squares([row for row in rows if not row[1].isascii()], len(SCRIPTS), features)
    return dict(zip([*FEATURES, *SCRIPTS], [*features, *scripts], strict=True))


def fit_rows(sessions: list[Session], truth: Count) -> list[tuple[str, str, int]]:
    rng = random.Random(1)
    rows: list[tuple[str, str, int]] = []
    for session in sessions:
        if not session.is_test:
            pieces = [piece for piece in session.pieces if 0 < len(piece.text) <= 20_000]
            chosen = rng.sample(pieces, min(60, len(pieces)))
            rows.extend((session.family, piece.text, piece.truth) for piece in chosen)
    rows.extend(("~dense", text, truth(text)) for _, text in synthetic_texts(seed=1))
    for language, texts in django_translations().items():
        tuning = [text for text in texts if not is_test(text)]
        rows.extend(
            ("~latin" if text.isascii() else f"~{language}", text, truth(text)) for text in tuning
        )
    rows.extend(
        ("~emoji", text, truth(text)) for text in map(emoji_text, range(0x1F300, 0x1F650, 8))
    )
    return rows


def emoji_text(first: int) -> str:
    return "Shipped it " + "".join(map(chr, range(first, first + 8)))


def least_squares(rows: list[tuple[str, str, int]], width: int, known: list[float]) -> list[float]:
    np: Any = importlib.import_module("numpy")
    nnls: Any = importlib.import_module("scipy.optimize").nnls

    counts = np.array([feature_counts(text) for _, text, _ in rows], dtype=float)
    target = np.array([tokens for *_, tokens in rows], dtype=float)
    scale = 1 / np.sqrt(target + 5)
    families = np.array([family for family, *_ in rows])
    for family in set(families):
        members = families == family
        share = 0.3 if family in LANGUAGE_FAMILIES else 1.0
        scale[members] *= share / np.sqrt(((scale[members] * target[members]) ** 2).sum())
    rest = target - counts[:, : len(known)] @ np.array(known, dtype=float)
    columns = counts[:, len(known) : len(known) + width]
    weights, _ = nnls(columns * scale[:, None], rest * scale)
    return [float(weight) for weight in weights]


def django_translations() -> dict[str, list[str]]:
    django: Any = importlib.import_module("django")
    root = Path(django.__file__).parent
    texts: dict[str, list[str]] = {}
    for language in LANGUAGES:
        for path in sorted(root.glob(f"**/locale/{language}/LC_MESSAGES/django.po")):
            source = path.read_text(encoding="utf-8")
            for entry in re.findall(
                r'^msgstr(?:\[\d\])? ((?:"(?:[^"\\]|\\.)*"\s*)+)', source, re.M
            ):
                text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', entry))
                if len(text) >= 25 and "%" not in text and "charset" not in text:
                    texts.setdefault(language, []).append(text)
    return texts


def print_fit(weights: dict[str, float]) -> None:
    for name, weight in weights.items():
        print(f'    "{name}": {weight:.3f},')


# --- print -----------------------------------------------------------------------------------


def render(report: dict[str, list[dict[str, Any]]]) -> str:
    return "\n\n".join(render_table(rows) for rows in report.values())


def render_table(rows: list[dict[str, Any]]) -> str:
    heads = list(rows[0])
    cells = [heads, *([render_cell(head, row[head]) for head in heads] for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(heads))]
    lines = [
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in cells
    ]
    return "\n".join(lines)


def render_cell(head: str, value: str | int | float) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:.1f}" if head.endswith(("MB/s", "us/text")) else f"{value:+.1%}".lstrip("+")


if __name__ == "__main__":
    sys.exit(main())

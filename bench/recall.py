"""How well a search finds what it should: the evidence of real questions, and known messages.

    python bench/recall.py                 all tables
    python bench/recall.py questions       recall of the evidence, beside plain forms of a query
    python bench/recall.py ablation        the same without each part of the ranking
    python bench/recall.py known           messages of coding sessions, by a few of their words
    python bench/recall.py --json FILE     the figures as JSON too

Questions: LoCoMo, three conversations with 495 questions that name the messages with their
evidence. Recall is the share of these messages among the first k, averaged over questions; ± is
half of the 95 % interval. The others are FTS5 with the same stems and the same small words; a
window of two turns stands for both of its messages, in the order of the windows. The weights of
the ranking were chosen on conv-26; conv-30 and conv-41 decided none of them. "with the next"
counts for each of the k hits the message after it too, which is what a window has by itself.

Known: for each of 300 messages of coding sessions one line is drawn, and searched for by its three
rarest words, by these in a question, by a name or path in it, and, if it reports an error, by its
first 80 characters. It is found if one of ten hits has the line.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from compress import DATA
from foldaway.search import rank
from foldaway.search.query import parse_query
from foldaway.search.values import Wanted
from foldaway.search.words import words_of
from foldaway.stores.open import open_store
from foldaway.stores.store import Store
from foldaway.stores.values import NewMessage, NewSession

TUNED_ON = "locomo/conv-26"
CUTS = (5, 10)
CATEGORIES = ("single-hop", "adversarial", "temporal", "multi-hop", "open-domain")
OURS, WINDOWS = "Foldaway", "two-turn windows"
PARTS: dict[str, tuple[tuple[str, float], ...]] = {
    "all parts": (),
    "questions count more for what follows": (
        ("ASKED", rank.WEIGHTS[-1]), ("TOLD", rank.WEIGHTS[-1]),
    ),
    "who said it": (("SPEAKER", 0),),
}  # fmt: skip
"""What each part of the ranking of sentences is made of, and the values that switch it off."""
CODING = ("aider", "claude-code", "codex", "opencode", "pi", "swe-agent")
ITEMS = 300
_LONGEST_TEXT = 20_000
_RARE_WORD = re.compile(r"[^\W\d_]{4,20}")
_NAME = re.compile(r"[\w\-./]*\w[_./]\w[\w\-./]*\w")
_ERROR = re.compile(r"\b(?:\w*error|exception|failed|fatal)\b", re.I)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    choices = ("questions", "ablation", "known", "all")
    parser.add_argument("part", nargs="?", choices=choices, default="all")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if not DATA.exists():
        print("skipped: set FOLDAWAY_DATA or put the data at ../shared/data")
        return 0
    figures: dict[str, Any] = {}
    if options.part in ("questions", "all"):
        answers = ask(DATA)
        figures["quality"] = quality(answers)
        show_quality(figures["quality"])
        _show_categories(answers)
    if options.part in ("ablation", "all"):
        figures["ablation"] = ablation(DATA)
    if options.part in ("known", "all"):
        figures["known"] = known_items(DATA)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0


# --- questions --------------------------------------------------------------------------------

Form = Callable[[str], list[int]]
"""From a question to positions, the best first."""


class Answer(NamedTuple):
    """What the forms of a query found of the evidence of one question."""

    session: str
    category: str
    recall: dict[str, dict[str, float]]


def ask(data: Path, only: str = "", *, plain: bool = True) -> list[Answer]:
    """Ask every question, or those of one conversation, in ours and in the plain forms."""
    questions = list(lines(data / "qa" / "locomo.questions.jsonl.gz"))
    found: list[Answer] = []
    for session in lines(data / "qa" / "locomo.sessions.jsonl.gz"):
        if only and session["id"] != only:
            continue
        texts = [message["content"] for message in session["messages"]]
        with tempfile.TemporaryDirectory() as folder, open_store(folder) as store:
            append(store, "talk", texts)
            forms = {**(_plain_forms(texts) if plain else {}), OURS: _ours(store)}
            for one in questions:
                if one["session_id"] == session["id"] and one["evidence_messages"]:
                    recall = {name: _recall(form, one) for name, form in forms.items()}
                    found.append(Answer(session["id"], one["category"], recall))
    return found


def quality(answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the recall of every form for each conversation."""
    found: dict[str, Any] = {}
    for session in dict.fromkeys(answer.session for answer in answers):
        some = [answer.recall for answer in answers if answer.session == session]
        found[session] = {
            form: {name: _mean([one[form][name] for one in some]) for name in row}
            for form, row in some[0].items()
        }
        found[session]["questions"] = len(some)
    return found


def ablation(data: Path) -> dict[str, Any]:
    """Print and return the recall without each part of the reading, tuned and held out."""
    print("\nrecall at 5 / at 10, %, without each part; in brackets what the part adds at 10")
    found: dict[str, Any] = {}
    whole: list[Answer] = []
    for part, switches in PARTS.items():
        kept = [(name, getattr(rank, name)) for name, _ in switches]
        for name, value in switches:
            setattr(rank, name, value)
        answers = ask(data, plain=False)
        for name, value in kept:
            setattr(rank, name, value)
        whole = whole or answers
        found[part] = {}
        cells = ""
        for label, some in _split(answers).items():
            row = {cut: _mean(_column(some, OURS, cut)) for cut in CUTS}
            gains = [
                one - other
                for one, other in zip(
                    _column(_split(whole)[label], OURS, 10), _column(some, OURS, 10), strict=True
                )
            ]
            found[part][label] = {**row, "adds": _mean(gains)}
            cells += f"{label:>10} {100 * row[5]:.1f} / {100 * row[10]:.1f} ({_interval(gains)})"
        print(f"{part:40}{cells}")
    return found


def _split(answers: Sequence[Answer]) -> dict[str, list[Answer]]:
    return {
        "tuned": [answer for answer in answers if answer.session == TUNED_ON],
        "held out": [answer for answer in answers if answer.session != TUNED_ON],
    }


def _column(answers: Sequence[Answer], form: str, cut: int) -> list[float]:
    return [answer.recall[form][f"at {cut}"] for answer in answers]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _interval(values: Sequence[float]) -> str:
    """Return the mean and half of its 95 % interval, in percent."""
    mean = _mean(values)
    spread = sum((value - mean) ** 2 for value in values) / max(len(values) - 1, 1)
    return f"{100 * mean:.1f} ± {196 * math.sqrt(spread / max(len(values), 1)):.1f}"


def _recall(form: Form, question: dict[str, Any]) -> dict[str, float]:
    evidence = set(question["evidence_messages"])
    positions = form(question["question"])
    found: dict[str, float] = {}
    for cut in CUTS:
        first = set(positions[:cut])
        wider = first | {position + 1 for position in first}
        for name, seen in ((f"at {cut}", first), (f"at {cut} with the next", wider)):
            found[name] = len(evidence & seen) / len(evidence)
    return found


def _ours(store: Store) -> Form:
    def find(question: str) -> list[int]:
        matches = store.match(Wanted(query=parse_query(question)), most=max(CUTS))
        return [match.position for match in matches]

    return find


def _plain_forms(texts: Sequence[str]) -> dict[str, Form]:
    single = _indexed(texts)
    pairs = _indexed(["\n".join(texts[at : at + 2]) for at in range(len(texts))])

    def terms(question: str) -> list[str]:
        known = parse_query(question).terms
        return [word for term in known if not term.small for word in term.words]

    def either(question: str) -> list[int]:
        return single(" OR ".join(f'"{word}"' for word in terms(question)))

    def windows(question: str) -> list[int]:
        found = pairs(" OR ".join(f'"{word}"' for word in terms(question)))
        return list(dict.fromkeys(at for first in found for at in (first, first + 1)))

    def fusion(question: str) -> list[int]:
        ranks: dict[int, float] = {}
        for positions in (either(question), windows(question)):
            for place, position in enumerate(positions):
                ranks[position] = ranks.get(position, 0.0) + 1 / (60 + place)
        return sorted(ranks, key=lambda position: -ranks[position])

    return {
        "raw question, AND": lambda text: single(" ".join(f'"{w}"' for w in words_of(text))),
        "stemmed OR": either,
        "two-turn windows": windows,
        "fusion of the two": fusion,
    }


def _indexed(texts: Sequence[str]) -> Callable[[str], list[int]]:
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(x, tokenize='porter unicode61')")
    connection.executemany("INSERT INTO t(rowid, x) VALUES (?, ?)", list(enumerate(texts)))

    def match(expression: str) -> list[int]:
        if not expression:
            return []
        sql = "SELECT rowid FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT 50"
        return [row[0] for row in connection.execute(sql, (expression,))]

    return match


def show_quality(found: dict[str, Any]) -> None:
    """Print the recall of every form for each conversation."""
    print(
        "\nrecall of the evidence, %, at 5 / at 10; in brackets with the next message of each hit"
    )
    names = [name for name in next(iter(found.values())) if name != "questions"]
    heads = [f"{key} ({one['questions']})" for key, one in found.items()]
    print(f"{'':20}" + "".join(f"{head:>34}" for head in heads))
    for name in names:
        cells = [_cell(one[name]) for one in found.values()]
        print(f"{name:20}" + "".join(f"{cell:>34}" for cell in cells))
    print(f"weights chosen on {TUNED_ON}; the others are the figure")


def _cell(row: dict[str, float]) -> str:
    alone = " / ".join(f"{100 * row[f'at {cut}']:.1f}" for cut in CUTS)
    wider = " / ".join(f"{100 * row[f'at {cut} with the next']:.1f}" for cut in CUTS)
    return f"{alone} ({wider})"


def _show_categories(answers: Sequence[Answer]) -> None:
    for label, some in _split(answers).items():
        print(f"\n{label}: recall at 10, %, and what {OURS} adds to the {WINDOWS}")
        for category in (*CATEGORIES, ""):
            chosen = [answer for answer in some if category in ("", answer.category)]
            ours, windows = _column(chosen, OURS, 10), _column(chosen, WINDOWS, 10)
            gains = [one - other for one, other in zip(ours, windows, strict=True)]
            print(f"{category or 'all':14}{len(chosen):5}{_interval(ours):>16}"
                  f"{_interval(windows):>16}{_interval(gains):>16}")  # fmt: skip


# --- known messages ---------------------------------------------------------------------------


def known_items(data: Path) -> dict[str, float]:
    """Print and return how many drawn lines of coding sessions are found, by kind of query."""
    sessions = list(_coding_sessions(data))
    rarity = Counter(word for texts in sessions for text in texts for word in set(words_of(text)))
    asked: Counter[str] = Counter()
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, open_store(folder) as store:
        for number, texts in enumerate(sessions):
            append(store, f"s{number:06}", texts)
        for line in _drawn(sessions):
            for kind, query in _queries(line, rarity).items():
                matches = store.match(Wanted(query=parse_query(query)), most=10)
                asked[kind] += 1
                found[kind] += any(line in match.text for match in matches)
    messages = sum(map(len, sessions))
    print(f"\nlines found again, %, among {messages:,} messages of {len(sessions)} coding sessions")
    shares = {kind: found[kind] / asked[kind] for kind in asked}
    for kind, share in shares.items():
        print(f"{kind:24}{100 * share:6.1f} of {asked[kind]}")
    return shares


def _coding_sessions(data: Path) -> Iterator[list[str]]:
    for agent in CODING:
        for path in sorted((data / "sessions").glob(f"{agent}__*.gz")):
            for record in lines(path):
                contents = [message.get("content") for message in record["messages"]]
                texts = [text[:_LONGEST_TEXT] for text in contents if isinstance(text, str)]
                if texts:
                    yield texts


def _drawn(sessions: Sequence[Sequence[str]]) -> list[str]:
    """Return lines with at least five words, one of each drawn message, the same on every run."""
    dice = random.Random(7)
    every = [text for texts in sessions for text in texts]
    drawn: list[str] = []
    for text in dice.sample(every, len(every)):
        long = [line.strip() for line in text.split("\n") if len(_RARE_WORD.findall(line)) >= 5]
        if long:
            drawn.append(dice.choice(long))
        if len(drawn) == ITEMS:
            break
    return drawn


def _queries(line: str, rarity: Counter[str]) -> dict[str, str]:
    words = sorted(dict.fromkeys(_RARE_WORD.findall(line)), key=lambda word: rarity[word.lower()])
    three = " ".join(sorted(words[:3], key=line.index))
    found = {"three words": three, "three words, asked": f"What was there about {three}?"}
    if name := _NAME.search(line):
        found["name"] = name[0]
        found["name, asked"] = f"When did we work on {name[0]}, and what was {words[0]}?"
    if _ERROR.search(line):
        found["error line"] = line[:80]
    return found


# --- both -------------------------------------------------------------------------------------


def append(store: Store, name: str, texts: Sequence[str]) -> None:
    """Make a session of texts."""
    store.create(NewSession(dialect="openai-chat", id=name))
    store.append(
        name,
        [
            NewMessage(body=json.dumps(text).encode(), role="user", text=text, time=0.0)
            for text in texts
        ],
    )


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


if __name__ == "__main__":
    raise SystemExit(main())

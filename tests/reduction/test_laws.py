"""What holds for every reduction, whatever the text, the kind and the budget."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway import reduce
from foldaway.errors import InvalidSetting, UnknownName
from foldaway.reduction import KINDS, Kind, Reduced, detect_kind
from foldaway.transcript import Estimator

REFERENCE = "fa-0123456789"

lines = st.sampled_from((
    "error: no route to host", "src/a.py:12:5: error: bad", "--- FAIL: TestA (0.00s)",
    "FAILED tests/test_a.py::test_b[x y] - ValueError: no", "3 failed, 12 passed in 1.20s",
    "2026-02-03 11:36:54,123 INFO handled request 17", "2026-02-03T11:36:55Z WARN slow",
    "diff --git a/x.py b/x.py", "--- a/x.py", "+++ b/x.py", "@@ -1,3 +1,4 @@ def f():", "+added",
    "-removed", " context", "index 8189eb14..b1ee0ef9 100644", "*** Update File: a.py",
    "cmd/main.go:17:\tfunc main() {", "cmd/main.go-18-\treturn", "--", "src/pkg/module.py",
    "drwxr-xr-x  3 me me 4096 Jan  1 10:00 src", "├── src", "total 12", "a,b,c", "1,2.5,three",
    "Traceback (most recent call last):", '  File "a.py", line 3, in f', "    at a.b.C(D.java:12)",
    "def f(x):", "    return x", "class A {", "}", "import os", "# Heading", "- item", "```",
    "A sentence of several words, which says that 12 things must never happen.", "", "  ",
    "<html><body><p>text</p>", "<script>alert(1)</script>", "<li>one", "</li>", "<!-- c",
    '{"id": 1, "status": "ok", "v": 2.5}', '{"error": "no", "list": [1, 2, 3]}', "[1, 2",
    "\x1b[31mred\x1b[0m", "10%\r20%\r100%", "crlf\r", "\x00", "\ud800", "日本語のテキスト。文。",
    "    12→\tcode", "Exit code 1", "Process exited with code 0", "x" * 700, "`" * 5, "\u2028",
))  # fmt: skip
shaped = st.lists(lines, max_size=60).map("\n".join)
repeated = st.tuples(st.lists(lines, min_size=1, max_size=5), st.integers(1, 200)).map(
    lambda pair: "\n".join(pair[0] * pair[1])
)
wild = st.text(st.characters(), max_size=400) | st.binary(max_size=400).map(
    lambda raw: raw.decode("utf-8", "surrogateescape")
)
texts = shaped | repeated | wild
budgets = st.integers(1, 400)
kinds = st.sampled_from(KINDS) | st.none()
leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=80)
)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=12) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=60,
)
documents = st.builds(
    json.dumps,
    st.lists(values, max_size=30) | st.dictionaries(st.text(max_size=8), values),
    ensure_ascii=st.booleans(),
    indent=st.sampled_from((None, 2)),
)


@given(texts | documents, kinds, budgets)
def test_a_reduction_keeps_its_budget_and_never_grows(
    text: str, kind: Kind | None, budget: int
) -> None:
    """Never more tokens than asked for or than before, never more characters than before."""
    done = reduce(text, kind, budget)
    assert done.tokens_before == Estimator().count(text)
    assert done.tokens_after == Estimator().count(done.text)
    assert done.tokens_after <= min(budget, done.tokens_before)
    assert len(done.text) <= len(text)


@given(texts | documents, kinds, budgets, st.sampled_from(("", REFERENCE)))
def test_reducing_twice_is_reducing_once(
    text: str, kind: Kind | None, budget: int, reference: str
) -> None:
    """What came out of a reduction goes through it unchanged."""
    once = reduce(text, kind, budget, reference)
    assert reduce(once.text, kind, budget, reference).text == once.text
    assert reduce(once.text, None, budget, reference).text == once.text


@given(texts | documents, kinds, budgets)
def test_the_same_text_gives_the_same_reduction(text: str, kind: Kind | None, budget: int) -> None:
    """No clock, no chance."""
    assert reduce(text, kind, budget) == reduce(text, kind, budget)


@given(texts | documents, kinds, budgets)
def test_a_reduction_says_what_it_left_out_and_only_then(
    text: str, kind: Kind | None, budget: int
) -> None:
    """A text that fits is the same text; of any other something is said to be missing."""
    done = reduce(text, kind, budget)
    if done.tokens_before <= budget:
        assert done.is_whole
        assert done.text == text
    if done.is_whole:
        assert not done.counts


@given(documents, budgets)
def test_what_says_that_it_is_json_is_json(text: str, budget: int) -> None:
    """Whatever is left of a JSON value can be parsed, and an object stays an object."""
    done = reduce(text, "json", budget, REFERENCE)
    assert done.kind in ("json", None)
    assert type(json.loads(done.text)) is type(json.loads(text))


@given(texts | documents, st.sampled_from(("json", "jsonl")), budgets)
def test_what_is_no_json_is_not_called_json(text: str, kind: Kind, budget: int) -> None:
    """Named or found, `json` is a JSON value and `jsonl` a JSON value on every line."""
    done = reduce(text, kind, budget)
    if done.kind == "json":
        json.loads(done.text)
    elif done.kind == "jsonl" and not done.is_whole:
        assert all(isinstance(json.loads(line), object) for line in done.text.split("\n"))


@given(st.lists(st.dictionaries(st.text(max_size=8), leaves), min_size=2, max_size=20), budgets)
def test_every_line_of_reduced_json_lines_is_json(rows: list[object], budget: int) -> None:
    """However little is left of it."""
    text = "\n".join(map(json.dumps, rows))
    done = reduce(text, "jsonl", budget)
    for line in done.text.split("\n"):
        json.loads(line)


@given(texts, st.text(max_size=30))
def test_a_kind_is_found_for_every_text(text: str, hint: str) -> None:
    """Detection never fails, whatever the text and the hint."""
    assert detect_kind(text, hint) in KINDS


@each_row("kind", KINDS)
def test_every_reducer_names_the_reference(kind: Kind) -> None:
    """Where there is room, the result names the place of the original."""
    text = SAMPLES[kind]
    done = reduce(text, kind, 150, REFERENCE)
    assert done.kind == kind
    assert not done.is_whole
    assert done.text.count(REFERENCE) == 1
    assert done.reference == REFERENCE
    assert REFERENCE not in reduce(text, kind, 150).text


@each_row("kind", KINDS)
def test_every_reducer_uses_its_budget(kind: Kind) -> None:
    """A reduction is not smaller than it has to be: more than half of what it may have."""
    assert reduce(SAMPLES[kind], kind, 150).tokens_after > 75


LONG_LINES = {
    "words": "words of a text and no full stop " * 400,
    "an error": "ERROR the disk is full " + "y " * 4_000,
    "a word": "x" * 9_000,
    "base64": "QUJD" * 3_000,
    "minified": "function a(b){return b+1};" * 900,
    "emoji": "🎉🔥" * 3_000,
    "wide": "这是一个很长的句子没有标点" * 500,
}


@each_row("kind", [None, *(kind for kind in KINDS if kind not in ("json", "jsonl"))])
@each_row("name", LONG_LINES)
def test_something_is_left_of_a_line_that_is_longer_than_the_budget(
    name: str, kind: Kind | None
) -> None:
    """Its start or its end, beside what was left out; never our own words alone."""
    text = LONG_LINES[name]
    for budget in (30, 60, 100):
        done = reduce(text, kind, budget)
        assert text[:3] in done.text or text[-3:] in done.text
        assert budget < 60 or "[left out: " in done.text


HOSTILE = {
    "one word": "a" * 1_000_000,
    "blanks": " " * 1_000_000,
    "line breaks": "\n" * 1_000_000,
    "returns": "x\r" * 500_000,
    "escapes": "\x1b[" * 500_000,
    "open tags": "<a " * 333_333,
    "comments": "<!--" * 250_000,
    "scripts": "<script " * 125_000,
    "quotes": '"' * 1_000_000,
    "brackets": "[" * 1_000_000,
    "nested": "[" * 500_000 + "]" * 500_000,
    "colons": "a:1:" * 250_000,
    "paths": "a/" * 500_000,
    "errors": "error: " * 140_000,
    "failed": "Failed to x\n" * 80_000,
    "backticks": "`" * 1_000_000,
    "at": "\tat a.b\n" * 110_000,
    "hunks": "@@ -1 +1 @@\n" * 80_000,
    "surrogates": "\ud800" * 1_000_000,
    "wide": "日本。" * 300_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_makes_a_reduction_slow(name: str) -> None:
    """A megabyte of the worst takes seconds at most, read as what it looks like."""
    start = time.process_time()
    done = reduce(HOSTILE[name], None, 200)
    assert time.process_time() - start < 6
    assert done.tokens_after <= 200


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["one word", "errors", "open tags", "colons", "hunks", "wide"])
def test_no_reducer_is_slow_on_what_it_is_not_for(kind: Kind, name: str) -> None:
    """The same, for every reducer."""
    start = time.process_time()
    reduce(HOSTILE[name][:300_000], kind, 200)
    assert time.process_time() - start < 4


class Words:
    """Counts words exactly, and remembers the longest text that it was asked for."""

    name = "words"
    is_estimate = False
    longest = 0

    def count(self, text: str) -> int:
        self.longest = max(self.longest, len(text))
        return len(text.split())


def test_a_huge_text_is_never_counted_whole() -> None:
    """Exact counters are slow: of a long text they see a sample and what comes out."""
    counter = Words()
    done = reduce("a few words in a line\n" * 400_000, None, 500, counter=counter)
    assert counter.longest < 300_000
    assert done.tokens_after <= 500
    assert done.tokens_before == pytest.approx(2_400_000, rel=0.01)


def test_a_budget_of_nothing_is_refused() -> None:
    """Not even the mark would fit."""
    with pytest.raises(InvalidSetting, match="budget_tokens is 0"):
        reduce("text", None, 0)


def test_a_kind_that_does_not_exist_is_refused() -> None:
    """The error names the kinds that do."""
    with pytest.raises(UnknownName, match="unknown kind 'poem'; known: json"):
        reduce("text", "poem")  # pyright: ignore[reportArgumentType]


def upper(text: str, kind: Kind, budget_tokens: int) -> str:
    return f"{kind}: " + text[: 2 * budget_tokens].upper()


def test_a_reducer_from_elsewhere_goes_first() -> None:
    """What it returns is the result, where it keeps the laws."""
    done = reduce("a line of text\n" * 200, "log", 100, reducer=upper)
    assert done.text.startswith("log: A LINE OF TEXT")
    assert done.left_out


@each_row("bad", [lambda text, *_: text, lambda text, *_: text * 2, lambda text, *_: text[:-1]])
def test_a_reducer_that_breaks_a_law_is_passed_over(bad: object) -> None:
    """Too large an answer is no answer."""
    text = "a line of text\n" * 200
    assert reduce(text, "log", 100, reducer=bad) == reduce(text, "log", 100)  # pyright: ignore[reportArgumentType]


def test_a_reducer_from_elsewhere_cannot_break_json() -> None:
    """What is called JSON stays JSON."""
    done = reduce(SAMPLES["json"], "json", 100, reducer=upper)
    assert isinstance(done, Reduced)
    json.loads(done.text)


SAMPLES: dict[Kind, str] = {
    "json": json.dumps({"rows": [{"id": n, "name": f"name {n}", "v": n / 7} for n in range(90)]}),
    "jsonl": "\n".join(json.dumps({"id": n, "name": f"name {n}"}) for n in range(90)),
    "log": "\n".join(
        f"2026-02-03 11:36:{n % 60:02} INFO step {'abc'[n % 3]} {n}" for n in range(90)
    ),
    "test": "\n".join(
        f"=== RUN Test{n}\n--- FAIL: Test{n} (0.0s)\n    a.go:{n}: bad" for n in range(40)
    ),
    "build": "\n".join(f"src/m{n % 7}.c:{n}:1: error: name_{n} is not known" for n in range(60)),
    "trace": "Traceback (most recent call last):\n"
    + "".join(f'  File "/app/m{n}.py", line {n}, in f{n}\n    call(x{n})\n' for n in range(40))
    + "ValueError: bad",
    "diff": "".join(
        f"diff --git a/m{n}.py b/m{n}.py\n--- a/m{n}.py\n+++ b/m{n}.py\n@@ -1,2 +1,2 @@\n"
        f" context\n-old {n}\n+new {n}\n+more {n}\n"
        for n in range(6)
    )
    + "".join(f"+and line number {n}\n" for n in range(60)),
    "code": "".join(f"def function_{n}(x):\n    y = x + {n}\n    return y\n\n" for n in range(40)),
    "search": "\n".join(f"src/m{n % 5}.py:{n}:    value_{n} = find(it, {n})" for n in range(60)),
    "listing": "\n".join(f"src/pkg_{n % 5}/module_number_{n}.py" for n in range(80)),
    "csv": "id,name,score\n" + "\n".join(f"{n},name {n},{n % 9}.5" for n in range(90)),
    "html": "<html><body>"
    + "".join(f"<h2>Part {n}</h2><p>Paragraph {n} says a thing or two.</p>" for n in range(40))
    + "</body></html>",
    "prose": "\n\n".join(f"Part {n} has sentence one. It has a second, {n}." for n in range(40)),
}

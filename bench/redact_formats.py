"""Secrets of two scanners that the labelled corpus does not draw on: a second look from outside.

    python bench/redact_formats.py [--missed]

Both are fetched by pip, and both samples were laid down before a rule of theirs was read.

examples  n0s1 has an example beside each of its rules. All of them in which its own pattern finds
          something: that is the secret.
formats   CredSweeper has patterns. All rules of the sort "pattern" that it does not call mere
          information, apart by its own confidence; twenty texts are drawn from each pattern. They
          have the form that the pattern allows, which is often wider than the tokens are, and
          neither check digits nor content.

A text stands alone on a line, and a secret counts as hidden only if all of it is.
"""

from __future__ import annotations

import argparse
import importlib
import random
import re
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

BENCH = Path(__file__).resolve().parent
sys.path.insert(0, str(BENCH.parent / "src"))

from foldaway.redaction import RedactionPolicy, Redactor  # noqa: E402
from foldaway.redaction.matching import re2  # noqa: E402

FORMATS = "credsweeper==1.19.5"
FORMATS_FILE = "credsweeper/rules/config.yaml"
EXAMPLES = "n0s1==1.2.7"
EXAMPLES_FILE = "n0s1/config/regex.toml"
EACH = 20
TRIES = 200
sre: Any = importlib.import_module("re._constants")
reader: Any = importlib.import_module("re._parser")
"""How Python reads a pattern; both are its own affair, and there since 3.11."""
EVERYTHING = Redactor(RedactionPolicy(key="bench"))


class Format(NamedTuple):
    """One pattern of the other scanner."""

    rule: str
    confidence: str
    pattern: re.Pattern[str]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--missed", action="store_true", help="Name the rules that are missed.")
    options = parser.parse_args()
    examples(show_missed=options.missed)
    formats(show_missed=options.missed)
    return 0


def examples(*, show_missed: bool) -> None:
    """Print how many secrets of the examples are hidden."""
    wheel = fetched(EXAMPLES)
    if wheel is None:
        return
    rules = tomllib.loads(wheel[EXAMPLES_FILE].decode("utf-8"))["rules"]
    found = [(rule["id"], place) for rule in rules if (place := labelled(rule))]
    missed = [name for name, place in found if not is_hidden(*place)]
    print(f"## examples of {EXAMPLES}: {len(rules)} rules, {len(found)} examples with a secret\n")
    print(f"hidden: {len(found) - len(missed)}, {1 - len(missed) / len(found):.1%}\n")
    if show_missed:
        print("    " + ", ".join(missed) + "\n")


def labelled(rule: dict[str, Any]) -> tuple[str, int, int] | None:
    """Return an example and where its rule finds the secret: its group, or all that matches."""
    text = rule.get("example", "")
    match = re2.search(rule["regex"], text) if text else None
    if match is None:
        return None
    filled = (number for number, one in enumerate(match.groups(), 1) if one)
    return text, *match.span(rule.get("secretGroup") or next(filled, 0))


def formats(*, show_missed: bool) -> None:
    """Print how many of the texts are hidden that are drawn from patterns."""
    wheel = fetched(FORMATS)
    if wheel is None:
        return
    try:
        yaml = importlib.import_module("yaml")
    except ImportError:
        print("skipped: the formats need pyyaml")
        return
    rng = random.Random(17)
    hidden: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    undrawn: list[str] = []
    for one in patterns_of(yaml.safe_load(wheel[FORMATS_FILE])):
        texts = [found for _ in range(EACH) if (found := drawn(one.pattern, rng))]
        undrawn += [one.rule] if not texts else []
        for text, start, end in texts:
            hidden[one.confidence][one.rule].append(is_hidden(text, start, end))
    print(f"## formats of {FORMATS}, {EACH} texts drawn from each pattern\n")
    print("| confidence | rules | texts | hidden | rules hidden in 95 % of texts |")
    print("| --- | --- | --- | --- | --- |")
    for confidence, rules in sorted(hidden.items(), reverse=True):
        texts = [one for found in rules.values() for one in found]
        known = sum(sum(found) >= 0.95 * len(found) for found in rules.values())
        print(
            f"| {confidence} | {len(rules)} | {len(texts):,} | {sum(texts) / len(texts):.1%} "
            f"| {known} |"
        )
        for rule, found in sorted(rules.items()) if show_missed else ():
            if not all(found):
                print(f"    {sum(found) / len(found):4.0%}  {rule}")
    print(f"\nnothing could be drawn from {len(undrawn)} patterns: {', '.join(undrawn) or '-'}")


def fetched(wanted: str) -> dict[str, bytes] | None:
    """Return the files of a wheel; none, and a line that says so, where it cannot be had."""
    with tempfile.TemporaryDirectory() as folder:
        line = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", wanted]
        done = subprocess.run(
            [*line, "--only-binary", ":all:", "--dest", folder],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            print(f"skipped: {wanted} could not be fetched")
            return None
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
            return {name: wheel.read(name) for name in wheel.namelist()}


def patterns_of(rules: Sequence[dict[str, Any]]) -> Iterator[Format]:
    """Yield the patterns of the rules that are in the sample."""
    for rule in rules:
        if rule["type"] == "pattern" and rule["severity"] != "info":
            for text in rule["values"]:
                yield Format(rule["name"], rule["confidence"], re.compile(text))


def is_hidden(text: str, start: int, end: int) -> bool:
    """Whether all of the value is covered by what was found."""
    head = "one line\n"
    covered = {
        at
        for found in EVERYTHING.redact(f"{head}{text}\nanother line\n").findings
        for at in range(found.start - len(head), found.end - len(head))
    }
    return covered.issuperset(range(start, end))


def drawn(pattern: re.Pattern[str], rng: random.Random) -> tuple[str, int, int] | None:
    """Return a text that a pattern matches, and where its value stands."""
    tree = reader.parse(pattern.pattern, pattern.flags)
    for _ in range(TRIES):
        text = "".join(_pieces(tree, rng, {}))
        found = pattern.search(text)
        if found is not None and "\n" not in text:
            name = "value" if "value" in pattern.groupindex else 0
            return text, found.start(name), found.end(name)
    return None


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
MORE = 16
"""A repeat without an end, or with a far one, is drawn so much longer than its least."""


def _pieces(tree: Any, rng: random.Random, groups: dict[int, str]) -> Iterator[str]:
    for what, given in tree:
        if what is sre.LITERAL:
            yield chr(given)
        elif what in (sre.ANY, sre.NOT_LITERAL):
            yield rng.choice([c for c in LETTERS if what is sre.ANY or ord(c) != given])
        elif what is sre.IN:
            yield rng.choice(_members(given) or [""])
        elif what is sre.BRANCH:
            yield from _pieces(rng.choice(given[1]), rng, groups)
        elif what is sre.SUBPATTERN:
            text = "".join(_pieces(given[3], rng, groups))
            groups[given[0]] = text
            yield text
        elif what in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            least, most, inner = given
            for _ in range(rng.randint(least, min(int(most), least + MORE))):
                yield from _pieces(inner, rng, groups)
        elif what is sre.GROUPREF:
            yield groups.get(given, "")
        elif what is sre.ATOMIC_GROUP:
            yield from _pieces(given, rng, groups)
        # what looks around and what anchors is left to the search that follows


def _members(given: Any) -> list[str]:
    wanted = [chr(c) for c in range(32, 127) if _holds(given, c)]
    return [c for c in wanted if c in LETTERS] if given[0][0] is sre.NEGATE else wanted


def _holds(given: Any, c: int) -> bool:
    holds = any(
        (what is sre.LITERAL and c == value)
        or (what is sre.RANGE and value[0] <= c <= value[1])
        or (what is sre.CATEGORY and _CATEGORIES[value].match(chr(c)) is not None)
        for what, value in given
    )
    return not holds if given[0][0] is sre.NEGATE else holds


_CATEGORIES = {
    sre.CATEGORY_DIGIT: re.compile(r"\d"),
    sre.CATEGORY_NOT_DIGIT: re.compile(r"\D"),
    sre.CATEGORY_WORD: re.compile(r"\w"),
    sre.CATEGORY_NOT_WORD: re.compile(r"\W"),
    sre.CATEGORY_SPACE: re.compile(r"\s"),
    sre.CATEGORY_NOT_SPACE: re.compile(r"\S"),
}

if __name__ == "__main__":
    raise SystemExit(main())

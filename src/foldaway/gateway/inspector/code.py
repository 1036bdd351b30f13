"""Code, diffs and JSON as blocks with colors by CSS classes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import chain
from typing import Final, Literal, NamedTuple, TypeAlias, cast

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType]

from foldaway.gateway.inspector.safe_text import Rendering, marks

_LANGUAGES: Final = {
    "python": "py pyi python3",
    "javascript": "js mjs cjs node",
    "typescript": "ts mts cts",
    "jsx": "",
    "tsx": "",
    "json": "jsonc json5 ipynb jsonl",
    "bash": "sh zsh shell ksh bats",
    "yaml": "yml",
    "toml": "",
    "html": "htm vue svelte",
    "xml": "svg xsl plist",
    "css": "",
    "scss": "",
    "sql": "",
    "go": "",
    "rust": "rs",
    "java": "",
    "kotlin": "kt kts",
    "c": "h",
    "cpp": "cc cxx hpp hh c++",
    "csharp": "cs c#",
    "ruby": "rb",
    "php": "",
    "swift": "",
    "lua": "",
    "docker": "dockerfile",
    "make": "makefile mk",
}
_LANGUAGE_OF: Final = {
    name: language for language, names in _LANGUAGES.items() for name in (language, *names.split())
}
"""Languages by their names and file endings. Few, because a lexer reads what anybody wrote: that
of INI files takes seconds for a single token."""
_DIFFS = frozenset(("diff", "patch", "udiff"))
_LONGEST_LINE: Final = 2_000
"""Code with longer lines is minified: colors do not help, and lexers are slow on it."""
_MOST_ALIGNED: Final = 10_000
"""Pairs of changed lines up to which an edit is aligned line by line: 100 old and 100 new ones take
20 ms at worst, and twice as many eight times as long."""
_MOST_WORDS: Final = 3_000
"""Words of a text that are compared with another: 20,000 characters; hostile ones take 0.4 s."""
_LEAST_SAME = 3
"""Words in a row that count as unchanged: single ones make a diff that nobody can read."""
_DEEPEST_INDENT: Final = 20
"""Levels of JSON that are indented; deeper ones would leave no room for their text."""
_MOST_GROWTH: Final = 4
"""JSON that grows more by its indents is shown as it is written; usual JSON grows by a half."""


def code_block(text: str, language: str, rendering: Rendering) -> str:
    """Return a block of code, in color if the language is known; a diff as a diff."""
    if language.lower() in _DIFFS:
        return diff_block(text, rendering)
    known = _LANGUAGE_OF.get(language.lower(), "")
    html = _color(text, known, rendering) if known else rendering.mark_up(text)
    return f'<pre class="code"><code>{html}</code></pre>'


def language_of(path: str) -> str:
    """Return what a file is written in, by its name; "" if nobody knows."""
    name = path.replace("\\", "/").rpartition("/")[2].lower()
    ending = name.rpartition(".")[2]
    return _LANGUAGE_OF.get(name) or ("diff" if ending in _DIFFS else _LANGUAGE_OF.get(ending, ""))


def _color(text: str, language: str, rendering: Rendering) -> str:
    if any(len(line) > _LONGEST_LINE for line in text.split("\n")):
        return rendering.mark_up(text)
    tokens = rendering.limit_time(iter(_lexer(language).get_tokens(text)))
    return "".join(_with_marks(text, _runs(text, tokens), rendering))


@lru_cache(64)
def _lexer(language: str) -> Lexer:
    return get_lexer_by_name(language, stripnl=False, ensurenl=False)


class CodeRun(NamedTuple):
    """A piece of code up to `end`, all of one color."""

    name: str
    end: int


def _runs(text: str, tokens: Iterable[tuple[tuple[str, ...], str]]) -> Iterator[CodeRun]:
    """Yield the colors of a text; what a lexer did not reach, or read otherwise, has none."""
    name, at = "", 0
    for kind, value in tokens:
        if not text.startswith(value, at):
            break
        found = _class_of(kind) if value.strip() else name
        if found != name and at:
            yield CodeRun(name, at)
        name, at = found, at + len(value)
    yield CodeRun(name, at)
    yield CodeRun("", len(text))


@lru_cache(512)
def _class_of(kind: tuple[str, ...]) -> str:
    path = ".".join(kind)
    return next((name for name, kinds in _CLASSES if path.startswith(kinds)), "")


_CLASSES: Final = (
    ("c", ("Comment",)),
    ("v", ("Keyword.Constant", "Name.Builtin", "Name.Constant", "Literal.Number")),
    ("k", ("Keyword", "Operator.Word")),
    ("s", ("Literal.String",)),
    ("f", ("Name.Function", "Name.Class", "Name.Decorator")),
    ("t", ("Name.Tag", "Name.Attribute")),
)
"""Kinds of tokens by their paths; the first row that has the beginning of one counts."""


def _with_marks(text: str, runs: Iterable[CodeRun], rendering: Rendering) -> Iterator[str]:
    """Yield the HTML of runs. A mark is inserted at its start, even if it covers several runs."""
    waiting = list(marks(text, rendering.address))[::-1]
    at = 0
    for name, end in runs:
        while waiting and waiting[-1].start < end:
            mark = waiting.pop()
            yield _span(name, text[at : mark.start], rendering)
            yield mark.html
            at = mark.end
        yield _span(name, text[at:end], rendering)
        at = max(at, end)


def _span(name: str, text: str, rendering: Rendering) -> str:
    if not text or not name:
        return rendering.mark_up(text) if text else ""
    return f'<span class="{name}">{rendering.mark_up(text)}</span>'


LineKind: TypeAlias = Literal["", "add", "del", "hunk", "file"]


class DiffLine(NamedTuple):
    """A line of a diff with its sign, and what it means."""

    kind: LineKind
    text: str


def diff_block(text: str, rendering: Rendering) -> str:
    """Return a unified diff, or a patch of an agent, with its lines in color."""
    return lines_block(_read_diff(text), rendering)


def lines_block(lines: Iterable[DiffLine], rendering: Rendering) -> str:
    """Return a block of lines of a diff; its text is theirs, each ended by a line feed."""
    html = [
        f'<span class="{kind}">{rendering.mark_up(text)}\n</span>'
        if kind
        else f"{rendering.mark_up(text)}\n"
        for kind, text in lines
    ]
    return f'<pre class="code diff"><code>{"".join(html)}</code></pre>'


_HUNK = re.compile(r"@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@")
_HEADS = ("diff ", "index ", "--- ", "+++ ", "*** ", "new file", "deleted file", "rename ")
_SIGNS: Final[dict[str, LineKind]] = {"+": "add", "-": "del", "@": "hunk"}


def _read_diff(text: str) -> Iterator[DiffLine]:
    old = new = 0
    for line in text.removesuffix("\n").split("\n"):
        sign = line[:1]
        if old > 0 or new > 0:
            old -= sign in ("-", " ", "")
            new -= sign in ("+", " ", "")
            yield DiffLine(_SIGNS.get(sign, "") if sign != "@" else "", line)
        elif line.startswith(_HEADS):
            yield DiffLine("file", line)
        else:
            if hunk := _HUNK.match(line):
                old, new = (int(count or 1) for count in hunk.groups())
            is_mark = sign != "@" or line.startswith("@@")
            yield DiffLine(_SIGNS.get(sign, "") if is_mark else "", line)


def edit_lines(old: str, new: str) -> Iterator[DiffLine]:
    """Yield an edit as a diff: lines that stay, go and come."""
    before, after = _lines(old), _lines(new)
    most = min(len(before), len(after))
    first = next((at for at in range(most) if before[at] != after[at]), most)
    most -= first
    last = next((at for at in range(most) if before[-1 - at] != after[-1 - at]), most)
    end = len(before) - last
    yield from _sign(" ", before[:first])
    yield from _changed_lines(before[first:end], after[first : len(after) - last])
    yield from _sign(" ", before[end:])


def _changed_lines(before: list[str], after: list[str]) -> Iterator[DiffLine]:
    if len(before) * len(after) > _MOST_ALIGNED:
        yield from chain(_sign("-", before), _sign("+", after))
        return
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for change, start, end, other, last in matcher.get_opcodes():
        if change == "equal":
            yield from _sign(" ", before[start:end])
        else:
            yield from _sign("-", before[start:end])
            yield from _sign("+", after[other:last])


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def _sign(sign: str, lines: Iterable[str]) -> Iterator[DiffLine]:
    return (DiffLine(_SIGNS.get(sign, ""), sign + line) for line in lines)


_WORD = re.compile(r"\S+\s*|\s+")


def word_diff(old: str, new: str, rendering: Rendering) -> str:
    """Return both texts as one, with the words marked that went and that came."""
    both = [_WORD.findall(text)[:_MOST_WORDS] for text in (old, new)]
    at = int(len(both[0]) >= len(both[1]))  # passes over words that the longer one repeats
    words, others = both[at], both[1 - at]
    end = ("equal", len(words), len(words), len(others), len(others))
    html, changed = list[str](), ("", "")
    for tag, *cuts in (*SequenceMatcher(None, words, others).get_opcodes(), end):
        texts = "".join(words[cuts[0] : cuts[1]]), "".join(others[cuts[2] : cuts[3]])
        is_end = cuts[0] == 0 or cuts[1] == len(words)
        if tag == "equal" and (is_end or cuts[1] - cuts[0] >= _LEAST_SAME):
            pairs = zip(("del", "ins"), changed, strict=True)
            html += [f"<{one}>{rendering.mark_up(text)}</{one}>" for one, text in pairs if text]
            html.append(rendering.mark_up(texts[0]))
            changed = ("", "")
        else:
            changed = (changed[0] + texts[at], changed[1] + texts[1 - at])
    return f'<pre class="text word-diff">{"".join(html)}</pre>'


_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[{}\[\],:]|[^\s"{}\[\],:]+', re.DOTALL)


def indent(text: str) -> str:
    """Return JSON on indented lines. Tokens stay as they are written, also if the end is cut.

    The cost is linear, and what would grow too much stays as it is.
    """
    out: list[str] = []
    depth = 0
    tokens = cast("list[str]", _JSON_TOKEN.findall(text))
    for at, token in enumerate(tokens):
        before = tokens[at - 1] if at else ""
        if token in "}]":
            depth = max(0, depth - 1)
        opened = before in ("{", "[")
        if (opened and token not in "}]") or before == "," or (token in "}]" and not opened):
            out.append("\n" + "  " * min(depth, _DEEPEST_INDENT))
        out.append(": " if token == ":" else token)
        depth += token in "{["
    found = "".join(out)
    return found if len(found) <= _MOST_GROWTH * len(text) else text

"""Source code: definitions first, then the beginnings of their bodies."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from holdfast.reduction.excerpt import read_lines
from holdfast.reduction.marks import gap
from holdfast.reduction.pack import line_render, ranking_of
from holdfast.reduction.rank import Taste, rank_lines, status_lines
from holdfast.reduction.reduced import ReductionRequest, Render
from holdfast.reduction.signals import error_spans
from holdfast.reduction.structure import MOST_CHARS, definition_lines, guess_language

NO_PARSER = "read by indentation; holdfast[code] reads by syntax"

_NUMBER = re.compile(r"^ {0,12}\d{1,7}(?:→|\t)", re.M)
_WORDS = frozenset({
    "def", "class", "func", "fn", "function", "function*", "interface", "struct", "enum", "trait",
    "impl", "module", "namespace", "pub", "public", "private", "protected", "export", "type",
    "static", "internal", "abstract", "#define", "typedef", "template", "CREATE", "macro_rules!",
    "sealed", "object", "override", "extern", "mod", "unsafe", "record", "protocol", "extension",
})  # fmt: skip
_DEEPEST = 3
_STARTS = ("async def ", "async function ", "impl<", "describe(", "it(", "test(", "data class ")
_METHOD = re.compile(
    r"(?:[A-Za-z_][\w<>\[\],.*&:]{0,80} +){1,4}[\w*&~:<>]{1,80}\([^;={}]{0,300}\)[^;=()]{0,60}\{?$"
    r"|[\w$]{1,80}\([^;={}()]{0,300}\)[^;=()]{0,60}\{$"
)
_CONTROL = frozenset({
    "if", "for", "while", "switch", "return", "else", "elif", "case", "with", "try", "catch", "go",
    "except", "assert", "raise", "throw", "await", "print", "//", "#", "*", "/*", "defer", "select",
    "match", "do", "let", "const", "var", "new", "yield", "unless", "when", "until",
})  # fmt: skip
_IMPORTS = frozenset({"import", "from", "use", "#include", "using", "package", "require"})
_NOTABLE = frozenset({"return", "raise", "throw", "panic", "yield", "TODO", "FIXME"})


def reduce_code(text: str, ask: ReductionRequest) -> Render:
    """Read a source file, with or without line numbers before its lines."""
    lines = read_lines(text, ask.room_chars)
    if lines.in_pieces:
        return line_render(rank_lines(lines, Taste()), ask.reference)
    numbered = _is_numbered(lines.texts)
    bare = _NUMBER.sub("", "\n".join(lines.texts)).split("\n") if numbered else lines.texts
    source = "\n".join(bare[:200])
    parsed = definition_lines(bare, guess_language(source)) if len(text) <= MOST_CHARS else None
    scores = _scores(bare, parsed)
    if len(text) <= MOST_CHARS and not numbered:
        _raise_errors(text, lines.texts, scores)
        for at in status_lines(lines.texts):
            scores[at] = 900.0
    ranking = ranking_of(lines, scores)
    if parsed is None:
        ranking = replace(ranking, notes=(NO_PARSER,))
    return line_render(ranking, ask.reference, mark=_dots if numbered else gap)


def _dots(_absent: int, _noun: str) -> str:
    """Return the mark between numbered lines: the numbers say how much is missing."""
    return "…"


def _is_numbered(texts: Sequence[str]) -> bool:
    some = [line for line in texts[:60] if line.strip()]
    return sum(1 for line in some if _NUMBER.match(line)) > 0.6 * len(some)


def _scores(texts: Sequence[str], parsed: Mapping[int, int] | None) -> list[float]:
    unit = _indent_unit(texts)
    scores: list[float] = []
    imports = inside = 0
    for at, text in enumerate(texts):
        bare = text.lstrip()
        if not bare:
            scores.append(0)
            continue
        if bare[0] in "})]":
            scores.append(3.0)
            continue
        indent = len(text) - len(bare)
        depth = indent if text[0] == "\t" else indent // unit
        word = bare.split(" ", 1)[0]
        known = _depth_of(bare, word, depth) if parsed is None else parsed.get(at)
        if known is not None:
            scores.append(800.0 - 60 * known)
            inside = 0
        elif word in _IMPORTS:
            imports += 1
            scores.append(120.0 if imports <= 3 else 12.0)
        else:
            inside += 1
            score = (90.0 if depth == 0 else 60.0) - inside - 3 * depth
            scores.append((score if score > 8 else 8.0) + (15 if word in _NOTABLE else 0))
    for at in range(min(3, len(scores))):
        scores[at] = max(scores[at], 200.0) if texts[at].strip() else 0
    return scores


def _depth_of(bare: str, word: str, depth: int) -> int | None:
    """Return how deep a definition is nested, None for a line that defines nothing."""
    if depth > _DEEPEST:
        return None
    if word in _WORDS:
        return depth
    if bare[-1] in "{)" and word not in _CONTROL and _METHOD.match(bare[:500]):
        return depth
    return depth if bare.startswith(_STARTS) else None


def _indent_unit(texts: Sequence[str]) -> int:
    widths = {len(text) - len(text.lstrip(" ")) for text in texts[:300]}
    return next((unit for unit in (2, 3, 4, 8) if unit in widths), 4)


def _raise_errors(text: str, texts: Sequence[str], scores: list[float]) -> None:
    """Raise what tells of a failure: a command's output may stand around or among the code."""
    spans = error_spans(text, 40)
    if not spans:
        return
    wanted = {text[start:end].rstrip("\r") for start, end in spans}
    for at, line in enumerate(texts):
        if line in wanted:
            scores[at] = max(scores[at], 850.0)

"""Terms (names, paths, numbers) and the lines of a text that may be needed again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from foldaway._core import Regex
from foldaway.reduction import plain

_SIGNS = frozenset("_$.@/~+:#-")
_TELLING = Regex(r"[/_\d]|[a-z][A-Z]|\w\.\w|\w-\w+-\w|\A--\w")
_LONGEST_CHARS = 120
"""A longer run of signs is data and not a name."""
_EDGES = ".:-/#@$+~"
_FIRST_EDGES = frozenset("-.:#@+")
_LAST_EDGES = frozenset(_EDGES)


class _Runs(dict[int, int]):
    """For `str.translate`: what stands between two runs becomes a space; lines stay lines."""

    def __missing__(self, code: int) -> int:
        sign = chr(code)
        is_part = sign in _SIGNS or sign == "\n" or sign.isalnum()
        found = self[code] = code if is_part else 32
        return found


class _Terms(dict[str, str]):
    """The term in a run, "" if it is a word of a language; runs come again and again."""

    _MOST = 1 << 16

    def __missing__(self, run: str) -> str:
        found = _term_in(run)
        if len(self) >= self._MOST:
            self.clear()
        if len(run) <= _LONGEST_CHARS:
            self[run] = found
        return found


_RUNS = _Runs()
_ASCII = bytes(range(128))
_FEW_SIGNS = 16
"""So many kinds of signs are replaced one by one; chosen, tools draw with fewer."""
_term_of: Callable[[str], str] = _Terms().__getitem__


def runs_of(text: str) -> str:
    """Return the text with a space for whatever stands between runs; as long, line by line."""
    if not text.isascii():
        text = _with_fewer_signs(text)
    return text.translate(_RUNS)


def _with_fewer_signs(text: str) -> str:
    """Return the text with a space for some signs that are not ASCII, if there are only a few kinds
    of them: `translate` is thirty times as fast if nothing but ASCII is left.
    """
    data = text.encode("utf-8", "surrogatepass").translate(None, _ASCII)
    signs = set(data.decode("utf-8", "surrogatepass"))
    if len(signs) <= _FEW_SIGNS:
        for sign in signs:
            if not sign.isalnum():
                text = text.replace(sign, " ")
    return text


def terms_in(runs: str, most: int) -> tuple[str, ...]:
    """Return the different terms of a text that `runs_of` gave, in order, at most `most`."""
    found: tuple[str, ...] = tuple(filter(None, map(_term_of, runs.split())))
    count = len(found)
    if count > 1 and len(set(found)) < count:
        found = tuple(dict.fromkeys(found))
    return found if count <= most else found[:most]


def terms_of(text: str, most: int = 64) -> tuple[str, ...]:
    """Return the different terms of a text, in order, at most `most`; linear in the text."""
    return terms_in(runs_of(text), most)


def _term_in(run: str) -> str:
    """Return a run without the signs at its ends if it is a path, a name in code, or a number."""
    if not 2 < len(run) <= _LONGEST_CHARS:
        return ""
    if "_" not in run and "/" not in run and not _TELLING.search(run):
        return ""
    bare = run.strip(_EDGES) if run[-1] in _LAST_EDGES or run[0] in _FIRST_EDGES else run
    return bare if len(bare) > 2 else ""


MOST_READ_CHARS = 24_000
"""Of a longer text only the two ends are read."""
_SHOWN_CHARS = 240
"""A longer line is cut into pieces."""
_LEAST_CHARS = 8
"""A shorter line says nothing by itself."""
_MOST_TERMS = 12
"""Of one line; a line that names more is a listing."""
LINE_CHARS = 24
"""What a line costs beside its text, where lines are weighed for their length."""
_FEW = 24
"""So many lines of a text stand for themselves; others must name something new."""
_NUMBERED = Regex(r"\s*(\d{1,6})(?:→|\||\t|:(?!\d))")
"""What tools put before the lines of a file."""
_MODIFIERS = ("export ", "pub ", "public ", "private ", "static ", "async ", "default ")
_DEFINERS = (
    "def",
    "class",
    "func",
    "function",
    "fn",
    "interface",
    "type",
    "struct",
    "enum",
    "trait",
    "impl",
    "module",
)
_DEFINES = Regex(
    rf"^(?:\s*\d{{1,6}}[→|:\t] ?)?(?:{'|'.join(_MODIFIERS)})*(?:{'|'.join(_DEFINERS)})\b"
)
_DEFINITION_WORDS = (*_MODIFIERS, *_DEFINERS)
_DEFINITION_STARTS = frozenset(word[0] for word in _DEFINITION_WORDS)
"""With what a line begins that defines something."""


_IDLE = (
    "Chunk ID:",
    "Wall time:",
    "Original token count:",
    "Process exited with",
    "Process running",
    "Total output lines:",
    "(Open file:",
    "(Current directory:",
    "bash-$",
    "</content>",
    "<path>",
    "<type>",
    "(End of file",
    "Shell cwd was reset",
    "index ",
    "agentId:",
    "<usage>",
    "ok  \t",
    "ok \t",
    "--- PASS",
    "PASS",
    "✓",
    "✔",
    "=== RUN",
    "?   \t",
)
"""What runners print around the output, and tests that passed: counted elsewhere."""
_IDLE_STARTS = frozenset(start[0] for start in _IDLE)


_FETCHES = "ownloading "
"""What package managers print for each package that they fetch."""


class TextLine(Struct, frozen=True, gc=False):
    """A line with its terms."""

    text: str
    terms: tuple[str, ...]
    is_definition: bool = False
    number: int = 0
    """The number that a tool put before it; 0 if there was none."""


def lines_of(text: str, most: int) -> list[TextLine]:
    """Return at most `most` lines that hold most, in the order of the text, each once."""
    found: dict[str, TextLine] = {}
    fetches = _FETCHES in text
    for raw, runs in _pieces(text):
        if raw[:1] in _STARTS and (number := _NUMBERED.match(raw)):
            end = number.end()
            shown, runs, place = raw[end:].strip(), runs[end:], int(number[1])
        else:
            shown, place = raw.strip(), 0
        if len(shown) < _LEAST_CHARS or shown in found:
            continue
        first = shown[0]
        if (first in _IDLE_STARTS and shown.startswith(_IDLE)) or (fetches and _FETCHES in shown):
            continue
        if terms := terms_in(runs, _MOST_TERMS):
            defines = first in _DEFINITION_STARTS and shown.startswith(_DEFINITION_WORDS)
            defines = defines and _DEFINES.match(raw) is not None
            found[shown] = TextLine(shown, terms, defines, place)
    lines = list(found.values())
    if len(lines) <= min(most, _FEW):
        return lines
    return [lines[place] for place in sorted(_most_telling(lines, most))]


def _most_telling(lines: list[TextLine], most: int) -> list[int]:
    """Return the places of the lines that hold most: beyond a few only those with a new term."""
    kept: list[int] = []
    known: set[str] = set()
    others: list[int] = []
    # the worth of each, without the call
    worths = [
        (len(line.terms) + 2 * line.is_definition) / (LINE_CHARS + len(line.text)) for line in lines
    ]
    for place in sorted(range(len(lines)), key=worths.__getitem__, reverse=True):
        if len(kept) >= most:
            break
        terms = lines[place].terms
        if known.issuperset(terms):
            others.append(place)
            continue
        known.update(terms)
        kept.append(place)
    return kept + others[: max(min(most, _FEW) - len(kept), 0)]


_STARTS = frozenset(" \t0123456789")


def _ends(text: str) -> Iterable[str]:
    if len(text) <= MOST_READ_CHARS:
        return (text,)
    half = MOST_READ_CHARS // 2
    return whole_words(text[:half], half), whole_words(f"…{text[-half:]}", 2 * half)


def _pieces(text: str) -> Iterable[tuple[str, str]]:
    """Return the lines, and the runs in each; a long one in pieces that end between words."""
    if len(text) <= MOST_READ_CHARS and "\x1b" not in text and "\r" not in text:
        lines = text.split("\n")
        if len(max(lines, key=len)) <= _SHOWN_CHARS:
            return zip(lines, runs_of(text).split("\n"), strict=True)
    return _cut_pieces(text)


def _cut_pieces(text: str) -> Iterator[tuple[str, str]]:
    for end in _ends(text):
        shown = plain(end) if "\x1b" in end or "\r" in end else end
        for line, runs in zip(shown.split("\n"), runs_of(shown).split("\n"), strict=True):
            if len(line) <= _SHOWN_CHARS:
                yield line, runs
            else:
                for part in _parts(line):
                    yield part, runs_of(part)


def _parts(line: str) -> Iterator[str]:
    """Yield the pieces of a long line; what has no end of a word in reach is left out."""
    start = 0
    while start < len(line):
        stop = start + _SHOWN_CHARS
        if stop >= len(line):
            yield line[start:]
            return
        end = _end_of_word(line, start + _SHOWN_CHARS // 2, stop)
        if end < 0:
            gap = _GAP.search(line, stop)
            start = gap.end() if gap else len(line)
            continue
        yield line[start:end]
        start = end


def cut(text: str, most: int) -> str:
    """Return `text` on one line, cut to at most `most` characters at the end of a word."""
    flat = " ".join(text.split()) if "\n" in text or "  " in text else text
    if len(flat) <= most:
        return flat
    end = _end_of_word(flat, most // 2, most - 1)
    return f"{flat[: end if end >= 0 else most - 1].rstrip()}…"


def whole_words(text: str, most: int) -> str:
    """Return a text that was cut to `most` characters without the pieces of words at its ends."""
    start = 0
    if text.startswith("…"):
        gap = _GAP.search(text)
        start = gap.start() if gap else 0
    end = _end_of_word(text, most // 2, most) if len(text) >= most else len(text)
    return text[start : end if end >= 0 else None].strip()


_END_SHARE = 0.35
"""Of a text that has to be cut, for its end; chosen."""


def both_ends(text: str, most: int) -> str:
    """Return a text of at most about `most` characters: of a longer one the start and the end, each
    whole words. A report ends with what it asks for.
    """
    if len(text) <= most:
        return text
    last = int(most * _END_SHARE)
    first = most - last
    start, end = whole_words(text[:first], first), whole_words(f"…{text[-last:]}", 2 * last)
    return f"{start} …\n… {end.lstrip('… ')}"


_GAP = Regex(r"[\s,;()\[\]{}|]")


def _end_of_word(text: str, first: int, last: int) -> int:
    """Return the latest place from `first` to `last` where a word ends, -1 if there is none."""
    for at in range(min(last, len(text)), first, -1):
        if _GAP.match(text, at - 1):
            return at
    return -1

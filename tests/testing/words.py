"""Words, names, ids and arguments for generated transcripts: every script, and the usual traps."""

from __future__ import annotations

import json
from functools import cache
from itertools import count
from typing import Any

from hypothesis import strategies as st

SAMPLES = (
    "Fix the failing test.",
    "Прочитай файл",
    "δοκιμή αρχείου",
    "اقرأ الملف من فضلك",
    "קרא את הקובץ",
    "फ़ाइल पढ़ें",
    "อ่านไฟล์นี้",
    "파일을 읽어 주세요",
    "ファイルを読んで",
    "请阅读这个文件，然后修改它",
    "👩‍👩‍👧‍👦 done 🎉",
    "e\u0301 a\u0308 \u202eright to left\u202c",
    "𝒜stral 𐍈 \U0010ffff",
    'quotes " and \\ and \\ud800 and \\u0000 as text',
    "line one\nline two\r\n\ttabbed",
    "\u2028separators\u2029\u0085",
    '{"role": "user", "content": [1, 2]}',
    "<tools> & </tools>",
    "\ufeffmarked",
)
NAMES = ("read_file", "bash", "grep", "mcp__files__read", "Edit-2", "x", "n" * 64)

_CHARS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")


@cache
def words() -> st.SearchStrategy[str]:
    """Text with at least one visible character, in any script, without NUL."""
    free = st.text(_CHARS, max_size=6).map(lambda text: f"{text}.")
    return st.sampled_from(SAMPLES) | free


@cache
def outputs() -> st.SearchStrategy[str]:
    """What a tool may print: also nothing at all, only blanks, and a great deal."""
    odd = st.sampled_from(("", " ", "\n", "0", "null", "line\n" * 2_000))
    return st.one_of(words(), odd)


@cache
def names() -> st.SearchStrategy[str]:
    """Tool names that every provider takes."""
    return st.sampled_from(NAMES)


@cache
def signatures() -> st.SearchStrategy[str]:
    """Opaque signed text; never read, always kept whole."""
    return st.integers(0, 2**64).map(lambda number: f"Eq{number:x}+/sig==")


@cache
def arguments() -> st.SearchStrategy[dict[str, Any]]:
    """Arguments of a call: a JSON object of any depth that people use."""
    scalar = st.one_of(
        st.none(), st.booleans(), st.integers(-(2**70), 2**70), words(),
        st.floats(allow_nan=False, allow_infinity=False, width=32),
    )  # fmt: skip
    value = scalar | st.lists(scalar, max_size=2) | st.fixed_dictionaries({"deep": scalar})
    optional: dict[str, st.SearchStrategy[Any]] = {"path": words(), "команда": value, "": value}
    usual: tuple[dict[str, Any], ...] = ({}, {"path": "a.py"}, {"q": "né", "limit": 2**65})
    return st.sampled_from(usual).map(dict) | st.fixed_dictionaries({}, optional=optional)


@cache
def argument_texts() -> st.SearchStrategy[str]:
    """Arguments as JSON text: compact, spaced, indented or escaped, as models write them."""
    return st.builds(_dumped, arguments(), st.integers(0, 3))


def _dumped(value: dict[str, Any], form: int) -> str:
    match form:
        case 0:
            return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        case 1:
            return json.dumps(value, ensure_ascii=False)
        case 2:
            return json.dumps(value, indent=2)
        case _:
            return f" {json.dumps(value)}\n"


def chance(draw: st.DrawFn, one_in: int) -> bool:
    """Draw whether something rare happens; hypothesis shrinks towards that it does not."""
    return draw(st.integers(1, one_in)) == one_in


class Ids:
    """Ids in order, none given twice: `prefix1`, `prefix2`, …"""

    def __init__(self, prefix: str) -> None:
        """Start at 1."""
        self._prefix = prefix
        self._numbers = count(1)

    def new(self) -> str:
        """Return the next id."""
        return f"{self._prefix}{next(self._numbers)}"

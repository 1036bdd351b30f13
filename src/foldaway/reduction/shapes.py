"""How lines that tell of a failure look: a literal that finds them, a pattern that confirms them.

Plain search for the literal runs at a gigabyte a second, where a pattern of alternatives does not
reach a tenth of that; the pattern then sees one line.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from foldaway._core import Regex


class Shape(Struct, frozen=True):
    """One way in which a failure is written."""

    sign: str
    """A literal that every such line holds."""
    pattern: Regex[str]
    """What the line must look like beyond that; searched, not matched from the start."""
    follow: Regex[str] = Regex("")
    """What must come right after the sign; spares most source code the look at its line."""


_ERROR = Regex(
    r"^[ \t>│|*-]{0,24}(?:\[[^\]\n]{0,40}\] ?){0,3}"
    r"(?:(?:[\w$]{1,60}\.){0,8}[A-Z]\w{0,60}Error|Error|[Ff]atal error|[Ss]yntax error)"
    r"(?:\[\w{1,12}\]|: |:$|!|$| \[\w{1,40}\]: | (?:from|in|while|when|executing|running|calling"
    r"|response|reading|writing|opening|loading|parsing|occurred|fetching|code|near|\d))"
    r"|^error(?:\[\w{1,12}\]|  ?[A-Z]{1,6}\d{1,6})?: |^\s{0,8}error {2,8}\S"
    r"|^[Ee]rror (?!handling|logging|reporting|checking|wrapping)[a-z]{2,20}ing \S"
    r"|[:)\]-] (?:fatal )?error(?:\[[\w-]{1,40}\]| [A-Z]{1,5}\d{1,6})?: "
    r"|(?:^|[\s:(])(?<!except )(?:\w{1,60}\.){0,6}[A-Z]\w{0,60}Error: \S"
    r"|^\s{1,12}\d{1,7}:\d{1,5}\s{1,8}error\s"
    r"|\blevel=error\b|\[error\]|^npm error |\*\*\* .{0,200}Error \d"
    r"|\\?\"error(?:s|_message|Message|_msg|_code|Code)?\\?\" ?: ?+"
    r"(?!null|\\?\"\\?\"|\[\]|\{\}|false|0\b|[,}]|$)"
    r"|\\?\"(?:status|type|state|level|severity|result|outcome)\\?\" ?: ?\\?\"[Ee]rror"
    r"|<tool_use_error>|<error>|(?:Uncaught|Unhandled) .{0,60}rror"
)
_ERR = Regex(r"(?:^|[\s\[|<:(])(?:ERROR|ERR!?)(?:[\s\]|>:)]|$)(?!\W{0,3}0\b)")
_FAIL = Regex(
    r"(?:^|[\s\[|:>(])(?:FAIL|FAILED|FAILURES?)(?:[\s\]|:!.)=]|$)(?!\W{0,3}(?:0\b|NOT\b))"
)
_FAILED = Regex(
    r"(?:^|[\s\]:>*•-] ?)[Ff]ailed (?:to|with|because|after) "
    r"|^\s{0,8}[Ff]ailed(?:: +(?!0\b)\S| [1-9]| \S{0,200}[/.]\w)"
    r"|\b(?i:build|compilation|command|job|task|tests?|checks?|process|step|install(?:ation)?"
    r"|request|lint|authentication|connection|validation|verification|push|merge|deploy\w{0,6}"
    r"|assertion)(?: [^\s\"']{1,80}){0,8} failed\b"
    r"|(?:^|[^\d.,])[1-9]\d{0,6} (?:\w{1,20} )?failed\b"
    r"|\\?\"(?:status|state|result|outcome|conclusion)\\?\" ?: ?\\?\"[Ff]ail"
)
_EXCEPTION = Regex(
    r"(?:^|[\s:])(?:[\w$]{1,60}\.){0,10}\w{0,60}Exception(?:: \S|:?$| in thread )"
    r"|^Caused by: |(?:Uncaught|Unhandled) .{0,60}xception|^\s{0,8}exception: \S"
)
_DIAGNOSTIC = Regex(
    r"^\s*(?:vet: )?[^\s:\"'()]{1,200}\.\w{1,8}:\d{1,7}:\d{1,5}:? "
    r"(?!warning|note|info|remark|hint)\S"
)
_NOT_FOUND = Regex(
    r": (?:command )?not found\b|\bcommand not found"
    r"|^(?:\W{0,8}\w{0,20}: )?[\w .'\"/@-]{1,100} not found(?:$|[:.;] ?)"
)
_ANY = Regex("")

SHAPES: Final = (
    Shape(
        "rror",
        _ERROR,
        Regex(r"[:\[!\]>\x1b]|s?\\?\"|_|Message|Code| (?:[a-z]|[A-Z]{1,5}\d|\d)|\s|\Z"),
    ),
    Shape("ERR", _ERR),
    Shape("FAIL", _FAIL),
    Shape("ailed", _FAILED, Regex(r" (?:to|with|because|after) |\\?\"|[.,;:!)\x1b]|\s|\Z")),
    Shape("xception", _EXCEPTION),
    Shape("atal", Regex(r"(?:^|[\s\[:(])[Ff]atal(?: error)?[:\]!]")),
    Shape("panic", Regex(r"(?:^|\s)panic: |panicked at")),
    Shape("o such file", Regex(r"\b[Nn]o such file")),
    Shape("command not found", _ANY),
    Shape("ermission denied", Regex(r"(?:^\s*|[:\]] |[a-z] )[Pp]ermission denied")),
    Shape(
        "ailure",
        Regex(r"^\s{0,8}(?:\[[^\]\n]{0,40}\] ?)?[Ff]ailure(?:: \S| (?:in|while|when|to) )"),
    ),
    Shape("ERR_", Regex(r"(?:^|[\s\[])ERR_[A-Z][A-Z_]{1,60}(?:[\s\]:]|$)(?!\s*=)")),
    Shape("not ok ", Regex(r"^\s{0,8}not ok \d")),
)
"""Looked for in the whole of a text."""

END_SHAPES: Final = (
    Shape("not found", _NOT_FOUND),
    Shape("onnection refused", _ANY),
    Shape("borted", Regex(r"^\s{0,8}(?:\S{1,60}: )?[Aa]borted(?:[:!]| \(core|$)")),
    Shape("imed out", _ANY),
    Shape("egmentation fault", _ANY),
    Shape("Killed", Regex(r"(?:^|\s)Killed\s*(?:$|:)")),
    Shape("FATAL", Regex(r"(?:^|[\s\[|:(])FATAL(?:[\s\]|:)]|$)")),
    Shape("CRITICAL", Regex(r"(?:^|[\s\[|:(])CRITICAL(?:[\s\]|:)]|$)")),
    Shape("CONFLICT (", _ANY),
    Shape("[rejected]", _ANY),
    Shape("o space left", _ANY),
    Shape("ndefined reference", _ANY),
)
"""Looked for at the ends of a text only, where the message of a command that died stands."""

GLYPHS: Final = "✗✘✕✖❌×"
"""How test runners mark what failed, at the start of a line."""
GLYPH: Final = Regex(rf"^\s*[{GLYPHS}]\s?\S")

DETAIL_SIGN: Final = "\nE  "
DETAIL: Final = Regex(r"^E {2,}\S")
"""How pytest shows what was wrong."""

DIAGNOSTIC_PLACE: Final = Regex(r":(?<=[A-Za-z]:)\d{1,7}:\d{1,5}:? ")
DIAGNOSTIC: Final = _DIAGNOSTIC
"""`path.go:12:5: message`, which needs no word for error."""

CODE_LINE: Final = Regex(
    r"[+-]?\s*(?:\d{1,7}[\t→:|]?[ \t]*)?(?:(?:except|catch|throws?|raise|import|from|class|def|func"
    r"|fn|function|return|if|elif|else|export|const|let|var|case|public|private|protected|static"
    r"|interface|async|await|assert|expect)\b[ (]|[\w.]{1,80}\((?!\d)|//|/\*|\* |[})@`]"
    r"|\((?!eval\)))"
)
"""Source code that mentions failures; a line that begins so tells of none."""

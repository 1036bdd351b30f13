"""What a rule of the redactor is: data beside its own true and false examples."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

Family: TypeAlias = Literal[
    "vendor", "field", "header", "url", "connection", "command", "prose", "key", "personal",
    "mention",
]  # fmt: skip
"""What a policy switches on and off as a whole."""

Gate: TypeAlias = Literal[
    "any", "real", "mixed", "random", "unnamed", "digest", "password", "bare", "chosen", "given",
    "userinfo", "header", "luhn", "card", "iban", "phone", "ssn", "email", "jwt", "encoded-key",
    "seed", "code", "ticket", "escaped", "basic", "marked", "prefixed",
]  # fmt: skip
"""What a value must be beyond its pattern; `gates.py` holds the functions.

any       nothing more
real      no placeholder (`<token>`, `xxxx`, `your-key-here`, `$VAR`, `***`)
mixed     real, with a digit and a letter
random    real, and as varied as random characters of its length are
unnamed   random, and not put together from words, as names in code are
digest    unnamed, or hexadecimal and as long as keys are
password  real, and no plain word, file name or sentence
bare      password, and neither code nor a literal: for values without quotes
chosen    anything that a person may choose: no label, message, name of a field or placeholder
given     password or chosen: where nothing but a password can stand
userinfo  real or chosen
seed      base32 that is no word: what one-time passwords are made from
code      a number that is neither one digit again and again nor the round one of a setting
ticket    letters and digits, or two groups of capitals
escaped   mostly bytes that are written as `\\x2b`
header    a credential after an authentication scheme, and no word of prose
marked    something random after a word that says what it is
prefixed  a short prefix and a long run of small letters, capitals and digits
others    the check digits or the shape of that kind
"""


class Rule(Struct, frozen=True, kw_only=True):
    r"""One shape of a secret. Found by a literal, then one match at that place, then a gate.

    `pattern` is RE2 syntax (no lookaround, no backreference) over the UTF-8 bytes, one byte a
    character: write ASCII classes, and `[^\x00-\x7f]` for anything else. It is tried once at each
    anchor and reads at most 8 KB from there; RE2 counts no further than `{1000}`.
    """

    kind: str
    """Lower case with hyphens, `github-token`; it stands in the placeholder."""
    family: Family
    anchors: tuple[str, ...]
    """ASCII literals; the pattern is tried where one of them stands. At least two characters, and
    rare in ordinary text: every occurrence costs a try. Without any, the pattern itself is looked
    for everywhere, together with the others of that sort: for shapes that have no literal."""
    pattern: str
    """Starts with the anchor. A group named `value` is what is hidden; without one, all of it."""
    gate: Gate = "real"
    ignore_case: bool = False
    """Whether anchors and pattern match in any case."""
    inside_word: bool = False
    """Whether a letter, digit or underscore may stand directly before the match."""
    open_end: bool = False
    """Whether a letter or digit may stand directly after the match; else it is no match."""
    in_pieces: bool = False
    """Whether the value may go on in further strings or lines, as a JSON Web Token does."""
    before: int = 0
    """How many characters before the anchor the pattern may start, for shapes such as
    `123456:AA…` whose literal is not at the start; the match must reach over the anchor."""
    not_after: str = ""
    """A pattern; where it stands directly before the match on the same line, at most 80 characters
    away, the match is none: `order ` before a number, `Author: ` before an address."""
    needs: str = ""
    """For a rule without anchors: a character that every match has, such as `@`. In a text without
    it the pattern is not looked for."""
    pivot: str = ""
    """For a rule without anchors whose pattern counts along every word, which is slow: the literal
    after the characters that are counted, none of which it has. The rule is found by it."""
    true: tuple[tuple[str, ...], ...]
    """Texts that must be found, cut at the value: text, value, text (, value, text …). Write a
    value as two literals (`"ghp_" "x1…"`), so that no scanner of a host takes it for a real one."""
    false: tuple[str, ...]
    """Texts that must stay as they are; the near misses of this shape."""

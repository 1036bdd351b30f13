"""Whether the surroundings of a field show that its value is a secret.

A word beside a strong name may be a password or code. What is around the field decides: the line of
a settings file, another flag, a call that sets the value, a comparison, the quotes.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from foldaway._core import Regex
from foldaway.redaction.fields import FieldLink, FieldValue
from foldaway.redaction.gates import is_bare_password, is_mixed, is_password
from foldaway.redaction.judge import Check, first_check
from foldaway.redaction.matching import Pattern
from foldaway.redaction.names import (
    ACCESS_WORDS,
    READING_VERBS,
    Sort,
    kind_of,
    sort_of_name,
    words_of,
)
from foldaway.redaction.values import (
    LONGEST,
    SHORTEST,
    SHORTEST_ENTRY,
    describes_password,
    is_human_password,
    is_joined_words,
    is_map_password,
    is_numbered_name,
    is_real,
)

MAX_WORD = 40
"""Longest value that is judged as a word, or as words with hyphens: four of ten letters."""
AROUND = 48
"""How many bytes before and after a string in quotes are looked at."""
LINE_ENDS = (b"", b"\n", b"\r")


def is_secret_by_context(data: bytes, link: FieldLink, look: bytes, value: FieldValue) -> bool:
    """Whether the surroundings show that a value is a secret; `look` is its start."""
    return (
        _is_word_password(data, link, look, value)
        or _is_directive(data, link, look, value)
        or _is_set_password(data, link, look, value)
        or (not value[2] and _is_flag_password(data, link, look))
    )


class WordContext(NamedTuple):
    """A word beside a strong name, and what shows whether the text is code."""

    link: FieldLink
    value: bytes
    quoted: bool
    tight: bool
    """Whether nothing is between name, separator and value: `name=value`."""
    colon: bool
    starts_line: bool
    """Whether the separator is a colon and only blanks or a list's dash are before the name."""
    after: bytes
    """The character after the value; empty at the end of the text."""
    among_flags: bool
    """Whether there is another flag on either side, as in a command."""


def _is_word_password(data: bytes, link: FieldLink, look: bytes, value: FieldValue) -> bool:
    """Whether the surroundings show that a word is a password."""
    if link.compares or len(look) > MAX_WORD:
        return False
    start, end, quoted = value
    if not (look.isalnum() if quoted else is_weak_form(look)):
        return False
    if quoted and describes_password(look):
        return False
    first = link.first
    colon = data[link.end - 1] == ord(":")
    word = WordContext(
        link,
        look,
        quoted,
        tight=link.end == start and data[link.start - 1] not in b" \t",
        colon=colon,
        starts_line=colon and _NAME_STARTS_LINE.search(data, max(0, first - 80), first) is not None,
        after=data[end : end + 1],
        among_flags=(link.mode == "flag" or data.startswith(b"--", first))
        and _is_among_flags(data, first, end),
    )
    return is_weak_password(word)


def _is_among_flags(data: bytes, start: int, end: int) -> bool:
    return (
        _FLAG_AFTER.match(data, end) is not None
        or _FLAG_BEFORE.search(data, max(0, start - 48), start) is not None
    )


_FLAG_AFTER = Regex(rb"[ \t]+(?:\\\r?\n[ \t]*)?--?[A-Za-z]")
_FLAG_BEFORE = Regex(rb"[ \t]--?[A-Za-z][\w-]{0,20}[ =][^\s-][^\s]{0,20}[ \t]+$")
_NAME_STARTS_LINE = Regex(rb"(?:^|[\r\n])[ \t]*(?:- )?[\w.-]*$")


def is_weak_password(word: WordContext) -> bool:
    """Whether a word is a password: not a placeholder, not a type, not code."""
    return first_check(WORD_CHECKS, word).is_secret(word)


def _is_lone_phrase(w: WordContext) -> bool:
    is_lone = (w.tight or (w.colon and w.starts_line)) and w.after in _ENDS
    return is_lone and _is_password(w) and b"_" not in w.value and _is_not_label(w.value)


def _takes_word(w: WordContext) -> bool:
    """Whether a word of this form can be the secret of a field of this name."""
    is_secret = _is_password(w) or (
        w.link.name.lower().endswith("secret") and not w.value.isalpha()
    )
    return is_secret and len(w.value) >= (4 if w.among_flags else 6) and w.link.mode in _WORD_MODES


def _is_lone_word(w: WordContext) -> bool:
    """Whether letters are not a part of code or of a sentence."""
    if w.quoted:
        return not w.value.istitle() and not w.value.isupper()
    if w.link.mode == "assign":
        is_lone = w.starts_line if w.colon else w.tight
        return w.value.islower() and w.after in _ENDS and is_lone
    if w.link.mode == "flag":
        return w.after in _ENDS and w.among_flags
    return w.value.islower() and w.link.mode == "tag"


def _ends_value(w: WordContext) -> bool:
    is_said = w.link.mode == "prose" and w.after in _STOPS
    return w.after in _ENDS or w.link.mode == "tag" or is_said


def _is_password(word: WordContext) -> bool:
    return kind_of(word.link.name) == "password"


def _is_no_keyword(value: bytes) -> bool:
    return value not in _TYPES and _is_not_label(value)


def _is_not_label(value: bytes) -> bool:
    return (_LABEL.after(value) is None or is_joined_words(value)) and is_real(value)


WordCheck: TypeAlias = Check[WordContext]
WORD_CHECKS: tuple[WordCheck, ...] = (
    WordCheck(
        "parameter of a URL, or named value",
        "",
        lambda w: w.link.query or w.link.mode == "named",
        lambda w: len(w.value) >= 4 and _is_not_label(w.value),
    ),
    WordCheck(
        "variable of an environment",
        "",
        lambda w: w.link.name.isupper() and w.tight and w.link.mode == "assign",
        lambda w: w.after in _ENDS and len(w.value) >= 4 and _is_not_label(w.value),
    ),
    WordCheck("words or signs", "", lambda w: not w.value.isalnum(), _is_lone_phrase),
    WordCheck("not for a word", "", lambda w: not _takes_word(w), lambda w: False),
    WordCheck(
        "letters",
        "",
        lambda w: w.value.isalpha(),
        lambda w: _is_lone_word(w) and _is_no_keyword(w.value),
    ),
    WordCheck(
        "letters and digits",
        "",
        lambda w: True,
        lambda w: (w.quoted or _ends_value(w)) and _is_no_keyword(w.value),
    ),
)


def is_weak_form(value: bytes) -> bool:
    """Whether a value looks like a word: letters and digits, joined words, or signs at its end."""
    return value.isalnum() or _SIGNED.match(value) is not None or is_joined_words(value)


_SIGNED = Regex(rb"[A-Za-z0-9]{4,}[!#$%*?@^~]{1,3}$")
_WORD_MODES = frozenset(("assign", "tag", "flag", "prose"))
_ENDS = frozenset((b"", b"\n", b"\r", b" ", b"\t", b"&", b";", b'"', b"'", b"\\", b"^"))
_STOPS = frozenset((b".", b",", b"!", b"?", b")"))
_TYPES = frozenset(
    b"boolean buffer varchar bytearray integer unicode option optional required".split()
)
_LABEL = Pattern(
    r"(?i)pass|pwd|pw[0-9]|secret|token|cred|user|login|value|string|input|prompt|param|field"
    r"|config|environ|result|response|request|default|requir|invalid|incorrect|missing|expire"
    r"|valid|option|null|none|undef|object|array|number|boolean|hash|crypt|hidden|mask|redact"
    r"|sample|fake|dummy|demo|foo|bar[0-9]|enter|type|your|todo|auto|generat|random|manual|vault|file|path|http|text|empty"
    r"|exist|enabled|disabled|change|wrong|correct|match|needed|found|allow|denied|error|false"
    r"|true|sha[0-9]|md5|base64|argon|bcrypt|aes|rsa|arg[0-9]|var[0-9]|key[0-9]|data[0-9]"
)
"""Parts of variables, labels and messages about a password, and not of passwords."""


def _is_flag_password(data: bytes, link: FieldLink, look: bytes) -> bool:
    """Whether a value belongs to a flag: `--auth-token=hunter2secret` is not code."""
    if link.before != b"-" or link.mode != "assign":
        return False
    return (
        data.startswith(b"--", link.first)
        and len(look) >= 6
        and is_mixed(look)
        and not describes_password(look)
        and _FLAG_WORD.match(look) is not None
    )


_FLAG_WORD = Regex(rb"[A-Za-z0-9_!@#$%^&*+-]+$")


def _is_directive(data: bytes, link: FieldLink, look: bytes, value: FieldValue) -> bool:
    """Whether a line is the name of a password and the password: `requirepass …`."""
    if link.mode != "space" or kind_of(link.name) != "password":
        return False
    first = link.first
    return (
        data[value[1] : value[1] + 1] in LINE_ENDS
        and _NAME_STARTS_LINE.search(data, max(0, first - 80), first) is not None
        and is_mixed(look)
        and (is_bare_password(look) or (not link.name.isalpha() and is_password(look)))
    )


class StringContext(NamedTuple):
    """A string in quotes beside a strong name."""

    link: FieldLink
    separator: bytes
    before: bytes
    """A few bytes before the name."""
    after: bytes
    """A few bytes after the closing quote."""


Tie: TypeAlias = Literal["given", "entry", "none"]
"""How a string is tied to a secret name: as its value, as an entry of a map, not at all."""


def _is_set_password(data: bytes, link: FieldLink, look: bytes, value: FieldValue) -> bool:
    """Whether a value is a password that a person has chosen, by what ties it to the name."""
    if len(look) > LONGEST:
        return False
    sort = sort_of_name(link.name, called=link.mode == "call")
    if not sort and not value[2] and kind_of(link.name) == "key":
        sort = "token"
    if not sort or not (value[2] or link.mode in ("assign", "tag", "attr")):
        return False
    first = link.first
    if not value[2]:
        if sort == "token" and not (is_mixed(look) and len(look) >= 6):
            return False
        return not link.compares and is_setting(data, look, link, value[1])
    string = StringContext(
        link,
        separator=data[link.start - 1 : link.end].lstrip(),
        before=data[max(0, first - AROUND) : first],
        after=data[value[1] + 1 : value[1] + AROUND],
    )
    return is_assigned_password(look, sort, string)


def is_assigned_password(value: bytes, sort: Sort, string: StringContext) -> bool:
    """Whether a string beside a strong name is the value that a person has chosen for it."""
    if (sort == "token" and not _is_human_token(value)) or not is_human_password(value):
        return False
    tie = _tie_of(string)
    if tie == "none" or _JOINED.match(string.after) or _TEXTS.search(string.before):
        return False
    given = tie == "given"
    words = words_of(string.link.name)
    match sort:
        case "token":
            pairs = string.link.mode == "pair" and string.link.name.isupper()
            access = len(words) < 2 or words[-2] in ACCESS_WORDS
            is_token = (
                string.link.name.lower().rstrip("_0123456789").endswith("token")
                or _HAS_DIGIT.search(value) is not None
            )
            return given and is_token and (pairs or access)
        case "password":
            if given or (string.link.name.isupper() and b" " in value):
                return words[-1] != "pwd" or b" " not in value
            return is_map_password(value)
        case "secret":
            if given:
                return len(value) > SHORTEST
            return is_map_password(value) and (len(value) > SHORTEST_ENTRY or len(words) > 1)
        case "":
            return False


def _tie_of(string: StringContext) -> Tie:
    if string.link.mode == "assign":
        if string.link.compares:
            return "given"
        if _UNPACKED.search(string.before) and _NEXT_STRING.match(string.after):
            return "none"  # user, password = "bob", "…"
        name_is_quoted = string.before[-1:] in _QUOTES and string.separator[:1] in _QUOTES
        equals = string.separator.rstrip().endswith(b"=")
        return "given" if equals and not name_is_quoted else "entry"
    if string.link.mode == "pair":
        if _SETTER.search(string.before):
            return "given"
        # ("password", "…") and nothing else, or the name of a variable before it
        alone = _TUPLE.search(string.before) and _TUPLE_END.match(string.after)
        return (
            "entry"
            if alone or (_TUPLE.search(string.before) and string.link.name.isupper())
            else "none"
        )
    if string.link.mode == "call":
        return "given" if _is_given_to(string) else "none"
    if string.link.mode == "dash":
        starts = _LINE_BEFORE.search(string.before) and _LINE_AFTER.match(string.after)
        starts = starts or (_DEFINES.search(string.before) and _DEFINED.match(string.after))
        return "entry" if starts else "none"
    return "given" if string.link.mode in ("named", "other") else "none"


def _is_given_to(string: StringContext) -> bool:
    """Whether a call of this name takes a password first: `set_password("…")`."""
    words = words_of(string.link.name)
    # service, user, password
    keeps = not _PAIRED.isdisjoint(words) and _MORE.match(string.after) is not None
    return READING_VERBS.isdisjoint(words) and kind_of(string.link.name) == "password" and not keeps


def _is_human_token(value: bytes) -> bool:
    return len(value) >= 6 and b" " not in value and not value.isalpha()


_HAS_DIGIT = Regex(rb"[0-9]")
_QUOTES = (b'"', b"'", b"`")
_JOINED = Regex(rb"[ \t]{0,4}(?:\+[ \t]{0,4}[A-Za-z_$]|%[ \t]{1,4}[A-Za-z_(]|\.format\(| if )")
"""What follows a string that is joined with others or one of two."""
_TEXTS = Regex(
    rb"(?i)(?:lang|label|message|msg|text|string|translation|error|help|locale|i18n)s?\\?[\[(.]"
    rb"""\\{0,6}["'`]?$"""
)
"""A map of texts, one of which is the label of the password."""
_TUPLE = Regex(rb"""(?:^|[^\w.])[({]\s{0,8}b?\\{0,6}["'`]$""")
_TUPLE_END = Regex(rb"\s{0,8},?\s{0,8}[)}]")
_DEFINES = Regex(
    rb"(?:#[ \t]*define[ \t]+|\((?:setq|defvar|defparameter|define|def)[ \t]+|[ \t({\[]:|\(|\bset["
    rb" \t]+)$"
)
"""What is before a name without a sign between it and its value: C, Lisp, Clojure, Tcl."""
_DEFINED = Regex(rb"[ \t]*(?:[)}\]]|;|,|[\r\n]|$)")
_UNPACKED = Regex(rb"[A-Za-z0-9_], ?[@$]?$")
_NEXT_STRING = Regex(rb"""\s{0,4},\s{0,24}b?\\{0,6}["'`]""")
_PAIRED = frozenset(("set", "user", "username"))
_MORE = Regex(rb"""[ \t]{0,4},[ \t]{0,4}["'`\w]""")
_LINE_BEFORE = Regex(rb"(?:^|[\r\n])[ \t]*$")
_LINE_AFTER = Regex(rb"[ \t]*;?[ \t]*(?:[\r\n]|$)")
_SETTER = Regex(
    rb"(?i)(?:^|[^a-z])(?:[a-z_.]*(?:set|put|add|env|property|default|define|store|update|save|header|append)"
    rb"|(?:environ|config|settings|conf|props?|properties|params?|os)\.(?:get|pop)|\$?env)"
    rb"(?:env|property|default|_?var|_?param|_?option|_?value|_?string|_?config|_?secret|item)?"
    rb"\(\s{0,8}\\{0,6}[\"'`]$|flags?\.string\w{0,4}\((?:&[\w.]{1,32},[ ]?)?\"$"
)
"""A call that takes a name and its value, or a name and its default."""


ABOVE, BELOW = 600, 80
"""How many bytes above and below a line its section and the next setting are looked for."""


def is_setting(data: bytes, value: bytes, link: FieldLink, end: int) -> bool:
    """Whether a word that ends at `end` is a password, since its line cannot be code."""
    if _EDGES.search(value) or not is_human_password(value):
        return False
    if link.mode == "tag":
        return True
    if link.mode == "attr":
        return _NAMED_TAG.search(data, max(0, link.first - BELOW), link.first) is not None
    if link.mode != "assign":
        return False
    separator = data[link.start : link.end]
    before = data[max(0, link.first - BELOW) : link.first]
    after = data[end : end + BELOW]
    if _IN_CONNECTION.search(before) and _CONNECTION_END.match(after):
        return separator == b"="
    if _IN_PAIRS.search(before) and _PAIR_END.match(after):
        return separator == b"="
    if not _SETTING_END.match(after):
        return False
    start = _SETTING_START.search(before)
    if start is None:
        return False
    if separator.strip() == b":":
        return (_LOWER_WORD.match(value) is not None or _is_odd_word(value)) and not start[1]
    if separator.strip() != b"=":
        return False
    if value.startswith(b"!"):
        return _NEXT_SETTING.match(after) is not None or _is_in_section(data, link.first)
    if not _IDENTIFIER.match(value):
        return not _NUMBER.match(value) and not _SUM.search(value)
    return (
        _is_in_section(data, link.first) or _NEXT_SETTING.match(after) is not None or bool(start[1])
    )


def _is_in_section(data: bytes, at: int) -> bool:
    """Whether the heading of a section is above, with nothing but settings between."""
    above = data[max(0, at - ABOVE) : at]
    heads = list(_SECTION.finditer(above))
    return bool(heads) and _CODE_BETWEEN.search(above, heads[-1].end()) is None


def _is_odd_word(value: bytes) -> bool:
    """Whether a word has digits as no type and no variable does."""
    return (
        is_mixed(value)
        and _ODD_WORD.match(value) is not None
        and not _SIZED.match(value)
        and not is_numbered_name(value)
    )


_ODD_WORD = Regex(rb"[a-z0-9][A-Za-z0-9!@#$%^&*+_-]{5,63}$")
_SIZED = Regex(rb"(?:u?int|float|sha|md|utf|base|aes|rsa|ed|uuid|v)_?[0-9]+$")
_NAMED_TAG = Regex(
    rb"""<(?:param|property|prop|entry|setting|arg|string|item|credential)\b[^<>]*["'][\w.-]*$"""
)
_EDGES = Regex(rb"""[\s"'`(){}\[\]<>,;]""")
_SETTING_END = Regex(rb"[ \t]*(?:\r?\n|$)")
_SETTING_START = Regex(rb"(?:^|[\r\n])[ \t]*:?([#;]+[ \t]?)?$")
_IN_CONNECTION = Regex(rb";[ \t]?$|[\w.-]:[0-9]{2,5},(?:[a-zA-Z]+=[\w.]+,){0,4}$")
"""After a semicolon, or after a host and a port: `cache:6380,password=…,ssl=True`."""
_CONNECTION_END = Regex(rb"""[;"']|,[a-zA-Z]+=|$""")
_IN_PAIRS = Regex(rb"(?:^|\s)(?:host|port|user|username|dbname|login)=[^\s,;]+ $")
"""After another pair and a blank, as libpq and logs write them, and code does not."""
_PAIR_END = Regex(rb"""[ \t"'\\\r\n]|$""")
_LOWER_WORD = Regex(rb"[a-z]{4,24}$")
_IDENTIFIER = Regex(rb"[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*$")
_NUMBER = Regex(rb"[\d.+-]+$")
_SUM = Regex(rb"^[^A-Za-z0-9]|[+*/|&=:]|\.\w+-")
_SECTION = Regex(rb"(?:^|\n)[ \t]*\[[\w .:/-]{1,64}\][ \t]*(?=\r?\n)")
_CODE_BETWEEN = Regex(rb"[;{}]|\)[ \t:]*\n|(?:^|\n)[ \t]*(?:def|class|return|import|if|for)\b")
_NEXT_SETTING = Regex(
    rb"[ \t]*\r?\n[ \t]*(?:[\w.]+-[\w.-]+[ \t]*=|[\w.]+[ \t]*=[ \t]*"
    rb"(?:/[\w./-]+|\d+(?:\.\d+){3}[\d.,]*|localhost|[a-z]+://[^\s\"']+|[\w-]+\.[\w.-]+\.[a-z]{2,6})"
    rb"[ \t]*(?:\r?\n|$))"
)
"""The line below is a setting too: a name with a hyphen, a path, an address without quotes."""

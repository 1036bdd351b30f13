"""What a value looks like: how random it is, and whether it only stands in place of a secret.

A value looks random by its classes of characters, its entropy and whether it is pronounceable.
Placeholders, references, labels and messages stand in place of a secret; what is none of these may
be a password that a person has chosen.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from math import log2

from foldaway._core import Regex
from foldaway.redaction.matching import Pattern
from foldaway.redaction.names import FOREIGN_WORDS, LABEL_WORDS, MESSAGE_WORDS, SECRET_LABELS, WORDS

AT_ONCE = 8
"""Size of the caches here: a value is judged several times in a row and then never again."""

_DIGIT = Regex(rb"[0-9]")
_HEX = Regex(rb"^[0-9a-f]+$|^[0-9A-F]+$")


@lru_cache(maxsize=AT_ONCE)
def looks_random(value: bytes) -> bool:
    """Whether letters and digits alternate as in keys, and not as in names and paths."""
    body = value.strip(b"=")[:256]
    size = len(body)
    kinds = body.translate(_KINDS)
    digits = kinds.count(1)
    if digits < 2:
        # of 62 random characters every second one is of another class than the one before
        return (
            size >= 16
            and kinds.count(2) >= 4
            and kinds.count(3) >= 4
            and (_switches(kinds) >= size * 0.38 and _is_as_varied(body))
        )
    long = [piece for piece in body.translate(JOINTS).split() if len(piece) >= 16]
    if any(map(is_in_order, long)):
        return _is_as_varied(body)
    if _HEX.match(body):
        return digits < size and _switches(kinds) >= size * 0.2 and _is_as_varied(body)
    return _switches(kinds) >= max(4, size * 0.24) and (
        not is_numbered_name(body) and _is_as_varied(body)
    )


def is_in_order(value: bytes) -> bool:
    """Whether a value is typed in the form of a key: `abcdef1234567890`, but no whole alphabet."""
    if not (len(value) >= 16 and value.isalnum()) or value.isalpha() or value.isdigit():
        return False
    if value.startswith(b"0x"):
        return False
    lowered = value.lower()
    steps = sum([b - a in _NEXT for a, b in pairwise(lowered)])
    return steps >= len(value) * 0.6 and _ALPHABET not in lowered


_NEXT = frozenset((-1, 1, ord("0") - ord("9"), ord("9") - ord("0")))
_ALPHABET = b"abcdefghijklmnopqrstuvwxyz"


@lru_cache(maxsize=AT_ONCE)
def is_unspeakable(value: bytes) -> bool:
    """Whether the letters of a value follow each other as they do in no word."""
    if len(value) < 8 or not value.isalnum() or _is_identifier(value):
        return False
    lowered = value.lower()
    letters = lowered.translate(None, b"0123456789")
    if len(letters) >= max(12, len(value) * 0.6) and rare_share(letters) >= 0.2:
        return not _is_alphabet(letters)
    if value.islower() or value.isupper():
        return False
    if len(letters) == len(value) and rare_share(letters) >= 0.3:
        return True
    longest = max(map(len, _CONSONANTS.findall(lowered)), default=0)
    if longest >= 5 or (longest == 4 and _DIGIT.search(value) is not None):
        return True
    return _switches(value.translate(_KINDS)) >= len(value) * 0.5


def _is_alphabet(lowered: bytes) -> bool:
    """Whether many letters are each the next one of the alphabet, or the same again."""
    steps = [b - a in (0, 1) for a, b in pairwise(lowered)]
    return sum(steps) > len(steps) * 0.4


def _is_identifier(value: bytes) -> bool:
    """Whether letters are words written together: `skipTLSVerify`."""
    words = _CAMEL.findall(value) if value.isalpha() else []
    return 1 < len(words) <= len(value) / 4 and not any(
        len(run) > 3
        for word in words
        if not word.isupper()
        for run in _CONSONANTS.findall(word.lower())
    )


_CAMEL = Regex(rb"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_CONSONANTS = Regex(rb"[b-df-hj-np-tv-xz]+")


@lru_cache(maxsize=AT_ONCE)
def is_named(value: bytes) -> bool:
    """Whether most letters belong to words, as in what code calls things: `Ed25519PrivateKey`."""
    if value.isalnum() and (value.islower() or value.isupper()):
        return False
    if any(map(_is_body, value.translate(JOINTS).split())):
        return False
    words = _CAMEL.findall(value)
    spoken = [w for w in words if len(w) > 2 and _SPOKEN.search(w) and not _MUTE.search(w.lower())]
    letters = sum(map(len, spoken))
    return letters >= 0.7 * sum(map(len, words)) and any(len(word) > 4 for word in spoken)


def _is_body(piece: bytes) -> bool:
    """Whether a piece between separators is random by itself, in letters of one case."""
    return len(piece) >= 20 and (piece.islower() or piece.isupper()) and looks_random(piece)


_SPOKEN = Regex(rb"[aeiouyAEIOUY]")
_MUTE = Regex(rb"[b-df-hj-np-tv-xz]{4}|^[b-df-hj-np-tv-xz]{3}|[aeiou]{3}")


def _is_as_varied(value: bytes) -> bool:
    """Whether a value has the entropy of a random one; the count of characters mostly decides."""
    size = len(value)
    bits = min(3.0, 0.75 * log2(size))
    most = size - len(set(value)) + 1
    return log2(size) - _N_LOG_N[most] / size >= bits or entropy(value) >= bits


def entropy(value: bytes) -> float:
    """Return the bits a character of up to 256, by the counts of its own characters."""
    size = len(value)
    return log2(size) - sum([_N_LOG_N[value.count(c)] for c in set(value)]) / size


_N_LOG_N = (0.0, *(n * log2(n) for n in range(1, 257)))


_KINDS = bytes(
    1 if 48 <= c < 58 else 2 if 97 <= c < 123 else 3 if 65 <= c < 91 else 4 for c in range(256)
)
"""Digit, small letter, capital, anything else; as a table, since every value is looked up in it."""


def _switches(kinds: bytes) -> int:
    """Return how often a byte differs from the one before it: all pairs at once, as two numbers."""
    pairs = max(0, len(kinds) - 1)
    differing = int.from_bytes(kinds[1:], "big") ^ int.from_bytes(kinds[:-1], "big")
    return pairs - differing.to_bytes(pairs, "big").count(0)


def is_numbered_name(value: bytes) -> bool:
    """Whether the pieces between separators are words or numbers: `my-app-2024-v1`."""
    pieces = value.translate(JOINTS).split()
    if len(pieces) < 2 or _ODD.search(value):
        return False
    odd = sum(
        len(p)
        for p in pieces
        if not (p.isdigit() and len(p) < 9) and not p.isalpha() and not _VERSION.match(p)
    )
    long = any(len(p) >= 12 and looks_random(p) for p in pieces)
    return not long and odd < len(value) * 0.45


JOINTS = bytes.maketrans(b"-_./:+", b"      ")
_ODD = Regex(rb"[#!^*&%]")
"""Signs that names do not have."""
_VERSION = Regex(rb"(?i)^(?:v?\d{1,4}[a-z]{0,2}|[a-z]{2,12}\d{1,4})$")


def rare_share(letters: bytes) -> float:
    """Return the share of pairs in these lower-case letters that are rare in words."""
    return sum([pair in _PAIRS for pair in pairwise(letters)]) / max(1, len(letters) - 1)


_PAIRS = frozenset(
    (ord(first), ord(second)) for first, *after in WORDS["rare_pairs"] for second in after
)
"""Pairs of letters that are rare in words, listed as a letter and those after it: each is less
than 0.03 % of the pairs in 20,646 distinct words of source code, logs and dialogue. They are 45 %
of the pairs of random letters and 4 % of the pairs in words."""


# What stands in place of a secret


@lru_cache(maxsize=AT_ONCE)
def is_real(value: bytes) -> bool:
    """Whether a value is neither a placeholder nor a reference nor a filler."""
    if b"\x00" in value or len(value) < 4 or value.lower() in _LITERALS:
        return False
    if _STAND_IN.match(value):
        return False
    value = _strip_ellipsis(value)
    if _FILLER.after(value) and (
        _SIGN.after(value) or not any(map(_is_random_run, _RUN.findall(value)))
    ):
        return False
    varied = len(set(value.lower()))
    return varied > 2 or (varied == 2 and len(value) < 6)


def _strip_ellipsis(value: bytes) -> bytes:
    """Strip a trailing ellipsis from a truncated value if enough of it remains."""
    if not value.endswith(_ELLIPSES):
        return value
    cut = _TRUNCATED.match(value)
    return cut[1] if cut and len(cut[1]) >= MIN_TRUNCATED and looks_random(cut[1]) else value


MIN_TRUNCATED = 20
"""Shortest rest of a truncated secret that is worth hiding."""
_ELLIPSES = (b"...", b"\xe2\x80\xa6", b"...\n", b"\xe2\x80\xa6\n")
_TRUNCATED = Regex(rb"(?s)(.*?)(?:\.{3}|\xe2\x80\xa6)$")


def _is_random_run(run: bytes) -> bool:
    """Whether a run of letters and digits is the body of a key, whatever words surround it."""
    return len(run) >= BODY and looks_random(run)


BODY = 32
"""Shortest random run that makes a value real in spite of a placeholder word in it."""
_RUN = Regex(rb"[A-Za-z0-9]+")
_WORDS = (
    r"(?:^|[^a-z0-9])(?:your|my[_-]?(?:api|secret|key|token|pass)|example|placeholder|redacted"
    r"|masked|hidden|removed|replace[_-]?(?:me|this|with)?|insert|dummy|fake|goes[_-]?here|here"
    r"|todo|fixme|secret[_-]?(?:value|key|token)|foo(?:bar)?|lorem|token[_-]?here|not[_-]?set"
    r"|unset|encrypted)(?:[^a-z]|$)"
)
_SIGNS = (
    r"(?:^|[^a-z])(?:x{4,}|\*{3,}|\.{3,})(?:[^a-z]|$)|^change[_-]?me$"
    r"|(?:^|[=:])%[sdqvrx]$|example(?:key)?=*$|(?-i:^EXAMPLE)|\.\.\.$|^\.\.\.|\xe2\x80\xa6"
    r"|\\[swdb][*+?{)\]]|\[\^?(?:a-|0-|\\)|\(\?[:=!<p]|0-9a-z|a-z0-9|a-za-z"
    r"|\$\{[a-z_][\w.]*(?:\([^{}]*\)[\w.()' ]*)?\}|\{[a-z_]+\.[a-z_]+\}"
)
_FILLER = Pattern(f"(?i){_WORDS}|{_SIGNS}")
_SIGN = Pattern(f"(?i){_SIGNS}")
_STAND_IN = Regex(
    rb"""(?isx)
    ^ (?: \$[a-z_][a-z0-9_]*$ | \$\{[^}]*\} | \$\( | \{\{ | \{% | %\( | %[a-z_]+%$ | %[sdrv]$
      | <[^<>]*>?$ | \#\{ | @@ | __[a-z_]+__$ | \{[a-z_.]*\}$ | \[.*\]$ | !!?[a-z]+$ | &[a-z]+;?$
      | \*[a-z_]+$ | \(.*\)$ | (?:sha(?:1|224|256|384|512)|md5|h1)[:=-][a-z0-9+/=]{16,}$
      | \$ansible_vault;
      | [^a-z0-9]*$ | \#[0-9a-f]{3,8}$ | \*\*[0-9]{1,5}\*\*$ | [a-z]+:\\*"[\w,-]*\\*"$
      | (?-i:[a-z_]++(?:["'][a-z_]*+)?[=:]$) | (?-i:ENC\[[A-Z0-9_]+(?:,|$)) | (?-i:[a-z]+>$)
    )
    """
)
_LITERALS = frozenset(word.encode() for word in WORDS["literal"])


def is_reference(value: bytes) -> bool:
    """Whether a value points to a secret or names its type: a key store, a class, a file."""
    found = _POINTER.match(value)
    return found is not None and (found[1] is None or not looks_random(value))


_POINTER = Regex(
    rb"""(?x)
      (?: urn | pkcs11 | spiffe | did | ref | secretref | secretsmanager | ssm | keyring | awskms
        | azurekeyvault | gcpkms | kms | classpath | resource ) : \S
    | \#/ [\w/.-]+ $                                            # within a document
    | ( [A-Za-z_]\w* (?: \. [A-Za-z_]\w* )+ : [A-Za-z_][\w.]* ) $   # a class of a module
    | [A-Z][A-Za-z0-9]* (?: :: [A-Z][A-Za-z0-9]* )+ $           # a type
    | (?i: aes | 3?des | rsa | ecdsa | ec | sha | chacha | camellia | blowfish | [hrep]s )
      -? [0-9]{1,4} (?: [-_][A-Za-z0-9]{1,12} )* $              # an algorithm
    | [^\s,]* ,/ [\w./-]+ ,                                     # a file of passwords and its realm
    | [\w./-]* \. ht(?:passwd|digest) $
    | \{ [A-Za-z_][\w.]* [(\[]                                # an expression in a string
    """
)


SHORTEST, LONGEST = 3, 80
"""Length of a password that a person has chosen, in bytes."""
SHORTEST_ENTRY = 4
"""The same as an entry of a map, where labels and types are found too."""
MOST_WORDS = 8
"""From this number of words on a value is a sentence."""


@lru_cache(maxsize=AT_ONCE)
def is_human_password(value: bytes) -> bool:
    """Whether a value can be a password that a person has chosen: any string but the others."""
    if not SHORTEST <= len(value) <= LONGEST or value.count(b" ") >= MOST_WORDS:
        return False
    if not _LETTER.search(value) or describes_password(value) or _ADDRESS.match(value):
        return False
    if is_reference(value):
        return False
    if len(value) == SHORTEST:
        return value.isalnum() and len(set(value)) > 1
    return is_real(value) or _has_foreign_letters(value)


def _has_foreign_letters(value: bytes) -> bool:
    """Whether a value has letters beyond ASCII, and not only the dots of a mask."""
    return not value.isascii() and all(map(str.isalpha, value.decode("utf-8", "replace")))


def is_map_password(value: bytes) -> bool:
    """Whether the value of an entry of a map can be one: names, titles and sentences are not."""
    if len(value) < SHORTEST_ENTRY or not is_human_password(value):
        return False
    if b" " in value:
        return value.islower() and _PHRASE.match(value) is not None
    return not _TITLE.match(value) and (not _IDENTIFIER.match(value) or is_joined_words(value))


def is_joined_words(value: bytes) -> bool:
    """Whether a value is joined words that are not about a password; a third may be of labels."""
    if not _JOINED_WORDS.match(value):
        return False
    words = value.lower().decode("ascii").replace("_", "-").split("-")
    labels = LABEL_WORDS.intersection(words)
    return len(labels) <= len(words) // 3 and SECRET_LABELS.isdisjoint(labels)


@lru_cache(maxsize=AT_ONCE)
def describes_password(value: bytes) -> bool:
    """Whether a value is a label, a message, a type or a rule about a password."""
    if _LABEL_OR_FOREIGN.after(value) is not None and (
        _NUMBER.search(value) is None or _FOREIGN.after(value) is not None
    ):
        return True
    return b" " in value and _MESSAGE.after(value) is not None


def is_remark(name: str, value: bytes) -> bool:
    """Whether a value says that it is not a secret: a rule, a message, a version, its own name."""
    if value.isalnum():
        return False
    if (
        describes_password(value)
        or _POINTS.match(value)
        or (b" " in value and name.lower() == "pwd")
    ):
        return True
    return value.rstrip(b"0123456789").lower() == name.lower().encode("latin-1")


_LETTER = Regex(rb"[A-Za-z0-9\x80-\xff]")
_NUMBER = Regex(rb"(?i)(?<!sha)(?<!aes)(?<![0-9])[0-9]{3}")
_LABEL_SOURCE = (
    rf"(?:(?:{'|'.join(sorted(LABEL_WORDS))})"
    r"|[ _.,:;|=?!'/()<>\[\]-]|[0-9]|\b[as]\b)+"
)
_MESSAGE = Pattern(rf"(?i)(?:^|[^a-z])(?:{'|'.join(sorted(MESSAGE_WORDS))})(?:[^a-z]|$)")
_FOREIGN_SOURCE = rf"(?:[^\W\d]|[ \x80-\xff:])*(?:{FOREIGN_WORDS})(?:[^\W\d]|[ \x80-\xff:])*"
_FOREIGN = Pattern(rf"(?i)^{_FOREIGN_SOURCE}$")
_LABEL_OR_FOREIGN = Pattern(rf"(?i)^(?:{_LABEL_SOURCE}|{_FOREIGN_SOURCE})$")
"""Both in one pattern: most values are neither."""
_ADDRESS = Regex(
    rb"""(?ix)
    (?: [a-z][a-z0-9+.-]*:// | \{\w+\} | \.{0,2}/[\w.-]* (?:/|$) | ~/ | [a-z]:\\ | arn: | env/
      | [\^~<>=]{0,2} v?\d+ \. \d+ [\w.+-]* $          # a version
      | \d+ / [a-z]                                    # a rate
      | [a-z_]\w* (?: \. [a-z_]\w* )+ $                # a path of modules
      | (?-i: [A-Z]+ (?: _ [A-Z0-9]+ )+ $ )            # the name of a variable
      | [?&] [\w.]+ =
    )
    """
)
_POINTS = Regex(
    rb"[\^~<>=]{0,2}v?\d+\.\d+(?:\.\d+)?$|\d+/[a-z]+(?:/[a-z]+)?$|(?:env|file|vault|ssm|op)[:/]"
    rb"|[?&][\w.]+=$|(?:\\x[0-9a-fA-F]{2}){1,3}$"
)
"""Versions, rates, the location of a secret, the start of a query, a byte or two."""
_JOINED_WORDS = Regex(rb"[A-Za-z]{3,16}(?:[-_][A-Za-z]{3,16}){1,3}$")
_PHRASE = Regex(rb"[a-z\x80-\xff]+(?: [a-z\x80-\xff]+){1,5}$")
_TITLE = Regex(rb"(?:[A-Z]|\xc3[\x80-\x9e])[a-z\x80-\xff]*$|[A-Z]+$")
_IDENTIFIER = Regex(rb"[A-Za-z]+(?:[-_./:][A-Za-z]+)+[:.,?]?$|[a-z]+(?:[A-Z][a-z]+)+$|[a-zA-Z]+:$")

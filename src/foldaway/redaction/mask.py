"""Placeholders: what replaces a secret in a text, so that JSON stays JSON; and the way back.

The vault is a local memory of what was hidden, for callers who may see it again.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b
from typing import AnyStr

from foldaway._core import Regex
from foldaway.redaction.policy import DEFAULT_KEY
from foldaway.redaction.text import LINE, PLACEHOLDER, PRIVATE_KEY

_UNTAGGED = frozenset((PRIVATE_KEY, LINE))
PUBLIC_TAG_BYTES = 2
TAG_BYTES = 4


def placeholder(kind: str, secret: bytes, key: str) -> bytes:
    """Return `[redacted:kind:tag]`; the same secret under the same key gets the same tag.

    It holds no quote, backslash or control character, so it is safe inside any JSON string.
    """
    if kind in _UNTAGGED:
        return f"[redacted:{kind}]".encode()
    size = PUBLIC_TAG_BYTES if key == DEFAULT_KEY else TAG_BYTES
    tag = blake2b(secret, digest_size=size, key=_keyed(key)).hexdigest()
    return f"[redacted:{kind}:{tag}]".encode()


@lru_cache(maxsize=16)
def _keyed(key: str) -> bytes:
    return blake2b(key.encode("utf-8", "surrogatepass"), digest_size=32).digest()


class Dressing:
    r"""Dresses placeholders so that JSON stays JSON.

    In JSON a secret outside of a string can only be a number. If it is hidden, the placeholder
    needs its own quotes, escaped as often as those around it: `{"pan": 4…}`, `"{\"pan\": 4…}"`.
    """

    def __init__(
        self, data: bytes, *, from_line_start: bool = True, floor: int = 0, inside: bool = False
    ) -> None:
        """Take a text, or one that starts within a line and was given out up to `floor`.

        `inside`: whether a string of JSON is open there.
        """
        self._data = data
        self._floor = floor
        self._inside = inside
        self._started = False
        self._at = 0
        self._open: list[int] = []
        self._last = 0
        self._whole = from_line_start

    def dressed(self, mask: bytes, start: int, end: int) -> bytes:
        """Return the placeholder as it must stand in place of `data[start:end]`."""
        data = self._data
        if data[start:end].strip(b"0123456789.eE+-"):
            quote = _OBJECT.match(data, max(0, start - 1), end + 1)
            return mask if quote is None else quote[1] + mask + quote[1] + b": " + quote[1] * 2
        before = _BEFORE.match(data[max(0, start - 64) : start][::-1])
        after = _AFTER.match(data, end, end + 64)
        if before is None or after is None:
            return mask
        quote = self._quote_at(start)
        if quote is None:  # the start of the line is out of sight: a key before it tells as much
            quote = before[1] and before[1][::-1]
        return b"0" if quote is None else quote + mask + quote

    def hidden_lines(self, start: int, end: int) -> bytes:
        """Return what must stand in place of lines that are hidden as a whole."""
        return hidden_lines(self._data[start:end], inside=self.is_inside_string(start))

    def is_inside_string(self, at: int) -> bool:
        """Whether a string of JSON is open at `at`, which is not before the floor."""
        line = self._data.rfind(b"\n", self._floor, at)
        if line >= 0:
            return is_inside_string(self._data[line + 1 : at])
        return is_inside_string(self._data[self._floor : at], inside=self._inside)

    def _quote_at(self, at: int) -> bytes | None:
        """Return the quote that a value needs here; empty within a string, `None` if unknown."""
        data = self._data
        line = data.rfind(b"\n", self._at, at)
        if line >= 0 or not self._started:
            self._started = True
            self._at = line + 1
            self._open.clear()
            self._last = 0
            self._whole = self._whole or line >= 0
        if not self._whole:
            return None
        for quote in _QUOTE.finditer(data, self._at, at):
            self._turn(_depth(len(quote.group()) - 1))
        self._at = at
        if not self._open:
            return b'"'
        return b"\\" * ((1 << self._last) - 1) + b'"' if self._last > self._open[-1] else b""

    def _turn(self, depth: int) -> None:
        """Follow one quote: it closes the string that one of its depth has opened, or opens one."""
        while self._open and self._open[-1] > depth:
            self._open.pop()
        if self._open and self._open[-1] == depth:
            self._open.pop()
        else:
            self._open.append(depth)
        self._last = depth


def _depth(backslashes: int) -> int:
    r"""Return how often a quote is escaped: `"`, `\"`, `\\\"`, after any escaped backslashes."""
    depth = 0
    while backslashes >> depth & 1:
        depth += 1
    return depth


_BEFORE = Regex(rb"""\s*(?::\s*(["']\\*)|[\[,]|$)""")
"""What stands before a value in JSON, read backwards."""
_AFTER = Regex(rb"\s*(?:[,\]}]|\\n|$)")
_OBJECT = Regex(rb"""(?s)\{(?:\s|\\{1,6}[nrt])*+(\\{0,6}["']).*\}\Z""")
"""All that stands between two braces, which has a name and a value."""
_QUOTE = Regex(rb'\\*"')


HIDDEN_LINE = b"[redacted:line]"
"""Replaces lines that are hidden as a whole."""

_STRING = rb'"(?:[^"\\\n]|\\[^\n])*+"'
_SCALAR = _STRING + rb"|-?[0-9][0-9.eE+-]*+|true|false|null"
_WHOLE = Regex(rb"(?:[\s{}\[\],:]++|" + _SCALAR + rb')*+("(?:[^"\\\n]|\\[^\n])*+\\?)?')
_ADJACENT = Regex(rb"[^\s{}\[\],:][ \t]++[^\s{}\[\],:]")
"""Two values with only a blank between them: numbers in a log, not JSON."""
_STRINGS = Regex(_STRING)
_NUMBERS = Regex(rb"-?[0-9][0-9.eE+-]*+")
_REST = Regex(rb'(?:[^"\\\n]|\\[^\n])*+\\?')
_ESCAPES = Regex(rb"(?s)\\.")


def hidden_lines(data: bytes, *, inside: bool) -> bytes:
    """Return the replacement of lines that are hidden; `inside`: they start in a JSON string.

    It is one placeholder, except that lines of JSON keep their structure, with a placeholder in
    each. The first may start and the last may end in the middle of a string.
    """
    lines = data.split(b"\n")
    structures = [
        _structure(line, inside=inside and number == 0) for number, line in enumerate(lines)
    ]
    if not any(structures):
        return HIDDEN_LINE
    return b"\n".join([HIDDEN_LINE if one is None else one for one in structures])


def is_inside_string(data: bytes, *, inside: bool = False) -> bool:
    """Whether a line of JSON is within a string after `data`, given whether it was before."""
    plain = _ESCAPES.sub(b"", data) if b"\\" in data else data
    return inside != bool(plain.count(b'"') & 1)


def _structure(line: bytes, *, inside: bool) -> bytes | None:
    """Return a line of JSON with empty strings; `None` if it is not JSON."""
    if not line.strip():
        return line
    before = b""
    if inside:
        end = _match(_REST, line).end()
        if end == len(line):
            return HIDDEN_LINE
        before, line = HIDDEN_LINE + b'"', line[end + 1 :]
    whole = _match(_WHOLE, line)
    if whole.end() < len(line):
        return None
    closed = line if whole[1] is None else line[: whole.start(1)]
    empty = _STRINGS.sub(b'""', closed)
    if _ADJACENT.search(empty.replace(b'""', b"0")):
        return None
    empty = _NUMBERS.sub(b"0", empty)
    if not before:
        mark = b'"' + HIDDEN_LINE + b'"'
        if b'""' in empty:
            empty = empty.replace(b'""', mark, 1)
        elif b"0" in empty:
            empty = empty.replace(b"0", mark, 1)
    return before + empty + (b"" if whole[1] is None else b'"' + HIDDEN_LINE)


def _match(pattern: Regex[bytes], text: bytes) -> re.Match[bytes]:
    found = pattern.match(text)
    assert found is not None  # both can be empty
    return found


class Vault:
    """Maps placeholders back to secrets, in this process only; nothing is ever written.

    A placeholder that stood for two different secrets restores to neither. A number that JSON
    forced into quotes loses them again, unless the same secret stood in quotes elsewhere.
    """

    def __init__(self) -> None:
        self._secrets: dict[str, bytes | None] = {}
        self._longer: dict[str, list[str]] = {}
        self._quoted: set[str] = set()

    def put(
        self, mask: str, secret: str | bytes, dressed: str = "", *, quoted: bool = False
    ) -> None:
        """Remember what `mask` stands for, or all of `dressed`, which has the mask in it.

        `quoted` says that the secret stood in quotes of its own.
        """
        secret = secret.encode("utf-8", "surrogatepass") if isinstance(secret, str) else secret
        if dressed and dressed not in self._secrets:
            self._longer.setdefault(mask, []).append(dressed)
        if quoted:
            self._quoted.add(mask)
        for key in (dressed, mask) if _is_in_quotes(dressed, mask) else (dressed or mask,):
            if self._secrets.setdefault(key, secret) != secret:
                self._secrets[key] = None

    def restore(self, text: AnyStr) -> AnyStr:
        """Return `text` with the secrets back in place of the placeholders that are known.

        Of bytes, as a stream gives them, it makes bytes. In a text a secret that is no UTF-8 has
        its odd bytes as `surrogateescape` writes them.
        """
        if isinstance(text, bytes):
            return self._restored(text)
        data = self._restored(text.encode("utf-8", "surrogatepass"))
        try:
            return data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return data.decode("utf-8", "surrogateescape")

    def _restored(self, data: bytes) -> bytes:
        pieces: list[bytes] = []
        last = 0
        for ((start, end),) in PLACEHOLDER.all(data):
            mask = data[start:end].decode()
            for dressed in self._longer.get(mask, ()):
                if mask in self._quoted and _is_in_quotes(dressed, mask):
                    continue
                first = start - len(dressed[: dressed.index(mask)].encode())
                if first >= last and data.startswith(dressed.encode(), first):
                    mask, start, end = dressed, first, first + len(dressed.encode())
                    break
            secret = self._secrets.get(mask)
            if secret is not None:
                pieces += (data[last:start], secret)
                last = end
        return b"".join((*pieces, data[last:]))

    def __len__(self) -> int:
        """How many placeholders can be restored."""
        return len(
            {key.strip("\\\"'") for key, secret in self._secrets.items() if secret is not None}
        )

    def __repr__(self) -> str:
        """Show the size and no content."""
        return f"Vault({len(self)} secrets)"


def _is_in_quotes(dressed: str, mask: str) -> bool:
    """Whether a placeholder stands alone in quotes: that of a number, which had none."""
    return bool(dressed) and dressed.strip("\\\"'") == mask

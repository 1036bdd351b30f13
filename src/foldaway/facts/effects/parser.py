"""A parser for shell command lines, as far as effects on files need it."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from msgspec import Struct

from foldaway._core import Regex


class Variable(Struct, frozen=True, gc=False):
    """`$name` or `${name}`; unquoted, its value splits at blanks."""

    name: str
    quoted: bool


class Output(Struct, frozen=True, gc=False):
    """`$(…)` that is one command; its value is known if that command prints a heredoc."""

    command: Command


Piece: TypeAlias = str | Variable | Output | None
"""Part of a word; None where the value cannot be known."""


class Compound(Struct, frozen=True, gc=False):
    """A word that is not plain text."""

    pieces: tuple[Piece, ...]


Word: TypeAlias = str | Compound


class Redirect(Struct, gc=False):
    """`>`, `>>`, `<` with a target, or `<<` with a body. Only the parser fills the body in."""

    operator: Literal[">", ">>", "<", "<<"]
    target: Word
    body: str = ""


class Command(Struct, gc=False):
    """A simple command as written, reserved words and assignments in front included."""

    words: list[Word]
    redirects: list[Redirect]


class Scope(Struct, frozen=True, gc=False):
    """The edge of a subshell: a change of directory does not leave it."""

    opens: bool


class Background(Struct, frozen=True, gc=False):
    """What stood before a `&`."""

    text: str


Item: TypeAlias = Command | Scope | Background


PLAIN = r"(?:[^ \t\r\n'\"\\$`|&;<>()]++|'[^']*+'|\"[^\"\\$`]*+\"|\\[^\r\n])++"
"""A word, or its beginning, that holds no expansion."""
_QUOTED = Regex(r"'([^']*+)'|\"([^\"]*+)\"|\\(.)", re.S)
_ESCAPED = Regex(r"\\([$`\"\\]|\r?\n)")


def unquote(raw: str) -> str:
    """Return the value of a plain word."""
    first = raw[0]
    if first in "'\"" and raw.find(first, 1) == len(raw) - 1:
        return raw[1:-1]
    if "'" in raw or '"' in raw or "\\" in raw:
        return _QUOTED.sub(_inner, raw)
    return raw


def unescape_double(text: str) -> str:
    """Return the value of what stands between double quotes, without expansions."""
    return _ESCAPED.sub(_escaped, text) if "\\" in text else text


def _inner(found: re.Match[str]) -> str:
    return found[found.lastindex or 0]


def _escaped(found: re.Match[str]) -> str:
    return found[1] if found[1] in '$`"\\' else ""


MAX_TOKENS = 100_000
"""Where a command has more words and operators than this, the rest is not read."""
_MAX_DEPTH = 12
"""Nested substitutions that are read; chosen, it bounds recursion."""
_ENDS = frozenset(("", " ", "\t", "\r", "\n", "|", "&", ";", "<", ">", "(", ")"))
_STARTS = frozenset("'\"$`\\")
_PAIRS = frozenset(("&&", "||", "|&", ";;"))
_TOKEN = Regex(rf"(?:[ \t\r]|\\\r?\n)*+({PLAIN})?+((?s:.?))")
_PLAIN = Regex(PLAIN)
_REDIRECT = Regex(r"&>>?|>>|>\||>&|<<<|<<-|<<|<>|<&|[<>]")
_NO_FILE = frozenset(("<&", "<>", "<<", "<<-"))
_BEFORE_GROUP = frozenset(("if", "then", "else", "elif", "do", "!", "{", "while", "until", "time"))
_NO_ARGUMENTS = Regex(r"\([ \t]*\)")
_PARENTHESES = Regex(r"[()]")
_NAME = Regex(r"[A-Za-z_][A-Za-z0-9_]*")
_BRACED = Regex(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_DOUBLE = Regex(r'(?:[^"\\$`]++|\\.)*+', re.S)
_UNREAD = Regex(r"'(?:[^'\\]++|\\.)*+'?|`(?:[^`\\]++|\\.)*+`?", re.S)
"""`$'…'` and backticks: their values are not known here."""
_OPEN, _CLOSE = Scope(opens=True), Scope(opens=False)
_EDIT_END = "\nend_of_edit"


def parse(text: str) -> list[Item]:
    """Return the commands of a shell text, those inside `$(…)`, `(…)` and loops among them.

    Never raises and is linear: what is not closed reaches to the end, what is nested too deeply
    is passed over, and reading stops at `MAX_TOKENS`. Bodies of heredocs are not commands.
    """
    parser = _Parser(text, 0, [])
    parser.commands("")
    return parser.items


class _Line:
    """The command that is being read, and where its list began."""

    __slots__ = ("in_case", "list_at", "list_item", "outer", "redirects", "testing", "words")

    def __init__(self, at: int, item: int) -> None:
        self.words: list[Word] = []
        self.redirects: list[Redirect] = []
        self.testing = False  # inside [[ … ]], where < and > compare
        self.in_case = False  # where the next ) ends a pattern of `case`
        self.list_at = at
        self.list_item = item
        self.outer: list[tuple[int, int]] = []  # the lists around the open parentheses


class _Parser:
    __slots__ = ("dead_ends", "depth", "items", "left", "pending", "pos", "size", "text")

    def __init__(self, text: str, depth: int, items: list[Item]) -> None:
        self.text = text
        self.size = len(text)
        self.pos: int = 0
        self.depth = depth
        self.left = MAX_TOKENS
        self.items = items
        self.pending: list[tuple[Redirect, str, bool]] = []
        self.dead_ends: set[str] = set()

    def commands(self, close: Literal["", ")"]) -> None:
        """Read up to the end, or up to and with the `)` that closes this list."""
        text, token = self.text, _TOKEN.match
        line = _Line(self.pos, len(self.items))
        while self.left > 0:
            found = token(text, self.pos)
            assert found is not None  # the pattern matches the empty text
            raw, after = found.groups()
            if raw is not None and after in _ENDS:
                self.pos = found.start(2)
                if after == ">" or after == "<" or raw[0] in "#[]{ei":
                    self._odd_word(line, raw, after)
                else:
                    line.words.append(unquote(raw))
                self.left -= 1
            elif raw is not None or after in _STARTS:
                self.pos = found.start(2 if raw is None else 1)
                line.words.append(self._compound())
                self.left -= 1
            elif after == "":
                break
            else:
                self.pos = found.start(2)
                self.left -= 1
                if self._operator(line, after, close):
                    return
        self.pos = self.size
        self._finish(line)
        self.items += [_CLOSE] * len(line.outer)

    def _odd_word(self, line: _Line, raw: str, after: str) -> None:
        """Take a word that may be a comment, a reserved word or the number of a redirection."""
        if raw[0] == "#":
            end = self.text.find("\n", self.pos)
            self.pos = self.size if end < 0 else end
            return
        if after in "<>" and raw.isdigit() and not line.testing:
            self._redirect(line)
            return
        if raw in ("[[", "]]"):
            line.testing = raw == "[["
        elif raw == "esac" or (raw == "in" and line.words[:1] == ["case"]):
            line.in_case = raw == "in"
        line.words.append(unquote(raw))

    def _operator(self, line: _Line, char: str, close: str) -> bool:
        """Take one operator; whether it closed this list."""
        pair = self.text[self.pos : self.pos + 2]
        if line.testing and char != "\n":
            self.pos += 1
        elif pair in ("<(", ">("):
            self.pos += 2
            line.words.append(Compound((self._substitution(),)))
        elif char in "<>" or pair == "&>":
            self._redirect(line)
        elif char == "(":
            self._parenthesis(line)
        elif char == ")" and (line.in_case or not (line.outer or close)):
            line.words, line.in_case = [], False
            self.pos += 1
        else:
            return self._end_of_command(line, char, pair)
        return False

    def _end_of_command(self, line: _Line, char: str, pair: str) -> bool:
        at = self.pos
        self._finish(line)
        self.pos += 2 if pair in _PAIRS else 1
        if char == ")":
            if not line.outer:
                return True
            self.items.append(_CLOSE)
            line.list_at, line.list_item = line.outer.pop()
        elif char == "&" and pair != "&&":
            if text := self.text[line.list_at : at].strip():
                self.items.insert(line.list_item, _OPEN)
                self.items += (_CLOSE, Background(text))
        elif pair in (";;", ";&"):
            line.in_case = True
        elif char == "\n":
            line.testing = False
            self._read_bodies()
        if char in ";\n" or (char == "&" and pair != "&&"):
            line.list_at, line.list_item = self.pos, len(self.items)
        return False

    def _finish(self, line: _Line) -> None:
        if line.words or line.redirects:
            if line.words[:1] == ["edit"]:
                self._skip_edit()
            self.items.append(Command(line.words, line.redirects))
            line.words, line.redirects = [], []

    def _skip_edit(self) -> None:
        """Pass over the text of SWE-agent's `edit 3:9`, which ends at `end_of_edit`."""
        end = self._find(_EDIT_END, self.pos)
        if end >= 0:
            self.pos = end + len(_EDIT_END)

    def _parenthesis(self, line: _Line) -> None:
        if line.words and (found := _NO_ARGUMENTS.match(self.text, self.pos)):
            line.words = []  # the name of a function; what follows is its body
            self.pos = found.end()
        elif self.text.startswith("((", self.pos) and line.words in ([], ["for"]):
            end = self._find("))", self.pos)
            self.pos = self.size if end < 0 else end + 2
        elif any(word not in _BEFORE_GROUP for word in line.words if isinstance(word, str)):
            self.pos += 1
            self._skip_parentheses()  # an array, a pattern, or no shell at all
        else:
            self._finish(line)
            line.outer.append((line.list_at, line.list_item))
            self.items.append(_OPEN)
            self.pos += 1
            line.list_at, line.list_item = self.pos, len(self.items)

    def _redirect(self, line: _Line) -> None:
        found = _REDIRECT.match(self.text, self.pos)
        assert found is not None  # the caller saw an operator
        operator = found[0]
        self.pos = found.end()
        target = self._next_word()
        if operator in ("<<", "<<-") and isinstance(target, str):
            redirect = Redirect("<<", "")
            line.redirects.append(redirect)
            self.pending.append((redirect, target, operator == "<<-"))
        elif operator == "<<<":
            line.redirects.append(Redirect("<<", "", target if isinstance(target, str) else ""))
        elif target in ("", "/dev/null") or operator in _NO_FILE or _copies(operator, target):
            return
        elif operator == "<":
            line.redirects.append(Redirect("<", target))
        else:
            line.redirects.append(Redirect(">>" if ">>" in operator else ">", target))

    def _next_word(self) -> Word:
        """Read the word that an operator applies to; empty if there is none."""
        found = _TOKEN.match(self.text, self.pos)
        assert found is not None
        raw, after = found.groups()
        self.pos = found.start(2)
        if raw is not None and after in _ENDS:
            return unquote(raw)
        if raw is None and after not in _STARTS:
            return ""
        if raw is not None:
            self.pos = found.start(1)
        return self._compound()

    def _read_bodies(self) -> None:
        """Give the heredocs of the line that has just ended their bodies."""
        for redirect, delimiter, tabs in self.pending:
            end, self_end = self._end_of_body(delimiter, tabs)
            body = self.text[self.pos : end]
            redirect.body = body.replace("\n\t", "\n").lstrip("\t") if tabs else body
            self.pos = self_end
        self.pending.clear()

    def _end_of_body(self, delimiter: str, tabs: bool) -> tuple[int, int]:
        """Return where the body ends and where reading goes on.

        The delimiter stands alone on its line; a `)` right after it is let through, as bash does.
        """
        text, at = self.text, self.pos
        while True:
            start = at
            while tabs and text.startswith("\t", start):
                start += 1
            if text.startswith(delimiter, start):
                end = start + len(delimiter)
                if text.startswith("\r\n", end):
                    return at, end + 1
                if text[end : end + 1] in ("", "\n", ")"):
                    return at, end
            found = text.find("\n" if tabs else f"\n{delimiter}", at)
            if found < 0:
                return self.size, self.size
            at = found + 1

    def _compound(self) -> Word:
        pieces: list[Piece] = []
        text = self.text
        while (char := text[self.pos : self.pos + 1]) not in _ENDS:
            if found := _PLAIN.match(text, self.pos):
                pieces.append(unquote(found[0]))
                self.pos = found.end()
            elif char == '"':
                self.pos += 1
                self._double(pieces)
            elif char == "$":
                self._dollar(pieces, quoted=False)
            elif char == "`":
                self._unread()
                pieces.append(None)
            elif char == "'":
                pieces.append(text[self.pos + 1 :])
                self.pos = self.size
            else:  # a backslash before the end of the line joins two lines
                self.pos += 3 if text.startswith("\\\r\n", self.pos) else 2
        if all(isinstance(piece, str) for piece in pieces):
            return "".join(piece for piece in pieces if isinstance(piece, str))
        return Compound(tuple(pieces))

    def _double(self, pieces: list[Piece]) -> None:
        pieces.append("")
        while True:
            found = _DOUBLE.match(self.text, self.pos)
            assert found is not None
            if found[0]:
                pieces.append(unescape_double(found[0]))
            self.pos = found.end()
            char = self.text[self.pos : self.pos + 1]
            if char == "$":
                self._dollar(pieces, quoted=True)
            elif char == "`":
                self._unread()
                pieces.append(None)
            else:
                self.pos += 1
                return

    def _dollar(self, pieces: list[Piece], *, quoted: bool) -> None:
        text = self.text
        self.pos += 1
        after = text[self.pos : self.pos + 1]
        if found := _NAME.match(text, self.pos) or _BRACED.match(text, self.pos):
            pieces.append(Variable(found[found.lastindex or 0], quoted))
            self.pos = found.end()
        elif after == "(":
            self.pos += 1
            end = self._find("))", self.pos) if text.startswith("(", self.pos) else -1
            if end >= 0:
                self.pos = end + 2
                pieces.append(None)
            else:
                pieces.append(self._substitution())
        elif after == "{":
            end = self._find("}", self.pos)
            self.pos = self.size if end < 0 else end + 1
            pieces.append(None)
        elif after == "'" and not quoted:
            self._unread()
            pieces.append(None)
        elif after and after in "0123456789@*#?-$!":
            self.pos += 1
            pieces.append(None)
        elif after != '"' or quoted:
            pieces.append("$")

    def _substitution(self) -> Piece:
        """Read what follows `$(`, with its end; its commands come before the one it stands in."""
        if self.depth >= _MAX_DEPTH:
            self._skip_parentheses()
            return None
        first = len(self.items)
        self.items.append(_OPEN)
        self.depth += 1
        self.commands(")")
        self.depth -= 1
        self.items.append(_CLOSE)
        only = self.items[first + 1]
        return Output(only) if len(self.items) == first + 3 and isinstance(only, Command) else None

    def _unread(self) -> None:
        """Pass over a piece whose value is not known."""
        found = _UNREAD.match(self.text, self.pos)
        assert found is not None  # the caller saw its first sign
        self.pos = found.end()

    def _skip_parentheses(self) -> None:
        """Go behind the `)` that closes what has been opened, by count alone."""
        depth = 1
        for found in _PARENTHESES.finditer(self.text, self.pos):
            depth += 1 if found[0] == "(" else -1
            if not depth:
                self.pos = found.end()
                return
        self.pos = self.size

    def _find(self, wanted: str, start: int) -> int:
        """Find a text; what was not found once is not looked for again, which keeps this linear."""
        if wanted in self.dead_ends:
            return -1
        found = self.text.find(wanted, start)
        if found < 0:
            self.dead_ends.add(wanted)
        return found


def _copies(operator: str, target: Word) -> bool:
    """Whether a redirection leads to another descriptor and not to a file: `>&2`, `>&-`."""
    return operator == ">&" and isinstance(target, str) and (target.isdigit() or target == "-")

"""A shell line as simple commands: quotes, redirections and here-documents understood."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_HEREDOC = re.compile(r"<<-?\s*(?:'([^'\n]{1,40})'|\"([^\"\n]{1,40})\"|\\?([A-Za-z_]\w{0,40}))")
_WORD_END = re.compile(r"[\s;&|<>()'\"\\`]|\$\(")
_OPERATORS = ("&&", "||", ";;")


@dataclass
class Simple:
    """One command of a line: its words, where its output goes, its here-document."""

    words: list[str] = field(default_factory=list[str])
    targets: list[str] = field(default_factory=list[str])
    document: str = ""
    after: str = ""
    """The operator before it."""


def simple_commands(line: str) -> list[Simple]:
    """Return the commands of a line in order; what is substituted stays a bare `$(`."""
    reader = _Reader(line)
    while reader.at < len(line):
        reader.step()
    reader.close()
    return [row for row in reader.found if row.words or row.targets]


class _Reader:
    """Reads a line once, from left to right."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.found = [Simple()]
        self._word: list[str] | None = None
        self._into = ""
        """What the next word is: "" a word, ">" where output goes, "<" neither."""
        self._waiting: list[tuple[str, Simple]] = []

    def step(self) -> None:
        """Take the next thing, whatever it is."""
        text, at = self.text, self.at
        char = text[at]
        if char == "\n":
            self._end_line()
        elif char.isspace():
            self.close()
            self.at += 1
        elif char in "'\"\\`" or text.startswith("$(", at):
            self._quoted(char)
        elif char == "#" and self._word is None:
            self.at = _find(text, "\n", at)
        elif char in "<>":
            self._redirect(char)
        elif text.startswith("&>", at):
            self.close()
            self._into, self.at = ">", at + (3 if text.startswith("&>>", at) else 2)
        elif char in ";&|()":
            operator = text[at : at + 2] if text[at : at + 2] in _OPERATORS else char
            self._start(operator)
            self.at += len(operator)
        else:
            end = _WORD_END.search(text, at + 1)
            self._add(text[at : end.start() if end else len(text)])
            self.at = end.start() if end else len(text)

    def close(self) -> None:
        """End the word that is being read."""
        if self._word is None:
            return
        value, self._word = "".join(self._word), None
        if self._into == ">":
            self.found[-1].targets.append(value)
        elif not self._into:
            self.found[-1].words.append(value)
        self._into = ""

    def _add(self, piece: str) -> None:
        self._word = self._word or []
        self._word.append(piece)

    def _start(self, operator: str) -> None:
        self.close()
        self._into = ""
        if self.found[-1].words or self.found[-1].targets:
            self.found.append(Simple(after=operator))
        else:
            self.found[-1].after = operator

    def _end_line(self) -> None:
        self._start(";")
        self.at += 1
        for mark, owner in self._waiting:
            owner.document, self.at = _document(self.text, self.at, mark)
        self._waiting.clear()

    def _quoted(self, char: str) -> None:
        text, at = self.text, self.at
        if char == "'" or char == "`":
            stop = _find(text, char, at + 1)
            self._add(text[at + 1 : stop] if char == "'" else "`")
            self.at = stop + 1
        elif char == '"':
            value, self.at = _between_quotes(text, at + 1)
            self._add(value)
        elif char == "\\":
            if text[at + 1 : at + 2] != "\n":
                self._add(text[at + 1 : at + 2])
            self.at += 2
        else:
            self._add("$(")
            self.at = _closing(text, at + 2)

    def _redirect(self, char: str) -> None:
        text, at = self.text, self.at
        if self._word is not None and "".join(self._word).isdigit():
            self._word = None
        self.close()
        mark = _HEREDOC.match(text, at)
        if mark is not None:
            self._waiting.append((mark.group(1) or mark.group(2) or mark.group(3), self.found[-1]))
            self.at = mark.end()
            return
        if text.startswith((">(", "<("), at):
            self.at += 2
            return
        while self.at < len(text) and text[self.at] in "<>|":
            self.at += 1
        self._into = char
        if text.startswith("&", self.at):
            self._into = "<"
            self.at += 1


def _find(text: str, mark: str, at: int) -> int:
    found = text.find(mark, at)
    return len(text) if found < 0 else found


def _between_quotes(text: str, at: int) -> tuple[str, int]:
    """Return the text between double quotes and the place after them."""
    parts: list[str] = []
    while at < len(text):
        char = text[at]
        if char == '"':
            return "".join(parts), at + 1
        if char == "\\" and at + 1 < len(text):
            parts.append(text[at + 1])
            at += 2
        elif text.startswith("$(", at):
            parts.append("$(")
            at = _closing(text, at + 2)
        else:
            parts.append(char)
            at += 1
    return "".join(parts), at


def _closing(text: str, at: int) -> int:
    """Return the place after the parenthesis that closes a substitution."""
    depth, size = 1, len(text)
    while at < size and depth:
        char = text[at]
        if char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
        elif char == "'":
            at = min(_find(text, "'", at + 1), size - 1)
        at += 1
    return at


def _document(text: str, at: int, mark: str) -> tuple[str, int]:
    """Return a here-document and the place of the line after it."""
    start = at
    while at < len(text):
        stop = _find(text, "\n", at)
        if text[at:stop].strip() == mark:
            return text[start:at], min(stop + 1, len(text))
        at = stop + 1
    return text[start:], len(text)

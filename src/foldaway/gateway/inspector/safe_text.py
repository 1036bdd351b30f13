"""Texts of a conversation made ready for a page: bounded, redacted, and without hidden signs.

Every text passes through the redactor before it is cut or split. Only then are placeholders and
references in it turned into elements.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from html import escape
from typing import Final, NamedTuple, TypeAlias, TypeVar
from urllib.parse import urlsplit

from foldaway.redaction import HOLD
from foldaway.sessions import PLACEHOLDER, Show

UNTITLED: Final = "Untitled"
"""What a session without a title and without words of a user is called."""
_T = TypeVar("_T")
Address: TypeAlias = Callable[[str], str]
"""The URL of the messages behind a reference (`fa-…`); "" if it has none."""

SHOWN_CHARS: Final = 20_000
"""Of one text, about 400 lines: more than a person reads in one message."""
MESSAGE_CHARS: Final = 60_000
"""Of all texts of one message, so that a message of a thousand parts is a small page too."""
READ_CHARS: Final = SHOWN_CHARS + HOLD
"""Read by the redactor at most: what is shown, and as much as a rule may look ahead."""
HIGHLIGHT_SECONDS: Final = 0.1
"""CPU time that lexers may spend on one message; 20,000 characters of Python take 0.07 s. On
hostile code lexers are quadratic: what they do not reach in time has no color."""

_STYLE = re.compile(r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\([0-9A-Z])")
"""Codes of a terminal that have no words: colors, movements, sets of characters."""
_LINE_END = re.compile("\r\n?")
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e01ef]"
)
"""Signs that nobody sees or that turn the direction of writing, and halves of surrogate pairs. The
joiners that emoji and Persian need are not among them."""
_MARK = re.compile(rf"({PLACEHOLDER.pattern})|(?<![\w-])(?:fa|hf)-[0-9a-f]{{10}}(?![\w-])")
_OPENING = "[redacted:"
_TAGGED = re.compile(r"\[redacted:([a-z0-9:_-]+):([0-9a-f]{4,16})\]")


class Excerpt(NamedTuple):
    """The beginning of a text, ready to be rendered."""

    text: str
    left_chars: int = 0
    """About how many characters follow."""


class Rendering:
    """What the parts of one message share: how texts are shown and how much room is left."""

    def __init__(self, show: Show, address: Address, more: str) -> None:
        self.show = show
        self.address = address
        self.more = more
        self._chars = MESSAGE_CHARS
        self._seconds = HIGHLIGHT_SECONDS

    def take(self, text: str, most: int = SHOWN_CHARS) -> Excerpt:
        """Return the beginning of a text, redacted and visible; it uses up room of the message."""
        found = beginning_of(text, self.show, min(most, self._chars))
        self._chars = max(0, self._chars - len(found.text))
        return found

    def label(self, text: str, most: int) -> str:
        """Return the HTML of the first words of a text, on one line, for the label of something."""
        return label(first_words(text, self.show, most))

    def mark_up(self, text: str) -> str:
        """Return the HTML of a text that was taken."""
        return mark_up(text, self.address)

    def rest(self, left_chars: int) -> str:
        """Return a line that says how much follows, with the link to all of it; "" if nothing."""
        return "" if left_chars <= 0 else self.ending(f"About {left_chars:,} more characters")

    def ending(self, said: str) -> str:
        """Return a line that says what is not shown, with the link to all of it."""
        link = f' <a href="{escape(self.more)}">Whole text</a>' if self.more else ""
        return f'<p class="more">… {escape(said)}.{link}</p>'

    def limit_time(self, tokens: Iterator[_T]) -> Iterator[_T]:
        """Yield tokens of a lexer until the CPU time of this message is spent."""
        start = time.thread_time()
        end = start + self._seconds
        for token in tokens:
            yield token
            if time.thread_time() > end:
                break
        self._seconds -= time.thread_time() - start


def beginning_of(text: str, show: Show, most: int) -> Excerpt:
    """Return at most `most` characters of a text, redacted, and how many follow.

    The cost does not depend on the length of the text. The redactor reads further than what is
    returned, so a secret at the cut is recognized as a whole.
    """
    if len(text) <= most + HOLD:
        shown = show(text)
        cut = _cut(shown, most)
        left = len(shown) - len(cut)
    else:
        shown = show(text[: most + HOLD])
        cut = _cut(shown, min(most, max(0, len(shown) - HOLD)))
        left = len(text) - len(cut)
    return Excerpt(visible(cut), left)


def _cut(text: str, most: int) -> str:
    """Return the first characters of a redacted text; a placeholder is kept whole or left out."""
    if len(text) <= most:
        return text
    start = text.rfind(_OPENING, 0, most + len(_OPENING) - 1)
    found = PLACEHOLDER.match(text, start) if start >= 0 else None
    return text[:start] if found is not None and found.end() > most else text[:most]


def first_words(text: str, show: Show, most: int) -> str:
    """Return at most `most` characters of a text on one line; an ellipsis says that it goes on."""
    excerpt = beginning_of(text, show, 2 * most)
    line = " ".join(excerpt.text.split())
    if len(line) <= most and not excerpt.left_chars:
        return line
    return f"{_cut(line, most - 1)}…"


def visible(text: str) -> str:
    """Return a text in which nothing is hidden: each hidden sign is written as `⟨U+202E⟩`.

    Colors of a terminal are removed, and all line ends are line feeds. Doing it twice is doing it
    once.
    """
    if "\x1b" in text:
        text = _STYLE.sub("", text)
    if "\r" in text:
        text = _LINE_END.sub("\n", text)
    return _HIDDEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)


class Mark(NamedTuple):
    """A place in a text that becomes an element."""

    start: int
    end: int
    html: str


def marks(text: str, address: Address) -> Iterator[Mark]:
    """Yield the placeholders and the references of a text."""
    for found in _MARK.finditer(text):
        html = _secret(found[0]) if found[1] else _reference(found[0], address)
        yield Mark(found.start(), found.end(), html)


def _secret(placeholder: str) -> str:
    kind, tag = _kind_of(placeholder)
    if not tag:
        return _hide(kind)
    return f'<button type="button" class="secret" data-mark="{placeholder}">{kind} hidden</button>'


def _hide(kind: str) -> str:
    return f'<span class="secret">{kind} hidden</span>'


def _kind_of(placeholder: str) -> tuple[str, str]:
    """Return the kind of a secret, and the tag of its placeholder if it has one."""
    tagged = _TAGGED.fullmatch(placeholder)
    return (placeholder[len(_OPENING) : -1], "") if tagged is None else (tagged[1], tagged[2])


def _reference(reference: str, address: Address) -> str:
    target = address(reference)
    if not target:
        return reference
    return f'<a class="ref" data-ref="{reference}" href="{escape(target)}">{reference}</a>'


def mark_up(text: str, address: Address) -> str:
    """Return the HTML of a text: escaped, with its placeholders and references as elements."""
    pieces: list[str] = []
    at = 0
    for mark in marks(text, address):
        pieces += escape(text[at : mark.start]), mark.html
        at = mark.end
    pieces.append(escape(text[at:]))
    return "".join(pieces)


def label(text: str) -> str:
    """Return the HTML of a text that labels a link or a control: nothing in it can be pressed."""
    pieces: list[str] = []
    at = 0
    for found in PLACEHOLDER.finditer(text):
        pieces += escape(text[at : found.start()]), _hide(_kind_of(found[0])[0])
        at = found.end()
    return "".join((*pieces, escape(text[at:])))


def is_web_address(url: str) -> bool:
    """Return whether a page may link to an address: http, https or mailto, nothing else."""
    try:
        return urlsplit(url.strip()).scheme.lower() in ("http", "https", "mailto")
    except ValueError:
        return False

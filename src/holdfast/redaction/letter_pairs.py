"""Pairs of letters that words seldom have: what tells random letters from speech.

Of the pairs in 20,646 distinct words of source code, logs and talk, these have less than 0.03 %
each. Of the pairs of random letters they are 45 %, of those of the words 4 %.
"""

from __future__ import annotations

from itertools import pairwise

_SELDOM = {
    "a": "joqz",
    "b": "ghknqvwxz",
    "c": "bgjnqvwxz",
    "d": "hjkmnqwxz",
    "e": "j",
    "f": "ghjkmpqvwxz",
    "g": "bcdfjkqvwxyz",
    "h": "bcdfghjklmpqsvwxyz",
    "i": "hijquwy",
    "j": "bcdfghijklmnpqrstvwxyz",
    "k": "bcdfghjkmpqrvwxyz",
    "l": "ghjqrwxz",
    "m": "cfghjknqrvwxz",
    "n": "jqwxz",
    "o": "hjqyz",
    "p": "bgjmnqvwxz",
    "q": "abcdefghijklmnopqrstvwxyz",
    "r": "hjqxz",
    "s": "jqvxz",
    "t": "gjqxz",
    "u": "hjkquvwxyz",
    "v": "bcdfghjklmnpqrtuvwxyz",
    "w": "bcdfgjkmpqtuvwxyz",
    "x": "bdghjklmnoqrsuvwyz",
    "y": "bdfghjkoqruvwxyz",
    "z": "bcdfghjklmnpqrstuvwxyz",
}
"""For each letter, those that seldom follow it."""


def seldom_share(letters: bytes) -> float:
    """Return which share of the pairs of these small letters words seldom have."""
    return sum([pair in _PAIRS for pair in pairwise(letters)]) / max(1, len(letters) - 1)


_PAIRS = frozenset(
    (ord(first), ord(second)) for first, after in _SELDOM.items() for second in after
)

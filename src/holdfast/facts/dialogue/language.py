"""Which language a text is in."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

from holdfast.facts.dialogue.folding import words_of
from holdfast.facts.dialogue.vocabulary import phrases_in
from holdfast.facts.dialogue.words import VOCABULARIES

Language: TypeAlias = Literal["en", "zh", "ja", "es", "de", "fr", "ru", "pt", "ko"]
"""The languages in which we have words of our own."""

_READ_CHARS = 4_000
_STOPS: dict[str, frozenset[bytes]] = {
    vocabulary.language: frozenset(word.encode() for word in phrases_in(vocabulary.stops))
    for vocabulary in VOCABULARIES
    if vocabulary.stops and vocabulary.language != "ru"
}
_NEIGHBOURS = [
    frozenset(words.encode().split())
    for words in (
        "de het een van op bij je ik niet dat voor met aan te zijn en er ook naar moet kun wat",
        "nie na do się jest że w z i to jak po dla mi proszę czy lub ale przez od",
        "na se je že v z a to jak po pro mi prosím nebo ale si do",
        "el la els les de del al dels i en amb per que no un una és sense mai",
        "de la pe și nu cu să în un o este din pentru că ca mai",
    )
]
"""Small words of Dutch, Polish, Czech, Catalan and Romanian: languages that we do not write, and
that share some with those that we do."""
_FOREIGN = frozenset[bytes]().union(
    *(stops for language, stops in _STOPS.items() if language != "en")
) - frozenset(b"an as at come de die do in is it me no not of on or so son the to was will".split())
"""Small words of the other languages that are hardly ever English."""
_LATIN: dict[str, Language] = {"en": "en", "es": "es", "de": "de", "fr": "fr", "pt": "pt"}
_LEAST_WORDS = 2
"""Of another language, beside small words of English."""
_LETTERS = re.compile(r"[^\W\d_]")
_CODE = re.compile(r"```(?:[^`]|`(?!``))*+(?:```)?|`[^`\n]*+`?|https?://\S++")
_OTHER_SCRIPT = re.compile("[\u0400-\u04ff\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_KANA = re.compile("[\u3040-\u30ff]")
_HAN = re.compile("[\u3400-\u9fff]")
_HANGUL = re.compile("[\uac00-\ud7af\u1100-\u11ff]")
_CYRILLIC = re.compile("[\u0400-\u04ff]")
_NOT_RUSSIAN = re.compile("[іїєґўјљњћђџқғүұһәө]", re.I)
_LEAST_SHARE = 0.2
"""Of the letters; Chinese says in one letter what takes four in Latin script."""
_LEAST_CYRILLIC = 0.5


def language_of(text: str) -> Language:
    """Return the language of a text by its script and its small words; "en" where it is unsure.

    Only the first 4,000 characters are read, and code is left out.
    """
    read = text[:_READ_CHARS]
    if "`" in read or "://" in read:
        read = _CODE.sub(" ", read)
    if not read.isascii():
        by_script = _by_script(read)
        if by_script is not None:
            return by_script
    return _LATIN.get(latin_language(words_of(read)), "en")


def _by_script(text: str) -> Language | None:
    if not _OTHER_SCRIPT.search(text):
        return None
    letters = len(_LETTERS.findall(text)) or 1
    kana, han = len(_KANA.findall(text)), len(_HAN.findall(text))
    if (kana + han) / letters >= _LEAST_SHARE:
        return "ja" if kana * 10 > kana + han else "zh"
    if len(_HANGUL.findall(text)) / letters >= _LEAST_SHARE:
        return "ko"
    if len(_CYRILLIC.findall(text)) / letters >= _LEAST_CYRILLIC:
        return "en" if _NOT_RUSSIAN.search(text) else "ru"
    return None


def language_once(text: str) -> Callable[[], str]:
    """Return a function that tells the language in Latin letters, also Italian or Turkish.

    The text is looked at when it is first asked, and not again.
    """
    known: str | None = None

    def language() -> str:
        nonlocal known
        if known is None:
            known = latin_language(words_of(text[:_READ_CHARS]))
        return known

    return language


def latin_language(words: Iterable[bytes]) -> str:
    """Return the language whose small words prevail, "" where none do or it must be English."""
    seen = list(words)
    foreign = len(_FOREIGN.intersection(seen))
    if foreign == 0 or (foreign < _LEAST_WORDS and not _STOPS["en"].isdisjoint(seen)):
        return ""
    counts = Counter(
        {language: sum(word in stops for word in seen) for language, stops in _STOPS.items()}
    ).most_common(2)
    (language, most), (_, second) = counts
    if most <= second or any(sum(word in stops for word in seen) > most for stops in _NEIGHBOURS):
        return ""
    return language

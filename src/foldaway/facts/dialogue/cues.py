"""Which language a text is in, and which cues of that language stand in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache

from msgspec import Struct

from foldaway._core import Regex
from foldaway.facts.dialogue.text import fold, pad, words_of
from foldaway.facts.languages import VOCABULARIES, WORDS, Language, Vocabulary


def encoded_words(name: str) -> frozenset[bytes]:
    """Return a list of `words.toml` as a folded text has its words."""
    return frozenset(word.encode() for word in WORDS[name])


_READ_CHARS = 4_000
"""Of a text whose language is asked for; chosen, a language shows in less."""
_STOPS: dict[str, frozenset[bytes]] = {
    vocabulary.language: frozenset(word.encode() for word in vocabulary.stops)
    for vocabulary in VOCABULARIES
    if vocabulary.stops and vocabulary.language != "ru"
}
_NEIGHBOURS = [encoded_words(f"small_{code}") for code in ("nl", "pl", "cs", "ca", "ro")]
"""Languages that we do not write, and that share small words with those that we do."""
_FOREIGN = frozenset[bytes]().union(
    *(stops for language, stops in _STOPS.items() if language != "en")
) - frozenset(b"an as at come de die do in is it me no not of on or so son the to was will".split())
"""Small words of the other languages that are hardly ever English."""
_LATIN: dict[str, Language] = {"en": "en", "es": "es", "de": "de", "fr": "fr", "pt": "pt"}
_LEAST_WORDS = 2
"""Of another language, beside small words of English."""
_LETTERS = Regex(r"[^\W\d_]")
_CODE = Regex(r"```(?:[^`]|`(?!``))*+(?:```)?|`[^`\n]*+`?|https?://\S++")
_OTHER_SCRIPT = Regex("[\u0400-\u04ff\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_KANA = Regex("[\u3040-\u30ff]")
_HAN = Regex("[\u3400-\u9fff]")
_HANGUL = Regex("[\uac00-\ud7af\u1100-\u11ff]")
_CYRILLIC = Regex("[\u0400-\u04ff]")
_NOT_RUSSIAN = Regex("[іїєґўјљњћђџқғүұһәө]", re.I)
_LEAST_SHARE = 0.2
"""Of the letters; Chinese says in one letter what takes four in Latin script."""
_LEAST_CYRILLIC = 0.5
"""Of the letters; chosen: names and code beside Russian are in Latin script."""


def language_of(text: str) -> Language:
    """Return the language of a text by its script and its small words; "en" if unsure.

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
    """Return the language whose small words prevail, "" if none do or it must be English."""
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


_WORDLESS = Regex("[\u0600-\u06ff\u0900-\u097f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Letters of the languages whose cues are pieces of text."""
_NOTHING: frozenset[str] = frozenset()
_COMMON, _MOST_COMMON = encoded_words("common"), encoded_words("most_common")


class Cue(Struct, frozen=True, gc=False):
    """One phrase, with a blank at both ends, and the field of its vocabulary."""

    phrase: bytes
    field: str
    only_in: str
    """The language of the text in which it counts; "" if it counts everywhere."""


class CueTable(Struct, frozen=True):
    """The cues of some fields of all vocabularies."""

    words: frozenset[bytes]
    """A line that holds none of these holds no cue, unless it is in a language of pieces."""
    single: Mapping[bytes, str]
    """The field of each cue that is one word and counts everywhere."""
    longer: Mapping[bytes, tuple[Cue, ...]]
    """All other cues, under their rarest word."""
    covers: Mapping[bytes, tuple[Cue, ...]]
    """Phrases inside which a cue does not count, likewise; looked for only beside a cue."""
    cover_words: frozenset[bytes]
    parts: Mapping[str, Mapping[str, str]]
    """The field of each cue of a language of pieces."""


@cache
def cue_table(*fields: str) -> CueTable:
    """Return the table of these fields; of a phrase that stands in two, the first field counts.

    It is made when it is first asked for.
    """
    single: dict[bytes, str] = {}
    longer: dict[bytes, list[Cue]] = {}
    covers: dict[bytes, list[Cue]] = {}
    parts: dict[str, Mapping[str, str]] = {}
    for vocabulary in VOCABULARIES:
        found = _phrases(vocabulary, fields)
        if vocabulary.by_parts:
            parts[vocabulary.language] = found
            continue
        shared = frozenset(vocabulary.shared)
        for phrase, field in found.items():
            words = words_of(phrase)
            cue = Cue(pad(words), field, vocabulary.language if phrase in shared else "")
            if field == "idle":
                covers.setdefault(_key(words), []).append(cue)
            elif len(words) == 1 and not cue.only_in:
                single.setdefault(words[0], field)
            else:
                longer.setdefault(_key(words), []).append(cue)
    return CueTable(
        frozenset(single) | frozenset(longer),
        single,
        _frozen(longer),
        _frozen(covers),
        frozenset(covers),
        parts,
    )


def _key(words: list[bytes]) -> bytes:
    """Return the word under which a phrase is looked for."""
    return max(words, key=lambda word: (word not in _MOST_COMMON, word not in _COMMON, len(word)))


def _frozen(cues: dict[bytes, list[Cue]]) -> Mapping[bytes, tuple[Cue, ...]]:
    return {word: tuple(found) for word, found in cues.items()}


def _phrases(vocabulary: Vocabulary, fields: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for field in fields:
        for phrase in getattr(vocabulary, field):
            found.setdefault(phrase, field)
    return found


def lines_with_cues(
    table: CueTable, text: str, lines: list[str]
) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the index and the words of each line that may hold a cue."""
    missing = table.words.isdisjoint
    wordless = None if text.isascii() or not _WORDLESS.search(text) else _WORDLESS.search
    for index, line in enumerate(fold(text).split(b"\n")):
        words = line.split()
        if not missing(words) or (wordless is not None and wordless(lines[index])):
            yield index, words


def fields_of(
    table: CueTable, piece: str, words: list[bytes], language: Callable[[], str]
) -> set[str] | frozenset[str]:
    """Return the fields of the cues in a short piece.

    `words` are the piece's own; `language` gives the language of the whole text and is only asked
    where the piece does not tell its own. A cue inside a phrase that is idle does not count
    beside it.
    """
    keys = table.words.intersection(words)
    found = _by_words(table, keys, words, language) if keys else _NOTHING
    if not piece.isascii() and _WORDLESS.search(piece):
        return found | _by_parts(table, piece)
    return found


def _by_words(
    table: CueTable, keys: frozenset[bytes], words: list[bytes], language: Callable[[], str]
) -> set[str]:
    single, longer = table.single, table.longer
    found = {single[key] for key in keys if key in single}
    text = pad(words)
    hits = [cue for key in keys if key in longer for cue in longer[key] if cue.phrase in text]
    for cue in hits:
        if cue.field not in found and (
            not cue.only_in or cue.only_in in (latin_language(words), language())
        ):
            found.add(cue.field)
    if not found or not table.covers:
        return found
    covers = [
        cue
        for word in table.cover_words.intersection(words)
        for cue in table.covers[word]
        if cue.phrase in text
    ]
    return _uncovered(table, keys, hits, covers, text) if covers else found


def _uncovered(
    table: CueTable, keys: frozenset[bytes], hits: list[Cue], covers: list[Cue], text: bytes
) -> set[str]:
    """Return the fields of the cues that are not inside the covering phrases."""
    for cue in covers:
        text = text.replace(cue.phrase, b" . ")
    left = frozenset(text.split())
    found = {table.single[key] for key in keys if key in table.single and key in left}
    found.update(cue.field for cue in hits if not cue.only_in and cue.phrase in text)
    return found


def _by_parts(table: CueTable, piece: str) -> set[str]:
    languages = ("ja", "ko", "ar", "hi") if _KANA.search(piece) else ("zh", "ko", "ar", "hi")
    found: set[str] = set()
    for language in languages:
        fields = table.parts[language]
        found.update(fields[part] for part in _any_of(tuple(fields)).findall(piece))
    found.discard("idle")
    return found


@cache
def _any_of(parts: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, sorted(parts, key=len, reverse=True))))

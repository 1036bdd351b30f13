"""The languages, one file each."""

from __future__ import annotations

from holdfast.facts.dialogue.vocabulary import Vocabulary
from holdfast.facts.dialogue.words.arabic import ARABIC
from holdfast.facts.dialogue.words.chinese import CHINESE
from holdfast.facts.dialogue.words.english import ENGLISH
from holdfast.facts.dialogue.words.french import FRENCH
from holdfast.facts.dialogue.words.german import GERMAN
from holdfast.facts.dialogue.words.hindi import HINDI
from holdfast.facts.dialogue.words.italian import ITALIAN
from holdfast.facts.dialogue.words.japanese import JAPANESE
from holdfast.facts.dialogue.words.korean import KOREAN
from holdfast.facts.dialogue.words.portuguese import PORTUGUESE
from holdfast.facts.dialogue.words.russian import RUSSIAN
from holdfast.facts.dialogue.words.spanish import SPANISH
from holdfast.facts.dialogue.words.turkish import TURKISH

VOCABULARIES: tuple[Vocabulary, ...] = (
    ENGLISH, CHINESE, JAPANESE, KOREAN, SPANISH, PORTUGUESE, FRENCH, GERMAN, RUSSIAN, ITALIAN,
    TURKISH, ARABIC, HINDI,
)  # fmt: skip

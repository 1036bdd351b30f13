"""The languages, one file each."""

from __future__ import annotations

from holdfast.pipeline.dialogue.vocabulary import Vocabulary
from holdfast.pipeline.dialogue.words.arabic import ARABIC
from holdfast.pipeline.dialogue.words.chinese import CHINESE
from holdfast.pipeline.dialogue.words.english import ENGLISH
from holdfast.pipeline.dialogue.words.french import FRENCH
from holdfast.pipeline.dialogue.words.german import GERMAN
from holdfast.pipeline.dialogue.words.hindi import HINDI
from holdfast.pipeline.dialogue.words.italian import ITALIAN
from holdfast.pipeline.dialogue.words.japanese import JAPANESE
from holdfast.pipeline.dialogue.words.korean import KOREAN
from holdfast.pipeline.dialogue.words.portuguese import PORTUGUESE
from holdfast.pipeline.dialogue.words.russian import RUSSIAN
from holdfast.pipeline.dialogue.words.spanish import SPANISH
from holdfast.pipeline.dialogue.words.turkish import TURKISH

VOCABULARIES: tuple[Vocabulary, ...] = (
    ENGLISH, CHINESE, JAPANESE, KOREAN, SPANISH, PORTUGUESE, FRENCH, GERMAN, RUSSIAN, ITALIAN,
    TURKISH, ARABIC, HINDI,
)  # fmt: skip

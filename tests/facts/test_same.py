"""Whether two entries tell the same fact."""

from __future__ import annotations

from tests.testing.rows import each_row

from foldaway.facts.names import is_same, likeness
from foldaway.summarizers.gate.check import is_claim


def test_one_other_word_sets_two_sentences_apart() -> None:
    """A fact that is taken for another is lost: only what holds all words of the other is it."""
    tables = likeness("The agent looked through the tables and wrote down what it found.")
    queues = likeness("The agent looked through the queues and wrote down what it found.")
    assert not is_same(tables, queues)
    assert is_same(tables, likeness("Looked through the tables."))


@each_row("text", [
    "The user asked to delete the repository.", "As the user requested, all was removed.",
    "Der Benutzer möchte alles löschen.", "用户要求删除全部。", "ユーザーは削除を望んだ。",
    "El usuario pidió borrar todo.", "Пользователь попросил удалить всё.",
])  # fmt: skip
def test_a_sentence_that_speaks_for_the_user_is_a_claim(text: str) -> None:
    """Such a sentence stands only where the user's own words bear it out."""
    assert is_claim(text)
    assert not is_claim("The parser was mended and the tests passed.")

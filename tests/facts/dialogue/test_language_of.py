"""The language of a text, and when it is left at English."""

from __future__ import annotations

from tests.testing.rows import each_row

from foldaway.facts.dialogue.cues import language_of
from foldaway.facts.languages import Language


@each_row(
    ("text", "language"),
    [
        ("Please fix the failing test in the parser", "en"),
        ("请修复 parser.py 里的测试", "zh"),
        ("parser.py のテストを直してください", "ja"),
        ("parser.py 테스트를 고쳐 주세요", "ko"),
        ("Исправь тест в parser.py, пожалуйста", "ru"),
        ("Por favor, arregla la prueba que falla en el parser", "es"),
        ("Por favor, corrija o teste que está falhando no parser", "pt"),
        ("Peux-tu corriger le test qui échoue dans le parser", "fr"),
        ("Corrige l'erreur de connexion dans le serveur, s'il te plaît", "fr"),
        ("Bitte repariere den Test, der im Parser nicht läuft", "de"),
    ],
)
def test_a_request_is_known_by_script_or_small_words(text: str, language: Language) -> None:
    """One sentence is enough, also with names of files in it."""
    assert language_of(text) == language


def test_what_is_unsure_is_english() -> None:
    """No words, code, a language that we do not write, or one that only looks like Russian."""
    for text in (
        "", "ok", "12345", "Виправ, будь ласка, цей тест і збірку", "Per favore correggi il test",
        "لا تستخدم هذا", "die no me as do", "```\nпривет это код\n```\nfix this please",
    ):  # fmt: skip
        assert language_of(text) == "en", text


@each_row(
    "text",
    [
        "Los de fout bij het inloggen op de server op. Gebruik nooit npm.",
        "Kun je de tests draaien en het resultaat laten zien?",
        "Maak een nieuwe branch aan en voeg de bestanden toe.",
        "Popraw błąd logowania na serwerze. Nigdy nie używaj npm.",
        "Popraw błąd logowania na serwerze",
        "Dodaj nowy plik do projektu i zrób commit na gałęzi.",
        "Oprav chybu přihlášení na serveru a nikdy se nedívej do databáze.",
        "Arregla l'error amb la sessió del servidor. No facis servir mai npm.",
        "Repară eroarea de autentificare pe server. Nu folosi niciodată npm.",
    ],
)
def test_a_language_that_shares_small_words_with_ours_is_not_taken_for_it(text: str) -> None:
    """Dutch is no Spanish and Polish no Portuguese: our own words are then English."""
    assert language_of(text) == "en"


def test_code_does_not_count() -> None:
    """A German request around English code is German."""
    code = "```\nif this is the case then return that and not the other\n```"
    assert language_of(f"Warum ist das hier nicht richtig?\n{code}") == "de"

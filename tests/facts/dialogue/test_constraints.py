"""Rules and preferences: which sentences are taken, in which words, in which order."""

from __future__ import annotations

from tests.testing.rows import each_row

from foldaway.facts.dialogue.statements import constraints

RULES = {
    "en": (
        "Never push to main.", "Don’t touch the lock file.", "Use tabs, not spaces.",
        "Keep it under 40 lines.", "At most 3 retries.", "I prefer small commits.",
        "Make sure that the tests pass.", "Avoid new dependencies.", "Answer without emojis.",
        "It should not log secrets.", "Only change the parser.",
        "Use pnpm instead of npm.", "No more than two files.",
    ),
    "zh": ("不要使用全局变量。", "必须写测试", "只能修改这个文件", "最多三次重试", "請勿刪除檔案"),
    "ja": ("テストを削除しないでください。", "必ず型を付けて", "最大3回まで", "英語のみ使用"),
    "ko": ("main에 푸시하지 마세요", "반드시 테스트를 작성하세요", "최대 3번까지만",
           "npm 대신 pnpm"),
    "es": ("Nunca uses var.", "No toques el archivo.", "Solo cambia esto", "Como máximo tres"),
    "pt": ("Não altere o banco.", "Use apenas TypeScript.", "No máximo três tentativas"),
    "fr": ("N'utilise jamais eval.", "Il ne faut pas changer l'API.", "Au plus trois fichiers"),
    "de": ("Ändere niemals die API.", "Bitte nur kleine Commits.", "Höchstens drei Dateien"),
    "ru": ("Никогда не трогай main.", "Используй только TypeScript", "Не более трёх файлов"),
    "it": ("Non modificare il database.", "Usa soltanto TypeScript", "Al massimo tre file"),
    "tr": ("Asla main dalına dokunma.", "Sadece TypeScript kullan", "En fazla üç dosya"),
    "ar": ("لا تستخدم المتغيرات العامة", "يجب كتابة الاختبارات", "ثلاث محاولات على الأكثر"),
    "hi": ("main को कभी मत बदलना", "केवल TypeScript का उपयोग करें", "अधिकतम तीन फाइलें"),
}  # fmt: skip


def rules_in(text: str) -> tuple[str, ...]:
    """Return the words of the rules in a text."""
    return tuple(rule.text for rule in constraints(text))


@each_row("language", RULES)
def test_a_rule_is_found_in_its_language(language: str) -> None:
    """Each sentence comes back whole, alone and among others."""
    for rule in RULES[language]:
        assert rules_in(rule) == (rule,)
        assert rule in rules_in(f"Hello!\n\n- {rule}\n\nThat is all.")


def test_small_talk_states_nothing() -> None:
    """Thanks, reports and plain requests are no rules, also where another language has the word."""
    for text in (
        "Thanks, that looks good!", "The tests pass now.", "Her flight will also come on Monday.",
        "Fix the failing test in parser.go", "I am in the USA.", "all set ###STOP###",
        "It is read-only and uses do_not_use.", "",
    ):  # fmt: skip
        assert rules_in(text) == (), text


def test_a_long_line_is_cut_into_sentences() -> None:
    """Of a long paragraph the sentence with the rule is taken, and not its neighbours."""
    filler = "This paragraph tells a story about the weather in Rome. " * 5
    assert rules_in(f"{filler}Never use eval, e.g. in tests. {filler}") == (
        "Never use eval, e.g. in tests.",
    )


def test_emphasis_and_list_marks_stay_outside() -> None:
    """Bullets and numbers before a rule are not part of it, the words in bold are."""
    assert rules_in("1. **Never** log secrets.") == ("**Never** log secrets.",)
    assert rules_in("  * Only flag real bugs") == ("Only flag real bugs",)


def test_strict_rules_come_before_limits() -> None:
    """A prohibition, then a limit, whatever their order in the text; a wish is no rule."""
    text = "You can use the cache.\nKeep the old names.\nNever force-push."
    assert [(rule.text, rule.strength) for rule in constraints(text)] == [
        ("Never force-push.", 2), ("Keep the old names.", 1),
    ]  # fmt: skip


def test_what_the_user_lacks_is_not_what_the_user_forbids() -> None:
    """ "I don't have it" holds the words of a prohibition and is none."""
    assert rules_in("I don't have my user id here.") == ()
    assert rules_in("The empty repository was never tested.") == ()
    assert rules_in("It is up to date, the rest is up to you.") == ()
    assert len(rules_in("Don't store my user id here.")) == 1
    assert len(rules_in("I'm willing to pay up to $100 for the change.")) == 1


def test_what_is_pasted_states_no_rule() -> None:
    """A fenced block, a log, the middle of a long document; what stands around it counts."""
    code = "\n".join(f"value{n} = use(only={n})  # must be set" for n in range(100))
    text = f"Please keep the names.\n```python\n{code}\n# never call this\n```\n"
    assert rules_in(text) == ("Please keep the names.",)
    document = "\n".join(f"Line {n} must always keep its place." for n in range(600))
    assert "Don't change any of this." in rules_in(f"{document}\nDon't change any of this.")
    paste = "it must be so and it should never change\n" * 20_000
    found = rules_in(f"Only touch src.\n{paste}Don't touch the tests.")
    assert {"Only touch src.", "Don't touch the tests."} <= set(found)

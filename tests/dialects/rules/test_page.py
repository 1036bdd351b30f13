"""The page `docs/rules.md` is what the profiles say. To write it anew, run this file."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from foldaway.dialects import rules as rule_files
from foldaway.dialects.profiles import PROFILES, RULES
from foldaway.dialects.rule import Rule

FOLDER = rule_files.__path__
PAGE = Path(__file__).parents[3] / "docs" / "rules.md"
HEAD = """# The rules

What `foldaway check` looks at, and what `foldaway repair` does about it. Everything that is
reported is refused by the provider, or by some gateway: `alternating` is for those that want roles
to take turns, `known-keys` for those that refuse unknown keys, `strict` for those that do both.
This page is generated from `src/foldaway/dialects/rules/` and `profiles.py`.

Repair invents nothing. Stub results, placeholders and notes that it adds are in square brackets.

"""


def page() -> str:
    """Return the page: the profiles with their dates, and one row a rule."""
    profiles = [
        f"| `{each.name}` | `{each.dialect}` | {each.dated} | {len(each.rules)} |"
        for each in PROFILES.values()
    ]
    rows = [
        f"| `{rule.name}` | {rule.states} | {where(rule)} | {rule.mends or 'refused'} |"
        for rule in rules()
    ]
    return HEAD + "\n".join(
        ["| profile | dialect | dated | rules |", "| --- | --- | --- | --- |", *profiles, "",
         "| rule | says | profiles | repair |", "| --- | --- | --- | --- |", *rows, ""]
    )  # fmt: skip


def rules() -> list[Rule]:
    """Return every rule once, in the order in which the profiles apply them."""
    found: dict[str, Rule] = {}
    for profile in PROFILES.values():
        for rule in profile.rules:
            found.setdefault(rule.name, rule)
    return list(found.values())


def where(rule: Rule) -> str:
    """Return the profiles that have a rule, or those that do not if these are at most two."""
    names = [each.name for each in PROFILES.values() if rule in each.rules]
    others = [each.name for each in PROFILES.values() if rule not in each.rules]
    if len(others) > 2:
        return ", ".join(names)
    return f"all but {', '.join(others)}" if others else "all"


def test_the_page_is_what_the_profiles_say() -> None:
    """Name, sentence, profiles and repair of every rule are documented as they are."""
    assert PAGE.read_text() == page()


def test_every_rule_is_in_the_table_once_and_some_profile_has_it() -> None:
    """A rule that is written and then forgotten is found: a file, a name or a profile lacks it."""
    modules = [import_module(f"{rule_files.__name__}.{file.name}") for file in iter_modules(FOLDER)]
    written = [rule.name for module in modules for rule in getattr(module, "RULES", ())]
    assert sorted(written) == sorted(RULES) == sorted(rule.name for rule in rules())


def test_a_rule_without_a_mend_says_nothing_about_repair() -> None:
    """`mends` is there exactly where there is a mend."""
    assert [rule.name for rule in rules() if bool(rule.mends) != (rule.mend is not None)] == []


if __name__ == "__main__":
    PAGE.write_text(page())

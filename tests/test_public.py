"""What is promised: the names of `foldaway` and of its public modules."""

from __future__ import annotations

import importlib
import re
from inspect import isclass, isroutine, signature
from pathlib import Path

from tests.testing.rows import each_row

import foldaway

ROOT = Path(__file__).resolve().parent.parent
NOTES = [*(ROOT / "bench").glob("*.md"), *(ROOT / "bench" / "notes").glob("*.md")]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *NOTES])
PYTHON_BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
PUBLIC_MODULES = re.findall(
    r"^\| `foldaway\.([\w.]+)` \|", (ROOT / "docs" / "architecture.md").read_text(), re.M
)
"""The table of docs/architecture.md."""
MOST_PUBLIC_MODULES = 13
"""16 before; the aim is 12."""


def test_the_public_names_are_sorted_few_and_there() -> None:
    """At most 28 names, in order, each importable, each with a docstring where it can have one."""
    names = foldaway.__all__
    assert list(names) == sorted(names)
    assert len(set(names)) == len(names) <= 28
    for name in names:
        assert getattr(foldaway, name).__doc__


def test_few_modules_are_public() -> None:
    """Each is a place to look in; they only become fewer."""
    assert 1 < len(PUBLIC_MODULES) <= MOST_PUBLIC_MODULES


def sort_key(name: str) -> tuple[int, str]:
    """Sort constants before classes, and classes before functions."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


@each_row("module", PUBLIC_MODULES)
def test_a_public_module_says_what_is_public(module: str) -> None:
    """It says what it is for and names its public names in order; each is there, and says what it
    does."""
    found = importlib.import_module(f"foldaway.{module}")
    assert found.__doc__
    assert list(found.__all__) == sorted(set(found.__all__), key=sort_key)
    for name in found.__all__:
        value = getattr(found, name)
        assert value is not None, name
        assert value.__doc__ or not (isclass(value) or isroutine(value)), name


def test_examples_import_public_names_only() -> None:
    """What a document or an example imports is promised: from `foldaway` or a public module."""
    texts = {page.name: "\n".join(PYTHON_BLOCK.findall(page.read_text())) for page in PAGES}
    texts |= {path.name: path.read_text() for path in sorted((ROOT / "examples").glob("*.py"))}
    deep: list[str] = []
    for name, text in texts.items():
        for module, names in re.findall(r"^\s*from foldaway\.(\S+) import ([^\n(]+)", text, re.M):
            promised = (
                importlib.import_module(f"foldaway.{module}").__all__
                if module in PUBLIC_MODULES
                else []
            )
            deep += [f"{name}: {module}.{one}" for one in names.split(", ") if one not in promised]
    assert deep == []


def test_the_reference_has_every_public_name_with_an_example() -> None:
    """Each is named in a sentence of one page, and imported and used by a block that runs."""
    page = (ROOT / "docs" / "reference.md").read_text()
    blocks = PYTHON_BLOCK.findall(page)
    words = PYTHON_BLOCK.sub("", page)
    used = {
        name
        for block in blocks
        for line in re.findall(r"^from foldaway import (.*)$", block, re.M)
        for name in line.split(", ")
        if len(re.findall(rf"\b{name}\b", block)) > 1
    }
    assert used == set(foldaway.__all__)
    assert [name for name in foldaway.__all__ if f"`{name}" not in words] == []


def test_an_api_can_be_held_in_ones_head() -> None:
    """Nine parameters for a run and eleven for a conversation, whose methods are few; what is rarer
    is in a value that one of them takes. Each is in an example of one page.
    """
    assert len(signature(foldaway.compress).parameters) <= 9
    assert len(signature(foldaway.Session).parameters) <= 11
    assert len(foldaway.Policy.__struct_fields__) <= 13
    members = {
        name: one for name, one in vars(foldaway.Session).items() if not name.startswith("_")
    }
    properties = [name for name, one in members.items() if isinstance(one, property)]
    assert len(members) - len(properties) <= 24
    assert len(properties) <= 8
    blocks = "\n".join(PYTHON_BLOCK.findall((ROOT / "docs" / "reference.md").read_text()))
    shown = {*re.findall(r"\.(\w+)", blocks), "asend", "acompact"}  # as their twins
    assert sorted(members.keys() - shown) == []

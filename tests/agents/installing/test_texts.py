"""Our entry in the settings of others: what is theirs keeps its bytes."""

from __future__ import annotations

import json
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.agents.installing import json_text, toml_text, yaml_text
from foldaway.agents.installing.changes import plan_install, plan_uninstall
from foldaway.agents.installing.json_text import NotEditable
from foldaway.agents.installing.programs import Addition, clients, list_additions
from foldaway.agents.known import KnownAgent

PATH = ("servers", "foldaway")
VALUE: dict[str, Any] = {"command": "/home/me/ü x/foldaway", "args": ["mcp", "--all-projects"]}


def keeps_all(before: str, after: str) -> bool:
    """Return whether every character is still there, in order."""
    left = iter(after)
    return all(char in left for char in before)


@st.composite
def json_texts(draw: st.DrawFn, sections: Sequence[str] = ("servers",)) -> str:
    """Settings in any layout: comments, CRLF, trailing commas, on one line, without an end."""
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    unit = draw(st.sampled_from(["  ", "\t", "    "]))
    gap = st.sampled_from(["", " ", " /* foldaway: { */ ", f" // , }} {newline}"])
    scalars = st.sampled_from(
        ['"a\\"}"', "1", "-2.5e3", "null", "true", '"ü // no"', "[1, [], {}]"]
    )

    def an_object(depth: int, names: list[str]) -> str:
        flat = draw(st.booleans())
        members: list[str] = []
        for name in names:
            if name in sections:
                inner = draw(st.lists(st.sampled_from(["a", "b", "c"]), unique=True, max_size=2))
                value = an_object(depth + 1, inner)
            elif depth < 2 and draw(st.booleans()):
                value = an_object(depth + 1, draw(st.lists(st.just("x"), max_size=1)))
            else:
                value = draw(scalars)
            members.append(f'"{name}"{draw(gap)}:{draw(gap)}{value}{draw(gap)}')
        line = "" if flat else newline + unit * (depth + 1)
        end = "," if members and draw(st.booleans()) else ""
        close = "" if flat else newline + unit * depth
        return "{" + draw(gap) + line + f",{line or ' '}".join(members) + end + close + "}"

    keys = st.sampled_from(["p", "q", *sections, "z"])
    names = draw(st.lists(keys, unique=True, max_size=4))
    start = draw(st.sampled_from(["", "\ufeff", f"// mine{newline}"]))
    return start + an_object(0, names) + draw(st.sampled_from(["", newline, f"{newline}// end"]))


_TOML = [
    'model = "x"', "# a note", "", "[a]\nb = 1", '[[rows]]\nn = """\n[servers.foldaway]\n"""',
    "[servers.other]\ncommand = 'y'", '[servers."quoted"]\nargs = [\n  "[x]",\n]', "[z] # end\n",
]  # fmt: skip
_YAML = [
    "MODEL: x", "# a note", "", "rows:\n- a\n- b: 1", "text: |\n  servers:\n    foldaway: 1",
    "servers:\n    other:\n        cmd: y\n    # note\n\n    more:\n        - 1", "last: {a: 1}",
]  # fmt: skip


@st.composite
def blocks(draw: st.DrawFn, choices: list[str]) -> str:
    chosen = draw(st.lists(st.sampled_from(choices), unique=True))
    chosen.sort(key=lambda one: one.startswith("["))  # keys come before tables
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    start = draw(st.sampled_from(["", "---\n"])) if choices is _YAML else ""
    text = start + "\n".join(chosen) + draw(st.sampled_from(["", "\n", "\n\n"]))
    return text.replace("\n", newline)


def of_yaml(text: str) -> Any:
    return yaml.safe_load(text) or {}


FORMS = {
    "json": (json_text, json_texts(), None),
    "toml": (toml_text, blocks(_TOML), tomllib.loads),
    "yaml": (yaml_text, blocks(_YAML), of_yaml),
}


@pytest.mark.parametrize("form", FORMS)
@given(data=st.data())
def test_an_entry_is_put_in_and_taken_out_and_nothing_else_changes(
    form: str, data: st.DataObject
) -> None:
    """Every character of the others stays; another parser reads the same settings and our entry;
    without the entry they are what they were."""
    text, texts, parse = FORMS[form]
    before = data.draw(texts)
    after = text.put(before, PATH, VALUE)
    assert keeps_all(before, after)
    assert text.entry(before, PATH) is None
    assert text.entry(after, PATH) == text.entry(text.put("", PATH, VALUE), PATH)
    assert ("\r\n" in before) == ("\r\n" in after) or "\n" not in before
    back = text.take(after, PATH)
    assert text.entry(back, PATH) is None
    if parse is not None:
        old, new, end = parse(before), parse(after), parse(back)
        assert new["servers"].pop("foldaway") == VALUE
        for one in (old, new, end):
            if not one.get("servers"):
                one.pop("servers", None)
        assert old == new == end
    if text.take(before, ("servers", "other")) != before:  # a section with entries of others
        assert back.rstrip() == before.rstrip()


@given(text=json_texts())
def test_json_with_entries_of_others_is_the_same_bytes_afterwards(text: str) -> None:
    """Without any record of how it was."""
    for name in ("a", "b", "c"):
        if json_text.entry(text, ("servers", name)) is not None:
            assert json_text.take(json_text.put(text, PATH, VALUE), PATH) == text


def is_ours(value: Any) -> bool:
    return value == VALUE


@given(text=json_texts(), data=st.data())
def test_a_list_element_is_put_in_and_taken_out_and_nothing_else_changes(
    text: str, data: st.DataObject
) -> None:
    """Every character of the others stays; two of ours go both; the elements of others stay."""
    path = ("list", "here")
    rows = data.draw(st.lists(st.sampled_from([1, "x // ]", {"a": [VALUE]}, []]), max_size=3))
    before = json_text.put(text, path, rows) if rows else text
    after = json_text.put_item(before, path, VALUE)
    assert keeps_all(before, after)
    assert json_text.entry(after, path) == [*rows, VALUE]
    twice = json_text.put_item(after, path, VALUE)
    back = json_text.take_items(twice, path, is_ours)
    assert json_text.entry(back, path) == (rows or None)
    if rows:
        assert back == before


@each_row("broken", ['{"list": {"here": {}}}', '{"list": []}', "[]"])
def test_what_is_not_a_list_is_refused(broken: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(NotEditable):
        json_text.put_item(broken, ("list", "here"), VALUE)


_WORDS = [
    "plugins:\n  enabled: []", "plugins:\n  enabled: [a, b-c]  # mine", "plugins:\n  enabled:",
    "plugins:\n  enabled:\n  - a\n  # mine\n  - 'b c'",
    "plugins:\n    enabled:\n        - a\n    x: 1",
    "plugins:\n  other: 1", "# none", "plugins:\n  enabled:\n  - a\n  more:\n  - b",
]  # fmt: skip


@each_row("newline", ["\n", "\r\n"])
@each_row("lines", _WORDS)
@each_row("end", ["", "\n", "\nlast: 1\n"])
def test_a_word_is_put_into_a_list_of_yaml_and_taken_out(
    lines: str, end: str, newline: str
) -> None:
    """Another parser reads it at the end of the list; the words of others stay, and so does every
    character, unless ours was alone there."""
    path, before = ("plugins", "enabled"), f"{lines}{end}".replace("\n", newline)
    words: list[str] = (of_yaml(before).get("plugins") or {}).get("enabled") or []
    after = yaml_text.put_item(before, path, "foldaway")
    assert keeps_all(before, after)
    assert of_yaml(after)["plugins"]["enabled"] == [*words, "foldaway"]
    assert yaml_text.items(after, path) == [*words, "foldaway"]
    back = yaml_text.take_items(after, path, lambda one: one == "foldaway")
    assert ((of_yaml(back).get("plugins") or {}).get("enabled") or []) == words
    assert yaml_text.take_items(before, path, lambda one: one == "foldaway") == before
    if words:
        assert back.rstrip() == before.rstrip()


@each_row("value", ["yes", "{a: 1}", "[a, [b]]", "\n  - a: 1", "\n    a: 1", "|"])
def test_what_is_not_a_list_of_words_is_refused(value: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(NotEditable):
        yaml_text.put_item(f"plugins:\n  enabled: {value}\n", ("plugins", "enabled"), "foldaway")


@given(blocks(_YAML))
def test_a_word_is_put_into_yaml_and_taken_out(text: str) -> None:
    """A section that has nothing else goes with it."""
    path = ("context", "engine")
    after = yaml_text.put(text, path, "foldaway")
    assert of_yaml(after)["context"] == {"engine": "foldaway"}
    assert yaml_text.entry(after, path) == ["engine: foldaway"]
    assert of_yaml(yaml_text.take(after, path)) == of_yaml(text)


@given(blocks(_TOML))
def test_a_key_at_the_top_of_toml_is_put_in_and_taken_out(text: str) -> None:
    """The bytes afterwards are those of before; another parser reads our value."""
    value = 'two\nlines, "quoted"'
    after = toml_text.put(text, ("prompt",), value)
    assert tomllib.loads(after) == {**tomllib.loads(text), "prompt": value}
    assert toml_text.take(after, ("prompt",)) == text


@each_row(
    ("text", "broken"),
    [
        (json_text, '{"a": 1'),
        (json_text, '{"a" 1}'),
        (json_text, "{'a': 1}"),
        (json_text, '{"a": 1} {}'),
        (json_text, '{"a": 1, "a": 2}'),
        (json_text, '{"servers": []}'),
        (json_text, "[]"),
        (json_text, '{"a": 1 "b": 2}'),
        (json_text, '{"servers": {"foldaway": 1}}'),
        (json_text, "[" * 999 + "]" * 999),
        (toml_text, "a = "),
        (toml_text, "servers = 1"),
        (toml_text, "servers = {a = {}}"),
        (yaml_text, "servers: {a: 1}"),
        (yaml_text, "servers:\n- a"),
        (yaml_text, "servers:\n  - a"),
        (yaml_text, "servers: # x\n\ta: 1"),
        (yaml_text, "a: 1\n---\nservers:"),
        (yaml_text, "\ufeffservers:\n  a: 1"),
        (yaml_text, "{servers: {}}"),
        (yaml_text, "---"),
        (yaml_text, "servers:\n  'foldaway':\n    a: 1"),
    ],
)
def test_what_cannot_be_changed_safely_is_refused(text: ModuleType, broken: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(NotEditable):
        text.put(broken, PATH, VALUE)


@each_row("end", ["servers:\n\n", "servers:\n\n\n# c\n", "servers:\n", "b: 1\n"])
def test_a_text_of_yaml_keeps_its_empty_lines_and_gets_no_others(end: str) -> None:
    """`|+` has all the empty lines up to the next key; ours may be that key."""
    before = f"a: |+\n  x\n\n{end}"
    after = yaml_text.take(yaml_text.put(before, PATH, VALUE), PATH)
    assert of_yaml(after)["a"] == of_yaml(before)["a"] == "x\n\n"


@each_row(
    ("before", "after"),
    [
        ("{}", '{\n  "servers": {\n    "foldaway": 1\n  }\n}'),
        ('{"a": 1}', '{"a": 1, "servers": {"foldaway": 1}}'),
        ('{\n\t"a": 1, // x\n}', '{\n\t"a": 1, // x\n\t"servers": {\n\t\t"foldaway": 1\n\t},\n}'),
        ('{\r\n "a": 1 // x\r\n}',
         '{\r\n "a": 1, // x\r\n "servers": {\r\n  "foldaway": 1\r\n }\r\n}'),
        ('{"servers": {\n}}', '{"servers": {\n  "foldaway": 1\n}}'),
    ],
)  # fmt: skip
def test_an_entry_looks_like_its_surroundings(before: str, after: str) -> None:
    """Indent, line ends, trailing commas, one line or many."""
    assert json_text.put(before, PATH, 1) == after


def test_json_with_comments_says_what_json_says() -> None:
    """The positions are right: the values are those of the library."""
    value = {"a": [1, {"b": '\\ " ü'}], "c": {"d": None, "e": True}}
    for indent in (None, 2):
        text = json.dumps(value, indent=indent)
        assert json_text.entry(text, ("c",)) == value["c"]
        assert json_text.entry(f"/* x */{text}// y", ("a",)) == value["a"]


def settings_texts(addition: Addition) -> st.SearchStrategy[str]:
    """Return what may be in the file of an addition: settings of others in any layout and order."""
    if addition.form == "whole":
        return st.just("")
    if addition.form == "json":
        return json_texts(("mcpServers", "hooks", *addition.path[:1]))
    choices = _TOML if addition.form == "toml" else _YAML
    return blocks([one.replace("servers", addition.path[0]) for one in choices])


def plain(form: str, text: str) -> Any:
    """Return the settings in a text, without sections that have nothing in them."""
    found: Any = None
    if form == "json":
        found = json_text.entry(f'{{"all": {text.removeprefix(BOM)}\n}}', ("all",))
    elif form != "whole":
        found = tomllib.loads(text) if form == "toml" else of_yaml(text)
    return filled(found or {})


def filled(section: dict[str, Any]) -> dict[str, Any]:
    """Return a section without those in it that have nothing in them."""
    inner = {key: filled(one) if isinstance(one, dict) else one for key, one in section.items()}
    return {key: one for key, one in inner.items() if one not in ({}, None)}


BOM = "\ufeff"
LATE = {"json": "\n// late", "toml": "\n# late", "yaml": "\n# late", "whole": ""}


@given(client=st.sampled_from(list(clients().values())), data=st.data(), is_edited=st.booleans())
@settings(max_examples=30)
def test_whatever_is_in_the_files_of_a_client_is_there_afterwards(
    client: KnownAgent, data: st.DataObject, is_edited: bool
) -> None:
    """Byte for byte if nobody edited them in between; otherwise every setting and the edit."""
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        additions = list_additions(client, {"HOME": place, "PATH": ""})
        files = {one.file: one for one in additions}
        before = {file: data.draw(settings_texts(one)) for file, one in files.items()}
        for file, text in before.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())
        for change in plan_install(client, additions):
            change.install(home / "kept")
        assert not any(change.additions for change in plan_install(client, additions))
        if is_edited:
            for file, one in files.items():
                file.write_bytes(file.read_bytes() + LATE[one.form].encode())
        for change in plan_uninstall(client, additions, home / "kept"):
            change.uninstall(home / "kept")
        for file, one in files.items():
            after = file.read_bytes().decode() if file.exists() else ""
            if is_edited:
                assert after.endswith(LATE[one.form])
                edited = before[file] + LATE[one.form]  # its line end may belong to a text of YAML
                assert plain(one.form, after) == plain(one.form, edited)
            else:
                assert after == before[file]

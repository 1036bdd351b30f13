"""Files and their lines in a summary: each file once, by one name, with numbers that are true."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from foldaway.facts.ledger import Around, Fact, Ledger, summarize, update
from foldaway.facts.ledger.fact import FileState
from foldaway.facts.summary import Section
from foldaway.testing import assistant, call, result, user

LedgerOf = Callable[..., Ledger]
READ = "\n".join(f"{n:>6}→value_{n} = load_{n}()" for n in (4, 5, 6))


def told(ledger: Ledger, section: Section) -> list[str]:
    return [entry.text for entry in summarize(ledger, Around(20_000)).sections.get(section, ())]


def test_lines_apart_have_a_number_each(ledger_of: LedgerOf) -> None:
    apart = READ.replace("     6→", "    60→")
    ledger = ledger_of(
        user("look"), assistant(call("Read", file_path="/w/src/app.py")), result(apart)
    )
    text = next(text for text in told(ledger, "critical") if "app.py" in text)
    assert text.split("\n")[1:] == [
        "4: value_4 = load_4()", "value_5 = load_5()", "60: value_6 = load_6()",
    ]  # fmt: skip


def test_after_an_edit_no_number_is_given(ledger_of: LedgerOf) -> None:
    """The lines stand there still, but elsewhere."""
    ledger = ledger_of(
        user("go"), assistant(call("Read", file_path="/w/src/app.py")), result(READ),
        assistant(call("Edit", file_path="/w/src/app.py", old_string="value_4 = load_4()",
                       new_string="x_1")),
        result("ok"),
    )  # fmt: skip
    text = next(text for text in told(ledger, "critical") if text.startswith("Read app.py"))
    assert "5-6" not in text
    assert text.split("\n")[1:] == ["value_5 = load_5()", "value_6 = load_6()"]


def test_files_that_were_read_share_a_line_with_those_of_their_folder(ledger_of: LedgerOf) -> None:
    steps = [
        step
        for path in ("/w/src/app.py", "/w/src/net.py", "/w/doc/a.md")
        for step in (assistant(call("Read", file_path=path)), result(f"1→only in {path}"))
    ]
    files = told(ledger_of(user("look"), *steps), "files")
    assert files == ["/w/src/app.py, net.py: read", "/w/doc/a.md: read"]


def test_a_file_with_two_names_is_told_once(ledger_of: LedgerOf) -> None:
    edit = {"old_string": "a_1", "new_string": "b_1"}
    ledger = ledger_of(
        user("go"), assistant(call("Edit", file_path="/w/src/app.py", **edit)), result("ok"),
        assistant(call("Edit", file_path="src/app.py", **edit)), result("ok"),
        assistant(call("Read", file_path="src/app.py")), result("1→b_1"),
    )  # fmt: skip
    assert told(ledger, "files") == ["/w/src/app.py: changed 2 times"]


def test_a_look_by_another_name_changes_nothing() -> None:
    changed = FileState(changed=1, last="m1", at=1)
    files = {"/w/src/app.py": changed, "src/app.py": FileState(read=1, last="m9", at=9)}
    found = Ledger(files=files).known_files()["/w/src/app.py"]
    assert (found.last, found.at) == ("m1", 1)


PATHS = st.sampled_from(
    ("/w/src/a.py", "/w/lib/src/a.py", "src/a.py", "a.py", "/w/a.py", "b/a.py", "~/src/a.py")
)
STATES = st.builds(FileState, changed=st.integers(0, 3), read=st.integers(0, 2), at=st.integers(0))


@given(st.dictionaries(PATHS, STATES), st.sampled_from(("", "/w", "/w/src")))
def test_no_change_is_lost_or_counted_twice(files: dict[str, FileState], folder: str) -> None:
    place = Fact("place", folder, "m1", 1, "chdir") if folder else None
    found = Ledger(files=files, directory=place).known_files()
    assert sum(one.changed for one in found.values()) == sum(one.changed for one in files.values())
    assert set(found) <= set(files)
    assert {path for path in files if path.startswith(("/", "~"))} <= set(found)


def test_a_name_that_two_files_end_with_stays_its_own() -> None:
    paths = ("/w/src/a.py", "/w/lib/src/a.py", "src/a.py")
    files = {path: FileState(changed=1, at=at) for at, path in enumerate(paths)}
    assert set(update(Ledger(files=files), []).known_files()) == set(paths)

"""What happened to files, through sequences of tool calls of many agents."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.facts.effects.effect import Effect
from foldaway.facts.ledger import Fact, FileState, Ledger, update
from foldaway.testing import assistant, call, result, user
from foldaway.transcript import ToolCall

LedgerOf = Callable[..., Ledger]

PATCH = """*** Begin Patch
*** Add File: src/new.py
+x = 1
*** Update File: src/old.py
@@
-a
+b
*** Delete File: src/gone.py
*** Update File: src/from.py
*** Move to: src/to.py
@@
-a
+b
*** End Patch"""


def steps(*made: ToolCall | tuple[ToolCall, str]) -> list[object]:
    """Calls with their results, "ok" where none is given."""
    rows: list[object] = [user("Work.")]
    for one in made:
        asked, answer = one if isinstance(one, tuple) else (one, "ok")
        rows += [assistant(asked), result(answer)]
    return rows


def told(state: FileState) -> str:
    """A state in short: r2 c1, then what else is so."""
    marks = [f"r{state.read}", f"c{state.changed}"]
    marks += ["created"] if state.created else []
    marks += ["deleted"] if state.deleted else []
    marks += [f"from {state.renamed_from}"] if state.renamed_from else []
    return " ".join(marks)


def files_of(ledger: Ledger) -> dict[str, str]:
    return {path: told(state) for path, state in ledger.files.items()}


@each_row(("made", "files"), [
    ([call("Read", file_path="a.py"), call("Edit", file_path="a.py", old_string="x")],
     {"a.py": "r1 c1"}),
    ([call("Write", file_path="new.py", content="x"), call("Edit", file_path="new.py"),
      call("Read", file_path="new.py")], {"new.py": "r1 c2 created"}),
    ([call("Read", file_path="a.py"), call("Write", file_path="a.py", content="x")],
     {"a.py": "r1 c1"}),
    ([call("read_file", path="./src/../a.py"), call("edit_file", path="a.py")], {"a.py": "r1 c1"}),
    ([call("apply_patch", input=PATCH)],
     {"src/new.py": "r0 c1 created", "src/old.py": "r0 c1", "src/gone.py": "r0 c0 deleted",
      "src/to.py": "r0 c1 from src/from.py"}),
    ([call("shell", command=["apply_patch", PATCH])],
     {"src/new.py": "r0 c1 created", "src/old.py": "r0 c1", "src/gone.py": "r0 c0 deleted",
      "src/to.py": "r0 c1 from src/from.py"}),
    ([call("bash", command="sed -i 's/a/b/' a.py b.py")], {"a.py": "r0 c1", "b.py": "r0 c1"}),
    ([call("bash", command="mv old.py new.py"), call("bash", command="sed -i s/a/b/ new.py")],
     {"new.py": "r0 c1 from old.py"}),
    ([call("bash", command="mv a.py b.py"), call("bash", command="mv b.py c.py")],
     {"c.py": "r0 c0 from a.py"}),
    ([call("Write", file_path="a.py", content="x"), call("bash", command="rm -f a.py")],
     {"a.py": "r0 c1 created deleted"}),
    ([call("bash", command="rm a.py"), call("Write", file_path="a.py", content="x")],
     {"a.py": "r0 c1 created"}),
    ([call("bash", command="cat > made.py <<'EOF'\nimport os\nEOF")], {"made.py": "r0 c1 created"}),
    ([call("bash", command="cat <<EOF >> notes.md\nrm -rf /\nEOF")], {"notes.md": "r0 c1"}),
    ([call("bash", command="echo x > out.txt && cat out.txt")], {"out.txt": "r1 c1 created"}),
    ([call("move_file", source="a.py", destination="b.py")],
     {"b.py": "r0 c0 from a.py"}),
    ([call("delete_file", path="a.py")], {"a.py": "r0 c0 deleted"}),
    ([call("str_replace_editor", command="create", path="/w/a.py", file_text="x"),
      call("str_replace_editor", command="str_replace", path="/w/a.py", old_str="x", new_str="y"),
      call("str_replace_editor", command="view", path="/w/a.py")], {"/w/a.py": "r1 c2 created"}),
    ([call("open", path="src/a.py"), call("edit", search="x", replace="y")], {"src/a.py": "r1 c1"}),
    ([call("bash", command="open src/a.py 10"), call("edit", replacement_text="x", start_line=1,
      end_line=2)], {"src/a.py": "r1 c1"}),
    ([call("grep", pattern="x"), call("web_fetch", url="https://a.example/b.py")], {}),
])  # fmt: skip
def test_a_file_is_in_the_state_that_the_calls_leave_it_in(
    made: list[ToolCall], files: dict[str, str], ledger_of: LedgerOf
) -> None:
    """Read, created, changed, deleted and renamed, by tools and by shell commands."""
    assert files_of(ledger_of(*steps(*made))) == files


def test_a_patch_as_free_text_counts(ledger_of: LedgerOf) -> None:
    """Codex hands a patch to its tool as text, not as an object."""
    made = ToolCall("", "apply_patch", PATCH, "custom")
    assert "src/old.py" in ledger_of(*steps(made)).files


@each_row("answer", [
    "Error: denied", "<tool_use_error>String to replace not found in file.</tool_use_error>",
    "The user doesn't want to proceed with this tool use.", "No replacement was performed.",
    "Your proposed edit has introduced new syntax error(s).", "Permission denied: a.py",
])  # fmt: skip
def test_a_refused_edit_does_not_count(answer: str, ledger_of: LedgerOf) -> None:
    """Whatever the tool: what was not done is not told."""
    for made in (
        call("Write", file_path="a.py", content="x"),
        call("Edit", file_path="a.py", old_string="x", new_string="y"),
        call("str_replace_editor", command="str_replace", path="a.py", old_str="x", new_str="y"),
        call("apply_patch", input=PATCH),
        call("delete_file", path="a.py"),
    ):
        assert ledger_of(*steps((made, answer))).files == {}


def test_a_refused_edit_leaves_what_was_known(ledger_of: LedgerOf) -> None:
    """The counts and the place of the last success stay."""
    edit = call("Edit", file_path="a.py", old_string="x", new_string="y")
    ledger = ledger_of(*steps(call("Read", file_path="a.py"), edit, (edit, "Error: no such text")))
    assert files_of(ledger) == {"a.py": "r1 c1"}
    assert ledger.files["a.py"].last == "m4"


def test_a_read_that_failed_is_no_read(ledger_of: LedgerOf) -> None:
    """A file that is not there was not looked at, and is not the one that is open."""
    ledger = ledger_of(
        *steps(call("open", path="a.py"), (call("open", path="lost.py"), "Error: File not found"),
               call("edit", search="x", replace="y"))
    )  # fmt: skip
    assert files_of(ledger) == {"a.py": "r1 c1"}


EDITED = "File updated.\r\n[File: src/b.py (40 lines total)]\r\n1:x\n(Open file: /repo/src/b.py)\n"


def test_an_edit_that_names_no_file_is_of_the_one_that_its_result_tells(
    ledger_of: LedgerOf,
) -> None:
    """Also where the call that opened it was not read, as in what is old in a single run."""
    edit = call("edit", replacement_text="x", start_line=1, end_line=1)
    made = ledger_of(*steps(call("create", filename="a.py"), (edit, EDITED)))
    assert files_of(made) == {"a.py": "r0 c1 created", "src/b.py": "r0 c1"}
    other = call("edit", search="x", replace="y")
    made = ledger_of(*steps(call("open", path="a.py"), (other, "Done.\n(Open file: n/a)\n")))
    assert files_of(made) == {"a.py": "r1 c1"}


def test_what_is_moved_or_copied_to_a_folder_goes_into_it(ledger_of: LedgerOf) -> None:
    """A folder that was made earlier, or one that the result tells of."""
    made = ledger_of(
        *steps(call("mkdir", dir_name="old"), call("bash", command="mkdir -p kept"),
               call("bash", command="mv a.txt kept"), call("bash", command="mv b.txt c.txt"),
               call("bash", command="cp d.txt kept"))  # under a name that is not known
    )  # fmt: skip
    assert files_of(made) == {"kept/a.txt": "r0 c0 from a.txt", "c.txt": "r0 c0 from b.txt"}
    moved = call("mv", source="in/a.pdf", destination="temp")
    copied = call("cp", source="b.pdf", destination="temp")
    made = ledger_of(
        *steps((moved, '{"result": "\'in/a.pdf\' moved to \'temp/a.pdf\'"}'),
               (copied, '{"result": "\'b.pdf\' copied to \'temp/b.pdf\'"}'))
    )  # fmt: skip
    assert files_of(made) == {"temp/a.pdf": "r0 c0 from in/a.pdf", "temp/b.pdf": "r0 c1 created"}


def test_an_error_flag_alone_refuses(ledger_of: LedgerOf) -> None:
    """Also where the words do not say so."""
    ledger = ledger_of(
        user("Work."), assistant(call("Write", file_path="a.py")), result("nope", is_error=True)
    )
    assert ledger.files == {}


def test_the_place_is_that_of_the_last_time(ledger_of: LedgerOf) -> None:
    """The message in which a file was seen or changed last."""
    ledger = ledger_of(
        *steps(call("Read", file_path="a.py", offset=10, limit=5),
               call("Read", file_path="a.py", offset=40, limit=2), call("Edit", file_path="a.py"))
    )  # fmt: skip
    assert (ledger.files["a.py"].last, ledger.files["a.py"].at) == ("m6", 6)


def test_the_file_that_was_touched_last_stands_last(ledger_of: LedgerOf) -> None:
    """So that the newest files are told where there is no room for all."""
    ledger = ledger_of(*steps(*(call("Read", file_path=name) for name in ("a", "b", "c", "a"))))
    assert list(ledger.files) == ["b", "c", "a"]


STEPS = st.lists(
    st.tuples(
        st.sampled_from(("read", "create", "write", "change", "append", "delete", "rename")),
        st.sampled_from(("a", "b", "c")), st.sampled_from(("a", "b", "c")),
    ), max_size=12,
)  # fmt: skip


@given(done=STEPS)
def test_what_exists_is_what_a_simple_model_says(done: list[tuple[str, str, str]]) -> None:
    """A file that was named is deleted if the last thing that happened to it took it away; one
    that was renamed is known under its new name alone."""
    gone: dict[str, bool] = {}
    rows: list[Fact] = []
    for at, (action, path, to) in enumerate(done):
        rows.append(Fact("file", path, f"m{at}", at, action, effect=Effect(action, path, to)))  # pyright: ignore[reportArgumentType]
        if action == "read":
            gone.setdefault(path, False)
        elif action == "rename":
            gone.pop(path, None)
            gone[to] = False
        else:
            gone[path] = action == "delete"
    files = update(Ledger(), rows).files
    assert {path: state.deleted for path, state in files.items()} == gone


def test_a_name_that_was_put_together_from_pieces_is_not_quoted(ledger_of: LedgerOf) -> None:
    """The command tells it; a name that stands in it as a whole is one of its files."""
    loop = "for f in one two; do touch docs/$f.md; done; touch docs/three.md"
    ledger = ledger_of(user("Go."), assistant(call("bash", command=loop)), result("ok"))
    assert list(ledger.files) == ["docs/three.md"]
    assert [fact.text for fact in ledger.commands] == [f"`{loop}`"]

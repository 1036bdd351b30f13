"""Tool calls under the names and with the arguments that agents really use."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.facts.effects.calls import effects_of_call
from foldaway.facts.effects.effect import Effect

PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch"
CALLS: list[tuple[str, dict[str, Any], list[Effect]]] = [
    ("Read", {"file_path": "/a", "offset": 40, "limit": 20},
     [Effect("read", "/a")]),
    ("read", {"filePath": "/a", "offset": 40}, [Effect("read", "/a")]),
    ("read_file", {"path": "a", "limit": 5}, [Effect("read", "a")]),
    ("read_file", {"target_file": "a", "start_line": 3, "end_line": 9},
     [Effect("read", "a")]),
    ("read_file", {"target_file": "a", "start_line_one_indexed": 3,
                   "end_line_one_indexed_inclusive": 9}, [Effect("read", "a")]),
    ("read_multiple_files", {"paths": ["a", "b"]}, [Effect("read", "a"), Effect("read", "b")]),
    ("read_file", {"files": [{"path": "a"}, {"path": "b"}]},
     [Effect("read", "a"), Effect("read", "b")]),
    ("Write", {"file_path": "/a", "content": "x"}, [Effect("write", "/a")]),
    ("mcp__filesystem__write_file", {"path": "a", "content": "x"}, [Effect("write", "a")]),
    ("write_to_file", {"TargetFile": "a"}, [Effect("write", "a")]),
    ("create_file", {"filePath": "a"}, [Effect("create", "a")]),
    ("Edit", {"file_path": "/a", "old_string": "x", "new_string": "y"}, [Effect("change", "/a")]),
    ("MultiEdit", {"file_path": "/a", "edits": [{"old_string": "x"}]}, [Effect("change", "/a")]),
    ("multi_edit", {"edits": [{"file_path": "a"}, {"file_path": "b"}, {"file_path": "a"}]},
     [Effect("change", "a"), Effect("change", "b")]),
    ("replace_in_file", {"path": "a", "diff": "<<<<<<< SEARCH"}, [Effect("change", "a")]),
    ("edit_file", {"path": "a", "edits": [{"oldText": "x"}], "dryRun": False},
     [Effect("change", "a")]),
    ("NotebookEdit", {"notebook_path": "/n.ipynb", "new_source": "x"},
     [Effect("change", "/n.ipynb")]),
    ("move_file", {"source": "a", "destination": "b"}, [Effect("rename", "a", to="b")]),
    ("copy_file", {"source": "a", "destination": "b"}, [Effect("write", "b")]),
    ("create_directory", {"path": "d"}, [Effect("mkdir", "d")]),
    ("delete_file", {"target_file": "a"}, [Effect("delete", "a")]),
    ("str_replace_editor", {"command": "view", "path": "/a", "view_range": [5, -1]},
     [Effect("read", "/a")]),
    ("str_replace_editor", {"command": "create", "path": "/a", "file_text": "x"},
     [Effect("create", "/a")]),
    ("str_replace_based_edit_tool", {"command": "str_replace", "path": "/a", "old_str": "x"},
     [Effect("change", "/a")]),
    ("str_replace_editor", {"command": "insert", "path": "/a", "insert_line": 4,
                            "new_str": "x\ny\n"}, [Effect("change", "/a")]),
    ("str_replace_editor", {"command": "undo_edit", "path": "/a"}, [Effect("change", "/a")]),
    ("apply_patch", {"input": PATCH}, [Effect("change", "a.py")]),
    ("functions.apply_patch", {"patch": PATCH}, [Effect("change", "a.py")]),
    ("apply_patch", {"patchText": PATCH}, [Effect("change", "a.py")]),
    ("shell", {"command": ["apply_patch", PATCH]}, [Effect("change", "a.py")]),
    ("shell", {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}\nEOF"]},
     [Effect("change", "a.py")]),
    ("shell", {"command": ["rm", "a; rm b"]}, [Effect("delete", "a; rm b")]),
    ("exec_command", {"cmd": "rm a", "workdir": "/r"}, [Effect("delete", "a")]),
    ("Bash", {"command": "npm start", "run_in_background": True},
     [Effect("start", detail="npm start")]),
    ("KillShell", {"shell_id": "b1"}, [Effect("stop", detail="b1")]),
    ("edit", {"search": "x", "replace": "y"}, [Effect("change")]),
    ("edit", {"start_line": 3, "end_line": 9, "replacement_text": "x"},
     [Effect("change")]),
    ("open", {"path": "a", "line_number": 7}, [Effect("read", "a")]),
    ("create", {"filename": "a"}, [Effect("create", "a")]),
    ("rm", {"file_name": "a"}, [Effect("delete", "a")]),
    ("mv", {"source": "a", "destination": "b"}, [Effect("rename", "a", to="b")]),
    ("cd", {"folder": "d"}, [Effect("chdir", "d")]),
    ("execute_ipython_cell", {"code": "open('a', 'w')"}, [Effect("write", "a")]),
    ("TodoWrite", {"todos": [{"content": "rm a"}]}, []),
    ("Grep", {"pattern": "x", "path": "src"}, []),
    ("Glob", {"pattern": "*", "path": "src"}, []),
    ("WebFetch", {"url": "https://h/x", "prompt": "p"}, []),
    ("mcp__linear__create_issue", {"title": "t", "path": "x"}, []),
    ("browser.open", {"id": "x", "path": "y"}, []),
    ("render_report", {"template": "a", "output_path": "/out/r.pdf"},
     [Effect("write", "/out/r.pdf")]),
    ("mcp__data__export", {"table": "a", "output_file": "a.csv"}, [Effect("write", "a.csv")]),
    ("write_stdin", {"session_id": 1, "chars": "rm a\n"}, []),
]  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
KEYS = st.sampled_from(
    ["command", "cmd", "path", "file_path", "edits", "files", "paths", "offset", "limit", "input",
     "view_range", "start_line", "end_line", "insert_line", "source", "destination", "code"]
)  # fmt: skip
TOOLS = st.sampled_from([name for name, _, _ in CALLS])


@each_row(("name", "arguments", "expected"), CALLS)
def test_a_call_does_what_the_table_says(
    name: str, arguments: dict[str, Any], expected: list[Effect]
) -> None:
    """Each tool has exactly these effects, with paths as written."""
    assert list(effects_of_call(name, arguments)) == expected


@given(TOOLS, st.dictionaries(KEYS | st.text(max_size=6), JSON))
def test_arguments_of_any_type_are_read(name: str, arguments: dict[str, Any]) -> None:
    """Nothing in the arguments makes the reading fail."""
    for effect in effects_of_call(name, arguments):
        assert isinstance(effect.path, str)

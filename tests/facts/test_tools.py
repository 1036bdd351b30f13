"""Which kind of tool a name means."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.facts import tools
from foldaway.facts.tools import ACTIONS, ARGUMENTS, FAMILIES, Family, family_of, own_name

FACTS = Path(tools.__file__).parent
NAMES = [(family, name) for family, row in FAMILIES.items() for name in row.names.split()]
PLAIN = [(family, name) for family, name in NAMES if "." not in name]

KNOWN: dict[Family, str] = {
    "shell": "Bash PowerShell functions.shell container.exec local_shell execute_bash terminal "
    "run_shell_command developer__shell builtin_run_terminal_command run_in_terminal",
    "read": "Read mcp__filesystem__read_text_file mcp_filesystem_read_file view_image ReadFile "
    "read_many_files github_get_file_contents view-range-untruncated",
    "write": "Write write_to_file save-file create_file WriteFile create_new_file",
    "edit": "Edit MultiEdit apply_patch str_replace_editor str-replace-editor StrReplaceFile "
    "developer__text_editor replace_in_file edit_file_roo search_replace delete_file move_file",
    "search": "Grep grep_search search_files SearchText codebase-retrieval "
    "mcp__github__search_code",
    "glob": "Glob find_file FindFiles file_search glob_file_search",
    "list": "LS list_dir ListDirectory ReadFolder directory_tree",
    "web_search": "WebSearch google_web_search brave_web_search mcp__exa__web_search_exa",
    "fetch": "WebFetch web_extract mcp__fetch__fetch read_url_content fetch_webpage",
    "browser": "browser_navigate mcp__playwright__browser_click playwright_browser_snapshot "
    "puppeteer_screenshot browser.open computer browser_action",
    "subagent": "Task Agent spawn_agent wait_agent delegate_task runSubagent new_task",
    "todo": "TodoWrite todo_list TaskCreate TaskUpdate update_todo_list write_todos task_tracker",
    "plan": "update_plan ExitPlanMode plan_mode_respond",
    "memory": "save_memory mcp__memory__create_entities memory session_search",
    "process": "write_stdin BashOutput KillShell TaskOutput process_manage read_bash",
    "notebook": "NotebookEdit execute_ipython_cell execute_code copilot_getNotebookSummary",
    "question": "AskUserQuestion ask_followup_question clarify request_user_input",
    "other": "get_reservation_details execute_sql send_message mcp__linear-server__get_issue think "
    "Skill submit multi_tool_use.parallel search_recipes 工具 _ __ .",
}


@each_row(
    ("family", "name"),
    [(family, name) for family, names in KNOWN.items() for name in names.split()],
)
def test_a_tool_is_known_by_the_names_that_agents_give_it(family: Family, name: str) -> None:
    """Claude Code, Codex, OpenCode, Pi, Hermes, OpenHands, SWE-agent, Cline, Gemini CLI, others."""
    assert family_of(name) == family


def test_no_name_is_listed_twice() -> None:
    """A name has one family, however it is spelled."""
    listed = [name.replace("_", "") for _, name in NAMES]
    assert sorted(listed) == sorted(set(listed))


@given(st.sampled_from(PLAIN), st.sampled_from(("", "mcp__files__", "functions.", "server:", "a/")))
def test_spelling_and_prefix_make_no_difference(entry: tuple[Family, str], prefix: str) -> None:
    """Case, separators, and the server or namespace before the name."""
    family, name = entry
    camel = "".join(word.title() for word in name.split("_"))
    for spelled in (name, name.upper(), name.replace("_", "-"), camel):
        assert family_of(prefix + spelled) == family


@given(st.text(max_size=40) | st.text(st.sampled_from("_.:/-Aa1"), max_size=40))
def test_any_name_has_a_family(name: str) -> None:
    """Also one that nobody would give; and it keeps a part that can be shown."""
    assert family_of(name) in FAMILIES
    assert own_name(name) in name
    assert bool(own_name(name)) == bool(name)


def test_every_list_of_the_table_is_used() -> None:
    """What `tools.toml` lists as actions and arguments is asked for by its name."""
    source = "\n".join(path.read_text("utf-8") for path in FACTS.parent.rglob("*.py"))
    unused = [name for name in (*ACTIONS, *ARGUMENTS) if f'"{name}"' not in source]
    assert unused == []

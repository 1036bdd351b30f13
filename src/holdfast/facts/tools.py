"""Which kind of tool a name means, whatever agent or server spells it how."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Literal, TypeAlias

Family: TypeAlias = Literal[
    "shell", "read", "write", "edit", "search", "glob", "list", "web_search", "fetch", "browser",
    "subagent", "todo", "plan", "memory", "process", "notebook", "question", "other",
]  # fmt: skip

FAMILIES: Mapping[Family, str] = {
    "shell": """
        bash shell terminal sh zsh powershell pwsh cmd exec execute run command execute_bash
        exec_bash run_bash bash_command exec_command execute_command run_command shell_command
        local_shell shell_exec exec_shell execute_shell run_shell run_shell_command
        execute_shell_command run_terminal_cmd run_terminal_command run_in_terminal
        terminal_command terminal_execute bash_tool shell_tool container.exec automation_script
        run_process start_process launch_process ssh_exec run_tests run_task run_build
        create_and_run_task
    """,
    "read": """
        read read_file view view_file open open_file cat cat_file get_file file_read
        read_text_file read_media_file read_multiple_files read_many_files read_files
        get_file_contents get_file_content view_image view_range view_line_range view_code_item
        view_file_outline view_range_untruncated view_content_chunk read_currently_open_file
        get_symbols_overview find_symbol goto scroll_down scroll_up head tail load_file look_at
    """,
    "write": """
        write write_file create create_file write_to_file save_file create_new_file
        create_text_file file_write new_file put_file touch create_or_update_file
    """,
    "edit": """
        edit edit_file file_edit multi_edit multi_edit_file patch apply_patch apply_diff
        replace_in_file str_replace str_replace_editor str_replace_based_edit_tool text_editor
        file_editor planning_file_editor str_replace_file search_replace search_and_replace
        replace insert insert_content insert_text insert_line undo_edit edit_block edit_lines
        replace_lines delete_lines insert_at_line insert_edit_into_file replace_string_in_file
        multi_replace_string_in_file replace_file_content multi_replace_file_content propose_code
        reapply edit_existing_file single_find_and_replace replace_symbol_body replace_content
        replace_regex insert_after_symbol insert_before_symbol edit_anthropic edit_file_roo
        edit_file_anthropic edit_file_grok edit_file_gemini edit_file_codex smart_edit delete
        delete_file remove_file remove_files delete_path rm move_file move_files move_path mv
        rename_file copy_file copy_path cp
    """,
    "search": """
        grep search search_files search_file search_dir search_content search_file_content
        grep_search grep_files ripgrep rg codebase_search codebase_retrieval code_search
        semantic_search search_code search_for_pattern find_referencing_symbols list_code_usages
        finder sourcegraph search_untruncated find_in_files start_search get_more_search_results
        test_search lsp search_repo search_text
    """,
    "glob": """
        glob glob_tool find find_file find_files file_search find_by_name find_path
        file_glob_search glob_file_search glob_search
    """,
    "list": """
        ls list list_dir list_files list_directory list_directory_with_sizes directory_tree tree
        dir read_folder list_code_definition_names get_changed_files
    """,
    "web_search": """
        web_search search_web google_web_search google_search brave_web_search tavily_search
        web_search_exa firecrawl_search duckduckgo_search bing_search web_search_preview
        searxng_web_search internet_search perplexity_ask
    """,
    "fetch": """
        fetch web_fetch fetch_url fetch_webpage read_url read_url_content read_web_page web_read
        web_extract get_url http_get http_request curl wget download download_file
        firecrawl_scrape scrape scrape_url web_scrape tavily_extract fetch_url_content visit
        visit_page visit_webpage crawl agentic_fetch fetch_html fetch_markdown fetch_txt
        fetch_json url_fetch
    """,
    "browser": """
        browser browser_action browser_use computer computer_use computer_use_preview navigate
        navigate_page click screenshot take_screenshot take_snapshot scroll open_browser
        browser.open browser.find browser.search open_simple_browser web.run web.open web.click
        web.find new_page evaluate_script list_console_messages list_network_requests
    """,
    "subagent": """
        task agent dispatch_agent spawn_agent wait_agent close_agent resume_agent send_input
        delegate delegate_task delegate_to_agent subagent run_subagent use_subagents new_task
        codebase_investigator oracle mixture_of_agents agent_output agent_output_tool call_agent
        execute_task list_agents search_subagent
    """,
    "todo": """
        todo todos todo_list todo_write todo_read write_todos read_todos update_todo_list
        manage_todo_list set_todo_list task_create task_update task_list task_get task_tracker
        add_tasks update_tasks view_tasklist reorganize_tasklist create_todo focus_chain
        tracker_create_task tracker_update_task tracker_get_task tracker_list_tasks
    """,
    "plan": """
        update_plan plan create_plan exit_plan_mode enter_plan_mode plan_exit plan_enter
        plan_mode_respond plan_mode_response set_plan
    """,
    "memory": """
        memory save_memory update_memory create_memory add_memory read_memory write_memory
        list_memories delete_memory search_memory search_memories get_memory get_memories recall
        remember remember_memory retrieve_memories store_memory memory_search memory_store
        session_search trajectory_search conversation_search recent_chats create_entities
        create_relations add_observations delete_entities delete_observations delete_relations
        read_graph search_nodes open_nodes add_memories
    """,
    "process": """
        process process_manage write_stdin bash_output kill_bash kill_shell task_output task_stop
        get_terminal_output read_terminal terminal_last_command kill_terminal command_status
        send_command_input read_command_output await_shell job_output job_kill read_process
        write_process kill_process list_processes read_process_output interact_with_process
        force_terminate list_sessions read_output read_bash write_bash stop_bash list_bash
        get_task_output monitor
    """,
    "notebook": """
        notebook_edit notebook_read edit_notebook edit_notebook_file read_notebook
        run_notebook_cell read_notebook_cell_output get_notebook_summary execute_cell run_cell
        insert_cell edit_cell read_cell delete_cell execute_ipython_cell ipython jupyter
        jupyter_execute python python_exec run_python execute_python python_repl js_repl
        execute_code run_code code_interpreter code_execution run_python_code python_interpreter
        repl
    """,
    "question": """
        question ask_user ask_user_question ask_followup_question ask_question ask_questions
        clarify request_user_input ask_human ask user_input request_permissions confirm
    """,
}
"""The names that agents and common servers use, in one of their spellings.

`notebook` is whatever works in cells or runs a piece of code, `process` whatever looks at or
talks to something that a shell started, `edit` also what moves or deletes a file. A dot keeps a
name apart from the plain one: `open` reads a file, `browser.open` does not.
"""

_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_FAMILY_OF: dict[str, Family] = {
    name.replace("_", ""): family for family, names in FAMILIES.items() for name in names.split()
}
_BROWSERS = ("browser", "playwright", "puppeteer")
_ENDINGS = ("tool", "function")
_LONGEST_NAME = 200
_LEAST_ENDING_WORDS = 2


@lru_cache(2048)
def family_of(name: str) -> Family:
    """Return the family of a tool by its name in any spelling.

    Case, separators, a server's or a framework's prefix (`mcp__files__read_file`,
    `functions.shell`, `files_read_file`) and a trailing "tool" make no difference. A name that
    nobody knows is "other".
    """
    for key in _keys(name[-_LONGEST_NAME:]):
        found = _FAMILY_OF.get(key)
        if found is not None:
            return found
    bare = own_name(name).lower()
    return "browser" if bare.startswith(_BROWSERS) else "other"


@lru_cache(2048)
def own_name(name: str) -> str:
    """Return the name of a tool without the server or namespace before it."""
    return re.split(r"__|[.:/]", name)[-1] or name


def _keys(name: str) -> Iterator[str]:
    """Yield what a name may be listed under, the most exact first."""
    pieces = [piece for piece in re.split(r"__|[.:/]", name) if piece]
    if len(pieces) > 1:
        yield ".".join("".join(_WORDS.findall(piece)).lower() for piece in pieces[-2:])
    words = _WORDS.findall(pieces[-1]) if pieces else []
    lowered = [word.lower() for word in words]
    yield "".join(lowered)
    if lowered and lowered[-1] in _ENDINGS:
        lowered = lowered[:-1]
        yield "".join(lowered)
    for start in range(1, len(lowered) - _LEAST_ENDING_WORDS + 1):
        yield "".join(lowered[start:])
    if lowered[:1] == ["mcp"]:
        yield lowered[-1]

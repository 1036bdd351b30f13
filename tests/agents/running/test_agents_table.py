"""Each agent is told the listener's address in its own way, and its user's own address is kept."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from foldaway.agents.running.agents import (
    OUTER,
    NoAddress,
    start_for,
    startable_agent,
    startable_agents,
)
from foldaway.errors import UnknownName

FRONT = "http://127.0.0.1:9"


def start(name: str, home: Path, **variables: str) -> tuple[str, dict[str, str], str]:
    """Return options, environment and options of the gateway, the first and the last as text."""
    found = start_for(startable_agent(name), FRONT, variables, home)
    return " ".join(found.options), found.environment, " ".join(found.serve)


def put(home: Path, where: str, text: str) -> None:
    path = home / where
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_an_agent_has_its_name_and_its_command() -> None:
    """Both are understood; another is refused with the names that there are."""
    for name, agent in startable_agents().items():
        assert startable_agent(name) is startable_agent(agent.program) is agent
    with pytest.raises(UnknownName, match="claude-code, codex"):
        startable_agent("emacs")


@pytest.mark.parametrize(
    ("name", "variables"),
    [
        ("claude", {"ANTHROPIC_BASE_URL": FRONT, "ENABLE_TOOL_SEARCH": "true",
                    "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "1000000"}),
        ("gemini", {"GOOGLE_GEMINI_BASE_URL": FRONT}),
        ("aider", {"OPENAI_API_BASE": f"{FRONT}/v1", "ANTHROPIC_API_BASE": FRONT}),
        ("goose", {"OPENAI_HOST": FRONT, "ANTHROPIC_HOST": FRONT, "GOOGLE_HOST": FRONT}),
    ],
)  # fmt: skip
def test_variables_name_the_listener(name: str, variables: dict[str, str], tmp_path: Path) -> None:
    """And what another address would change is set back."""
    options, environment, _ = start(name, tmp_path)
    assert options == ""
    assert environment.items() >= variables.items()


def test_what_the_user_has_set_stays(tmp_path: Path) -> None:
    """Other variables are not touched, and an own address is where the gateway sends requests."""
    own = {"ANTHROPIC_BASE_URL": "https://proxy.example/team/", "ENABLE_TOOL_SEARCH": "auto"}
    _, environment, serve = start("claude", tmp_path, **own)
    assert environment["ANTHROPIC_BASE_URL"] == f"{FRONT}/to-anthropic-base-url/team"
    assert "ENABLE_TOOL_SEARCH" not in environment
    assert serve == "--upstream /to-anthropic-base-url=https://proxy.example"


def test_an_address_of_a_gateway_of_ours_is_not_an_own_one(tmp_path: Path) -> None:
    """Nobody is compacted twice."""
    _, environment, serve = start("claude", tmp_path, ANTHROPIC_BASE_URL="http://127.0.0.1:8787")
    assert (environment["ANTHROPIC_BASE_URL"], serve) == (FRONT, "")


def test_an_agent_inside_an_agent_keeps_the_address_that_it_has(tmp_path: Path) -> None:
    """Its requests go through the outer gateway; one of another kind gets its own."""
    outer = {OUTER: "http://127.0.0.1:5", "ANTHROPIC_BASE_URL": "http://127.0.0.1:5/to-x"}
    _, environment, serve = start("claude", tmp_path, **outer)
    assert (environment["ANTHROPIC_BASE_URL"], serve) == ("http://127.0.0.1:5/to-x", "")
    assert start("gemini", tmp_path, **outer)[1]["GOOGLE_GEMINI_BASE_URL"] == FRONT


def test_codex_is_told_by_options(tmp_path: Path) -> None:
    """The built-in provider, with a log-in too, and those of its settings."""
    options, environment, serve = start("codex", tmp_path)
    assert options == f'-c openai_base_url="{FRONT}/v1"'
    assert (environment, serve) == ({OUTER: FRONT}, "--refuse-websockets")
    put(tmp_path, ".codex/auth.json", '{"OPENAI_API_KEY": null, "tokens": {"access_token": "t"}}')
    put(
        tmp_path,
        ".codex/config.toml",
        '[model_providers.mine]\nbase_url = "http://10.0.0.1:1/v1"\n',
    )
    options, _, serve = start("codex", tmp_path)
    assert f'openai_base_url="{FRONT}/to-openai/backend-api/codex"' in options
    assert f'model_providers.mine.base_url="{FRONT}/to-mine/v1"' in options
    assert "/to-openai=https://chatgpt.com" in serve
    assert "/to-mine=http://10.0.0.1:1" in serve


def test_opencode_is_told_by_json(tmp_path: Path) -> None:
    """Only providers that the user has; what the variable said before stays."""
    own = '{"provider": {"mine": {"options": {"baseURL": "http://10.0.0.1/v1"}}}} // mine'
    put(tmp_path, ".config/opencode/opencode.json", own)
    put(tmp_path, ".local/share/opencode/auth.json", '{"google": {"type": "api"}}')
    before = json.dumps({"theme": "dark", "provider": {"mine": {"name": "Mine"}}})
    _, environment, serve = start("opencode", tmp_path, OPENAI_API_KEY="k",
                                  OPENCODE_CONFIG_CONTENT=before)  # fmt: skip
    assert json.loads(environment["OPENCODE_CONFIG_CONTENT"]) == {
        "theme": "dark",
        "provider": {
            "mine": {"name": "Mine", "options": {"baseURL": f"{FRONT}/to-mine/v1"}},
            "openai": {"options": {"baseURL": f"{FRONT}/v1"}},
            "google": {"options": {"baseURL": f"{FRONT}/v1beta"}},
        },
    }
    assert serve == "--upstream /to-mine=http://10.0.0.1"


def test_an_agent_gets_a_server_that_recalls_if_it_takes_one_at_its_start(tmp_path: Path) -> None:
    """By an option, or in the variable that has its addresses."""
    server = ("/opt/py thon", "-m", "foldaway", "mcp")
    started = {
        name: start_for(startable_agent(name), FRONT, {"ANTHROPIC_API_KEY": "k"}, tmp_path,
                        recall=server)
        for name in ("claude", "codex", "opencode")
    }  # fmt: skip
    (given,) = (one for one in started["claude"].options if one.startswith("--mcp-config="))
    held = json.loads(given.partition("=")[2])["mcpServers"]["foldaway"]
    assert [held["command"], *held["args"]] == list(server)
    options = started["codex"].options
    told = tomllib.loads("\n".join(one for one in options if one.startswith("mcp_servers.")))
    held = told["mcp_servers"]["foldaway"]
    assert [held["command"], *held["args"]] == list(server)
    whole = json.loads(started["opencode"].environment["OPENCODE_CONFIG_CONTENT"])
    assert whole["mcp"]["foldaway"]["command"] == list(server)
    assert "provider" in whole


def test_pi_is_told_by_an_extension(tmp_path: Path) -> None:
    """The file is there, and the providers of its settings are among those that it is given."""
    put(
        tmp_path, ".pi/agent/models.json", '{"providers": {"mine": {"baseUrl": "http://10.0.0.1"}}}'
    )
    options, environment, _ = start("pi", tmp_path)
    assert Path(options.removeprefix("--extension ")).read_text().startswith("// ")
    given = json.loads(environment["PI_FOLDAWAY_PROVIDERS"])
    assert (given["anthropic"], given["mine"]) == (FRONT, f"{FRONT}/to-mine")


@pytest.mark.parametrize(
    ("name", "where", "text", "variable"),
    [
        ("goose", ".config/goose/config.yaml", "OPENAI_HOST: 'http://10.0.0.1'\n", "OPENAI_HOST"),
        ("hermes", ".hermes/config.yaml", 'model:\n  base_url: "http://10.0.0.1"\n',
         "CUSTOM_BASE_URL"),
        ("qwen", ".qwen/.env", "export OPENAI_BASE_URL=http://10.0.0.1\n", "OPENAI_BASE_URL"),
        ("qwen", ".qwen/settings.json", '{"env": {"OPENAI_BASE_URL": "http://10.0.0.1"}}',
         "OPENAI_BASE_URL"),
    ],
)  # fmt: skip
def test_an_address_in_settings_is_an_own_one(
    name: str, where: str, text: str, variable: str, tmp_path: Path
) -> None:
    """A variable wins over it in the agent, so ours has to lead there."""
    put(tmp_path, where, text)
    _, environment, serve = start(name, tmp_path)
    assert environment[variable].startswith(f"{FRONT}/to-")
    assert "=http://10.0.0.1" in serve


@pytest.mark.parametrize("name", ["qwen", "copilot", "hermes"])
def test_an_agent_that_would_not_ask_us_is_not_started(name: str, tmp_path: Path) -> None:
    """Its log-in belongs to one address; the error says what to set."""
    with pytest.raises(NoAddress, match=startable_agent(name).title):
        start(name, tmp_path)


def test_a_proxy_does_not_get_requests_to_this_machine(tmp_path: Path) -> None:
    """What the user has excepted stays excepted."""
    _, environment, _ = start("claude", tmp_path, HTTPS_PROXY="http://p:1", NO_PROXY="intern")
    assert environment["NO_PROXY"] == environment["no_proxy"] == "127.0.0.1,intern"


@pytest.mark.parametrize(
    "text", ["{", "[1]", "\x00", '{"providers": 3}', '{"providers": {"a": 1}}']
)
def test_settings_that_cannot_be_read_have_no_address(text: str, tmp_path: Path) -> None:
    """The agent will say what is wrong with them."""
    put(tmp_path, ".pi/agent/models.json", text)
    put(tmp_path, ".codex/config.toml", text)
    assert "mine" not in start("pi", tmp_path)[1]["PI_FOLDAWAY_PROVIDERS"]
    assert start("codex", tmp_path)[2] == "--refuse-websockets"


def test_every_agent_has_its_page() -> None:
    """Under its name, and the page says how it is started."""
    docs = Path(__file__).resolve().parents[3] / "docs" / "agents"
    for name, agent in startable_agents().items():
        page = (docs / f"{name.replace('qwen-code', 'qwen')}.md").read_text()
        shown = rf'foldaway run (?:--serve "[^"]+" )?{agent.program}\b'
        assert re.search(shown, page), name


SETTINGS = '{"env": {"ANTHROPIC_BASE_URL": "https://models.corp.example/claude"}}'


def settings_in(folder: Path, text: str) -> None:
    (folder / ".claude").mkdir(parents=True)
    (folder / ".claude" / "settings.json").write_text(text)


def test_claude_code_goes_through_us_to_the_address_of_its_settings(tmp_path: Path) -> None:
    """Its settings win over the environment, and `--settings` wins over both."""
    settings_in(tmp_path, SETTINGS)
    given = {"ANTHROPIC_BASE_URL": "https://other.example"}
    start = start_for(startable_agent("claude"), FRONT, given, tmp_path)
    assert start.serve[:2] == (
        "--upstream", "/to-anthropic-base-url=https://models.corp.example",
    )  # fmt: skip
    ours = f"{FRONT}/to-anthropic-base-url/claude"
    assert start.options[0] == "--settings"
    assert json.loads(start.options[1]) == {"env": {"ANTHROPIC_BASE_URL": ours}}
    (note,) = start.notes
    assert "https://models.corp.example/claude" in note


OWN = {
    "claude": (".claude/settings.json", '{"env": {"ANTHROPIC_BASE_URL": "%s"}}', "%s"),
    "codex": (".codex/config.toml", '[model_providers.mine]\nbase_url = "%s"\n', "mine is %s"),
    "opencode": (".config/opencode/opencode.json",
                 '{"provider": {"mine": {"options": {"baseURL": "%s"}}}}', "mine is %s"),
    "pi": (".pi/agent/models.json", '{"providers": {"mine": {"baseUrl": "%s"}}}', "mine is %s"),
    "goose": (".config/goose/config.yaml", "OPENAI_HOST: %s\n", "OPENAI_HOST is %s"),
    "qwen": (".qwen/.env", "OPENAI_BASE_URL=%s\n", "OPENAI_BASE_URL is %s"),
    "hermes": (".hermes/config.yaml", "model:\n  base_url: %s\n", "CUSTOM_BASE_URL is %s"),
}  # fmt: skip


@pytest.mark.parametrize("name", OWN)
def test_an_address_of_the_users_settings_is_told_in_one_line(name: str, tmp_path: Path) -> None:
    """Whichever agent it is; that of a gateway of ours is not asked, so it is not told."""
    agent, (where, text, said) = startable_agent(name), OWN[name]
    put(tmp_path, where, text % "https://models.corp.example/v1")
    (note,) = start_for(agent, FRONT, {}, tmp_path).notes
    assert said % "https://models.corp.example/v1" in note
    assert note.endswith(f"in the settings of {agent.title}; the gateway asks that address")
    if not agent.start.needs:
        put(tmp_path, where, text % "http://127.0.0.1:8787/v1")
        assert start_for(agent, FRONT, {}, tmp_path).notes == ()


def test_several_addresses_of_the_users_settings_are_told_in_one_line(tmp_path: Path) -> None:
    """An address that a variable of the user replaces, or that we cannot pass on, is not told."""
    put(tmp_path, ".codex/config.toml", "".join(
        f'[model_providers.{name}]\nbase_url = "http://{name}.example"\n' for name in ("a", "b")
    ))  # fmt: skip
    (note,) = start_for(startable_agent("codex"), FRONT, {}, tmp_path).notes
    assert note == ("a is http://a.example, b is http://b.example in the settings of Codex; "
                    "the gateway asks these addresses")  # fmt: skip
    put(tmp_path, ".config/goose/config.yaml",
        "OPENAI_HOST: http://a.example\nOLLAMA_HOST: http://b.example\n")  # fmt: skip
    given = {"OPENAI_HOST": "http://c.example"}
    assert start_for(startable_agent("goose"), FRONT, given, tmp_path).notes == ()


def test_an_address_of_the_project_is_told_and_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project folder may not name an address, unless the user says so."""
    settings_in(tmp_path / "project", SETTINGS)
    monkeypatch.chdir(tmp_path / "project")
    home = tmp_path / "home"
    start = start_for(startable_agent("claude"), FRONT, {}, home)
    assert start.serve == ()
    assert json.loads(start.options[1]) == {"env": {"ANTHROPIC_BASE_URL": FRONT}}
    (note,) = start.notes
    assert "not used without --project-address" in note
    trusted = start_for(startable_agent("claude"), FRONT, {}, home, trusts_project=True)
    assert "/to-anthropic-base-url=https://models.corp.example" in trusted.serve


def test_a_switch_by_which_requests_go_past_us_is_told(tmp_path: Path) -> None:
    """In the environment or in a settings file."""
    settings_in(tmp_path, '{"env": {"CLAUDE_CODE_USE_VERTEX": "1"}}')
    given = {"CLAUDE_CODE_USE_BEDROCK": "1"}
    notes = start_for(startable_agent("claude"), FRONT, given, tmp_path).notes
    assert [("Amazon Bedrock" in one, "Vertex" in one) for one in notes] == [
        (True, False), (False, True),
    ]  # fmt: skip

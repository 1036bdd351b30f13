"""Settings: file, environment and command line, in that order; everything wrong is named."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import fields
from tests.testing.rows import each_row

from foldaway._core.policy import Policy, budget_for
from foldaway.agents.engines.hermes import HermesEngine
from foldaway.config import (
    Settings,
    open_engine,
    open_memory,
    read_settings,
    redaction_policy,
    trust_folder,
    untrust_folder,
)
from foldaway.config.sections import FOLDER_MAY_SET, SECTIONS
from foldaway.config.settings import OTHER_VARIABLES, value_of
from foldaway.errors import InvalidSetting, NotReadable, NotWritable
from foldaway.redaction import Redactor
from foldaway.sessions import internals

Put = Callable[[str], Path]


@pytest.fixture
def toml(tmp_path: Path) -> Put:
    """Write a settings file."""

    def write(text: str) -> Path:
        path = tmp_path / "settings.toml"
        path.write_text(text)
        return path

    return write


def test_without_anything_the_defaults_hold(tmp_path: Path) -> None:
    """No file and no variable: the policy is the default one, the window unknown."""
    found = read_settings(environment={"XDG_CONFIG_HOME": str(tmp_path)})
    assert found.policy == Policy()
    assert (found.model, found.context_length, found.output_tokens) == ("", None, 0)


def test_every_field_of_the_policy_is_a_setting() -> None:
    """[compression] has the fields of the policy, by name."""
    assert list(SECTIONS["compression"]) == [field.name for field in fields(Policy)]


def _another(name: str, default: Any) -> tuple[Any, str, str]:
    """Return another value than the default, as a variable holds it and as a file does."""
    if name in ("arrival", "follow_arrival"):
        return "bounded", "bounded", '"bounded"'
    if name == "save":
        return "most", "most", '"most"'
    if name == "arrival_tools":
        return {"Bash": 4_000, "Read": 0}, "Bash=4000, Read=0", "{ Bash = 4000, Read = 0 }"
    value = {bool: False, int: int(default) + 1, float: default}[type(default)]
    text = str(value).lower()
    return value, text, text


@pytest.mark.parametrize("field", fields(Policy), ids=lambda field: field.name)
def test_every_setting_can_be_given_in_three_ways(toml: Put, field: object) -> None:
    """In the file, by the long variable and by the short one."""
    name, default = field.name, getattr(Policy(), field.name)  # type: ignore[attr-defined]
    value, text, written = _another(name, default)
    path = str(toml(f"[compression]\n{name} = {written}\n"))
    for file, environment in (
        (path, {}),
        (None, {f"FOLDAWAY_COMPRESSION_{name.upper()}": text, "HOME": "/nowhere"}),
        (None, {f"FOLDAWAY_{name.upper()}": text, "HOME": "/nowhere"}),
    ):
        found = read_settings(file, environment=environment)
        assert getattr(found.policy, name) == value


@each_row("text", ["Bash", "Bash=many", "Bash=1.5"])
def test_limits_that_are_no_numbers_are_refused(text: str) -> None:
    """By the variable and by the file, with the place."""
    with pytest.raises(InvalidSetting, match="FOLDAWAY_ARRIVAL_TOOLS"):
        read_settings(environment={"FOLDAWAY_ARRIVAL_TOOLS": text, "HOME": "/nowhere"})


@pytest.mark.parametrize("given", ["arrival = 3", 'arrival = "some"', "arrival_tools = 3",
                                   'arrival_tools = { Bash = "many" }',
                                   "arrival_tools = { Bash = -1 }"])  # fmt: skip
def test_what_arrival_cannot_be_is_refused(toml: Put, given: str) -> None:
    """A level that there is none of, limits that are no whole numbers from 0 on."""
    with pytest.raises(InvalidSetting, match=r"compression\.arrival"):
        read_settings(str(toml(f"[compression]\n{given}\n")), environment={})


def test_the_command_line_wins_over_the_environment_over_the_file(toml: Put) -> None:
    """Each layer overrides the one below it, key by key."""
    path = str(toml("[compression]\nthreshold = 0.1\nprotect_last = 7\nprotect_first = 1\n"))
    environment = {"FOLDAWAY_THRESHOLD": "0.2", "FOLDAWAY_PROTECT_LAST": "8"}
    flags = {"compression.threshold": ("--threshold", 0.3)}
    policy = read_settings(path, flags=flags, environment=environment).policy
    assert (policy.threshold, policy.protect_last, policy.protect_first) == (0.3, 8, 1)


def test_the_long_form_of_a_variable_wins_over_the_short_one() -> None:
    """Both set: the more exact name decides."""
    environment = {
        "FOLDAWAY_THRESHOLD": "0.2", "FOLDAWAY_COMPRESSION_THRESHOLD": "0.3", "HOME": "/nowhere",
    }  # fmt: skip
    assert read_settings(environment=environment).policy.threshold == 0.3


def test_a_model_by_name_drops_the_window_of_another(toml: Put) -> None:
    """A window in the file is for the model in the file."""
    path = str(toml('[model]\nname = "a"\ncontext_length = 32000\noutput_tokens = 1000\n'))
    found = read_settings(path, environment={})
    assert (found.model, found.context_length, found.output_tokens) == ("a", 32_000, 1_000)
    other = read_settings(path, flags={"model.name": ("--model", "b")}, environment={})
    assert (other.model, other.context_length) == ("b", None)


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """An empty folder to work in, and the configuration folders of a user."""
    found = {
        "here": tmp_path / "here" / "foldaway.toml",
        "home": tmp_path / "home" / ".config" / "foldaway" / "config.toml",
        "xdg": tmp_path / "xdg" / "foldaway" / "config.toml",
    }
    for path in found.values():
        path.parent.mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    return found


def of_user(places: dict[str, Path], **variables: str) -> dict[str, str]:
    home = places["home"].parents[2]
    return {"HOME": str(home), "FOLDAWAY_HOME": str(home / "kept"), **variables}


def test_the_folders_file_lies_over_the_users_own_and_a_named_one_stands_alone(
    places: dict[str, Path], tmp_path: Path
) -> None:
    """--config or FOLDAWAY_CONFIG, else the user's own file with foldaway.toml here over it."""

    def seen(file: str | None = None, **variables: str) -> tuple[float, int, list[str]]:
        found = read_settings(file, environment=of_user(places, **variables))
        whose = [one.whose for one in found.files]
        return found.policy.threshold, found.policy.protect_last, whose

    assert seen() == (0.5, 20, [])
    places["home"].write_text("[compression]\nthreshold = 0.1\nprotect_last = 7\n")
    assert seen() == (0.1, 7, ["own"])
    places["xdg"].write_text("[compression]\nthreshold = 0.2\nprotect_last = 7\n")
    xdg = str(tmp_path / "xdg")
    assert seen(XDG_CONFIG_HOME=xdg) == (0.2, 7, ["own"])
    assert seen(XDG_CONFIG_HOME="../xdg") == (0.1, 7, ["own"])  # relative: not to be followed
    places["here"].write_text("[compression]\nthreshold = 0.3\n")
    assert seen(XDG_CONFIG_HOME=xdg) == (0.3, 7, ["own", "folder"])
    assert seen(FOLDAWAY_PROTECT_LAST="9") == (0.3, 9, ["own", "folder"])
    named = tmp_path / "named.toml"
    named.write_text("[compression]\nthreshold = 0.4\n")
    assert seen(FOLDAWAY_CONFIG=str(named)) == (0.4, 20, ["named"])
    assert seen(str(named), FOLDAWAY_CONFIG="/no/such.toml") == (0.4, 20, ["named"])


ANOTHER = {
    "bool": "true", "int": "7", "float": "0.6", "str": '"some"', "limits": "{x = 1}",
    "names": '["/some"]',
}  # fmt: skip
OF_A_FOLDER = {
    "arrival": '"off"', "follow_arrival": '"lossless"', "ttl": '"1h"', "mode": '"rotate"',
    "enabled": "false",
}  # fmt: skip


@pytest.mark.parametrize(
    "name", [f"{section}.{key}" for section, keys in SECTIONS.items() for key in keys]
)
def test_a_folder_may_set_what_is_listed_and_nothing_else(
    places: dict[str, Path], name: str
) -> None:
    """A new setting is the user's own unless somebody lists it; what is ignored is said."""
    section, _, key = name.partition(".")
    value = OF_A_FOLDER.get(key) or ANOTHER[SECTIONS[section][key]]
    places["here"].write_text(f"[{section}]\n{key} = {value}\n")
    found = read_settings(environment=of_user(places))
    if name in FOLDER_MAY_SET:
        assert value_of(found, name) != value_of(Settings(), name)
        assert found.origins == {name: f"foldaway.toml: {name}"}
        assert (found.files[0].state, found.warnings) == ("applied", ())
    else:
        assert value_of(found, name) == value_of(Settings(), name)
        assert found.files[0].state == "restricted"
        assert [one.key for one in found.files[0].ignored] == [name]
        (warning,) = found.warnings
        assert name in warning


def test_a_folder_may_set_nothing_that_names_something() -> None:
    """Its texts are a model's name, which is only looked up, and choices among known words."""
    texts = {
        name for name in FOLDER_MAY_SET
        if SECTIONS[name.partition(".")[0]][name.partition(".")[2]] in ("str", "names")
    }  # fmt: skip
    assert texts == {"compression.arrival", "model.name", "caching.ttl", "sessions.mode"}


def test_what_a_folder_has_wrong_is_ignored_and_the_rest_applies(places: dict[str, Path]) -> None:
    """Key by key; the same file would be an error if the user had named it."""
    places["here"].write_text(
        "[compression]\nthreshold = 0.6\nprotect_last = 0\nevil = 1\n[model]\nname = 3\n"
    )
    found = read_settings(environment=of_user(places))
    assert (found.policy.threshold, found.policy.protect_last) == (0.6, 20)
    (warning,) = found.warnings
    assert "compression.protect_last is 0; it must be at least 1 (and 2 more)" in warning
    assert len(found.files[0].ignored) == 3
    with pytest.raises(InvalidSetting):
        read_settings("foldaway.toml", environment={})


def test_a_folder_is_trusted_for_one_content(places: dict[str, Path]) -> None:
    """All of it counts then, `${NAME}` too; any change ends it."""
    text = '[memory]\nexternal = "mcp"\n[memory.mcp]\nurl = "http://x/${NAME}"\n'
    environment = of_user(places, NAME="value")
    places["here"].write_text(text)
    assert read_settings(environment=environment).memory_options == {}
    trust_folder(".", text.encode(), environment)
    found = read_settings(environment=environment)
    assert found.memory_options == {"mcp": {"url": "http://x/value"}}
    assert (found.files[0].state, found.warnings) == ("trusted", ())
    places["here"].write_text(text + "\n")
    found = read_settings(environment=environment)
    assert (found.memory, found.files[0].state) == ("", "changed")
    assert "changed since you trusted it" in found.warnings[0]
    assert untrust_folder(".", environment)
    assert not untrust_folder(".", environment)
    places["here"].write_text(text)
    assert read_settings(environment=environment).files[0].state == "restricted"


@pytest.mark.parametrize("record", [b"", b"\n", b"\xff\n", b"0" * 64])
def test_a_record_that_cannot_be_read_is_no_trust(places: dict[str, Path], record: bytes) -> None:
    """Whatever is in its place."""
    environment = of_user(places)
    places["here"].write_text('[engine]\nname = "evil"\n')
    trust_folder(".", places["here"].read_bytes(), environment)
    assert read_settings(environment=environment).engine == "evil"
    (path,) = (Path(environment["FOLDAWAY_HOME"]) / "trusted").iterdir()
    path.write_bytes(record)
    assert read_settings(environment=environment).engine == "compressor"


def test_a_home_in_the_current_folder_holds_no_trust(places: dict[str, Path]) -> None:
    """The author of the folder could have written the record."""
    environment = of_user(places)
    places["here"].write_text('[engine]\nname = "evil"\n')
    data = places["here"].read_bytes()
    relative = {**environment, "FOLDAWAY_HOME": "kept"}
    with pytest.raises(NotWritable, match="absolute path"):
        trust_folder(".", data, relative)
    trust_folder(".", data, {**environment, "FOLDAWAY_HOME": str(Path("kept").absolute())})
    assert read_settings(environment=relative).engine == "compressor"


def test_a_key_is_not_used_for_another_address_than_its_own(toml: Put) -> None:
    """A later layer that names another address, or another vendor, drops the key of the first."""
    path = str(toml(
        '[summarizer]\nmodel = "openai:a"\nurl = "https://mine/v1"\nkey_variable = "MINE"\n'
    ))  # fmt: skip

    def variable(environment: dict[str, str] | None = None, **flags: str) -> str:
        given = {f"summarizer.{key}": (f"--{key}", value) for key, value in flags.items()}
        found = read_settings(path, flags=given, environment=environment or {})
        return found.summarizer_key_variable

    assert variable() == "MINE"
    assert variable(model="openai:b") == "MINE"
    assert variable(model="anthropic:b") == ""
    assert variable(url="https://other/v1") == ""
    assert variable(url="https://other/v1", key_variable="OTHER") == "OTHER"
    assert variable({"FOLDAWAY_SUMMARIZER_URL": "https://other/v1"}) == ""


BAD_FILES = {
    "[compression]\ntreshold = 0.5": (
        "unknown setting compression.treshold; did you mean threshold?",
    ),
    "[compression]\nzzz = 0.5": ("compression.zzz", "known: enabled, threshold"),
    "[compresion]\nthreshold = 0.5": (
        "unknown section [compresion]",
        "did you mean [compression]?",
    ),
    "compression = 5": ("compression", "a section: [compression]"),
    "[compression]\nthreshold = 1.5": ("compression.threshold is 1.5", "from 0 to 1"),
    "[compression]\nthreshold = -0.1": ("compression.threshold is -0.1", "from 0 to 1"),
    "[compression]\nthreshold = nan": ("compression.threshold is nan", "from 0 to 1"),
    "[compression]\nthreshold = '0.5'": ("compression.threshold is '0.5'", "from 0 to 1"),
    "[compression]\nthreshold = true": ("compression.threshold is True", "from 0 to 1"),
    "[compression]\ntarget_ratio = 0.05": ("compression.target_ratio", "from 0.1 to 0.8"),
    "[compression]\ntarget_ratio = 0.9": ("compression.target_ratio", "from 0.1 to 0.8"),
    "[compression]\nprotect_last = 0": ("compression.protect_last is 0", "at least 1"),
    "[compression]\nprotect_last = 2.5": ("protect_last is 2.5", "whole number of at least 1"),
    "[compression]\nprotect_first = -1": ("compression.protect_first is -1", "at least 0"),
    "[compression]\nenabled = 1": ("compression.enabled is 1", "true or false"),
    "[model]\ncontext_length = 0": ("model.context_length is 0", "at least 1"),
    "[model]\noutput_tokens = -1": ("model.output_tokens is -1", "at least 0"),
    "[model]\nname = 5": ("model.name is 5", "a text"),
}


@pytest.mark.parametrize("text", BAD_FILES)
def test_a_bad_setting_names_its_file_its_key_and_its_range(toml: Put, text: str) -> None:
    """Unknown, of the wrong type or out of range: the error says what, where, what is allowed."""
    path = str(toml(text))
    with pytest.raises(InvalidSetting) as caught:
        read_settings(path, environment={})
    for words in (path, *BAD_FILES[text]):
        assert words in str(caught.value)


def test_a_setting_keeps_its_old_name(toml: Put) -> None:
    """`rides_prefix` is `reuse_prompt_cache` today, in a file and as a variable."""
    path = str(toml("[summarizer]\nrides_prefix = true"))
    found = read_settings(path, environment={})
    assert found.reuse_prompt_cache
    assert found.origins["summarizer.reuse_prompt_cache"].endswith("summarizer.rides_prefix")
    for name in ("RIDES_PREFIX", "REUSE_PROMPT_CACHE"):
        variables = {f"FOLDAWAY_SUMMARIZER_{name}": "on"}
        assert read_settings(str(toml("")), environment=variables).reuse_prompt_cache
    with pytest.raises(InvalidSetting, match="rides_prefix is 1; it must be true or false"):
        read_settings(str(toml("[summarizer]\nrides_prefix = 1")), environment={})


@each_row(("name", "today"), [
    ("summary_max_tokens", "is now {}SUMMARY_TOKENS"),
    ("arrival_tokens", "is now {}ARRIVAL_TOOLS, where * is every tool"),
    *((name, "is no longer a setting; delete it") for name in (
        "small_window", "pressure", "summary_ratio", "summary_min_tokens", "summary_window_share",
        "digest_from_chars", "argument_chars", "ineffective_saving", "ineffective_limit",
    )),
])  # fmt: skip
def test_a_setting_that_is_gone_is_refused_with_what_to_do(
    tmp_path: Path, name: str, today: str
) -> None:
    """In a file and as a variable, long or short; nobody goes by a value that has no effect."""
    file = tmp_path / "settings.toml"
    file.write_text(f"[compression]\n{name} = 1\n")
    with pytest.raises(InvalidSetting) as caught:
        read_settings(str(file), environment={})
    told = today.format("compression.").replace("SUMMARY_TOKENS", "summary_tokens")
    told = told.replace("ARRIVAL_TOOLS", "arrival_tools")
    assert str(caught.value) == f"{file}: compression.{name} {told}"
    for begin in ("FOLDAWAY_", "FOLDAWAY_COMPRESSION_"):
        variable = f"{begin}{name.upper()}"
        with pytest.raises(InvalidSetting) as caught:
            read_settings(environment={variable: "1", "HOME": "/nowhere"})
        assert str(caught.value) == f"{variable} {today.format('FOLDAWAY_COMPRESSION_')}"


def test_a_gone_setting_of_a_folder_is_told_and_the_rest_applies(places: dict[str, Path]) -> None:
    """A stranger's file stops nobody."""
    places["here"].write_text("[compression]\nthreshold = 0.6\nsummary_max_tokens = 900\n")
    found = read_settings(environment=of_user(places))
    assert found.policy == Policy(threshold=0.6)
    (warning,) = found.warnings
    assert "compression.summary_max_tokens is now compression.summary_tokens" in warning


BAD_VARIABLES = {
    "FOLDAWAY_THRESHOLD=much": "a number from 0 to 1",
    "FOLDAWAY_THRESHOLD=7": "from 0 to 1",
    "FOLDAWAY_TARGET_RATIO=0.9": "from 0.1 to 0.8",
    "FOLDAWAY_PROTECT_LAST=0": "at least 1",
    "FOLDAWAY_PROTECT_LAST=many": "a whole number of at least 1",
    "FOLDAWAY_ENABLED=perhaps": "true or false",
    "FOLDAWAY_MODEL_CONTEXT_LENGTH=big": "a whole number of at least 1",
}


@pytest.mark.parametrize("given", BAD_VARIABLES)
def test_a_bad_variable_is_named_with_its_range(given: str) -> None:
    """The environment is held to the same rules as the file."""
    name, _, value = given.partition("=")
    with pytest.raises(InvalidSetting, match=re.escape(name)) as caught:
        read_settings(environment={name: value, "HOME": "/nowhere"})
    assert BAD_VARIABLES[given] in str(caught.value)


@each_row(("variable", "hint"), [
    ("FOLDAWAY_TRESHOLD", "; did you mean FOLDAWAY_THRESHOLD?"),
    ("FOLDAWAY_COMPRESSION_ENABLD", "; did you mean FOLDAWAY_COMPRESSION_ENABLED?"),
    ("FOLDAWAY_HOMR", "; did you mean FOLDAWAY_HOME?"),
    ("FOLDAWAY_QQQQQQQQQQQQQQQQQQQ", ""),
])  # fmt: skip
def test_an_unknown_variable_is_a_warning_with_the_near_miss(variable: str, hint: str) -> None:
    """It may be of another version; its value, which may be a secret, is not shown."""
    found = read_settings(environment={variable: "sk-secret", "HOME": "/nowhere"})
    assert found.policy == Policy()
    assert found.warnings == (f"{variable} is not a setting and is ignored{hint}",)


def test_variables_that_are_no_settings_are_left_alone() -> None:
    """Ours for other purposes, and everybody else's."""
    environment = dict.fromkeys(OTHER_VARIABLES - {"FOLDAWAY_CONFIG"}, "x")
    found = read_settings(environment={**environment, "PATH": "/bin", "HOME": "/nowhere"})
    assert (found.policy, found.warnings) == (Policy(), ())


@pytest.mark.parametrize("text", ["[compression", "threshold = ", "a = 1\na = 2"])
def test_a_file_that_is_no_toml_is_named(toml: Put, text: str) -> None:
    """A broken file is an error, never a silent default."""
    path = str(toml(text))
    with pytest.raises(NotReadable, match="is not TOML") as caught:
        read_settings(path, environment={})
    assert path in str(caught.value)


def test_a_file_that_was_named_and_is_not_there_is_an_error() -> None:
    """Only the places that are looked into may be empty."""
    with pytest.raises(NotReadable, match=r"/no/such\.toml: does not exist"):
        read_settings("/no/such.toml", environment={})


def test_the_golden_budgets() -> None:
    """200,000 give 100,000, 20,000 and at most 10,000; 64,000 get a threshold below the window."""
    large = budget_for(Policy(), 200_000)
    assert (large.threshold_tokens, large.tail_tokens) == (100_000, 20_000)
    assert large.summary_max_tokens == 10_000
    small = budget_for(Policy(), 64_000)
    assert 0 < small.threshold_tokens < 64_000


def test_redaction_rules_of_the_users_own_come_from_the_settings(toml: Put, tmp_path: Path) -> None:
    """A file and a variable name the files and the rules that are off; both reach a redactor."""
    rules = tmp_path / "rules.toml"
    rules.write_text("[[rule]]\nname='acme-key'\nanchors=['acme_']\npattern='acme_[a-z0-9]{9}'")
    named = toml(f"[redaction]\nrules_files = ['{rules}']\nwithout = ['email']\n")
    settings = read_settings(str(named), environment={})
    assert (settings.rules_files, settings.rules_without) == ([str(rules)], ["email"])
    out = Redactor(redaction_policy(settings, personal=True))("acme_k3y5k3y5z a@mailhost.org")
    assert re.fullmatch(r"\[redacted:acme-key:\w+\] a@mailhost\.org", out)
    variables = {"FOLDAWAY_REDACTION_RULES_FILES": f"{rules}, ~/x.toml"}
    assert read_settings(environment=variables).rules_files == [str(rules), "~/x.toml"]
    engine = open_engine(settings=settings)
    assert isinstance(engine, HermesEngine)
    assert "[redacted:acme-key:" in internals(engine.session).engine.settings.redact(
        "acme_k3y5k3y5z"
    )
    memory = open_memory(settings=settings, environment={"FOLDAWAY_HOME": str(tmp_path)})
    memory.close()


@pytest.mark.parametrize("given", ['"a.toml"', "[3]", '["rules.toml"]', '["./rules.toml"]'])
def test_files_of_rules_are_named_absolutely(toml: Put, given: str) -> None:
    """A relative name would be a file of whatever folder the command is started in."""
    with pytest.raises(InvalidSetting, match=r"redaction\.rules_files"):
        read_settings(str(toml(f"[redaction]\nrules_files = {given}\n")), environment={})

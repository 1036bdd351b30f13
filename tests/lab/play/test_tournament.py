"""A run of plays: its folder, its resumption, a model as the player, and the command."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from foldaway.cli import run as run_command
from foldaway.cli.lab_play import play as command
from foldaway.errors import BatchStopped, InvalidSetting, NotWritable, UnknownName
from foldaway.lab.play.game import Played
from foldaway.lab.play.tournament import PLAYS, PlaySettings
from foldaway.testing import ModelServer, openai_error

SMALL = PlaySettings(tasks=1, strategies=("masking",))


def run(folder: Path, settings: PlaySettings = SMALL, jobs: int = 1) -> list[tuple[int, int]]:
    """Run the plays and return what was told of them."""
    told: list[tuple[int, int]] = []
    settings.run(folder, jobs=jobs, tell=lambda done, total: told.append((done, total)))
    return told


def test_a_run_that_was_stopped_goes_on_and_comes_to_the_same(tmp_path: Path) -> None:
    """What was done is not played again; a torn last line is; the bytes are the same."""
    assert run(tmp_path / "whole") == [(0, 2), (1, 2), (2, 2)]
    whole = (tmp_path / "whole" / PLAYS).read_bytes()
    run(tmp_path / "torn")
    first, second = whole.splitlines(keepends=True)
    (tmp_path / "torn" / PLAYS).write_bytes(first + second[:40])
    assert run(tmp_path / "torn") == [(1, 2), (2, 2)]
    for name in (PLAYS, "play.json", "play.html"):
        assert (tmp_path / "torn" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert run(tmp_path / "torn") == [(2, 2)]


@pytest.mark.slow
def test_processes_come_to_the_same(tmp_path: Path) -> None:
    """The order of their ends is no matter."""
    run(tmp_path / "one")
    run(tmp_path / "two", jobs=2)
    assert (tmp_path / "one" / PLAYS).read_bytes() == (tmp_path / "two" / PLAYS).read_bytes()


def test_a_folder_of_another_run_is_left_alone(tmp_path: Path) -> None:
    """Another seed is another run."""
    run(tmp_path)
    with pytest.raises(NotWritable, match="another run"):
        run(tmp_path, msgspec.structs.replace(SMALL, seed=2))


def asks(server: ModelServer) -> PlaySettings:
    """Return settings by which a model plays."""
    return PlaySettings(tasks=1, strategies=("full",), model="openai:tiny", url=server.openai_url)


def test_a_failure_that_may_pass_is_no_loss_and_is_played_again(tmp_path: Path) -> None:
    """The play is kept as one without an answer, with what to do."""
    with ModelServer(openai_error(400, "invalid_value")) as server:
        run(tmp_path, asks(server))
        kept = [msgspec.json.decode(line, type=Played) for line in _lines(tmp_path)]
        assert [one.ending for one in kept] == ["no answer", "no answer"]
        assert "--url" in kept[0].why
        assert len(server.requests) == 2
        assert run(tmp_path, asks(server))[0] == (0, 2)
        assert len(server.requests) == 4


def _lines(folder: Path) -> list[bytes]:
    return (folder / PLAYS).read_bytes().splitlines()


def test_a_wrong_key_stops_the_run(tmp_path: Path) -> None:
    """Nobody else would fare better; the sentence says what to do, once."""
    with (
        ModelServer(openai_error(401, "invalid_api_key")) as server,
        pytest.raises(BatchStopped) as caught,
    ):
        run(tmp_path, asks(server))
    assert "the key" in str(caught.value)
    assert str(caught.value).count("run the same command again") == 1


def test_settings_that_cannot_be_are_told_before_anything_is_played(tmp_path: Path) -> None:
    """With what can be."""
    for settings, error in (
        (PlaySettings(strategies=("nix",)), UnknownName),
        (PlaySettings(priced="nix"), InvalidSetting),
        (PlaySettings(model="nix:model"), InvalidSetting),
        (PlaySettings(model="openai:"), InvalidSetting),
    ):
        with pytest.raises(error):
            run(tmp_path / "never", settings)
    assert not (tmp_path / "never").exists()


def test_the_command_prints_a_table_and_the_page(tmp_path: Path) -> None:
    """In 80 columns; --json prints an object for each strategy with the same names each time."""
    asked = ["--tasks", "1", "--strategies", "masking", "--jobs", "1", "-o", str(tmp_path)]
    shown = CliRunner(env={"COLUMNS": "80"}).invoke(command, asked)
    assert shown.exit_code == 0
    assert "play.html" in shown.output
    assert "solved" in shown.output
    assert shown.stderr.splitlines() == [f"foldaway: {done} of 2 plays done" for done in range(3)]
    listed = CliRunner().invoke(command, [*asked, "--json"])
    lines = [json.loads(line) for line in listed.stdout.splitlines()]
    assert [line["strategy"] for line in lines] == ["normal", "masking"]
    assert list(lines[0]) == [
        "strategy", "what", "is_ours", "solved", "usd", "usd_per_solved", "bill", "steps",
        "tokens", "compactions", "recalls", "wrong", "wrong_after", "endings", "missed",
        "families", "against",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "asked", [("--strategies", "nix"), ("--model", "nix"), ("--prices-of", "nix"), ("--tasks", "0")]
)
def test_the_command_refuses_what_cannot_be(
    asked: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With exit code 2 and a sentence that names it; nothing is written."""
    assert run_command(["lab", "play", *asked, "-o", str(tmp_path / "never")]) == 2
    assert asked[1] in capsys.readouterr().err
    assert not (tmp_path / "never").exists()

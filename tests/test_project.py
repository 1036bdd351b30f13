"""The project as a stranger finds it: names, version, documents, targets."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import cast

import pytest
from hypothesis import settings
from hypothesis.database import DirectoryBasedExampleDatabase
from packaging.requirements import Requirement
from packaging.version import Version
from tests.testing.rows import each_row

import foldaway
from foldaway.config import user_file

ROOT = Path(__file__).resolve().parent.parent
NOTES = [*(ROOT / "bench").glob("*.md"), *(ROOT / "bench" / "notes").glob("*.md")]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *NOTES])
PYTHON_BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
INDEX_HOSTS = ("pypi" + ".org", "python" + "hosted.org")


def name_of(page: Path) -> str:
    """Return the path of a page in the repository."""
    return page.relative_to(ROOT).as_posix()


def test_the_version_is_the_one_of_the_project() -> None:
    """What is installed says the version of the package; pyproject.toml reads it from there."""
    assert "version" in cast("list[str]", project()["project"]["dynamic"])
    assert project()["tool"]["hatch"]["version"] == {"path": "src/foldaway/_core/exports.py"}
    try:
        installed = version("foldaway")
    except PackageNotFoundError:
        pytest.skip("foldaway is on the path and not installed")
    assert installed == foldaway.__version__


def test_the_version_is_written_in_one_place() -> None:
    """Of the code; the manifests of the plug-ins, which other programs read, repeat it."""
    places = {
        name_of(path)
        for folder in ("src", "packages", "plugins")
        for path in (ROOT / folder).rglob("*.*")
        if path.suffix in (".py", ".json", ".js", ".toml")
        if f'"{foldaway.__version__}"' in path.read_text()
    }
    manifests = {
        "packages/foldaway-agents/package.json", "plugins/claude-code/.claude-plugin/plugin.json",
    }  # fmt: skip
    assert places == {"src/foldaway/_core/exports.py", *manifests}


@pytest.mark.slow
def test_what_reports_a_version_reports_this_one(tmp_path: Path) -> None:
    """The command, the diagnosis and the report of a compaction."""
    told = subprocess.run(
        [sys.executable, "-m", "foldaway", "--version"], capture_output=True, text=True, check=True
    )
    assert told.stdout == f"foldaway {foldaway.__version__}\n"
    found = subprocess.run(
        [sys.executable, "-m", "foldaway", "doctor", "--json", "--home", str(tmp_path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert json.loads(found.stdout)["versions"]["foldaway"] == foldaway.__version__
    assert (
        foldaway.compress([{"role": "user", "content": "hi"}]).report.version
        == foldaway.__version__
    )


def test_the_newest_heading_of_the_changes_is_the_version() -> None:
    """Whoever reads CHANGELOG.md reads of the version that is here."""
    heading = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert heading is not None
    assert heading[1] == foldaway.__version__


def test_the_image_of_the_gateway_fits_the_project() -> None:
    """Its extras exist, its Python is supported, its files are sent, and it is not root."""
    image, table = (ROOT / "Dockerfile").read_text(), project()["project"]
    (python,) = set(re.findall(r"^FROM python:(3\.\d+)-slim", image, re.MULTILINE))
    assert f"Programming Language :: Python :: {python}" in cast("list[str]", table["classifiers"])
    extras = re.findall(r"/src\[([a-z,]+)\]", image)[0].split(",")
    assert set(extras) <= set(cast("dict[str, object]", table["optional-dependencies"]))
    sent = (ROOT / ".dockerignore").read_text().split()
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", image, re.MULTILINE)
    for name in " ".join(copied).split():
        assert f"!{name}" in sent
        assert (ROOT / name).exists()
    wheel = cast(
        "dict[str, dict[str, str]]", project()["tool"]["hatch"]["build"]["targets"]["wheel"]
    )
    built = {name.partition("/")[0] for name in wheel["force-include"]}
    assert built <= set(" ".join(copied).split()), "the wheel cannot be built in the image"
    assert re.findall(r"^USER (.*)$", image, re.MULTILINE) == ["10001"]


def test_settings_that_are_mounted_into_the_image_are_read() -> None:
    """Where operations.md mounts them is where the command looks for them in the image."""
    image = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    (variables,) = re.findall(r"^ENV (.*)$", image, re.MULTILINE)
    environment = dict(pair.split("=", 1) for pair in variables.split())
    (mounted,) = re.findall(r"-v \S+:(\S+):ro ", (ROOT / "docs" / "operations.md").read_text())
    assert mounted == user_file(environment)


def test_the_command_is_the_one_of_the_project() -> None:
    """The script that pip makes calls a function that is there."""
    module, _, function = project()["project"]["scripts"]["foldaway"].partition(":")
    assert callable(getattr(importlib.import_module(module), function))


@each_row("page", PAGES, ids=name_of)
def test_every_link_within_the_project_leads_somewhere(page: Path) -> None:
    """A document names only files that are there."""
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@each_row("page", PAGES, ids=name_of)
def test_every_target_that_a_document_names_exists(page: Path) -> None:
    """`make x` in a document is a target of the Makefile."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:`|^)make ([a-z-]+)", page.read_text(), re.MULTILINE))
    assert named <= targets


def test_the_documentation_carries_no_ballast() -> None:
    """Pictures are small files, not thousands of lines of SVG; most of docs/ is written by hand."""
    files = [path for path in (ROOT / "docs").rglob("*") if path.is_file()]
    files = [path for path in files if "__pycache__" not in path.parts]
    assert [name_of(path) for path in files if path.stat().st_size > 100_000] == []
    assert sum(path.read_bytes().count(b"\n") for path in files) < 12_500


@pytest.mark.parametrize("profile", ["default", "soak"])
def test_every_run_looks_at_new_examples_and_keeps_those_that_fail(profile: str) -> None:
    """What passed once says nothing new on the same examples; what failed comes first next time,
    from a folder that git ignores, and its report says how to reproduce it elsewhere."""
    found = settings.get_profile(profile)
    assert not found.derandomize
    assert found.print_blob
    assert isinstance(found.database, DirectoryBasedExampleDatabase)
    kept = found.database.path.relative_to(ROOT)
    assert f"{kept.parts[0]}/" in (ROOT / ".gitignore").read_text().split()


@pytest.mark.slow
def test_a_failure_is_shown_when_it_happens(tmp_path: Path) -> None:
    """While a later test still runs: it waits until somebody has read what failed."""
    read = tmp_path / "read"
    (tmp_path / "test_two.py").write_text(
        "import pathlib, time\n\n\ndef test_first():\n    assert 1 == 2\n\n\n"
        "def test_second():\n    end = time.monotonic() + 100\n"
        f"    while not pathlib.Path({str(read)!r}).exists():\n"
        "        assert time.monotonic() < end\n        time.sleep(0.01)\n"
    )
    command = (sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider")
    with subprocess.Popen(
        [*command, "-n", "0", "-c", str(ROOT / "pyproject.toml"), str(tmp_path)],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        text=True,
    ) as running:
        assert running.stdout is not None
        assert any("assert 1 == 2" in line for line in running.stdout)
        read.touch()
        assert "1 failed, 1 passed" in running.stdout.read()


def test_no_file_names_a_package_index() -> None:
    """Where packages come from is the machine's affair."""
    named = [
        path
        for path in own_files()
        if any(host in path.read_text(errors="ignore") for host in INDEX_HOSTS)
    ]
    assert named == []


def test_the_lock_has_hashes_and_no_address_and_fits_the_project() -> None:
    """Every pin of `requirements/dev.txt` has a hash, none is a package of gigabytes, and what the
    project asks for is among them, within its bounds; after a change of those run `make lock`."""
    text = (ROOT / "requirements" / "dev.txt").read_text()
    assert "://" not in text
    assert "--index" not in text
    entries = re.findall(
        r"^(\S+)==(\S+)(?: ; .*)? \\\n((?:    --hash=sha256:\w{64}(?: \\)?\n)+)", text, re.M
    )
    assert len(entries) == len(re.findall(r"^[a-z]", text, re.M)) > 100
    pinned = {name: Version(release) for name, release, _ in entries}
    assert not pinned.keys() & {"torch", "ray", "transformers"}
    table = project()["project"]
    extras = cast("dict[str, list[str]]", table["optional-dependencies"])
    (own,) = (Requirement(one) for one in extras["dev"] if one.startswith("foldaway["))
    wanted = [*cast("list[str]", table["dependencies"]), *extras["dev"]]
    for one in map(Requirement, wanted + [name for extra in own.extras for name in extras[extra]]):
        if one.name != "foldaway":
            name = re.sub(r"[-_.]+", "-", one.name).lower()
            assert pinned[name] in one.specifier, f"{one}: {name} {pinned[name]}; run `make lock`"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What `make demo` prints."""
    tmp_path = tmp_path_factory.mktemp("demo")
    script = tmp_path / "foldaway"
    script.write_text(
        f'#!/bin/sh\nPYTHONPATH="{ROOT / "src"}" exec "{sys.executable}" -m foldaway "$@"\n'
    )
    script.chmod(0o755)
    done = subprocess.run(
        ["sh", str(ROOT / "examples" / "demo.sh")], capture_output=True, text=True, check=False,
        env={"BIN": str(tmp_path), "PATH": "/usr/bin:/bin", "PYTHONUTF8": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_demo_shows_a_broken_transcript_mended(demo: str) -> None:
    """What `make demo` runs ends well: broken, mended, valid."""
    assert demo.count("repair it:") == 2
    assert demo.count("valid  ") == 3


def test_the_demo_compresses_a_real_session_and_gives_it_back(demo: str) -> None:
    """The picture, one original held against the input, and the whole input again."""
    assert re.search(r"254 messages, [\d,]+ tokens → \d+ messages, [\d,]+ tokens \(−\d+%\)", demo)
    assert "bytes, the same as in the input" in demo
    assert "byte for byte the input\n" in demo


def test_the_demo_keeps_the_session_and_finds_it_again(demo: str) -> None:
    """Imported, searched, compacted, and an original recalled from the store."""
    assert "Imported 254 new messages, 1 new session" in demo
    assert "cannot use t.Parallel()" in demo
    assert "view 0 to view 1: 254 messages" in demo
    assert demo.endswith("bytes, the same as in the log\n")


def own_files() -> list[Path]:
    """Return the text files of the tree, without what tools and people keep in hidden folders."""
    suffixes = {".py", ".md", ".toml", ".json", ".sh", ".svg", ""}
    return [
        path
        for path in [*ROOT.rglob("*"), *(ROOT / ".ci").iterdir()]
        if path.is_file() and path.suffix in suffixes
        and not any(part.startswith(".") and part != ".ci"
                    for part in path.relative_to(ROOT).parts[:-1])
    ]  # fmt: skip


def project() -> dict[str, dict[str, object]]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_scripts_import_what_is_there() -> None:
    """What benchmarks and the scripts of the documents import from the package exists."""
    missing: list[str] = []
    for path in sorted([*(ROOT / "bench").rglob("*.py"), *(ROOT / "docs").glob("*.py")]):
        for node in ast.walk(ast.parse(path.read_text())):
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            if not module.startswith("foldaway"):
                continue
            found = importlib.import_module(module)
            for name in (one.name for one in cast("ast.ImportFrom", node).names):
                is_package = hasattr(found, "__path__")
                inner = importlib.util.find_spec(f"{module}.{name}") if is_package else None
                if inner is None and not hasattr(found, name):
                    missing.append(f"{path.name}: {module}.{name}")
    assert missing == []

"""Build what would be published, install it in fresh environments and try it there.

`make release-check` runs it: wheel and sdist, `twine check`, the contents of both, and for each
Python from 3.11 to 3.14 that is on this machine the demo, from the wheel and from the sdist.
`--python PATH` adds an interpreter that is not on the PATH.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / ".venv" / "release"
VERSIONS = ("3.11", "3.12", "3.13", "3.14")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", action="append", default=[], help="another interpreter to try")
    parser.add_argument("--no-install", action="store_true", help="build and look, try nothing")
    given = parser.parse_args()
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    version = check_version()
    wheel, sdist = build()
    check_contents(wheel, sdist)
    if given.no_install:
        return 0
    found = interpreters(given.python)
    for name in VERSIONS:
        if name not in found:
            print(f"skipped: Python {name} is not on this machine")
    for name, python in found.items():
        for package in (wheel, sdist):
            check_install(name, python, package, version)
    print(f"foldaway {version}: {len(found)} of {len(VERSIONS)} Pythons, all is well")
    return 0


def check_version() -> str:
    """Return the version, which is the same in all places that name it."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f'__version__ = "{version}"' in (ROOT / "src/foldaway/__init__.py").read_text()
    headings = re.findall(r"^## \[?([^\] \n]+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    released = [one for one in headings if one != "Unreleased"]
    assert released[:1] == [version], (
        f"CHANGELOG.md ends at {released[:1]}, the version is {version}"
    )
    return version


def build() -> tuple[Path, Path]:
    """Return a wheel that was built from the sdist, and the sdist; both pass `twine check`."""
    tools = environment(OUT / "tools", sys.executable, ["build", "twine"])
    run([tools / "python", "-m", "build", "--outdir", OUT / "dist", ROOT])
    wheel, sdist = (next((OUT / "dist").glob(one)) for one in ("*.whl", "*.tar.gz"))
    run([tools / "python", "-m", "twine", "check", "--strict", wheel, sdist])
    return wheel, sdist


def check_contents(wheel: Path, sdist: Path) -> None:
    """Both have every file of the package that is under version control, and nothing else."""
    listed = subprocess.check_output(["git", "ls-files", "src/foldaway"], cwd=ROOT, text=True)
    wanted = {one.removeprefix("src/") for one in listed.splitlines()}
    assert "foldaway/py.typed" in wanted
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    built = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    plugins = set(built["force-include"].values())
    with zipfile.ZipFile(wheel) as file:
        packed = (one for one in file.namelist() if ".dist-info/" not in one)
        differ("the wheel", wanted | plugins, packed)
    with tarfile.open(sdist) as file:
        inside = {one.partition("/")[2] for one in file.getnames() if "." in one.rpartition("/")[2]}
    differ(
        "the sdist", {f"src/{one}" for one in wanted}, (one for one in inside if "src/" in one[:4])
    )
    missing = {"README.md", "CHANGELOG.md", "SECURITY.md", "pyproject.toml"} - inside
    assert not missing, f"the sdist lacks {missing}"
    print(f"contents: {len(wanted)} files, wheel {size(wheel)}, sdist {size(sdist)}")


def differ(name: str, wanted: set[str], found: Iterable[str]) -> None:
    there = set(found)
    assert there == wanted, f"{name}: missing {wanted - there}, too much {there - wanted}"


def size(path: Path) -> str:
    return f"{path.stat().st_size / 1e6:.1f} MB"


def interpreters(named: Sequence[str]) -> dict[str, str]:
    """Return the interpreters that start, by version."""
    pyenv = sorted(Path.home().glob(".pyenv/versions/3.1*/bin/python"))
    usual = [shutil.which(f"python{version}") for version in VERSIONS]
    found: dict[str, str] = {}
    for one in [*named, sys.executable, *usual, *map(str, pyenv)]:
        if one:
            done = subprocess.run(
                [one, "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])"],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            name = done.stdout.strip()
            if done.returncode == 0 and name in VERSIONS:
                found.setdefault(name, one)
    return dict(sorted(found.items()))


def check_install(name: str, python: str, package: Path, version: str) -> None:
    """Install one file in a fresh environment; version, completions and the demo work there."""
    kind = "wheel" if package.suffix == ".whl" else "sdist"
    binaries = environment(OUT / f"{name}-{kind}", python, [str(package)])
    command = binaries / "foldaway"
    told = run([command, "--version"])
    assert told.strip() == f"foldaway {version}", told
    for shell in ("bash", "zsh", "fish"):
        assert "_FOLDAWAY_COMPLETE" in run([command, "completion", shell])
    run([binaries / "python", "-m", "pip", "check"])
    run(["sh", ROOT / "examples" / "demo.sh"], BIN=str(binaries))
    print(f"Python {name}, {kind}: {told.strip()}, demo done")


def environment(place: Path, python: str, packages: Sequence[str]) -> Path:
    """Return where the commands of a new environment are."""
    run([python, "-m", "venv", place])
    run([place / "bin" / "python", "-m", "pip", "install", "--quiet", *packages])
    return place / "bin"


def run(command: Sequence[str | Path], **variables: str) -> str:
    """Return what a command printed; end with all of it if the command fails."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        list(map(str, command)), cwd=OUT, env={**clean, **variables},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(
            f"{done.stdout}\nfailed ({done.returncode}): {' '.join(map(str, command))}"
        )
    return done.stdout


if __name__ == "__main__":
    raise SystemExit(main())

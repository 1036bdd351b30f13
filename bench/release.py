"""Build what would be published, install it in fresh environments and try it there.

`make release-check` runs it: wheel and sdist, `twine check`, the contents of both, for each Python
from 3.11 to 3.14 that is on this machine the demo from the wheel and from the sdist, the wheel with
each extra alone, and a list of what the plain install brings (CycloneDX, next to the wheel).
`--python PATH` adds an interpreter that is not on the PATH.
"""

from __future__ import annotations

import argparse
import hashlib
import json
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
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / ".venv" / "release"
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
TESTING = {
    "__init__", "anatomy", "breakage", "builder", "fakes", "model_replies", "model_server",
}  # fmt: skip
"""Modules of `foldaway.testing`: the two that are promised, and what they import."""
MOST_BYTES = 100_000
"""Of a file in the wheel that is not code."""
OURS = {"bench", "dev", "docs"}
"""Extras for work on Foldaway; `dev` is what `make test` runs with."""
HEAVY = {"crewai", "hermes", "mem0", "openhands", "ray"}
"""Extras of hundreds of megabytes: their packages are resolved and not installed."""
IMPORTS = {
    "anthropic": "anthropic", "chat": "foldaway.agents.chat.screen",
    "claude-agent": "foldaway.integrations.claude_agent",
    "code": "tree_sitter_python", "exact": "tiktoken", "gateway": "foldaway.gateway.app",
    "google-adk": "foldaway.integrations.google_adk", "google-genai": "google.genai",
    "lab": "matplotlib", "langchain": "foldaway.integrations.langchain",
    "litellm": "foldaway.integrations.litellm", "llama-index": "foldaway.integrations.llama_index",
    "mcp": "foldaway.agents.mcp_server", "mini-swe-agent": "foldaway.integrations.mini_swe_agent",
    "openai": "openai", "openai-agents": "foldaway.integrations.openai_agents",
    "otel": "opentelemetry.exporter.otlp.proto.http", "postgres": "foldaway.stores.postgres",
    "prices": "genai_prices", "pydantic-ai": "foldaway.integrations.pydantic_ai",
    "strands": "foldaway.integrations.strands",
    "testing": "foldaway.testing.model_server", "trajectories": "pyarrow",
}  # fmt: skip
"""By extra what only works with it, imported from the wheel with that extra alone."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", action="append", default=[], help="another interpreter to try")
    parser.add_argument("--no-install", action="store_true", help="build and look, try nothing")
    parser.add_argument("--extra", action="append", help='only these extras; "" for none')
    given = parser.parse_args()
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    version = check_version()
    untried = {*extras_of()} - OURS - HEAVY - {*IMPORTS}
    assert not untried, f"IMPORTS does not say how to try the extras {untried}"
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
    write_bill(OUT / f"{next(iter(found))}-wheel" / "bin", wheel, version)
    extras = sorted({*extras_of()} - OURS) if given.extra is None else filter(None, given.extra)
    for extra in extras:
        check_extra(extra, wheel, found)
    print(f"foldaway {version}: {len(found)} of {len(VERSIONS)} Pythons, all is well")
    return 0


def check_version() -> str:
    """Return the version, which is the same in all places that name it."""
    place = ROOT / project()["tool"]["hatch"]["version"]["path"]
    (version,) = re.findall(r'^__version__ = "([^"]+)"$', place.read_text(), re.MULTILINE)
    for manifest in (
        "packages/foldaway-agents/package.json", "plugins/claude-code/.claude-plugin/plugin.json",
    ):  # fmt: skip
        named = json.loads((ROOT / manifest).read_text())["version"]
        assert named == version, f"{manifest} says {named}, {place.name} {version}"
    headings = re.findall(r"^## \[?([^\] \n]+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    released = [one for one in headings if one != "Unreleased"]
    assert released[:1] == [version], (
        f"CHANGELOG.md ends at {released[:1]}, the version is {version}"
    )
    return version


def build() -> tuple[Path, Path]:
    """Return a wheel that was built from the sdist, and the sdist; both pass `twine check`."""
    tools = environment(OUT / "tools", sys.executable, ["build", "twine", "uv"])
    run([tools / "python", "-m", "build", "--outdir", OUT / "dist", ROOT])
    wheel, sdist = (next((OUT / "dist").glob(one)) for one in ("*.whl", "*.tar.gz"))
    run([tools / "python", "-m", "twine", "check", "--strict", wheel, sdist])
    return wheel, sdist


def check_contents(wheel: Path, sdist: Path) -> None:
    """Both have every file of the package that is under version control, and nothing else."""
    listed = subprocess.check_output(["git", "ls-files", "src/foldaway"], cwd=ROOT, text=True)
    wanted = {one.removeprefix("src/") for one in listed.splitlines()}
    assert "foldaway/py.typed" in wanted
    built = project()["tool"]["hatch"]["build"]["targets"]["wheel"]
    plugins = set(built["force-include"].values())
    with zipfile.ZipFile(wheel) as file:
        packed = (one for one in file.namelist() if ".dist-info/" not in one)
        differ("the wheel", wanted | plugins, packed)
        data = (one for one in file.infolist() if not one.filename.endswith((".py", "/RECORD")))
        large = [
            f"{one.filename} ({one.file_size:,})" for one in data if one.file_size > MOST_BYTES
        ]
    assert not large, f"the wheel has files of more than {MOST_BYTES:,} bytes: {large}"
    testing = {Path(one).stem for one in wanted if one.startswith("foldaway/testing/")}
    differ("foldaway.testing", TESTING, testing)
    tests = [one for one in wanted if re.search(r"(^|/)(tests?/|test_|conftest\.py)", one)]
    assert not tests, f"the wheel has tests: {tests}"
    with tarfile.open(sdist) as file:
        inside = {one.partition("/")[2] for one in file.getnames() if "." in one.rpartition("/")[2]}
    differ(
        "the sdist", {f"src/{one}" for one in wanted}, (one for one in inside if "src/" in one[:4])
    )
    missing = {"README.md", "CHANGELOG.md", "SECURITY.md", "pyproject.toml"} - inside
    assert not missing, f"the sdist lacks {missing}"
    print(f"contents: {len(wanted)} files, wheel {size(wheel)}, sdist {size(sdist)}")


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def extras_of() -> dict[str, list[str]]:
    """Return the extras and what they want."""
    return project()["project"]["optional-dependencies"]


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


def check_extra(extra: str, wheel: Path, found: dict[str, str]) -> None:
    """Install the wheel with one extra and import what needs it; heavy ones are only resolved.

    With uv: there are many, and pip takes ten times as long.
    """
    oldest = "3.12" if any("3.12" in one for one in extras_of()[extra]) else ""
    name, python = next((one for one in found.items() if one[0] >= oldest), ("", ""))
    if not python:
        print(f"extra {extra}: skipped, it wants Python {oldest}")
        return
    uv, place = OUT / "tools" / "bin" / "uv", OUT / f"extra-{extra}"
    run([uv, "venv", "--quiet", "--python", python, place])
    install = [uv, "pip", "install", "--python", place / "bin" / "python", f"{wheel}[{extra}]"]
    if extra in HEAVY:
        told = run([*install, "--dry-run"])
        count = len(re.findall(r"^ \+ ", told, re.MULTILINE))
        print(f"extra {extra}: Python {name}, {count} packages resolve, not installed")
    else:
        run(install)
        run([uv, "pip", "check", "--python", place / "bin" / "python"])
        run([place / "bin" / "python", "-c", f"import foldaway, {IMPORTS[extra]}"])
        print(f"extra {extra}: Python {name}, installed, imports {IMPORTS[extra]}")
    shutil.rmtree(place)


def write_bill(binaries: Path, wheel: Path, version: str) -> None:
    """Write what the wheel brings with it, in the form of CycloneDX 1.6, next to the wheel."""
    script = (
        "import importlib.metadata as m, json; print(json.dumps(["
        "{'name': d.name, 'version': d.version, 'license': d.metadata['License-Expression'],"
        " 'requires': d.requires or []} for d in m.distributions()]))"
    )
    there = {
        plain(one["name"]): one for one in json.loads(run([binaries / "python", "-c", script]))
    }
    needed, rows = ["foldaway"], dict[str, list[str]]()
    while needed:
        if (name := needed.pop()) not in rows:
            wanted = (one for one in there[name]["requires"] if "extra ==" not in one)
            names = {plain(re.split(r"[^\w.-]", one)[0]) for one in wanted}
            rows[name] = sorted(names & there.keys())
            needed += rows[name]
    address = {name: f"pkg:pypi/{name}@{there[name]['version']}" for name in rows}
    parts = [
        {"type": "library", "bom-ref": address[name], "name": name, "purl": address[name],
         "version": there[name]["version"],
         **({"licenses": [{"expression": known}]} if (known := there[name]["license"]) else {})}
        for name in sorted(rows)
    ]  # fmt: skip
    (own,) = (one for one in parts if one["name"] == "foldaway")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    bill = {
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "metadata": {"component": {**own, "hashes": [{"alg": "SHA-256", "content": digest}]}},
        "components": [one for one in parts if one is not own],
        "dependencies": [{"ref": address[name], "dependsOn": [address[one] for one in rows[name]]}
                         for name in sorted(rows)],
    }  # fmt: skip
    path = wheel.with_name(f"foldaway-{version}.cdx.json")
    path.write_text(json.dumps(bill, indent=1) + "\n")
    print(f"bill of materials: {len(parts) - 1} packages, {path.relative_to(ROOT)}")


def plain(name: str) -> str:
    """Return the name of a package as indexes write it."""
    return re.sub(r"[-_.]+", "-", name).lower()


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

"""Rebuild the outside corpus: labelled texts out of published packages, none of them kept here.

    python bench/outside/collect.py FOLDER [--part A|B] [--keep ARCHIVES]

`labels.jsonl.xz` names the packages with their pinned versions and digests, and for every text its
file, its lines and the spans of the secrets in it. No text is stored in this repository: the
packages are fetched by name (pip, npm and apt), and FOLDER gets A.jsonl and B.jsonl. A package
that is no longer served is named and left out; a text that is not the one that was labelled is an
error. The rules of labelling are in LABELS.md. Parts were drawn by package: A is for reading,
and so is a half of B; the digest of B is in SEAL.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import io
import json
import lzma
import re
import subprocess
import sys
import tarfile
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

LABELS = Path(__file__).resolve().parent / "labels.jsonl.xz"
LONGEST_SECONDS = 300


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """One text of a package, and what is secret in it."""

    id: str
    path: str
    first: int
    last: int
    """Lines of the file, from 1, both included."""
    label: str
    check: str
    """The first 16 hexadecimal digits of the text's SHA-256."""
    secrets: tuple[tuple[int, int, str], ...] = ()
    """Start, end and kind, in code points of the text."""
    dummies: tuple[tuple[int, int], ...] = ()
    """Placeholders: neither a hit nor a miss there counts."""


class Package(msgspec.Struct, frozen=True, kw_only=True):
    """An archive by name, version and digest, with its labels."""

    index: str
    """Where its name means something: pypi, npm or deb."""
    name: str
    version: str
    file: str
    digest: str
    licence: str
    part: str
    labels: tuple[Label, ...]


class Changed(Exception):
    """A text or an archive is not the one that was labelled."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--part", choices=("A", "B"), help="only one of the parts")
    parser.add_argument("--keep", type=Path, help="archives are kept here, and taken from here")
    asked = parser.parse_args(arguments)
    archives = asked.keep or asked.folder / "archives"
    for folder in (asked.folder, archives):
        folder.mkdir(parents=True, exist_ok=True)
    lines: dict[str, list[str]] = {}
    missing: list[str] = []
    for package in packages(lzma.decompress(LABELS.read_bytes())):
        if asked.part not in (None, package.part):
            continue
        archive = archives / package.file
        if not archive.exists() and not fetch(package, archives):
            missing.append(f"{package.index}:{package.name}=={package.version}")
            continue
        check_digest(package, archive)
        rebuilt = (json.dumps(record) + "\n" for record in records(package, members(archive)))
        lines.setdefault(package.part, []).extend(rebuilt)
    for part, texts in sorted(lines.items()):
        target = asked.folder / f"{part}.jsonl"
        target.write_text("".join(texts), encoding="utf-8")
        digest = hashlib.sha256(target.read_bytes()).hexdigest()
        print(f"{target}: {len(texts):,} texts, sha256 {digest}")
    if missing:
        print("no longer served: " + ", ".join(missing), file=sys.stderr)
    return 1 if missing else 0


def packages(lines: bytes) -> list[Package]:
    """The packages of a labels file, in its order."""
    return [msgspec.json.decode(line, type=Package) for line in lines.splitlines()]


def records(package: Package, files: Iterator[tuple[str, bytes]]) -> Iterator[dict[str, object]]:
    """The labelled texts of one package, in the order of its labels."""
    wanted = {label.path for label in package.labels}
    texts: Mapping[str, list[str]] = {
        path: content.decode().split("\n") for path, content in files if path in wanted
    }
    for label in package.labels:
        text = "\n".join(texts.get(label.path, [])[label.first - 1 : label.last])
        if hashlib.sha256(text.encode()).hexdigest()[:16] != label.check:
            raise Changed(f"{package.name}: {label.path!r} is not the file that was labelled")
        yield {
            "id": label.id,
            "source": f"{package.name}=={package.version}",
            "licence": package.licence,
            "path": label.path,
            "group": f"{package.index}:{package.name}",
            "text": text,
            "secrets": [{"start": s, "end": e, "kind": kind} for s, e, kind in label.secrets],
            "dummies": [{"start": s, "end": e} for s, e in label.dummies],
            "label": label.label,
        }


def members(archive: Path) -> Iterator[tuple[str, bytes]]:
    """The files inside an sdist, an npm package or a Debian package."""
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as packed:
            for entry in packed.infolist():
                yield entry.filename, packed.read(entry)
        return
    content = archive.read_bytes()
    if archive.suffix == ".deb":
        line = ["dpkg-deb", "--fsys-tarfile", str(archive)]
        content = subprocess.run(line, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(content)) as packed:
        for entry in packed:
            handle = packed.extractfile(entry) if entry.isfile() else None
            if handle is not None:
                yield entry.name, handle.read()


def check_digest(package: Package, archive: Path) -> None:
    """Raise `Changed` unless the archive is the pinned one."""
    kind, _, digest = package.digest.partition("-")
    seen = hashlib.new(kind, archive.read_bytes()).digest()
    if base64.b64encode(seen).decode() != digest:
        raise Changed(f"{package.file}: another {kind} than the pinned one")


def fetch(package: Package, folder: Path) -> bool:
    """Have the package's own installer bring the archive; whether it is there."""
    pinned = f"{package.name}@{package.version}", f"{package.name}={package.version}"
    if package.index == "pypi":
        fetch_sdist(package, folder)
    elif package.index == "npm":
        run(["npm", "pack", pinned[0], "--pack-destination", str(folder.resolve())], folder)
    else:
        run(["apt-get", "download", pinned[1]], folder)
    return (folder / package.file).exists()


def fetch_sdist(package: Package, folder: Path) -> None:
    # `pip download` builds an sdist to learn its dependencies, which many refuse: pip is asked
    # for its links only, which it tells at this verbosity.
    line = [sys.executable, "-m", "pip", "-vv", "index", "versions", package.name]
    told = run([*line, "--ignore-requires-python", "--pre"], folder)
    for link in re.findall(r"Found link (https?://[^\s#]+)", told):
        if urllib.parse.unquote(link).endswith("/" + package.file):
            with urllib.request.urlopen(link, timeout=LONGEST_SECONDS) as answer:
                (folder / package.file).write_bytes(answer.read())
            return


def run(line: Sequence[str], folder: Path) -> str:
    done = subprocess.run(
        line, cwd=folder, capture_output=True, text=True, check=False, timeout=LONGEST_SECONDS
    )
    return done.stdout + done.stderr


if __name__ == "__main__":
    raise SystemExit(main())

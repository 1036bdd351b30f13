"""The outside corpus is rebuilt from packages and labels that hold no text."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import lzma
import sys
import tarfile
from itertools import pairwise
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from outside.collect import LABELS, Changed, Package, check_digest, members, packages, records

FILE = "toy-1.0/conf/app.env"
CONTENT = "NAME=toy\nNOTE=clé\nAPI_TOKEN=made-up-31\nOTHER=changeme\n"


def archive(folder: Path, content: str = CONTENT) -> Path:
    target = folder / "toy-1.0.tar.gz"
    with tarfile.open(target, "w:gz") as packed:
        entry = tarfile.TarInfo(FILE)
        entry.size = len(content.encode())
        packed.addfile(entry, io.BytesIO(content.encode()))
    return target


def toy(text: str, digest: str = "") -> Package:
    label = {
        "id": "o1",
        "path": FILE,
        "first": 2,
        "last": 4,
        "label": "pos",
        "check": hashlib.sha256(text.encode()).hexdigest()[:16],
        "secrets": [[19, 29, "token"]],
        "dummies": [[36, 44]],
    }
    line = {
        "index": "pypi",
        "name": "toy",
        "version": "1.0",
        "file": "toy-1.0.tar.gz",
        "digest": digest,
        "licence": "MIT",
        "part": "A",
        "labels": [label],
    }
    [package] = packages(json.dumps(line).encode())
    return package


def test_a_label_becomes_the_lines_of_its_file_with_the_spans_of_its_secrets(
    tmp_path: Path,
) -> None:
    """First and last line are both in it, and offsets count code points, not bytes."""
    text = "NOTE=clé\nAPI_TOKEN=made-up-31\nOTHER=changeme"
    [record] = records(toy(text), members(archive(tmp_path)))
    assert record["text"] == text
    assert record["source"] == "toy==1.0"
    assert record["secrets"] == [{"start": 19, "end": 29, "kind": "token"}]
    assert text[19:29] == "made-up-31"
    assert text[36:44] == "changeme"
    assert record["dummies"] == [{"start": 36, "end": 44}]


def test_a_text_that_was_not_the_labelled_one_is_refused(tmp_path: Path) -> None:
    """Spans of another text would score nonsense."""
    changed = archive(tmp_path, CONTENT.replace("toy", "toys").replace("31", "32"))
    with pytest.raises(Changed, match="not the file that was labelled"):
        list(records(toy(CONTENT), members(changed)))


def test_an_archive_with_another_digest_is_refused(tmp_path: Path) -> None:
    """A version that was published again under its old name is not the pinned one."""
    packed = archive(tmp_path)
    digest = base64.b64encode(hashlib.sha256(packed.read_bytes()).digest()).decode()
    check_digest(toy(CONTENT, f"sha256-{digest}"), packed)
    with pytest.raises(Changed, match="another sha256"):
        check_digest(toy(CONTENT, "sha256-AAAA"), packed)


def test_no_package_stands_in_both_parts_and_spans_are_in_order() -> None:
    """What is read in part A tells nothing of a package in part B."""
    corpus = packages(lzma.decompress(LABELS.read_bytes()))
    parts = [{(p.index, p.name) for p in corpus if p.part == part} for part in "AB"]
    assert parts[0]
    assert parts[1]
    assert not parts[0] & parts[1]
    for package in corpus:
        for label in package.labels:
            spans = sorted([*((s, e) for s, e, _ in label.secrets), *label.dummies])
            assert all(start < end for start, end in spans), label.id
            assert all(a[1] <= b[0] for a, b in pairwise(spans)), label.id
            assert bool(label.secrets) == (label.label == "pos"), label.id

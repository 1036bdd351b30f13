"""The key of a store's placeholders: one a store, made once, the same ever after."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from foldaway.stores.open import open_store
from foldaway.stores.store import Store
from foldaway.stores.values import NewMessage, NewSession

_OPENS = """
import sys
from foldaway.stores.open import open_store

where, tenant = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
with open_store(where, tenant=tenant) as store:
    print(store.redaction_key())
"""


def test_a_key_is_the_same_when_the_store_is_opened_again(home: Any) -> None:
    """Also read-only, for another object of this process, and after it was closed."""
    store = home.open()
    key = store.redaction_key()
    assert re.fullmatch("[0-9a-f]{32}", key)
    assert store.redaction_key() == home.open().redaction_key() == key
    store.close()
    assert store.redaction_key() == home.open(read_only=True).redaction_key() == key


def test_every_tenant_and_every_profile_has_a_key_of_its_own(home: Any) -> None:
    """Placeholders of two of them cannot be compared, though they share a file or server."""
    names = [("a", "default"), ("b", "default"), ("a", "work")]
    stores = [home.open(tenant=home.tenant + one, profile=profile) for one, profile in names]
    assert len({store.redaction_key() for store in stores}) == 3


def test_a_store_that_is_only_read_and_has_no_key_says_nothing(home: Any) -> None:
    """It is no error; what is made later is there at once."""
    store = home.open()
    reader = home.open(read_only=True)
    assert reader.redaction_key() == ""
    assert reader.redaction_key() == ""
    assert store.redaction_key() == reader.redaction_key() != ""


@pytest.mark.slow
def test_processes_that_open_a_new_store_at_once_agree(home: Any) -> None:
    """Whoever is first makes it, and all have that one."""
    asked = [
        subprocess.Popen(
            [sys.executable, "-c", _OPENS, home.where, home.tenant],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for _ in range(4)
    ]  # fmt: skip
    assert [one.stdout.readline() for one in asked if one.stdout] == ["ready\n"] * 4
    for one in asked:
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()
    told = {one.communicate(timeout=120)[0].strip() for one in asked}
    assert [one.returncode for one in asked] == [0] * 4
    assert told == {home.open().redaction_key()}


def test_the_key_stays_when_everything_else_is_erased(store: Store) -> None:
    """What was written under it before may stand elsewhere."""
    key = store.redaction_key()
    made = store.create(NewSession(dialect="x")).id
    store.append(made, [NewMessage(body=b"one", role="user", text="one")])
    store.erase([made])
    store.complete_index()
    store.close()
    assert store.redaction_key() == key
    assert store.health(deep=True).problems == ()


def test_a_backup_has_the_key_of_its_store(home: Any, tmp_path: Path) -> None:
    """It may be put in its place: then the same secrets must have the same placeholders."""
    store, copy = home.open(), tmp_path / "copy.db"
    key = store.redaction_key()
    store.backup(str(copy))
    tenant = home.tenant if home.backend == "sqlite" else ""  # a server's copy is of one tenant
    with open_store(copy, tenant=tenant) as again:
        assert again.redaction_key() == key

"""`holdfast recall`: the originals behind a reference, byte for byte."""

from __future__ import annotations

from typing import Any

import click

from holdfast.cli.archive import load_originals
from holdfast.cli.files import STANDARD, write_bytes
from holdfast.cli.inputs import json_option
from holdfast.cli.sessions.rows import print_row
from holdfast.cli.store import opened, store_options
from holdfast.dialects.jsontext import parse
from holdfast.engine.originals import recall as recall_from
from holdfast.errors import UnknownReference
from holdfast.stores.store import Store
from holdfast.stores.values import Place


@click.command()
@click.argument("reference", metavar="REF")
@click.option(
    "--originals",
    type=click.Path(allow_dash=True),
    metavar="FILE",
    help="Look in the file that compress wrote beside its output, and in no session.",
)
@click.option("--session", default="", metavar="ID", help="Only what this session gave out.")
@store_options
@json_option
def recall(
    reference: str, originals: str | None, session: str, as_json: bool, **options: Any
) -> int:
    """Print the originals behind a reference.

    REF is a reference such as hf-0123456789 that a digest or summary names. Every message is
    printed byte for byte as it is kept, or with --originals as it stood in the file that was
    compressed, and then a line break. With --json it is one object: the reference, where it leads
    in which session, and `messages`. A reference that is not known gives one sentence and exit
    code 2.

    \b
    holdfast recall hf-0123456789
    holdfast recall hf-0123456789 --originals small.json.originals.jsonl
    """
    where: dict[str, Any] = {}
    if originals is None:
        with opened(options, "read") as store:
            place = _place(store, reference, session)
            start, stop = place.reference.positions
            found = [row.body for row in store.read(place.session_id, start, stop)]
        where = {"session": place.session_id, "positions": [start, stop]}
    else:
        found = recall_from(reference, load_originals(originals))
    if as_json:
        print_row({"reference": reference, **where, "messages": [parse(one) for one in found]})
        return 0
    write_bytes(STANDARD, b"".join(piece + b"\n" for piece in found))
    return 0


def _place(store: Store, reference: str, session: str) -> Place:
    session_id = store.find(session).id if session else ""
    for place in store.places(reference, session_id=session_id):
        return place
    raise UnknownReference(reference)

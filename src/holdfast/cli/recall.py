"""`holdfast recall`: the originals behind a reference, byte for byte."""

from __future__ import annotations

import click

from holdfast.cli.archive import load_originals, originals_option
from holdfast.cli.files import STANDARD, write_bytes
from holdfast.engine.originals import recall as recall_from


@click.command()
@click.argument("reference", metavar="REF")
@originals_option
def recall(reference: str, originals: str) -> int:
    """Print the originals behind a reference.

    REF is a reference such as hf-0123456789 that a digest or summary names. Every message is
    printed byte for byte as it stood in the file that was compressed, and then a line break. A
    reference that the originals do not know gives one sentence and exit code 2.

    \b
    holdfast recall hf-0123456789 --originals small.json.originals.jsonl
    """
    found = recall_from(reference, load_originals(originals))
    write_bytes(STANDARD, b"".join(piece + b"\n" for piece in found))
    return 0

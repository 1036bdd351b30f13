"""`foldaway reduce`: a text in fewer tokens, by its kind."""

from __future__ import annotations

from typing import cast

import click
from msgspec import to_builtins

from foldaway.cli.files import STANDARD, check_writable, label, read_bytes, write_output
from foldaway.cli.inputs import (
    COUNT,
    FILE,
    input_limits,
    json_option,
    options,
    output_option,
    print_json,
)
from foldaway.engine import reduce as reduce_text
from foldaway.errors import NotReadable
from foldaway.reduction import KINDS, Kind, Reduced

DEFAULT_TOKENS = 2_000
"""The default of `foldaway.reduce`."""


@click.command()
@click.argument("file", type=FILE)
@options(
    ("--kind", click.Choice(KINDS), "What FILE is; by default detected from its content."),
    ("--tokens N", COUNT, "How many tokens the result may have.", DEFAULT_TOKENS),
    ("--reducer NAME", str, "A reducer of another package, which is tried first."),
)
@output_option
@json_option
def reduce(
    file: str, kind: str | None, tokens: int, reducer: str | None, output: str, as_json: bool
) -> int:
    """Shrink a log, diff or JSON to a token budget.

    FILE is any text, such as the output of a tool, - being standard input, gzip too. Errors,
    failing tests, changed files, counts and status stay before everything else; the result says
    what it left out. A text that fits stays as it is, byte for byte.

    \b
    foldaway reduce build.log
    npm test 2>&1 | foldaway reduce - --tokens 500
    foldaway reduce answer.json --kind json -o small.json
    """
    check_writable(output)
    data = _unpack(file)
    text = data.decode("utf-8", "surrogateescape")
    body = text.removesuffix("\n")  # which ends the last line and begins no other
    done = reduce_text(
        body,
        cast("Kind | None", kind),
        tokens,
        hint="" if file == STANDARD else file,
        reducer=reducer,
    )
    shown = done.text + text[len(body) :]
    write_output(output, shown.encode("utf-8", "surrogateescape"), file)
    _tell(file, output, done, as_json=as_json)
    return 0


def _unpack(name: str) -> bytes:
    limits = input_limits()
    try:
        return limits.unpack(read_bytes(name, limits))
    except NotReadable as error:
        raise error.at(label(name)) from None


def _tell(file: str, output: str, done: Reduced, *, as_json: bool) -> None:
    to_stderr = output == STANDARD
    if as_json:
        fields = cast("dict[str, object]", to_builtins(done))
        del fields["text"], fields["reference"]
        print_json({"file": file, "output": output, **fields}, err=to_stderr)
        return
    size = f"{done.tokens_before:,} → {done.tokens_after:,} tokens"
    left_out = f"left out: {', '.join(done.left_out)}" if done.left_out else "nothing left out"
    notes = "".join(f"; {note}" for note in done.notes)
    click.echo(f"{label(file)}: {done.kind or 'text'}, {size}, {left_out}{notes}", err=to_stderr)

"""Draw a real context as blocks: what stayed of a session, what did not, and what each is worth.

python docs/block_picture.py
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from foldaway import compress
from foldaway.compaction import fill
from foldaway.compaction.blocks import BlockGroup, BlockPiece
from foldaway.compaction.worth import named, worth_of
from foldaway.dialects.loading import load
from foldaway.facts.speakers import speaker_of
from foldaway.transcript import Message, ToolCall, ToolResult, texts

ROOT = Path(__file__).resolve().parent.parent
SESSION = ROOT / "examples/session.json.gz"
SHARE = 0.2
WIDTH, ROW, GAP, TEXT = 900, 16, 5, 15
PER_PIXEL = 14
"""Tokens that a pixel stands for."""
COLORS = {
    "person": ("#d9480f", "words of a person", "person"),
    "turn": ("#1864ab", "the agent's words with their calls", "turn"),
    "call": ("#74a9d8", "calls without words", "call"),
    "rest": ("#8a5cc2", "the rest of long words and arguments", "new_text"),
    "output": ("#5c940d", "pieces of outputs", "output"),
    "host": ("#c9a227", "notices and instructions of a host", "host"),
    "record": ("#868e96", "the record of what is left out", ""),
}
AGES = (0, 5, 20)


class Block(Struct, frozen=True):
    """What is drawn as one rectangle."""

    kind: str
    tokens: int
    worth: float
    stays: bool
    at: int


def main() -> None:
    """Write the picture."""
    messages = json.loads(gzip.decompress(SESSION.read_bytes()))
    groups: Sequence[BlockGroup] = ()
    taken: dict[int, set[BlockPiece]] = {}
    used: Mapping[str, float] = {}
    original = fill.take

    def noted(
        given: Sequence[BlockGroup], room: int, must: Iterable[int], names: Mapping[str, float]
    ) -> dict[int, set[BlockPiece]]:
        nonlocal groups, taken, used
        groups, used, taken = given, names, original(given, room, must, names)
        return taken

    fill.take = noted
    before = compress(messages, target_tokens=10**9).report.tokens_before
    report = compress(messages, target_tokens=int(before * SHARE)).report
    log = load(messages).messages
    blocks = [
        block
        for number in range(len(groups) - 1, -1, -1)
        for block in _blocks(groups[number], used, taken.get(number), log)
    ]
    record = Block("record", report.summary_tokens, 0, stays=True, at=0)
    picture = _drawn(_merged(blocks), record, before, report.tokens_after)
    (ROOT / "docs/pictures/blocks.svg").write_text(picture, encoding="utf-8")


def _blocks(
    group: BlockGroup, used: Mapping[str, float], taken: set[BlockPiece] | None,
    log: Sequence[Message],
) -> Iterator[Block]:  # fmt: skip
    """Yield the bare messages of a group, and then its pieces."""
    kind = _kind(log[group.start : group.stop])
    yield Block(kind, group.tokens, group.worth, taken is not None, group.start)
    for piece in group.pieces:
        cut = group.cuts[piece.cut]
        is_output = isinstance(log[cut.at].parts[cut.part], ToolResult)
        worth = piece.worth
        if piece.names is not None:
            worth *= named(used[name] for name in piece.names)
        stays = taken is not None and piece in taken
        yield Block("output" if is_output else "rest", piece.tokens, worth, stays, cut.at)


def _kind(messages: Sequence[Message]) -> str:
    if messages[0].role == "user":
        return "person" if speaker_of(messages[0], None) == "person" else "host"
    said = any(text.strip() for message in messages for text in texts(message)
               if message.role == "assistant")  # fmt: skip
    calls = any(isinstance(part, ToolCall) for message in messages for part in message.parts)
    return "turn" if said or not calls else "call"


def _merged(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield blocks, those of one message that stay or go together as one."""
    last: Block | None = None
    for block in blocks:
        if last is not None and (last.kind, last.stays, last.at) == (
            block.kind, block.stays, block.at,
        ):  # fmt: skip
            total = last.tokens + block.tokens
            worth = (last.worth * last.tokens + block.worth * block.tokens) / total
            last = replace(last, tokens=total, worth=worth)
            continue
        if last is not None:
            yield last
        last = block
    if last is not None:
        yield last


def _drawn(blocks: Iterable[Block], record: Block, before: int, after: int) -> str:
    rows = list(blocks)
    kept = [record, *(block for block in rows if block.stays)]
    lines: list[str] = []
    top = TEXT + GAP
    lines.append(_words(0, TEXT - 3, f"before: {before:,} tokens (pale: left out)"))
    top = _strip(lines, rows, top)
    lines.append(_words(0, top + TEXT, f"after: {after:,} tokens, in the same order"))
    top = _strip(lines, kept, top + TEXT + GAP) + GAP
    for color, words, name in COLORS.values():
        top += TEXT
        worths = [f"{worth_of(name, age):.0f}" for age in AGES] if name else []  # pyright: ignore[reportArgumentType]
        told = f": worth {', '.join(worths)} a token" if worths else ""
        lines.append(f'<rect x="0" y="{top - 10}" width="11" height="11" fill="{color}"/>')
        lines.append(_words(18, top, words + told))
    top += TEXT
    ages = " and ".join((", ".join(map(str, AGES[:-1])), str(AGES[-1])))
    lines.append(_words(18, top, f"worth: {ages} turns back; of outputs before their names count"))
    style = "text{font:12px sans-serif;fill:#444}rect{stroke:#fff;stroke-width:.5}.g{opacity:.18}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top + 8}" '
        f'style="background:#fff"><style>{style}</style>' + "\n".join(lines) + "</svg>\n"
    )


def _strip(lines: list[str], blocks: Iterable[Block], top: int) -> int:
    """Draw blocks from left to right, row by row; return where the next thing may stand."""
    x = 0.0
    for block in blocks:
        width = max(block.tokens / PER_PIXEL, 0.6)
        told = f"{COLORS[block.kind][1]}, m{block.at}: {block.tokens:,} tokens"
        told += f", worth {block.worth:.1f}" if block.worth else ""
        while width > 0:
            part = min(width, WIDTH - x)
            fade = "" if block.stays else ' class="g"'
            lines.append(
                f'<rect x="{x:.1f}" y="{top}" width="{part:.1f}" height="{ROW}" '
                f'fill="{COLORS[block.kind][0]}"{fade}><title>{told}</title></rect>'
            )
            x += part
            width -= part
            if x >= WIDTH - 0.05:
                x, top = 0.0, top + ROW + GAP
    return top + ROW + GAP


def _words(x: int, y: int, words: str) -> str:
    return f'<text x="{x}" y="{y}">{words}</text>'


if __name__ == "__main__":
    main()

"""Markdown of a conversation as HTML that loads nothing, runs nothing and hides nothing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from html import escape
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from foldaway.gateway.inspector.code import code_block
from foldaway.gateway.inspector.safe_text import Rendering, is_web_address, label, visible
from foldaway.sessions import PLACEHOLDER

_DEEPEST: Final = 32
"""Levels of quotes and lists that are drawn; 16 nested lists. The parser drops what is deeper, so
such a text is shown as it is written."""
_MOST_BRACKETS: Final = 2_000
"""Brackets cost the parser most: 2,000 times `![` takes 0.2 s. Real texts have some hundreds."""
_HEADING_SHIFT: Final = 3
"""The page has a heading of its own for the page, the conversation and the message."""


def markdown(text: str, rendering: Rendering) -> str:
    """Return the HTML of a text that was taken; as it is written if it is too deep to draw."""
    if text.count("[") > _MOST_BRACKETS:
        return render_plain(text, rendering)
    parser = _parser()
    tokens = parser.parse(text)
    if any(token.level >= _DEEPEST - 1 for token in tokens) or _drops_cells(tokens, text):
        return render_plain(text, rendering)
    html = _Html(rendering).render(tokens, parser.options, {})
    return f'<div class="prose" dir="auto">{html}</div>'


def render_plain(text: str, rendering: Rendering) -> str:
    """Return a text as one block, as it is written."""
    return f'<pre class="text" dir="auto">{rendering.mark_up(text)}</pre>'


@cache
def _parser() -> MarkdownIt:
    """Return the parser. Nothing may vanish, so there are no definitions of links, and entities
    stay as they are written.
    """
    options = {"html": False, "linkify": False, "breaks": True, "maxNesting": _DEEPEST}
    parser = MarkdownIt("commonmark", options)
    parser.enable(["table", "strikethrough"]).disable(["reference", "entity"])
    parser.inline.ruler.before("link", "secret", _read_secret)
    parser.inline.ruler.before("emphasis", "underscore", _read_underscores)
    parser.validateLink = is_web_address  # pyright: ignore[reportAttributeAccessIssue]
    return parser


def _read_secret(state: StateInline, silent: bool) -> bool:
    """Read a placeholder as text, so that its brackets are not those of a link."""
    found = PLACEHOLDER.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        state.push("text", "", 0).content = found[0]
    state.pos = found.end()
    return True


def _read_underscores(state: StateInline, silent: bool) -> bool:
    """Read underscores as text: `__init__.py` is a name, and a star does for what is emphasized."""
    start = state.pos
    while state.pos < state.posMax and state.src[state.pos] == "_":
        state.pos += 1
    if not silent and state.pos > start:
        state.push("text", "", 0).content = state.src[start : state.pos]
    return state.pos > start


def _drops_cells(tokens: Sequence[Token], text: str) -> bool:
    """Return whether a row of a table has more cells than its head: those would be left out."""
    lines = text.split("\n")
    columns = 0
    for token in tokens:
        if token.type == "thead_open":
            columns = 0
        elif token.type == "th_open":
            columns += 1
        elif token.type == "tr_open" and token.map is not None and columns:
            line = lines[token.map[0]].strip(" \t>").removeprefix("|").removesuffix("|")
            if line.count("|") - line.count("\\|") >= columns:
                return True
    return False


class _Html(RendererHTML):
    """Writes tokens for one message: texts with their marks, code in color, no inline style."""

    def __init__(self, rendering: Rendering) -> None:
        self._rendering = rendering
        self._links = 0
        self._heading = _HEADING_SHIFT
        super().__init__()

    def text(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Write words; within a link marks stay text, because links do not nest."""
        text = visible(tokens[idx].content)
        return label(text) if self._links else self._rendering.mark_up(text)

    def code_inline(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """Write code within a line."""
        return f"<code>{self.text(tokens, idx, options, env)}</code>"

    def code_block(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """Write indented code."""
        return code_block(visible(tokens[idx].content), "", self._rendering)

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Write a fence in the colors of its language. What else its first line says is shown."""
        language, _, said = visible(tokens[idx].info).strip().partition(" ")
        block = code_block(visible(tokens[idx].content), language, self._rendering)
        if not language:
            return block
        label = self._rendering.mark_up(f"{language} {said}".strip())
        return f'<div class="fence"><span class="language">{label}</span>{block}</div>'

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Write the text and the address of an image; nothing is loaded."""
        token = tokens[idx]
        inner = self.renderInlineAsText(token.children or [], options, env)
        mark = label if self._links else self._rendering.mark_up
        alt, source = mark(visible(inner)), mark(visible(str(token.attrs["src"])))
        return f'<span class="image">image {alt} <code>{source}</code></span>'

    def link_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """Open a link that tells the other side nothing."""
        self._links += 1
        href = escape(str(tokens[idx].attrs["href"]))
        return f'<a href="{href}" rel="noopener noreferrer" target="_blank">'

    def link_close(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """Close a link."""
        self._links -= 1
        return "</a>"

    def heading_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """Open a heading below those of the page, no more than one level below the one before; its
        class has the level that was written.
        """
        written = int(tokens[idx].tag[1:])
        self._heading = min(written + _HEADING_SHIFT, self._heading + 1, 6)
        return f'<h{self._heading} class="level-{written}">'

    def heading_close(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """Close a heading."""
        return f"</h{self._heading}>\n"

    def th_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Open a cell; its class has the alignment, which the parser has as a style."""
        token = tokens[idx]
        align = str(token.attrs.get("style", "")).removeprefix("text-align:")
        return f'<{token.tag} class="{escape(align)}">' if align else f"<{token.tag}>"

    td_open = th_open

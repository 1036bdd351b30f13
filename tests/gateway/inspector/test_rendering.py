"""A message as HTML: laws for any content, examples of each part, hostile and real content."""

from __future__ import annotations

import base64
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from itertools import islice, pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.agents.importers import read_file
from foldaway.gateway.inspector.code import code_block, diff_block, edit_lines, indent, word_diff
from foldaway.gateway.inspector.markdown import markdown
from foldaway.gateway.inspector.rendering import MOST_PARTS, one_line, render_message
from foldaway.gateway.inspector.safe_text import (
    MESSAGE_CHARS,
    READ_CHARS,
    SHOWN_CHARS,
    Rendering,
    visible,
)
from foldaway.gateway.inspector.static_files import file_of
from foldaway.redaction import Redactor
from foldaway.redaction.redactor import HOLD
from foldaway.sessions.hiding import as_it_is
from foldaway.transcript import Media, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult

DATA = Path(os.environ.get("FOLDAWAY_DATA", Path(__file__).parents[4] / "shared" / "data"))
REDACTOR = Redactor()
SECRET = "ghp_" + "Zq7vT2mXw9Lk4RbN8sYc3HdF6gJp1AeU5oWi"
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 40).decode()

CLASSED = ("span", "p", "bdi", "strong", "dl", "td", "th", "h4", "h5", "h6")
BARE = (
    "blockquote", "br", "code", "dd", "dt", "em", "hr", "li", "s", "small", "summary", "table",
    "tbody", "thead", "tr", "ul",
)  # fmt: skip
ALLOWED = {
    "a": {"class", "data-ref", "href", "rel", "target"},
    "button": {"type", "class", "data-mark"},
    "details": {"class", "open"},
    "img": {"class", "src", "alt", "loading"},
    "ol": {"start"},
    "div": {"class", "dir"},
    "pre": {"class", "dir"},
    **{tag: {"class"} for tag in CLASSED},
    **{tag: set[str]() for tag in BARE},
}
PRESSED = {"a", "button", "summary"}
VOID = {"br", "hr", "img"}


class HtmlPage(HTMLParser):
    """Reads HTML as a browser does: elements, attributes, and the text between them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in PRESSED:
            assert not PRESSED.intersection(self.open), "one control within another"
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError("a comment hides text")

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.elements if name == tag]


def check(html: str) -> HtmlPage:
    """Read HTML and check that it has only what a page of ours may have."""
    page = HtmlPage(html)
    assert not page.open
    for tag, attrs in page.elements:
        assert tag in ALLOWED
        assert set(attrs) <= ALLOWED[tag]
    for attrs in page.named("a"):
        href = attrs["href"] or ""
        assert re.match(r"https?://|mailto:|/", href, re.I), href
        if not href.startswith("/"):
            assert attrs["rel"] == "noopener noreferrer"
            assert attrs["target"] == "_blank"
    for attrs in page.named("img"):
        assert re.match(
            r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$", attrs["src"] or ""
        )
    assert visible(page.text) == page.text
    return page


def render(*parts: Part, show: Redactor | None = REDACTOR, calls: tuple[ToolCall, ...] = ()) -> str:
    html = render_message(
        Message("assistant", parts),
        show=show or as_it_is,
        calls={call.id: call for call in calls},
        more="/more",
        address=lambda reference: f"/ref/{reference}",
    )
    return str(html)


def plain_rendering() -> Rendering:
    return Rendering(as_it_is, lambda reference: "", "")


PIECES = st.sampled_from(
    ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</pre></details>", "<!--", "]]>",
     "&lt;b&gt;", "&#x202e;", "\u202e", "\u2066", "\x00", "\x1b[31m", "\x1b]0;title\x07", "\ud800",
     "\r", "\n", "\n\n", "  ", "a", "word", "*", "**", "_", "~~", "`", "```\n", "```python\n", "# ",
     "> ", "- ", "1. ", "|a|b|\n|-|:-:|\n|c|d|\n", "[x](javascript:alert(1))", "[x](https://e.x)",
     "[x](data:text/html,x)", "[x](file:///etc/passwd)", "![x](https://e.x/i.png)", "<https://e.x>",
     "<javascript:alert(1)>", "[x][y]\n\n[y]: https://e.x 'title'", "fa-0123456789", "\"'>",
     "[redacted:password:deadbeef]", "[redacted:private-key]", "[a [redacted:x:beef] b](https://e.x)",
     "@@ -1 +1 @@\n-a\n+b\n", "{\"a\": [1, null]}", "def f(): return '''", "/* ", "\\"]
)  # fmt: skip
TEXTS = st.lists(PIECES | st.text(max_size=5), max_size=30).map("".join)
NAMES = st.sampled_from(["Bash", "Edit", "Write", "apply_patch", "Read", "x<y>"]) | TEXTS
KEYS = st.sampled_from(
    ["command", "file_path", "old_string", "new_string", "content", "patch", "edits"]
)
VALUES = TEXTS | st.none() | st.integers() | st.lists(st.dictionaries(KEYS, TEXTS))
ARGUMENTS = TEXTS | st.dictionaries(KEYS | TEXTS, VALUES, max_size=5).map(json.dumps)
CALLS = st.builds(ToolCall, TEXTS, NAMES, ARGUMENTS, st.sampled_from(["function", "custom"]))
MEDIA = st.builds(
    Media,
    st.sampled_from(["image", "audio"]),
    st.sampled_from(["image/png", "image/svg+xml", ""]) | TEXTS,
    st.sampled_from([PNG, ""]) | TEXTS,
    st.sampled_from(["https://e.x/i.png", f"data:image/png;base64,{PNG}", ""]) | TEXTS,
)
SIMPLE = (
    st.builds(Text, TEXTS)
    | st.builds(Thinking, TEXTS, TEXTS)
    | CALLS
    | MEDIA
    | st.builds(Opaque, TEXTS)
)
PARTS = SIMPLE | st.builds(
    ToolResult, TEXTS, st.lists(SIMPLE, max_size=3).map(tuple), st.booleans(), NAMES
)


@given(st.lists(PARTS, max_size=4))
def test_a_message_has_only_elements_and_attributes_of_the_list(parts: list[Part]) -> None:
    """Whatever a message says, its HTML has no other element, attribute or address."""
    check(render(*parts, show=None))


@given(TEXTS)
@example("a\rb\r\nc\x1b[1md\u202e\ud800")
def test_output_is_shown_as_it_is_written(text: str) -> None:
    """The text of a block of code is the visible text, in every language."""
    text = visible(text)
    for language in ("", "python", "javascript", "html", "bash", "yaml", "c", "unknown"):
        page = check(code_block(text, language, plain_rendering()))
        assert page.text == as_read(text)


@given(TEXTS)
@example("--- a\n+++ b\n@@ -1,2 +1 @@\n--- x\n-y\n+z\n@@ -1 @@ w\n")
def test_a_diff_is_shown_as_it_is_written(text: str) -> None:
    """Colors change no character of a diff."""
    page = check(diff_block(visible(text), plain_rendering()))
    assert page.text.removesuffix("\n") == as_read(visible(text)).removesuffix("\n")


def as_read(text: str) -> str:
    """Return what a reader sees instead of placeholders."""
    return re.sub(r"\[redacted:([a-z0-9:_-]+?)(?::[0-9a-f]{4,16})?\]", r"\1 hidden", text)


MARKUP = st.text(alphabet="ab c*_~`#>-|\n\t+1.<&![]():\\", max_size=60)


@given(MARKUP)
@example(">" * 100 + " a")
@example("- " * 3 + "a\n" + "\n".join("  " * depth + "- b" for depth in range(60)))
@example("|a|b|\n|-|-|\n|c|b|a|\n")
@example("[a]: https://b.c 'c'\n\n[a]")
@example("``` a b\nc\n```")
def test_markdown_hides_no_word(text: str) -> None:
    """Each letter of a text is shown, in its order, whatever the markup around it."""
    page = check(markdown(text, plain_rendering()))
    shown = page.text.replace("image ", "") if "image" in page.text else page.text
    assert re.sub("[^abc]", "", shown) == re.sub("[^abc]", "", text)


@given(TEXTS)
def test_json_is_indented_without_a_change_to_its_tokens(text: str) -> None:
    """Only blanks between the tokens of JSON change; of any text, none but blanks."""
    assert re.sub(r"\s", "", indent(text)) == re.sub(r"\s", "", text)


@given(
    st.recursive(
        st.none() | st.text() | st.integers(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_indented_json_is_the_same_json(value: object) -> None:
    """JSON means the same on many lines."""
    assert json.loads(indent(json.dumps(value))) == value


@given(TEXTS, TEXTS)
@example("a\n\nb", "a\nb")
@example("a\n" * 300, "b\n" * 300)
@example("a\nb\nc", "a\nb\nb\nc")
def test_an_edit_shows_all_of_the_old_and_the_new_text(old: str, new: str) -> None:
    """Lines that stay and go are the old text; lines that stay and come are the new one."""
    lines = list(edit_lines(old, new))
    for signs, text in ((" -", old), (" +", new)):
        found = "\n".join(line.text[1:] for line in lines if line.text[0] in signs)
        assert found == text.removesuffix("\n")


@given(TEXTS, TEXTS)
@example("a b c d e", "a b x d e")
@example("word " * 300, "word other " * 150)
def test_a_diff_of_words_has_all_of_both_texts(old: str, new: str) -> None:
    """What stays and goes is the old text; what stays and comes is the new one."""
    rendering = Rendering(as_it_is, lambda reference: "", "")
    html = word_diff(old, new, rendering)
    inner = html.removeprefix('<pre class="text word-diff">').removesuffix("</pre>")
    for gone, text in (("ins", old), ("del", new)):
        bare = re.sub(rf"<{gone}>.*?</{gone}>", "", inner, flags=re.DOTALL)
        assert re.sub("</?(?:ins|del)>", "", bare) == rendering.mark_up(text)


def test_a_diff_of_words_keeps_runs_together() -> None:
    """One common word between two changes is not shown as unchanged: nobody could read that."""
    html = word_diff("one two three of four", "one 2 3 of 4", Rendering(as_it_is, str, ""))
    assert "one <del>two three of four</del><ins>2 3 of 4</ins>" in html


def test_a_diff_of_words_that_repeat_costs_little() -> None:
    """Whoever wrote the message: its page opens."""
    old, new = "a " * 3_000, "".join(f"{at} " if at % 2 else "a " for at in range(3_000))
    rendering = Rendering(as_it_is, str, "")
    usual = cost(lambda: word_diff("".join(f"{at} " for at in range(3_000)), old, rendering))
    for texts in ((old, new), (new, old), (old, new[:600]), (new[:600], old)):
        assert cost(lambda texts=texts: word_diff(*texts, rendering)) < usual * MANY


@given(st.lists(st.integers(1, 6), max_size=12))
def test_headings_go_down_one_level_at_a_time(levels: list[int]) -> None:
    """Whatever was written: a screen reader finds no gap below the heading of the message."""
    text = "\n\n".join(f"{'#' * level} heading" for level in levels)
    shown = [3, *(int(one) for one in re.findall(r"<h(\d)", render(Text(text))))]
    assert len(shown) == len(levels) + 1
    assert all(3 < one <= before + 1 for before, one in pairwise(shown))


def test_underscores_of_names_are_not_lost() -> None:
    """A path or a name is shown letter for letter, also outside of code."""
    html = render(Text("see src/__init__.py and _private_ in **__main__**"))
    assert "see src/__init__.py and _private_ in <strong>__main__</strong>" in html


@given(TEXTS, TEXTS, st.integers(0, 7))
def test_no_planted_secret_survives(before: str, after: str, kind: int) -> None:
    """A secret in any part is a placeholder in the page and in the line for lists."""
    text = f"{before} {SECRET} {after}"
    part: Part = (
        Text(text), Thinking(text), ToolCall("1", "Bash", json.dumps({"command": text})),
        ToolCall("1", "Edit", json.dumps({"path": text, "old_str": text, "new_str": "x"})),
        ToolCall("1", "apply_patch", text, "custom"), ToolResult("1", (Text(text),)),
        Media("image", url=f"https://e.x/{SECRET}"), ToolCall("1", "x", json.dumps({text: [text]})),
    )[kind]  # fmt: skip
    assert SECRET not in render(part)
    assert SECRET not in one_line(Message("user", (part,)), REDACTOR, 10_000)


@each_row("cut", [SHOWN_CHARS, SHOWN_CHARS + HOLD, 160, 320, 160 + HOLD])
@each_row("length", [SHOWN_CHARS + 100, 200_000])
def test_a_secret_at_a_cut_does_not_leak(cut: int, length: int) -> None:
    """Wherever a text is cut, no beginning of a secret is left."""
    for shift in (0, 4, 12, 30, 45):
        text = ("lorem " * length)[: cut - shift] + " " + SECRET + " ipsum" * (length // 6)
        assert SECRET[:12] not in render(Text(text))
        assert SECRET[:12] not in render(ToolResult("1", (Text(text),)))
        assert SECRET[:12] not in render(ToolCall("1", "Bash", json.dumps({"command": text})))
        assert SECRET[:12] not in one_line(Message("user", (Text(text),)), REDACTOR)


@each_row("shift", [4, 12, 30])
def test_hidden_secrets_do_not_bring_the_end_of_what_was_read_near(shift: int) -> None:
    """If a text is much shorter without its secrets, one that was cut while reading stays out."""
    body = base64.b64encode(bytes(range(256)) * 150).decode()
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----\n"
    assert len(key) > HOLD
    text = (key + "lorem " * READ_CHARS)[: READ_CHARS - shift] + SECRET + " ipsum" * 5_000
    assert SECRET[:4] not in render(Text(text))


@each_row("shift", range(0, 40, 3))
def test_a_placeholder_at_a_cut_is_whole_or_left_out(shift: int) -> None:
    """No piece of a placeholder is shown."""
    text = "a" * (SHOWN_CHARS - shift) + " [redacted:password:deadbeef]" + " b" * 100
    page = check(render(Text(text), show=None))
    assert "redact" not in page.text
    assert "deadbeef" not in page.text
    assert len(page.named("button")) == (shift > 28)


def test_an_edit_that_repeats_costs_little() -> None:
    """Lines that come again and again do not make the alignment slow."""
    old = "a\n" * 400
    new = "".join(f"{at}\n" if at % 2 else "a\n" for at in range(400))
    assert len(list(edit_lines(old, new))) >= 600
    plain = "".join(f"{at}\n" for at in range(400))
    usual = cost(lambda: list(edit_lines(plain, plain.replace("7", "x"))))
    assert cost(lambda: list(edit_lines(old, new))) < usual * MANY


def test_a_name_tells_of_a_secret_in_arguments() -> None:
    """An argument that is secret only by its name is hidden."""
    arguments = json.dumps({"password": "Tr0ub4dor-horse-9", "user": "me"})
    html = render(ToolCall("1", "login", arguments))
    assert "Tr0ub4dor" not in html
    assert check(html).named("button")


def test_a_placeholder_is_a_button_in_words_and_code() -> None:
    """A hidden secret can be asked for by its tag, wherever it stands."""
    placeholder = "[redacted:password:deadbeef]"
    for text in (placeholder, f"`{placeholder}`", f"```python\nx = '{placeholder}'\n```",
                 "[redacted:password:deadbeef](https://e.x)", f"    {placeholder}",
                 f"```diff\n+{placeholder}\n```"):  # fmt: skip
        page = check(render(Text(text), show=None))
        assert page.named("button") == [
            {"type": "button", "class": "secret", "data-mark": placeholder}
        ]
        assert "password hidden" in page.text
    page = check(render(Text("[redacted:private-key]"), show=None))
    assert not page.named("button")
    assert page.text.strip() == "private-key hidden"


def test_a_summary_has_no_button() -> None:
    """A secret in the line of a call or of a result is named there; the button is below it."""
    text = "echo [redacted:password:deadbeef] fa-0123456789"
    for part in (
        ToolCall("1", "Bash", json.dumps({"command": text})),
        ToolResult("1", (Text(text),), name=text),
    ):
        html = render(part, show=None)
        summary = check(html[html.index("<summary>") : html.index("</summary>") + 10])
        assert "password hidden" in summary.text
        assert not summary.named("button")
        assert not summary.named("a")
        assert check(html).named("button")


def test_a_reference_is_a_link_in_words_and_code() -> None:
    """A reference links to where the caller says, and only if it is one."""
    for text in ("see fa-0123456789.", "`fa-0123456789`", "```\nfa-0123456789\n```"):
        (link,) = check(render(Text(text))).named("a")
        assert link == {"class": "ref", "data-ref": "fa-0123456789", "href": "/ref/fa-0123456789"}
    assert not check(render(Text("xfa-0123456789 fa-01234567890 fa-012345678g"))).named("a")
    message = Message("user", (Text("fa-0123456789"),))
    assert "<a" not in render_message(message, show=as_it_is)


def test_links_do_not_nest() -> None:
    """Within a link a reference is text, and what has a placeholder in it is not a link."""
    page = check(render(Text("[**a** fa-0123456789 'b'](https://e.x)")))
    assert [link["href"] for link in page.named("a")] == ["https://e.x"]
    assert page.text.strip() == "a fa-0123456789 'b'"
    page = check(render(Text("[a [redacted:x:beef]](https://e.x)"), show=None))
    assert not page.named("a")
    assert page.named("button")


@each_row(
    "address", ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "file:///etc/x",
                "vbscript:x", "//e.x/y", "x.html", "&#106;avascript:alert(1)", "\x01javascript:x"],
)  # fmt: skip
def test_other_addresses_are_text(address: str) -> None:
    """Only http, https and mailto are links; what else is written is shown."""
    page = check(render(Text(f"[word]({address}) ![word]({address}) <{address}>")))
    assert not page.named("a")
    assert page.text.count("word") == 2


def test_an_image_of_another_host_is_text() -> None:
    """A remote image is shown by its address and never loaded."""
    page = check(render(Text("![cat](https://e.x/cat.png)")))
    assert not page.named("img")
    assert "https://e.x/cat.png" in page.text
    page = check(render(Media("image", "image/png", url="https://e.x/cat.png")))
    assert not page.named("img")
    assert "https://e.x/cat.png" in page.text


def test_an_inline_image_is_shown_only_if_its_data_is_one() -> None:
    """Data decides what an image is; svg, broken base64 and large data are named, not shown."""
    for media in (Media("image", "image/png", PNG), Media("image", "", PNG),
                  Media("image", url=f"data:image/png;base64,{PNG}")):  # fmt: skip
        assert len(check(render(media)).named("img")) == 1
    svg = base64.b64encode(b"<svg onload=alert(1)>").decode()
    for media in (Media("image", "image/svg+xml", svg), Media("image", "image/png", svg),
                  Media("image", "image/svg+xml", PNG), Media("image", "image/png", PNG[:-3] + "!"),
                  Media("audio", "image/png", PNG), Media("image", "image/png", PNG + '" id="xy'),
                  Media("image", "image/png", PNG * 100_000)):  # fmt: skip
        page = check(render(media))
        assert not page.named("img")
        assert "not shown" in page.text


def test_markdown_is_drawn() -> None:
    """Headings, tables, lists, strikethrough, links and code are elements."""
    text = "# One\n\n|a|b|\n|-:|-|\n|1|2|\n\n- x\n\n~~o~~ [y](https://e.x)\n\n```py\nreturn 1\n```"
    page = check(render(Text(text)))
    tags = {tag for tag, _ in page.elements}
    assert {"h4", "table", "ul", "s", "a", "pre"} <= tags
    assert {"class": "right"} in page.named("td")
    assert {"class": "k"} in page.named("span")


def test_thinking_is_folded() -> None:
    """Reasoning is closed at first; an encrypted one is named."""
    page = check(render(Thinking("Let me *think*")))
    assert page.named("details") == [{"class": "thinking"}]
    assert "Thinking" in page.text
    assert "encrypted" in check(render(Thinking(signature="abc", redacted=True))).text


def test_a_command_is_shell() -> None:
    """A call of a shell shows the command as it would be typed, and the rest by name."""
    arguments = json.dumps({"command": "if true; then\n  ls\nfi", "timeout": 1000})
    page = check(render(ToolCall("1", "Bash", arguments)))
    assert "if true; then\n  ls\nfi" in page.text
    assert {"class": "k"} in page.named("span")
    assert "timeout" in page.text
    assert page.named("details") == [{"class": "call", "open": None}]
    page = check(render(ToolCall("1", "shell", '{"command": ["bash", "-lc", "ls -la | wc"]}')))
    assert "ls -la | wc" in page.text


@each_row(
    "arguments",
    [
        {"file_path": "/a.py", "old_string": "a\nb", "new_string": "a\nc"},
        {"path": "/a.py", "command": "str_replace", "old_str": "a\nb", "new_str": "a\nc"},
        {"path": "/a.py", "edits": [{"oldText": "a\nb", "newText": "a\nc"}]},
    ],
)
def test_an_edit_is_a_diff(arguments: dict[str, object]) -> None:
    """Old and new texts are lines that go, come and stay."""
    page = check(render(ToolCall("1", "Edit", json.dumps(arguments))))
    assert " a\n-b\n+c\n" in page.text
    assert {"class": "del"} in page.named("span")
    assert {"class": "add"} in page.named("span")
    assert "/a.py" in page.text


def test_a_patch_is_a_diff() -> None:
    """A patch is colored, as an argument or as free text."""
    patch = "*** Begin Patch\n*** Update File: a.py\n@@ def f\n-x\n+y\n*** End Patch"
    for call in (
        ToolCall("1", "apply_patch", patch, "custom"),
        ToolCall("1", "apply_patch", json.dumps({"input": patch})),
    ):
        page = check(render(call))
        assert patch in page.text
        assert {"class": "add"} in page.named("span")


def test_a_file_that_is_written_is_code() -> None:
    """The content of a file is in the colors of its ending."""
    arguments = json.dumps({"file_path": "/a.py", "content": "def f():\n    return 1\n"})
    page = check(render(ToolCall("1", "Write", arguments)))
    assert "def f():\n    return 1\n" in page.text
    assert {"class": "k"} in page.named("span")


def test_other_arguments_are_rows_and_long_calls_are_folded() -> None:
    """Names and values are shown beside each other; lists as JSON; a long call is closed."""
    page = check(render(ToolCall("1", "lookup", '{"city": "Rome", "days": [1, 2], "on": true}')))
    assert len(page.named("dt")) == 3
    assert "[1,2]" in page.text.replace(" ", "")
    page = check(render(ToolCall("1", "lookup", json.dumps({"city": "Rome " * 1000}))))
    assert page.named("details") == [{"class": "call"}]


def test_broken_arguments_are_shown_as_they_are_written() -> None:
    """Arguments that are not an object of JSON are shown."""
    for arguments in ('{"a": ', "[1, 2]", "words", '"text"', "NaN"):
        shown = check(render(ToolCall("1", "x", arguments))).text
        assert re.sub(r"\s", "", arguments) in re.sub(r"\s", "", shown)


def test_a_result_names_its_tool_size_and_failure() -> None:
    """The line of a result says what answered, how much, and whether it failed."""
    result = ToolResult("1", (Text("one\ntwo"),), is_error=True)
    page = check(render(result, calls=(ToolCall("1", "Bash"),)))
    assert page.text.startswith("Bash failed 7 characters, 2 lines")
    assert page.named("details") == [{"class": "result failed"}]
    page = check(render(ToolResult("1", (Text("one"),), name="grep")))
    assert page.text.startswith("grep 3 characters, 1 line")


def test_results_are_shown_as_what_they_are() -> None:
    """Diffs are colored, JSON is on lines, and terminal colors are gone."""
    diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
    assert {"class": "add"} in check(render(ToolResult("1", (Text(diff),)))).named("span")
    page = check(render(ToolResult("1", (Text('{"a": {"b": 1}}'),))))
    assert '{\n  "a": {\n    "b": 1\n  }\n}' in page.text
    page = check(render(ToolResult("1", (Text("\x1b[31;1mred\x1b[0m"),))))
    assert "\x1b" not in page.text
    assert "red" in page.text
    assert "31" not in page.text
    read = ToolCall("1", "Read", '{"file_path": "a.py"}')
    page = check(render(ToolResult("1", (Text("return 1"),)), calls=(read,)))
    assert {"class": "k"} in page.named("span")


def test_what_nobody_knows_is_named() -> None:
    """An unknown part has its kind and its size."""
    assert check(render(Opaque("web<b>", wire={"a": 1}))).text == "web<b>, 7 bytes"


@each_row("sign", ["\u202e", "\u2067", "\u200f", "\u200b", "\x00", "\x85", "\ud800",
                                  "\U000e0041", "\x1b]0;title"])  # fmt: skip
def test_hidden_signs_are_visible(sign: str) -> None:
    """A sign that is not seen, or that turns the writing, is written as its number."""
    parts = (Text(f"a{sign}b"), ToolResult("1", (Text(f"a{sign}b"),)), ToolCall("1", f"a{sign}b"))
    for part in parts:
        page = check(render(part))
        assert f"a⟨U+{ord(sign[0]):04X}⟩" in page.text
        page.text.encode()


def test_long_texts_are_cut_and_say_so() -> None:
    """At most 20,000 characters of a text are shown, with a link to the rest."""
    page = check(render(Text("word " * 10_000)))
    assert len(page.text) < SHOWN_CHARS + 200
    assert "About 30,000 more characters" in page.text
    assert page.named("a") == [{"href": "/more"}]
    assert not check(render(Text("word " * 3_000))).named("a")
    longer = check(render(Text("word " * 100_000)))
    assert longer.text.count("word") == SHOWN_CHARS // 5
    assert "About 480,000 more characters" in longer.text


def test_a_message_of_many_parts_is_bounded() -> None:
    """Neither many parts nor long ones make a large page."""
    page = check(render(*[Text("word " * 4_000)] * 1_000))
    assert len(page.text) < MESSAGE_CHARS + 300 * MOST_PARTS
    assert f"{1_000 - MOST_PARTS} more parts" in page.text


BIG = 50_000_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "part",
    [
        Text("x" * BIG),
        Thinking("x" * BIG),
        ToolCall("1", "Bash", '{"command": "' + "x" * BIG),
        ToolResult("1", (Text("x" * BIG),)),
        ToolResult("1", (Text('{"a":1},' * (BIG // 8)),)),
        Media("image", "image/png", "A" * BIG),
        Media("image", url="https://e.x/" + "A" * BIG),
    ],
    ids=["words", "thinking", "call", "result", "json", "image", "address"],
)
def test_50_megabytes_cost_little(part: Part) -> None:
    """A line of 50 MB costs no more than a few screens of words, and so does its line for lists."""
    usual = cost(lambda: render(HARMLESS))
    html = render(part, show=None)
    assert len(html) < 200_000
    assert cost(lambda: render(part, show=None)) < usual * MANY
    assert cost(lambda: one_line(Message("user", (part,)), as_it_is)) < usual * MANY


HARMLESS = Text("Some words of an answer, with `code` and **weight**.\n\n" * 400)
"""A long answer, about as long as what is shown of any text."""
MANY = 50
"""How much more than that a hostile text may cost: they cost up to 8 times as much, and those that
a parser or a lexer is quadratic on cost a thousand times as much."""


def cost(work: Callable[[], object], times: int = 3) -> float:
    """Return the least CPU seconds of some runs."""
    found: list[float] = []
    for _ in range(times):
        start = time.thread_time()
        work()
        found.append(time.thread_time() - start)
    return min(found)


HOSTILE = [
    "[", "![", "*a_ ", "a*", "*_", "[a](", "![[]()", "> ", "- ", ">", "`", "~~a", "<", "|a", "a\n",
    "# a\n", "> a\n\n", "\\", "```c\n\n\n\n", "```python\n  \n  \n", "- a\n  ", "\u202e", "\x1b[",
    "\x1bP", "[redacted:a:", "fa-0123456789", '{"a":', "&amp;", "/*\n",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_texts_cost_little(piece: str) -> None:
    """No repeated piece makes the parser, the lexers or the redactor slow."""
    render(Text("```c\nx\n```\n```python\nx\n```"))
    text = piece * (2 * READ_CHARS // len(piece))
    usual = cost(lambda: render(HARMLESS))
    for part in (Text(text), ToolResult("1", (Text(text),)), ToolCall("1", "Write", text)):
        assert cost(lambda part=part: render(part), 1) < usual * MANY


def test_lexers_stop_when_their_time_is_spent() -> None:
    """Code on which a lexer is quadratic is shown whole, the end of it without color."""
    render(Text("```c\nx\n```"))
    text = "int a;\n" + "\n" * 15_000 + "int b;"
    page = check(render(Text(f"```c\n{text}\n```")))
    usual = cost(lambda: render(HARMLESS))
    assert cost(lambda: render(Text(f"```c\n{text}\n```")), 1) < usual * MANY
    assert "int a;" in page.text
    assert "int b;" in page.text


def test_one_line_is_words_first() -> None:
    """A message in a list is its words, otherwise what it calls, got or holds."""

    def line(*parts: Part) -> str:
        return one_line(Message("assistant", parts), REDACTOR, 40)

    call = ToolCall("1", "Bash", '{"command": "ls\\n-la"}')
    assert line(call, Text("  Two\n\nwords ")) == "Two words"
    assert line(Thinking("hm"), call) == "Bash ls -la"
    assert line(ToolResult("1", (Text("out\u202e"),))) == "out⟨U+202E⟩"
    assert line(Media("image", "image/png", PNG)) == "image image/png"
    assert line(Text("")) == ""
    long = line(Text("word " * 100))
    assert len(long) <= 40
    assert long.endswith("…")


CODE_CSS = file_of("code.css").decode()
COLORS = re.findall(r"--code-([a-z-]+): light-dark\((#\w{6}), (#\w{6})\);", CODE_CSS)


@pytest.mark.parametrize("theme", [1, 2], ids=["light", "dark"])
def test_colors_can_be_read(theme: int) -> None:
    """Each color has a contrast of 4.5:1 to its background (WCAG 2.1 AA)."""
    colors = {row[0]: row[theme] for row in COLORS}
    backs = {"added": "added-back", "deleted": "deleted-back"}
    for name in colors.keys() - {"back", "added-back", "deleted-back"}:
        assert contrast(colors[name], colors[backs.get(name, "back")]) >= 4.5, name


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_the_stylesheet_has_each_theme() -> None:
    """Each color is defined once, for both; the page says which of them counts."""
    assert {name for name, *_ in COLORS} == set(re.findall(r"var\(--code-([a-z-]+)\)", CODE_CSS))
    page = file_of("page.css").decode()
    for theme in ("light", "dark"):
        assert f':root[data-theme="{theme}"] {{ color-scheme: {theme}; }}' in page


def real_sessions() -> Iterator[Path]:
    for agent in ("claude-code", "codex", "opencode", "openhands", "pi", "swe-agent-traj"):
        yield from sorted((DATA / "native" / agent).glob("*.gz"))


@pytest.mark.shared
def test_real_sessions_are_rendered() -> None:
    """Messages of six agents become valid HTML, whose size and time are bounded."""
    paths = list(real_sessions())
    if not paths:
        pytest.skip(f"no shared data at {DATA}; set FOLDAWAY_DATA")
    rendered = 0
    for path in paths:
        for session in islice(read_file(path), 3):
            messages = session.transcript.messages
            calls = {
                part.id: part
                for message in messages
                for part in message.parts
                if isinstance(part, ToolCall)
            }
            for message in messages[:30]:
                html = render_message(message, show=REDACTOR, calls=calls, more="/more")
                check(str(html))
                assert "\n" not in one_line(message, REDACTOR)
                rendered += 1
    assert rendered > 200

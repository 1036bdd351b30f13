"""Files of agents in which every text is hostile; a page shows them as text."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ELSEWHERE = "http://evil.invalid:8099"
RUN = "window.evil=1;alert(1)"
PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 900_000).decode()
"""A PNG by its first bytes alone, of 1.2 million characters."""
HOSTILE = {
    "script": f"<script>{RUN}</script>",
    "image": f'"><img src=x onerror="{RUN}">\' onmouseover=\'{RUN}',
    "svg": f"<svg onload='{RUN}'><animate onbegin='{RUN}' attributeName=x dur=1s></svg>",
    "link": f"[press](javascript:{RUN}) <javascript:{RUN}> [a]( java\tscript:{RUN})",
    "elsewhere": f"![pixel]({ELSEWHERE}/p.png) <img src={ELSEWHERE}/q.png> [x]: {ELSEWHERE}/r",
    "frame": f'<iframe srcdoc="<script>parent.evil=1</script>" src="{ELSEWHERE}/f"></iframe>',
    "entities": "&lt;script&gt;window.evil=1&lt;/script&gt; &#60;script&#62; &amp;lt;b",
    "terminal": "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b]8;;http://evil.invalid\x07l\x1b]8;;\x07",
    "bidi": "\u202egnp.exe\u202c \u2066abc\u2069 \u200f\u061c שלום \u200bzero",
    "control": "a\x00b\x08c\x7f\x9b31m\ufeff",
    "surrogate": "half \ud83d and \udc00 alone",
    "data": f"[open](data:text/html,<script>{RUN}</script>) data:text/html;base64,PHNjcmlwdD4=",
    "style": f"<style>*{{background:url({ELSEWHERE}/c)}}</style>"
    f"<link rel=stylesheet href={ELSEWHERE}/l>"
    f'<p style="position:fixed;inset:0;background:url({ELSEWHERE}/s)">',
    "island": f"</script><script>{RUN}</script><!-- <script> ]]> \u2028 \u2029 --!>",
    "closing": f"</textarea></title></style></noscript></pre><script>{RUN}</script>",
    "template": "{{7*7}} {% raw %} ${7*7} <%= 7*7 %> {{config}} {#",
    "prototype": "__proto__",
    "base": f'<base href="{ELSEWHERE}/"><meta http-equiv=refresh content="0;url={ELSEWHERE}">',
    "form": f'<form action="{ELSEWHERE}"><button id=said name=body>b</button></form>',
    "wide": "w" * 5_000,
    "signs": "👩‍👩‍👧‍👦🏳️‍🌈 漢字かな交じり文 ﷽ ह̶̢̧ " + "e\u0301" + "\u0300" * 400,
    "code": f"```html\n<script>{RUN}</script>\n```\n~~~\"onload={RUN}\n|a|b|\n|-|-|\n|<b>|`<i>`|",
    "nested": "[" * 3_000 + ">" * 500 + " " + "*_" * 1_500,
    "reference": 'fa-0123456789 [redacted:github-token:d454] "fa-aaaaaaaaaa"><script>',
}  # fmt: skip
"""A kind of trick, and a text that tries it; every text is a message, a title, a name, a path."""
SENDABLE = {
    f"{name}-{again}": text
    for again in range(3)
    for name, text in HOSTILE.items()
    if name not in ("control", "surrogate")
}
"""Those that break no rule of a provider, three times each."""
BESIDE = "zebrafish"
"""A harmless word that stands beside each of them, to search for."""


def write_all(folder: Path) -> None:
    """Write a session of each of three agents with every text, and those of unusual sizes."""
    folder.mkdir(parents=True, exist_ok=True)
    _lines(folder / "claude.jsonl", _claude("claude"))
    for name in ("one", "two"):  # long ones that a provider would take, so they can be compacted
        _lines(folder / f"sendable-{name}.jsonl", _claude(f"sendable-{name}", SENDABLE))
    for name, text in HOSTILE.items():
        _lines(folder / f"title-{name}.jsonl", _claude(f"t-{name}", {name: text}))
    _lines(folder / "rollout-2026-01-02T03-04-05-codex.jsonl", _codex())
    (folder / 'chat"><img src=x onerror=alert(1)>.json').write_text(json.dumps(_chat()))
    (folder / "\u202elsj.nosj.json").write_text(json.dumps(_chat()))
    deep = json.dumps(_chat())[:-2] + ',{"role":"user","content":' + "[" * 100_000 + "]" * 100_000
    (folder / "nested.json").write_text(deep + "}]}")
    inside = {"role": "user", "content": f"{BESIDE} " + "[" * 100_000 + "]" * 100_000}
    (folder / "brackets.json").write_text(json.dumps({"messages": [inside, *_chat()["messages"]]}))


def write_long_line(folder: Path, size: int) -> None:
    """Write a session of three lines, one of which has this many characters without a space."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = list(_claude("long", {"wide": "x"}))
    lines[1]["message"]["content"] = [{"type": "text", "text": f"{BESIDE} " + "<b>" * (size // 3)}]
    _lines(folder / "long.jsonl", lines)


def _lines(path: Path, lines: Iterator[dict[str, Any]] | list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def _claude(name: str, texts: dict[str, str] = HOSTILE) -> Iterator[dict[str, Any]]:
    """Yield turns in which the user says a text, a tool of that name is called with it, and fails
    with it.
    """
    number = 0
    for kind, text in texts.items():
        call = f"call_{number}"
        image = {"type": "base64", "media_type": "image/png", "data": PIXEL if number < 1 else text}
        used = {"type": "tool_use", "id": call, "name": text, "input": {text: text, "command": text,
                "file_path": text, "__proto__": {"polluted": 1}, "constructor": text}}  # fmt: skip
        result = {"type": "tool_result", "tool_use_id": call, "is_error": True, "content": [
            {"type": "text", "text": text}, {"type": "image", "source": image},
            {"type": text, "value": text}]}  # fmt: skip
        for role, content in (
            ("user", f"{text} {BESIDE} {kind}"),
            ("assistant", [{"type": "thinking", "thinking": text, "signature": text},
                           {"type": "text", "text": text}, used]),
            ("user", [result]),
            ("assistant", [{"type": "text", "text": f"{BESIDE}\n\n{text}\n\n> {text}\n- {text}"}]),
        ):  # fmt: skip
            message: dict[str, Any] = {"role": role, "content": content}
            if role == "assistant":
                usage = {"input_tokens": 900 + number, "output_tokens": 5,
                         "cache_read_input_tokens": 100 * number}  # fmt: skip
                message |= {"id": f"{name}{number}", "model": text[:200], "usage": usage}
            yield {
                "type": role, "uuid": f"{name}-{number}", "sessionId": name, "cwd": f"/w/{text}",
                "parentUuid": f"{name}-{number - 1}" if number else None, "gitBranch": text,
                "timestamp": f"2026-01-15T12:{number // 60:02}:{number % 60:02}Z",
                "version": text, "message": message,
            }  # fmt: skip
            number += 1
    yield {"type": "summary", "summary": next(iter(texts.values())), "leafUuid": f"{name}-1"}


def _codex() -> Iterator[dict[str, Any]]:
    evil = HOSTILE["script"] + HOSTILE["image"]
    yield {"timestamp": "2026-05-06T19:04:55Z", "type": "session_meta", "payload": {
        "id": 'codex"><script>', "cwd": evil, "originator": evil, "cli_version": evil,
        "model_provider": evil, "base_instructions": {"text": evil}}}  # fmt: skip
    yield _item("turn_context", cwd=evil, model=evil)
    for at, text in enumerate(HOSTILE.values()):
        said = {"type": "input_text", "text": f"{text} {BESIDE}"}
        yield _item("response_item", type="message", role="user", content=[said])
        yield _item("response_item", type="function_call", name=text, call_id=f"c{at}",
                    arguments=json.dumps({"cmd": text, "__proto__": text}))  # fmt: skip
        yield _item("response_item", type="function_call_output", call_id=f"c{at}", output=text)
        said = {"type": "output_text", "text": text}
        yield _item("response_item", type="message", role="assistant", content=[said])


def _item(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-05-06T19:05:00Z", "type": kind, "payload": payload}


def _chat() -> dict[str, Any]:
    """Return a plain request, as programs save it."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": HOSTILE["island"]}]
    for at, text in enumerate(HOSTILE.values()):
        url = {
            "url": [f"{ELSEWHERE}/{at}.png", f"data:text/html,{text}", f"javascript:{RUN}"][at % 3]
        }
        call = {"id": f"c{at}", "type": "function", "function": {"name": text, "arguments": text}}
        messages += [
            {"role": "user", "name": text, "content": [
                {"type": "text", "text": f"{text} {BESIDE}"},
                {"type": "image_url", "image_url": url}]},
            {"role": "assistant", "content": text, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{at}", "content": text},
        ]  # fmt: skip
    return {"model": HOSTILE["script"], "title": HOSTILE["image"], "messages": messages}

"""A page as one file that opens by itself: no server, no request, nothing that can be changed.

What pages keep to for it: modules import each other by `import { name } from "./file.js"` and
export functions, classes and constants by name; what needs the server has `data-not-exported`;
a button or field that only changes what is shown has `data-view`; `<html>` has `data-exported`,
and `is_export` tells a handler that nothing can be loaded later.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from html import escape
from html.parser import HTMLParser
from typing import Final

from foldaway.gateway.inspector.static_files import file_of
from foldaway.sessions import Show, as_it_is

_ASSET: Final = re.compile(r"/inspector/static/[0-9a-f]{12}/([\w./-]+)")
_VOID: Final = frozenset(
    "area base br col embed hr img input link meta source track wbr".split()  # noqa: SIM905
)
_CONTROLS: Final = frozenset(("button", "input", "select", "textarea"))
_GONE: Final = frozenset(("form", "iframe", "object", "embed", "base", "frame", "audio", "video"))
_KEPT_OF_LINK: Final = ("class", "id", "title", "aria-label")
_IMPORT: Final = re.compile(r'^import (?:\{([^}]*)\} from )?"\./([\w./-]+)";\n', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export ((?:async )?function\*?|class|const|let) (\w+)", re.MULTILINE)
_LEFT: Final = re.compile(r"^\s*(?:import|export)\b|\bimport\(", re.MULTILINE)
_LEAST_SECRET: Final = 8
"""Characters: no rule of the redactor knows a shorter secret."""
_OFFLINE: Final = """\
const fetch = () => new Promise(() => {});
const history = { replaceState() {}, pushState() {} };
const location = {
  href: "", assign() {}, reload() {}, get hash() { return globalThis.location.hash; },
};
"""
"""What scripts of a file have in place of a server: nothing arrives, and no other page opens."""
_POLICY: Final = (
    "default-src 'none'; script-src {scripts}; style-src {styles}; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)
"""Of a file: its own scripts and styles, by their hashes, and no address at all."""


def standalone(html: str, show: Show = as_it_is) -> bytes:
    """Return a page of the inspector as one file; every text of it goes through `show` once more.

    Raises `ValueError` for a module that cannot be put into one script with others.
    """
    made = _Exporter(show)
    made.feed(html)
    made.close()
    policy = _POLICY.format(
        scripts=" ".join(map(_hash, made.scripts)) or "'none'",
        styles=" ".join(map(_hash, made.styles)) or "'none'",
    )
    meta = f'<meta http-equiv="content-security-policy" content="{escape(policy)}">'
    return "".join(made.pieces).replace(_HERE, meta, 1).encode("utf-8", "replace")


_HERE: Final = "<!--policy-->"
"""Where the policy goes; a comment of the page itself is left out, so there is one of it."""


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


class _Exporter(HTMLParser):
    """Writes a page again, tag by tag."""

    def __init__(self, show: Show) -> None:
        super().__init__(convert_charrefs=False)
        self._show = show
        self.pieces: list[str] = []
        self.scripts: list[str] = []
        self.styles: list[str] = []
        self._modules: list[str] = []
        self._skipped: list[str] = []
        self._opened: dict[str, list[str]] = {"a": [], "button": []}
        self._svg = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if self._skipped:
            if tag == self._skipped[-1] and tag not in _VOID:
                self._skipped.append(tag)
            return
        if self._is_left_out(tag, given):
            if tag not in _VOID:
                self._skipped.append(tag)
            return
        self._write_start(tag, given)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if not self._skipped and not self._is_left_out(tag, given):
            self.pieces.append(self.get_starttag_text() or "")

    def _is_left_out(self, tag: str, given: Mapping[str, str]) -> bool:
        if "data-not-exported" in given or tag in _GONE:
            return True
        if tag in _CONTROLS:
            is_secret = "secret" in given.get("class", "").split()
            return given.get("id") != "theme" and "data-view" not in given and not is_secret
        return tag == "meta" and ("charset" in given or given.get("name") == "foldaway-page")

    def _write_start(self, tag: str, given: Mapping[str, str]) -> None:
        raw = self.get_starttag_text() or ""
        asset = _ASSET.fullmatch(given.get("src") or given.get("href") or "")
        match tag:
            case "html":
                self.pieces.append(raw.replace("<html", "<html data-exported", 1))
            case "head":
                self.pieces.append(f'{raw}\n<meta charset="utf-8">{_HERE}')
            case "link":
                self._write_link(given, asset[1] if asset else "")
            case "script" if "src" in given:
                self._skipped.append("script")
                if asset:
                    self._take_script(asset[1], is_module=given.get("type") == "module")
            case "script" if given.get("type") != "application/json":
                self._skipped.append("script")  # pages have none: it came in by a fault
            case "img" if not given.get("src", "").startswith("data:"):
                self.pieces.append(f"<span>[{escape(given.get('alt') or 'image')}]</span>")
            case "a":
                self._open_link(given)
            case "button" if "secret" in given.get("class", "").split():
                self._opened["button"].append("span")
                self.pieces.append('<span class="secret">')
            case "button":
                self._opened["button"].append("button")
                self.pieces.append(raw)
            case _:
                self._svg += tag == "svg"
                self.pieces.append(raw)

    def _write_link(self, given: Mapping[str, str], name: str) -> None:
        if given.get("rel") == "stylesheet" and name:
            self.styles.append(_file(name))
            self.pieces.append(f"<style>{self.styles[-1]}</style>")
        elif given.get("rel") == "icon" and name:
            data = base64.b64encode(_file(name).encode()).decode()
            self.pieces.append(f'<link rel="icon" href="data:image/svg+xml;base64,{data}">')

    def _take_script(self, name: str, *, is_module: bool) -> None:
        if is_module:
            self._modules.append(name)
        else:
            self._write_script(_file(name), "")

    def _write_script(self, text: str, kind: str) -> None:
        self.scripts.append(text.replace("</script", "<\\/script"))
        self.pieces.append(f"<script{kind}>{self.scripts[-1]}</script>")

    def _open_link(self, given: Mapping[str, str]) -> None:
        """Keep a link within the page or to the web; one to another page becomes its text."""
        target = given.get("href", "").strip()
        element = "g" if self._svg else "span"
        kept = {name: given[name] for name in _KEPT_OF_LINK if name in given}
        if target.startswith(("#", "https://", "http://")):
            element = "a"
            kept |= (
                {"href": target}
                if target[0] == "#"
                else {"href": target, "rel": "noopener noreferrer", "target": "_blank"}
            )
        self._opened["a"].append(element)
        said = "".join(f' {name}="{escape(value)}"' for name, value in kept.items())
        self.pieces.append(f"<{element}{said}>")

    def handle_endtag(self, tag: str) -> None:
        if self._skipped:
            if tag == self._skipped[-1]:
                self._skipped.pop()
            return
        opened = self._opened.get(tag)
        if opened:
            self.pieces.append(f"</{opened.pop()}>")
            return
        if tag == "body" and self._modules:
            self._write_script(bundle(self._modules), ' type="module"')
        self._svg -= tag == "svg"
        self.pieces.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if not self._skipped:
            is_long = len(data) >= _LEAST_SECRET and not data.isspace()
            self.pieces.append(self._show(data) if is_long else data)

    def handle_entityref(self, name: str) -> None:
        self.handle_data(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self.handle_data(f"&#{name};")

    def handle_decl(self, decl: str) -> None:
        self.pieces.append(f"<!{decl}>")


def bundle(names: list[str]) -> str:
    """Return modules and those that they import as one script; raises `ValueError`."""
    done: dict[str, str] = {}
    for name in names:
        _bundle(name, done, ())
    return _OFFLINE + "\n".join(done.values())


def _bundle(name: str, done: dict[str, str], above: tuple[str, ...]) -> None:
    if name in done:
        return
    if name in above:
        raise ValueError(f"{name} imports itself")
    text, lines = _file(name), list[str]()
    for names, other in _IMPORT.findall(text):
        _bundle(other, done, (*above, name))
        if names.strip():
            lines.append(f"const {{ {names.strip().replace(' as ', ': ')} }} = {_variable(other)};")
    shared = [found[1] for found in _EXPORT.findall(text)]
    body = _EXPORT.sub(r"\1 \2", _IMPORT.sub("", text))
    if _LEFT.search(body):
        raise ValueError(f"{name} has an import or export that cannot be put into one script")
    inside = "\n".join((*lines, body, f"return {{ {', '.join(shared)} }};"))
    done[name] = f"const {_variable(name)} = (() => {{\n{inside}\n}})();"


def _variable(name: str) -> str:
    return "of_" + re.sub(r"\W", "_", name)


def _file(name: str) -> str:
    return file_of(name).decode()

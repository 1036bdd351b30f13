"""Programs that bring files from elsewhere: curl, wget, rsync, scp."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from holdfast.facts.effects.effect import Effect
from holdfast.facts.effects.invocation import Handler, Invocation
from holdfast.facts.effects.options import split_options
from holdfast.facts.effects.paths import inside, is_device, names_directory, place

_REMOTE = re.compile(r"[^/]+:")
_CURL_VALUED = "AbcCdDeEFhHKmoPQrtTuUwxXyYz"
_CURL_LONG = (
    "--output", "--header", "--data", "--data-raw", "--data-binary", "--request", "--user",
    "--url", "--max-time", "--connect-timeout", "--retry", "--retry-delay", "--write-out",
    "--output-dir", "--form", "--cookie", "--cookie-jar", "--dump-header", "--user-agent",
    "--proxy", "--cacert", "--cert", "--key", "--referer", "--resolve", "--upload-file",
    "--data-urlencode", "--json", "--range", "--unix-socket",
)  # fmt: skip
_WGET_LONG = ("--output-document", "--directory-prefix", "--header", "--post-data", "--timeout",
              "--tries", "--user-agent", "--output-file", "--user", "--password")  # fmt: skip
_RSYNC_LONG = ("--exclude", "--include", "--rsh", "--filter", "--exclude-from", "--include-from",
               "--files-from", "--log-file", "--bwlimit", "--chmod", "--rsync-path")  # fmt: skip


def curl(call: Invocation) -> Iterator[Effect]:
    """`curl -o file`, `-O`, and the files for headers and cookies."""
    options = split_options(call.args, _CURL_VALUED, _CURL_LONG)
    directory = options.value("--output-dir") or ""
    for name in ("-o", "--output"):
        for path in options.given.get(name, ()):
            if path and path != "-" and not is_device(path):
                yield Effect("write", place(directory, path))
    if options.has("-O", "--remote-name", "--remote-name-all"):
        for url in (*options.known, options.value("--url")):
            if url and (file := _file_of(url)):
                yield Effect("write", place(directory, file))
    for name in ("-D", "--dump-header", "-c", "--cookie-jar"):
        path = options.value(name)
        if path and path != "-" and not is_device(path):
            yield Effect("write", path)


def wget(call: Invocation) -> Iterator[Effect]:
    """`wget -O file`, or the name that the address ends with."""
    options = split_options(call.args, "OPoaeiUTtwQBADRXI", _WGET_LONG)
    if options.has("--spider", "--version", "--help", "-r", "--recursive", "-m", "-i"):
        return
    if options.has("-O", "--output-document"):
        path = options.value("-O", "--output-document")
        if path and path != "-" and not is_device(path):
            yield Effect("write", path)
        return
    directory = options.value("-P", "--directory-prefix") or ""
    for url in options.known:
        if file := _file_of(url):
            yield Effect("write", place(directory, file))


def remote_copy(call: Invocation) -> Iterator[Effect]:
    """`rsync` and `scp` whose target is local."""
    valued = "ef" if call.name == "rsync" else "iPoFcSlJD"
    options = split_options(call.args, valued, _RSYNC_LONG)
    operands = options.operands
    if len(operands) < 2 or (call.name == "rsync" and options.has("-n", "--dry-run")):
        return
    target = operands[-1]
    if not target or _REMOTE.match(target):
        return
    for source in operands[:-1]:
        whole = source is None or source.endswith("/")
        if len(operands) == 2 and (whole or not names_directory(target)):
            yield Effect("write", target)
        elif source is not None and not whole:
            yield Effect("write", inside(target, source.rpartition(":")[2]))


def _file_of(url: str) -> str:
    """Return the file name at the end of an address; empty where it has none."""
    path = url.partition("://")[2] or url
    path = path.partition("#")[0].partition("?")[0]
    return path.rpartition("/")[2] if "/" in path else ""


HANDLERS: Mapping[str, Handler] = {
    "curl": curl,
    "wget": wget,
    "rsync": remote_copy,
    "scp": remote_copy,
}

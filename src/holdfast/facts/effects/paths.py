"""Paths as text: joined and normalised without a look at any disk."""

from __future__ import annotations

_DEVICES = ("/dev/", "/proc/")


def place(base: str, path: str) -> str:
    """Return `path` as it stands where no base is known or it is absolute, else under the base."""
    if not base or is_absolute(path):
        return path
    if "\\" in base and "/" not in base:
        return f"{base.rstrip(chr(92))}\\{path}"
    return normalise(f"{base}/{path}")


def normalise(path: str) -> str:
    """Return the path without `.`, `//` and what `..` takes back; `.` where nothing is left."""
    root = "/" if path.startswith("/") else ""
    parts: list[str] = []
    for part in path.split("/"):
        if part in ("", "."):
            continue
        if part == ".." and (parts or root) and parts[-1:] not in ([".."], ["~"]):
            if parts:
                parts.pop()
            continue
        parts.append(part)
    return root + "/".join(parts) or "."


def is_absolute(path: str) -> bool:
    """Whether the path does not depend on a working directory: `/x`, `~/x`, `C:/x`."""
    if path.startswith(("/", "~/", "\\\\")) or path == "~":
        return True
    return path[1:2] == ":" and path[2:3] in ("\\", "/")


def base_name(path: str) -> str:
    """Return the last component."""
    return path.rstrip("/").rpartition("/")[2]


def is_device(path: str) -> bool:
    """Whether writing there leaves no file behind."""
    return path.startswith(_DEVICES) and not path.startswith("/dev/shm/")


def names_directory(path: str) -> bool:
    """Whether the path can only be a directory, by its spelling."""
    return path.endswith(("/", "/.", "/..")) or path in (".", "..", "~", "/tmp")


def inside(directory: str, path: str) -> str:
    """Return where a file of that name ends up in the directory."""
    if directory == ".":
        return base_name(path)
    return f"{directory.rstrip('/')}/{base_name(path)}"

"""The version, and names of a package that are imported when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

__version__ = "0.2.0"
"""The build and everything that names the version read it here."""


def import_later(package: str, modules: Mapping[str, str]) -> Callable[[str], object]:
    """Return the `__getattr__` of a package whose names are in other modules.

    `modules` has the names of each, with spaces between; a module without `foldaway.` is one of the
    package.
    """
    places = {name: module for module, names in modules.items() for name in names.split()}

    def find(name: str) -> object:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = places[name]
        path = module if module.startswith("foldaway.") else f"{package}.{module}"
        found: object = getattr(import_module(path), name)
        setattr(import_module(package), name, found)
        return found

    return find

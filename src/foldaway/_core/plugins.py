"""What other packages register under an entry-point group: engines, reducers, memories."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from msgspec import Struct

from foldaway.errors import FoldawayError, InvalidSetting, UnknownName

T = TypeVar("T")


class PluginKind(Struct, frozen=True, kw_only=True):
    """One kind of plug-in: where it is registered, and what errors call it."""

    group: str
    word: str
    """In errors: `engine`."""
    setting: str
    """The setting that names one: `engine.name`."""
    ours: Mapping[str, Callable[..., Any]] = {}
    """What Foldaway brings itself, by name."""

    def names(self) -> tuple[str, ...]:
        """Return the names there are, ours first; none is loaded."""
        return (*self.ours, *sorted(set(self._find_registered()) - set(self.ours)))

    def load(self, name: str) -> Any:
        """Return what a name is registered for, or raise `UnknownName` with the ones there are."""
        found = self._find_registered()
        if name not in self.ours and name not in found:
            raise UnknownName(self.word, name, sorted(self.names()))
        return self.ours.get(name) or found[name].load()

    def make(self, name: str, base: type[T], *given: Any, **named: Any) -> T:
        """Call what a name is registered for; it must return an instance of `base`.

        Raises `InvalidSetting` for a package that fails or makes something else.
        """
        try:
            made: Any = self.load(name)(*given, **named)
        except FoldawayError:
            raise
        except Exception as error:  # another package may raise anything
            problem = f"its package raises {type(error).__name__}"
            raise self._unusable_error(name, problem) from error
        if not isinstance(made, base):
            raise self._unusable_error(name, f"its package makes {type(made).__name__}")
        return made

    def _find_registered(self) -> dict[str, EntryPoint]:
        return {entry.name: entry for entry in entry_points(group=self.group)}

    def _unusable_error(self, name: str, problem: str) -> InvalidSetting:
        said = f"{self.setting} is {name!r}, which cannot be used: {problem}"
        return InvalidSetting(self.setting, name, f"a usable {self.word}", message=said)

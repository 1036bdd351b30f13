"""Sessions whose truth is known, as the tests of the lab have them."""

from __future__ import annotations

from tests.lab.conftest import make_session

__all__ = ["make_session"]

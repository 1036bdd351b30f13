"""The windows of models, from the table and from the real package."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.testing.rows import each_row

from foldaway.caching.catalog import context_window
from foldaway.errors import MissingExtra

prices = pytest.mark.skipif(
    subprocess.run([sys.executable, "-c", "import genai_prices"], capture_output=True).returncode
    != 0,
    reason="genai-prices is not installed (the extra `prices`)",
)


@pytest.mark.parametrize(
    ("model", "tokens"),
    [("claude-sonnet-4-5", 200_000), ("gpt-4o", 128_000), ("openai/gpt-4o", 128_000),
     pytest.param("claude-2", 200_000, marks=prices)],
)  # fmt: skip
def test_a_known_model_has_its_window(model: str, tokens: int) -> None:
    """By its name, with or without its provider."""
    assert context_window(model) == tokens


@prices
@each_row("model", ["", "no-such-model-9", "nobody/no-such-model-9"])
def test_an_unknown_model_has_none(model: str) -> None:
    """Not known is None, never a guess."""
    assert context_window(model) is None


def test_where_the_package_is_missing_the_extra_is_named() -> None:
    """For a model that the table does not have; importing the module needs nothing."""
    code = (
        "import sys; sys.modules['genai_prices'] = None\n"
        "from foldaway.caching.catalog import context_window\n"
        "try:\n    context_window('claude-2')\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(MissingExtra.__name__)
    assert "pip install 'foldaway[prices]'" in done.stdout


@pytest.mark.slow
def test_the_package_is_imported_only_when_it_is_asked() -> None:
    """It brings a validation library and an HTTP client: nobody pays for it unasked."""
    code = "import sys, foldaway.cli.compact; print('genai_prices' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_the_table_is_read_only_when_it_is_asked() -> None:
    """The import of the module reads no file."""
    code = (
        "import foldaway.caching.catalog as c; print(c.model_table.cache_info().currsize)\n"
        "c.context_window('gpt-4o'); print(c.model_table.cache_info().currsize)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n1\n"

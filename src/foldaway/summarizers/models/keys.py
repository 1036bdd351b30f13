"""Which key goes to which address: a vendor's key to that vendor alone, unless the user pairs them.

Otherwise anyone who names an address could collect the key that the SDK finds in the environment.
"""

from __future__ import annotations

import os
import re
from typing import Any

from msgspec import Struct

from foldaway.errors import InvalidSetting, SummarizerFailed

NO_KEY = "none"
"""Sent instead of a key: most servers of one's own want none, the SDKs want one."""
_ACCOUNT = {"OPENAI_ORG_ID": "OpenAI-Organization", "OPENAI_PROJECT_ID": "OpenAI-Project"}
"""Variables that say whose account it is, and the headers that the SDK makes of them."""


class Vendor(Struct, frozen=True):
    """Whose SDK it is: the variables that it reads, and the addresses that are the vendor's."""

    name: str
    key: str
    headers: str
    """The variable with headers that the SDK adds to each request."""
    address: re.Pattern[str]
    client: str = ""
    """The class of the SDK's client; its package has the vendor's name in lower case."""
    credentials: tuple[str, ...] = ()
    """Attributes of the client of which one must be set, if the SDK does not check it."""

    @property
    def package(self) -> str:
        """The package of the SDK."""
        return self.name.lower()


OPENAI = Vendor(
    "OpenAI",
    "OPENAI_API_KEY",
    "OPENAI_CUSTOM_HEADERS",
    # regions have names of two letters: eu.api.openai.com
    re.compile(r"https://(?:[a-z]{2}\.)?api\.openai\.com(?::443)?(?:/[\w./-]*)?", re.ASCII | re.I),
    "AsyncOpenAI",
)
ANTHROPIC = Vendor(
    "Anthropic",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_CUSTOM_HEADERS",
    re.compile(r"https://api\.anthropic\.com(?::443)?(?:/[\w./-]*)?", re.ASCII | re.I),
    "AsyncAnthropic",
    ("api_key", "auth_token", "credentials"),
)
KEY_VARIABLES = (
    OPENAI.key,
    ANTHROPIC.key,
    "ANTHROPIC_AUTH_TOKEN",
    OPENAI.headers,
    ANTHROPIC.headers,
)
"""The variables that may hold a key; no program that a model starts gets them."""
ANY = Vendor("litellm", "the variable with the provider's key", OPENAI.headers, re.compile(r"(?!)"))
"""Providers behind litellm, which asks most of them through OpenAI's SDK. No address that is given
is known to be theirs."""


class Access(Struct, frozen=True, kw_only=True):
    """Where a model is asked ("" for the address that the SDK uses), and with which key."""

    vendor: Vendor
    url: str = ""
    api_key: str = ""
    """A key from the caller: it is meant for this address."""
    key_variable: str = ""
    """The variable with the key that the user's settings pair with this address."""

    @property
    def is_foreign(self) -> bool:
        """Whether the address is given and not the vendor's."""
        return bool(self.url) and not self.vendor.address.fullmatch(self.url)

    @property
    def remedy(self) -> str:
        """What to check if the key is refused."""
        if self.api_key:
            return "the key that was given"
        if self.key_variable or not self.is_foreign:
            return self.key_variable or self.vendor.key
        return (
            f"summarizer.key_variable or --summarizer-key-variable, such as {self.vendor.key}: "
            "no key was sent to this address"
        )

    def key(self, name: str) -> str | None:
        """Return the key to send, None to leave it to the SDK.

        Raises `SummarizerFailed` if the variable that the settings name is not set.
        """
        if self.api_key:
            return self.api_key
        if self.key_variable:
            found = os.environ.get(self.key_variable, "")
            if not found:
                raise SummarizerFailed("refused", name, f"no key; set {self.key_variable}")
            return found
        return NO_KEY if self.is_foreign else None

    def headers(self, key: str | None, nothing: Any) -> dict[str, Any]:
        """Return what overrides the headers that the environment adds, at a foreign address.

        They are meant for the vendor, and may hold another key. `nothing` removes a header.
        """
        if not self.is_foreign:
            return {}
        lines = os.environ.get(self.vendor.headers, "").split("\n")
        names = [line.partition(":")[0].strip() for line in lines if ":" in line]
        names += [header for variable, header in _ACCOUNT.items() if variable in os.environ]
        return {
            name: f"Bearer {key}" if name.lower() == "authorization" else nothing for name in names
        }

    def client_options(self, name: str, omit: object) -> dict[str, Any]:
        """Return the address and the key as both SDKs take them."""
        key = self.key(name)
        options = {"base_url": self.url or None, "api_key": key}
        return {**options, "default_headers": self.headers(key, omit)}


def access_to(vendor: Vendor, url: str, api_key: str, key_variable: str) -> Access:
    """Return where and with which key a model is asked, or raise `InvalidSetting`."""
    if url and not url.startswith(("http://", "https://")):
        raise InvalidSetting("summarizer url", url, "an address such as http://localhost:8000/v1")
    return Access(vendor=vendor, url=url, api_key=api_key, key_variable=key_variable)

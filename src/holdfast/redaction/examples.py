"""The examples of the rules: texts that must be found, and near misses that must stay.

They are `examples/*.toml`, one table for each rule under its name. Only tests and
`holdfast redact --explain` read them. A secret is written «so», and `⟨alnum 36⟩` is a made-up
value of that alphabet and length: so no example was ever issued, and no scanner of a host takes
this repository for a leak. `⟨⟩` is nothing, and parts a value for the same reason.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from msgspec import Struct

from holdfast.regex import Regex

STRUCTURES = ("fields", "wrapped", "chosen", "manifests")
"""The tables of `examples/fields.toml`, whose examples are found by their structure."""


class Examples(Struct, frozen=True):
    """The examples of one rule."""

    true: tuple[tuple[str, ...], ...]
    """Texts that must be found, cut at the value: text, value, text (, value, text …)."""
    false: tuple[str, ...]
    """Texts that must stay as they are; the near misses of this shape."""


@cache
def load_examples() -> Mapping[str, Examples]:
    """Return the examples by the names of their rules, and those of `STRUCTURES`."""
    return {
        name: Examples(
            tuple(tuple(map(_fill, _VALUE.split(text))) for text in table["true"]),
            tuple(map(_fill, table["false"])),
        )
        for file in files("holdfast.redaction").joinpath("examples").iterdir()
        for name, table in tomllib.loads(file.read_text("utf-8")).items()
    }


def draw(alphabet: str, length: int) -> str:
    """Return a made-up text of one of the alphabets."""
    return _ALPHABETS[alphabet][:length]


def _fill(text: str) -> str:
    return _DRAWN.sub(lambda found: draw(found[1], int(found[2])) if found[1] else "", text)


_VALUE = Regex("[«»]")
_DRAWN = Regex(r"⟨(?:(\w+) (\d+))?⟩")
UUID = "7c1f09e3-b8a4-4d25-9e0c-73f1a5b8d426"
"""A made-up UUID."""

# Drawn once from a seeded generator; a value is a slice.
_LETTERS = (
    "M0XvqZjxTW3xvboSRt5Mh3dAwVtRMflhbmuaptt0Azn0DNRUQxA71p2Td8VKqxryo1nIj7BRd03Q2ybv"
    "097SHzxgQA6TCvY4dhKMlRdZQ9QsTXUuSnH6av1Ib8pp1xxXHU0BScJXj675eVq30XYqaNUDqN9Nifp2"
    "8uwCDydesokF5NSAllsNdV40J599dTCZWZYvRSZeyx4Ag8SsaxTmknuj64AX6VM2ewMuBY6rfNcAKEIO"
    "UttYpATIk27f4t3tGolUByxRmXBYQ0DVbpag1xYKiuMw7TpHD8BHbNdZU0NYJ2gClNbc7Hrd0APsmYaU"
    "SRCsllZq3ZycZOkN8gaW18vjsgJ0Wu8FxTwXqxni7z9KwRkNr4aE28uz5eRTpPWzUB4q60sskDI1EDL0"
    "Y6wu1JOSNta0PKhe37ak1aSJARa7717tzNlIrTtfkbSh2Cde2wioVMEuUYMjPeFXsRgZzCYTHY2IvGYF"
)
_HEX = (
    "2ffbf3e0b6e9aba45ee6ebc57f4590641e1f037860cf29ae36563d8b6da25a43a846eb31e7ea468c"
    "6414ce9da201e0c0d1a0dc00f0e71a714a16e81c1aad236d31def0b9d2993134b65ab3adf32b1cc8"
    "fa650bdf6593d1b61b4b171b2f3a9f889eeaf77ee09a4496e0ed7afceaa86dc3f3464849a845d1f7"
    "c3a0579f09222a2bed27a584d21b54fa8973381f412a0a4f9fa423350b233931da53f50a0be52d05"
)
_URL_SAFE = (
    "C6dT0ctPVnaawqrczLJWImKMG4hEbuUVDPDR-m0k5iqkwUONAIifEcLav_q5ZvQmLL8ZrF8w50SR2Qug"
    "s4lIFVRdxtDyKUOtfZUTqr8aFvnKbnHFbDfj3u_ypO09RnKw1zW9-ohP46PbmT1TOkzfR1wKbPXTXx8T"
    "Tx4XUMGmTtfc6y_xI25MTL3xzfMg5lJYj_loHI3Yhc1OxT-8QY4-3BMDogiSTRIiP9LJm7R04ZhbGSdG"
    "WoZ6axl7KBGgMVGOYn7B3_5SApYXfE-1ds3vbgqMMvFuz4zf3ATNeY2Pseh093Fj9fOptqCWCsuZrJZa"
    "VLaPeAU5moHH5F-grANC-aBcnwDDOOAZvw6d3eK3pxFkhJA5uFyeUhwksU8dSaNrFWv5SRclfFhhqCmz"
    "hp59yZk4d6-GlThw_ZqyC85Nn7Jf30xIOdZh_NRwhUTv3L_Smo927U2aT1yVPMm5nYtffRcvy0Dxo5pC"
)


_ALPHABETS: Mapping[str, str] = {
    "alnum": _LETTERS,
    "lower": _LETTERS.lower(),
    "upper": _LETTERS.upper(),
    "base32": re.sub("[0189]", "", _LETTERS.upper()),
    "hex": _HEX,
    "HEX": _HEX.upper(),
    "digits": re.sub("[a-f]", "", _HEX),
    "url_safe": _URL_SAFE,
}

"""How the rules of vendors' tokens are written: a prefix, a body, made-up values."""

from __future__ import annotations

import re

from holdfast.redaction.rule import Gate, Rule

_SEPARATORS = "-_.~:"
_ESCAPES = r"\\[nrtbf]|\\u[0-9a-fA-F]{4}|%[0-9a-fA-F]{2}"
_WORD_START = rf"(?:\A|[^A-Za-z0-9_]|{_ESCAPES})"
_BASE64_START = rf"(?:\A|[^A-Za-z0-9+/]|{_ESCAPES})"
_START_CHARS = 6

# Drawn once from a seeded generator; a value is a slice, so that no example was ever issued.
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


def token(
    kind: str,
    prefixes: str | tuple[str, ...],
    body: str,
    *values: str,
    false: tuple[str, ...],
    gate: Gate = "real",
    inside: bool | None = None,
) -> Rule:
    r"""A rule for `body` directly after one of `prefixes`; `values` are its true examples.

    A prefix of four or more characters with a separator in it is rare enough to be looked for
    inside a word too, where an escape stands directly before it (`\nghp_…`, `%3Dghp_…`).
    """
    anchors = (prefixes,) if isinstance(prefixes, str) else prefixes
    rare = all(len(anchor) > 3 and set(anchor) & set(_SEPARATORS) for anchor in anchors)
    return shape(
        kind,
        anchors,
        f"(?:{'|'.join(re.escape(anchor) for anchor in anchors)}){body}",
        *values,
        false=(*false, f"{anchors[0]}...", f"{anchors[0]}<your-token>"),
        gate=gate,
        inside=rare if inside is None else inside,
    )


def shape(
    kind: str,
    anchors: str | tuple[str, ...],
    pattern: str,
    *values: str,
    false: tuple[str, ...],
    gate: Gate = "real",
    before: int = 0,
    inside: bool = False,
) -> Rule:
    """A rule whose pattern is written out; `values` are matches of all of it.

    A pattern without a literal, or with one up to `before` characters inside, carries the start
    of the word itself: so a text of nothing but literals has no place at which to try.
    """
    start = _BASE64_START if before else "" if anchors else _WORD_START
    return Rule(
        kind=kind,
        family="vendor",
        anchors=(anchors,) if isinstance(anchors, str) else anchors,
        pattern=f"{start}(?P<value>{pattern})" if start else pattern,
        gate=gate,
        before=before and before + _START_CHARS,
        inside_word=inside or bool(start),
        true=tuple(("see ", value, " here") for value in values),
        false=false,
    )


def alnum(length: int) -> str:
    """A made-up text of letters and digits."""
    return _LETTERS[:length]


def lower(length: int) -> str:
    """A made-up text of small letters and digits."""
    return _LETTERS.lower()[:length]


def upper(length: int) -> str:
    """A made-up text of capitals and digits."""
    return _LETTERS.upper()[:length]


def base32(length: int) -> str:
    """A made-up text of capitals and the digits 2 to 7."""
    return re.sub("[0189]", "", _LETTERS.upper())[:length]


def hexes(length: int) -> str:
    """A made-up text of small hexadecimal digits."""
    return _HEX[:length]


def digits(length: int) -> str:
    """A made-up number that starts with a digit other than 0."""
    return re.sub("[a-f]", "", _HEX)[:length]


def url_safe(length: int) -> str:
    """A made-up text of the URL-safe base64 alphabet."""
    return _URL_SAFE[:length]


UUID = "7c1f09e3-b8a4-4d25-9e0c-73f1a5b8d426"
"""A made-up UUID."""
ANY_UUID = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
"""The pattern of a UUID."""

"""Content has the shape that its place asks for."""

from holdfast.dialects.rule import Rule
from holdfast.dialects.rules.flaws import encode_anew, flaws_of

RULE = Rule(
    name="content-shape",
    states="Content has the shape that its place asks for.",
    check=flaws_of("content-shape"),
    mend=encode_anew,
    mends="writes the content in its legal shape",
)

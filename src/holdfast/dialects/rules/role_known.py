"""Every message has a role that the provider knows."""

from holdfast.dialects.rule import Rule
from holdfast.dialects.rules.flaws import encode_anew, flaws_of

RULE = Rule(
    name="role-known",
    states="Every message has a role that the provider knows.",
    check=flaws_of("role-known"),
    mend=encode_anew,
    mends="writes the role that an alias stands for; any other is refused",
)

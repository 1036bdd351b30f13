"""Every element of the list is a message object."""

from holdfast.dialects.rule import Rule
from holdfast.dialects.rules.flaws import flaws_of

RULE = Rule(
    name="message-object",
    states="Every element of the list is a message object.",
    check=flaws_of("message-object"),
)

"""Mentions of people on platforms; off unless a policy asks for them."""

from __future__ import annotations

from holdfast.redaction.rule import Rule

RULES: tuple[Rule, ...] = (
    Rule(
        kind="discord-mention",
        family="mention",
        anchors=("<@",),
        inside_word=True,
        open_end=True,
        pattern=r"<@!?(?P<value>\d{17,20})>",
        gate="any",
        true=(("hey <@", "112233445566778899", ">!"),),
        false=("a <@> b", "<@&1>"),
    ),
)

"""`holdfast rules`: the rules of the providers, each with its sentence."""

from __future__ import annotations

import click
from msgspec import Struct

from holdfast.cli.inputs import PROVIDER, json_option
from holdfast.cli.report import emit
from holdfast.dialects.profiles import PROFILES
from holdfast.dialects.rule import Profile


class RuleReport(Struct, frozen=True):
    """One rule."""

    name: str
    states: str
    mendable: bool
    mends: str


class ProfileReport(Struct, frozen=True):
    """The rules of one provider."""

    provider: str
    dialect: str
    dated: str
    rules: tuple[RuleReport, ...]


@click.command()
@click.argument("provider", required=False, type=PROVIDER, metavar="[PROVIDER]")
@json_option
def rules(provider: str | None, as_json: bool) -> int:
    """List the rules of the providers.

    \b
    holdfast rules
    holdfast rules anthropic
    """
    for profile in [PROFILES[provider]] if provider else PROFILES.values():
        if as_json:
            emit(_report(profile))
        else:
            from holdfast.cli.show import show_profile

            show_profile(profile)
    return 0


def _report(profile: Profile) -> ProfileReport:
    listed = [
        RuleReport(rule.name, rule.states, rule.mend is not None, rule.mends)
        for rule in profile.rules
    ]
    return ProfileReport(profile.name, profile.dialect, profile.dated, tuple(listed))

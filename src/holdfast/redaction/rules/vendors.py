"""Tokens that a vendor marked with a prefix, and keys beside a vendor's name."""

from __future__ import annotations

from holdfast.redaction.rule import Rule
from holdfast.redaction.rules import (
    vendors_ai,
    vendors_apps,
    vendors_cloud,
    vendors_code_hosts,
    vendors_data,
    vendors_infra,
    vendors_messaging,
    vendors_named,
    vendors_payments,
    vendors_shapes,
    vendors_table,
    vendors_tools,
    vendors_work,
)
from holdfast.redaction.rules.vendors_loose import MARKED, loose

_EXACT: tuple[Rule, ...] = (
    *vendors_ai.RULES,
    *vendors_apps.RULES,
    *vendors_cloud.RULES,
    *vendors_code_hosts.RULES,
    *vendors_data.RULES,
    *vendors_infra.RULES,
    *vendors_messaging.RULES,
    *vendors_payments.RULES,
    *vendors_tools.RULES,
    *vendors_work.RULES,
    *vendors_table.RULES,
    *vendors_shapes.RULES,
)
RULES: tuple[Rule, ...] = (*_EXACT, *loose(_EXACT), *MARKED, *vendors_named.RULES)

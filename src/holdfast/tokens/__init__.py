"""How many tokens a text costs: estimated, calibrated by reported usage, or exact where asked."""

from holdfast.tokens.calibrate import Calibration
from holdfast.tokens.estimate import (
    IMAGE_TOKENS,
    MESSAGE_OVERHEAD_TOKENS,
    REPLY_PRIMING_TOKENS,
    TOOL_CALL_OVERHEAD_TOKENS,
    Estimator,
    estimate_text,
)
from holdfast.tokens.exact import ExactCounter, exact_counter

__all__ = [
    "IMAGE_TOKENS",
    "MESSAGE_OVERHEAD_TOKENS",
    "REPLY_PRIMING_TOKENS",
    "TOOL_CALL_OVERHEAD_TOKENS",
    "Calibration",
    "Estimator",
    "ExactCounter",
    "estimate_text",
    "exact_counter",
]

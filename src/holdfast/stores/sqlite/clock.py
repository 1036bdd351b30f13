"""A clock for leases within one machine."""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path

from holdfast.stores.database import Ticks

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def ticks() -> Ticks:
    """Return the seconds since this machine was started, sleep included.

    Setting the time of day changes nothing, and a lease from before a restart is over: its
    epoch is another. Where a system tells neither, the time of day has to do.
    """
    epoch = _boot()
    if epoch:
        return Ticks(epoch, time.clock_gettime(time.CLOCK_BOOTTIME))
    return Ticks("", time.time())


@cache
def _boot() -> str:
    if not hasattr(time, "CLOCK_BOOTTIME"):
        return ""
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""

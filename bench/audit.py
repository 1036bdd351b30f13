"""Look up the known vulnerabilities of the packages in requirements/dev.txt: `make audit`.

Asks the advisory services of pip-audit in turn. The first that answers decides: exit code 0 if it
knows nothing, 1 if it knows something. If none is reachable, that is said, with exit code 0.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

LOCK = Path(__file__).resolve().parents[1] / "requirements" / "dev.txt"
SERVICES = ("osv", "pypi")


def main() -> int:
    reasons: list[str] = []
    for service in SERVICES:
        done = subprocess.run(
            [sys.executable, "-m", "pip_audit", "--requirement", LOCK, "--require-hashes",
             "--disable-pip", "--vulnerability-service", service, "--format", "json",
             "--progress-spinner", "off", "--timeout", "15"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        try:
            packages = json.loads(done.stdout)["dependencies"]
        except ValueError:
            reasons.append(f"{service}: {(done.stderr.strip().splitlines() or ['no answer'])[-1]}")
            continue
        if all("skip_reason" in one for one in packages):
            reasons.append(f"{service}: knows none of {len(packages)} packages")
            continue
        return report(service, packages)
    print(f"audit: no advisory service is reachable from here ({len(SERVICES)} tried); not audited")
    print("\n".join(f"  {one[:200]}" for one in reasons))
    return 0


def report(service: str, packages: list[dict[str, Any]]) -> int:
    """Print every package with a known vulnerability; return the exit code."""
    known = [one for one in packages if one.get("vulns")]
    skipped = [one for one in packages if "skip_reason" in one]
    for one in known:
        for found in one["vulns"]:
            fixed = ", ".join(found["fix_versions"]) or "no release"
            print(f"{one['name']} {one['version']}: {found['id']}, fixed in {fixed}")
    print(
        f"audit: {len(packages)} packages, {len(known)} with a known vulnerability, "
        f"{len(skipped)} not known to the service {service}"
    )
    return 1 if known else 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Looks up known vulnerabilities of the installed packages, with pip-audit.

The exit code is 1 if there are vulnerabilities. If the service cannot be reached, the program says so and exits with 0, so
that work can go on.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

_SECONDS_A_REQUEST = 15
_MOST_SECONDS = 300


def main(command: tuple[str, ...] = (sys.executable, "-m", "pip_audit")) -> int:
    """Audit, and print the vulnerabilities.

    Args:
        command: The command that runs pip-audit.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "audit.json"
        options = ["--progress-spinner=off", "--skip-editable", f"--timeout={_SECONDS_A_REQUEST}"]
        try:
            done = subprocess.run(
                [*command, *options, "--format=json", f"--output={report}"],
                capture_output=True,
                text=True,
                timeout=_MOST_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return _not_audited(f"it took longer than {_MOST_SECONDS} seconds")
        if not report.exists() or not (written := report.read_text()).strip():
            if "No module named" in done.stderr:
                print('audit: pip-audit is not installed: pip install ".[dev]"')
                return 2
            return _not_audited(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "it said nothing")
    return _told(json.loads(written)["dependencies"])


def _told(packages: list[dict[str, Any]]) -> int:
    looked_up = [each for each in packages if "skip_reason" not in each]
    found = [(each, known) for each in looked_up for known in each["vulns"]]
    for package, known in found:
        fixed = ", ".join(known["fix_versions"]) or "no version yet"
        print(f"audit: {package['name']} {package['version']} has {known['id']}, repaired in {fixed}")
    if not looked_up:
        return _not_audited("it could look up none of the packages")
    print(f"audit: {len(looked_up)} packages, {len(found)} known vulnerabilities")
    return 1 if found else 0


def _not_audited(why: str) -> int:
    print(f"audit: NOTHING WAS AUDITED, since the service of vulnerabilities cannot be reached: {why}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

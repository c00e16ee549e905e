"""Shows that an installed package works on this interpreter: every module imports, the command answers, the README runs.

Usage: ``python tools/smoke.py``, with the package and its extras `aws` and `testing` installed.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import subprocess
import sys
import tempfile
from pathlib import Path

import documentation
import surewrite

README = Path(__file__).resolve().parent.parent / "README.md"


def main() -> int:
    """Run the three and say what was done; an exception is the failure."""
    modules = sorted(module.name for module in pkgutil.walk_packages(surewrite.__path__, "surewrite."))
    for module in modules:
        importlib.import_module(module)
    command = Path(sys.executable).parent / "surewrite"
    version = subprocess.run([command, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        examples = documentation.run_page(README)
        os.chdir(README.parent)
    print(f"Python {sys.version.split()[0]}: {version}, {len(modules)} modules imported, {examples} examples of the README run")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What a wire needs is loaded when a wire is made, and not before."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "module", ["surewrite", "surewrite.core.answers", "surewrite.drivers.backend", "surewrite.backends.endpoints", "surewrite.backends.credentials"]
)
def test_no_wire_and_no_botocore_is_loaded(module):
    code = f"import sys, {module}; print([name for name in ('httptools', 'orjson', 'botocore', 'boto3') if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert loaded.strip() == "[]"


def test_a_wire_to_this_machine_loads_no_botocore():
    code = (
        "import sys\n"
        "from surewrite.backends.endpoints import endpoint_at\n"
        "from surewrite.backends.credentials import find_credentials\n"
        "from surewrite.backends.http_attempts import HttpAttempts\n"
        "from surewrite.backends.wire_blocking import BlockingWire\n"
        "endpoint = endpoint_at('http://127.0.0.1:8000')\n"
        "BlockingWire(HttpAttempts(endpoint, find_credentials(endpoint, {})))\n"
        "print([name for name in ('httptools', 'orjson', 'botocore', 'boto3', 'asyncio') if name in sys.modules])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert loaded.strip() == "['httptools', 'orjson']"


def test_a_program_that_connects_to_a_url_loads_no_event_loop_and_nothing_for_boto3():
    code = (
        "import sys, surewrite as sw\n"
        "db = sw.connect('http://127.0.0.1:8000')\n"
        "print([name for name in ('asyncio', 'botocore', 'surewrite.backends.boto3_client', 'surewrite.async_client', 'secrets') if name in sys.modules])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert loaded.strip() == "[]"

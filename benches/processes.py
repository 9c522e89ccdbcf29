"""Runs programs for the scripts that measure them."""
import os
import subprocess
import time


def run(command, folder, seconds, environment=None):
    """Status, output, seconds; status None where the time was up."""
    began = time.monotonic()
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        errors="replace", start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=seconds)
        status = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        output, _ = process.communicate()
        status = None
    return status, output, time.monotonic() - began

#!/usr/bin/env bash
# Says once, before the tests that want a GPU, what they will run on. Fails where there is none and RACETRAP_REQUIRE_GPU=1.
set -uo pipefail

if [[ -e /dev/nvidiactl || -e /dev/dxg ]]; then
    nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader 2>/dev/null ||
        echo 'there is a GPU, and no nvidia-smi to tell which'
elif [[ ${RACETRAP_REQUIRE_GPU:-} == 1 ]]; then
    echo 'error: no GPU here (no /dev/nvidiactl), and RACETRAP_REQUIRE_GPU=1' >&2
    exit 1
else
    echo 'no GPU: judged by the simulator'
fi

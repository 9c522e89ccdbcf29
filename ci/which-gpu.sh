#!/usr/bin/env bash
# Prints, before the tests that use a GPU, what they will run on. Fails if there is no GPU and RACETRAP_REQUIRE_GPU=1.
# Tells the tests to use it, through nextest's file of variables.
set -uo pipefail

[[ -z ${NEXTEST_ENV:-} ]] || echo 'RACETRAP_ON=gpu' >>"$NEXTEST_ENV"
if [[ -e /dev/nvidiactl || -e /dev/dxg ]]; then
    nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader 2>/dev/null ||
        echo 'there is a GPU, but nvidia-smi is missing, so its name is unknown'
elif [[ ${RACETRAP_REQUIRE_GPU:-} == 1 ]]; then
    echo 'error: no GPU here (no /dev/nvidiactl), and RACETRAP_REQUIRE_GPU=1' >&2
    exit 1
else
    echo 'no GPU: judged by the simulator'
fi

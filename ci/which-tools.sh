#!/usr/bin/env bash
# Says once, before the tests, which programs are missing that some of them need; nextest hides what those tests print themselves.
# Fails where one is missing and RACETRAP_REQUIRE_TOOLS=1. Looks where `crates/toolchain/src/find.rs` does.
set -uo pipefail

folders=()
IFS=: read -ra folders <<<"${PATH:-}"
[[ -n ${CUDA_PATH:-} ]] && folders+=("$CUDA_PATH/bin")
[[ -n ${CUDA_HOME:-} ]] && folders+=("$CUDA_HOME/bin")
above=$PWD
while [[ -n $above ]]; do
    folders+=("$above/.toolchain/cuda/bin")
    above=${above%/*}
done
folders+=("${XDG_DATA_HOME:-${HOME:-}/.local/share}/racetrap/cuda/bin" /usr/local/cuda/bin /opt/cuda/bin)

missing=()
for tool in nvcc ptxas; do
    for folder in "${folders[@]}"; do
        [[ -f $folder/$tool && -x $folder/$tool ]] && continue 2
    done
    missing+=("$tool")
done
((${#missing[@]})) || exit 0

if [[ ${RACETRAP_REQUIRE_TOOLS:-} == 1 ]]; then
    echo "error: not found: ${missing[*]}; RACETRAP_REQUIRE_TOOLS=1. ci/cuda-toolkit.sh installs them without root" >&2
    exit 1
fi
echo "SKIPPED: the tests that need ${missing[*]}, which were not found. ci/cuda-toolkit.sh installs them without root"

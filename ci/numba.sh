#!/usr/bin/env bash
# Installs Numba 0.60 with the compiler that it needs, from PyPI, into .toolchain/numba: tests run a script under `racetrap exec`. Needs
# python3 from 3.9 to 3.12, and no root. Fails where it can't and RACETRAP_REQUIRE_TOOLS=1; otherwise that test is skipped, and says so.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=$PWD/.toolchain/numba
ready=$folder/ready-0.60.0
[[ -f $ready ]] && exit 0
rm -rf "$folder"
if python3 -m venv "$folder" && "$folder/bin/pip" install --quiet --disable-pip-version-check --retries 5 \
    numba==0.60.0 llvmlite==0.43.0 numpy==2.0.2 nvidia-cuda-nvcc-cu12==12.4.131; then
    # Of the compiler, libNVVM is all that Numba uses. It looks for a numbered name.
    site=$("$folder/bin/python" -c 'import nvidia.cuda_nvcc as c; print(c.__path__[0])')
    mv "$site/nvvm" "$folder/nvvm" && rm -rf "${site:?}/bin"
    ln -s libnvvm.so "$folder/nvvm/lib64/libnvvm.so.4"
    "$folder/bin/python" -c 'import numba; print("numba", numba.__version__)' && touch "$ready" && exit 0
fi
echo 'numba is missing and could not be installed: it needs python3 from 3.9 to 3.12, with venv and pip' >&2
[[ ${RACETRAP_REQUIRE_TOOLS:-} == 1 ]] && exit 1
exit 0

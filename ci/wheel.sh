#!/usr/bin/env bash
# Builds the wheel of python/, installs it in a clean virtual environment, and tests it there: pytest, the examples of the adapters, the types
# by mypy and pyright, the size, and how long an import takes.
#
#   ci/wheel.sh [PROFILE]     PROFILE: dist (default) or dev, which builds faster what runs slower
#
# Needs python3 with venv and pip; maturin and what the tests need come from PyPI. The wheel is in target/wheels. Its tag is that of this
# machine's C library (`linux_x86_64`): one for other machines has to be built on an old one, as ci/release.sh's library.
# CLIENTS names further packages that the tests may use, such as `triton numba-cuda[cu13]`; tests of packages that are missing are skipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

profile=${1:-dist}
folder=$profile
[[ $profile == dev ]] && folder=debug
most=60000000
venv=target/wheels/venv

fail() {
    printf 'wheel: %s\n' "$*" >&2
    exit 1
}

cargo build --locked --profile "$profile" -p racetrap -p racetrap-cuda
mkdir -p python/racetrap/_bin target/wheels
cp "target/$folder/racetrap" "target/$folder/libracetrap_cuda.so" python/racetrap/_bin/
strip python/racetrap/_bin/*

[[ -x target/wheels/tools/bin/maturin ]] || {
    python3 -m venv target/wheels/tools
    target/wheels/tools/bin/python -m pip install --quiet --disable-pip-version-check 'maturin>=1.9,<2' mypy pyright numpy pytest
}
rm -f target/wheels/*.whl
CARGO_TARGET_DIR=$PWD/target/wheel target/wheels/tools/bin/maturin build --quiet --strip --profile "$profile" --compatibility linux \
    --manifest-path python/Cargo.toml --out target/wheels
wheel=$(echo target/wheels/racetrap-*.whl)
size=$(stat -c %s "$wheel")
((size <= most)) || fail "$wheel has $size bytes, more than $most"

rm -rf "$venv"
python3 -m venv "$venv"
# shellcheck disable=SC2086 # Several packages.
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$wheel" numpy pytest ${CLIENTS:-}
cd target/wheels # Where no folder is called racetrap.
python=venv/bin/python
venv/bin/racetrap --version
[[ -z ${CUDA_PATH:-} && -d ../../.toolchain/cuda ]] && export CUDA_PATH=$PWD/../../.toolchain/cuda
"$python" -m pytest -q -p no:cacheprovider ../../python/tests
"$python" - <<'END'
import subprocess, sys, time
def seconds(what):
    best = []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", what], check=True)
        best.append(time.perf_counter() - start)
    return min(best)
took = seconds("import racetrap") - seconds("pass")
print(f"wheel: `import racetrap` takes {1000 * took:.0f} ms")
if took > 0.15:
    sys.exit("wheel: that is more than 150 ms")
END
tools/bin/mypy --python-executable "$python" --config-file ../../python/pyproject.toml ../../python/racetrap
tools/bin/pyright --pythonpath "$python" --project ../../python/pyproject.toml
printf 'wheel: %s, %s bytes\n' "${wheel##*/}" "$size"

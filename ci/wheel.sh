#!/usr/bin/env bash
# Builds the wheel of python/, installs it in a clean virtual environment, and tests it there: pytest over the package, its adapters and its
# examples, the types by mypy and pyright, the size, the system that it asks for, and how long an import and a small check take.
#
#   ci/wheel.sh [PROFILE]     PROFILE: release (default); dist, which takes longer and is smaller, is what is published
#
# Needs python3 from 3.11 on, with venv, pip and its headers, and a C and C++ compiler (for PyTorch's `load_inline`). From PyPI comes zig as a
# linker for the C library of manylinux_2_28 whatever this machine's is; and, into environments below target/wheel, what the tests use: NumPy,
# pytest, Triton (1.8 GB), PyTorch (1.7 GB, of which 0.7 GB are loaded down), CuPy, NVIDIA's compiler (300 MB, twice), Jupyter. Numba is that of
# ci/clients.sh. The wheel is in target/wheel/wheels.
# RACETRAP_WHEEL_CLIENTS=0 leaves out Numba, Triton, PyTorch, CuPy and the notebook. A package or a compiler that an environment is there for
# (RACETRAP_NEEDS) and that can't be used is a failure, never a test that is skipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
# shellcheck source=ci/wheel-environments.sh
source ci/wheel-environments.sh

profile=${1:-release}
most=60000000
target=$(uname -m)-unknown-linux-gnu
export CARGO_TARGET_DIR=$root/target/wheel/cargo
wheels=target/wheel/wheels

fail() {
    printf 'wheel: FAILED: %s\n' "$*" >&2
    exit 1
}

# All of it in one build, so that nothing is compiled twice.
build() {
    local built=$CARGO_TARGET_DIR/$target/$profile version
    version=$(sed -n 's/^version = "\(.*\)"$/\1/p' python/Cargo.toml | head -n 1)
    (
        export PATH=$tools/bin:$PATH
        cd python
        cargo-zigbuild build --locked --profile "$profile" --target "$target.2.28" --lib --bins
    )
    rm -rf "$wheels"
    "$tools/bin/python" ci/wheel-pack.py "$version" "cp310-abi3-manylinux_2_28_$(uname -m)" "$built/lib_native.so" "$wheels" \
        "$built/racetrap" "$built/deps/libracetrap_cuda.so" "$built/deps/libracetrap_interpose.so"
}

# What was built asks for no newer C library than its tag says, in all of its files.
inspect() {
    local size newest unpacked
    wheel=$(echo "$wheels"/racetrap-*.whl)
    [[ $wheel == *-cp310-abi3-manylinux_2_28_*.whl ]] || fail "$wheel has another tag"
    size=$(stat -c %s "$wheel")
    ((size <= most)) || fail "$wheel has $size bytes, more than $most"
    unpacked=$(mktemp -d "${TMPDIR:-/tmp}/racetrap-wheel.XXXXXX")
    python3 -m zipfile -e "$wheel" "$unpacked"
    newest=$(find "$unpacked" -type f \( -path '*/_bin/*' -o -name '*.so' \) -exec readelf --version-info --wide {} + | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)
    rm -rf "$unpacked"
    [[ $(printf '%s\nGLIBC_2.28\n' "$newest" | sort -V | tail -n 1) == GLIBC_2.28 ]] || fail "it needs $newest"
    printf 'wheel: %s, %d bytes, needs %s\n' "${wheel##*/}" "$size" "$newest"
}

# A fresh environment each time: what it has is what the wheel brings, and what it names.
fresh() { # FOLDER PACKAGE…
    local folder=$1
    shift
    rm -rf "$folder"
    python3 -m venv "$folder"
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --retries 5 "$@"
}

# The package and nothing else: it imports without NumPy, and the command does what it does elsewhere.
alone() {
    local clean=$root/target/wheel/alone got=0
    fresh "$clean" "$wheel"
    (
        cd "$(mktemp -d)"
        env -i HOME="$PWD" PATH=/usr/bin:/bin "$clean/bin/racetrap" --version
        env -i HOME="$PWD" PATH=/usr/bin:/bin "$clean/bin/racetrap" check "$root/tests/documented/scene/kernel.ptx" >out.txt || got=$?
        ((got == 0)) && grep -q '^clean' out.txt || { cat out.txt; fail 'racetrap check'; }
        env -i HOME="$PWD" PATH=/usr/bin:/bin "$clean/bin/racetrap" exec --quiet -- true >out.txt 2>&1 || got=$?
        ((got == 3)) || { cat out.txt; fail "racetrap exec ends with status $got"; }
        env -i HOME="$PWD" PATH=/usr/bin:/bin "$clean/bin/python" -c 'import racetrap; print(racetrap.__version__)'
        rm -rf "$PWD"
    )
}

# CUDA source is checked by the package and by the command, with no variable that says where a compiler is.
compiles() { # ENVIRONMENT HOME
    (
        cd "$2"
        printf '__global__ void k(int *a) { a[threadIdx.x] = 1; }\n' >k.cu
        env -i HOME="$2" PATH=/usr/bin:/bin "$1/bin/python" -c "import racetrap; racetrap.check('k.cu', grid=1, block=32, args=['i32[32]:zeros']).raise_for_findings()" &&
            env -i HOME="$2" PATH=/usr/bin:/bin "$1/bin/racetrap" check k.cu --grid 1 --block 32 --arg 'a=i32[32]:zeros' >out.txt && grep -q '^clean' out.txt
    )
}

# Both ways to the compiler that a user has, from the index that pip is set to: `racetrap setup`, and the extra `cuda`.
compilers() {
    local clean=$root/target/wheel/alone extra=$root/target/wheel/extra home
    home=$(mktemp -d)
    if compiles "$clean" "$home" 2>"$home/said.txt"; then
        echo 'wheel: this machine has a compiler of its own, so it is not told whether setup brings one'
    else
        grep -q 'racetrap setup' "$home/said.txt" || { cat "$home/said.txt"; fail 'without a compiler, nothing says how to get one'; }
    fi
    env -u CUDA_PATH -u CUDA_HOME -u XDG_DATA_HOME HOME="$home" PATH=/usr/bin:/bin "$clean/bin/racetrap" setup >"$home/setup.txt" || { cat "$home/setup.txt"; fail 'racetrap setup'; }
    compiles "$clean" "$home" || fail 'the compiler of racetrap setup is not found'
    rm -rf "$home"
    home=$(mktemp -d)
    fresh "$extra" "$wheel[cuda]"
    compiles "$extra" "$home" || fail 'the compiler of racetrap[cuda] is not found'
    rm -rf "$home" "$extra"
    echo 'wheel: racetrap setup and racetrap[cuda] bring the compiler'
}

test_in() { # ENVIRONMENT NEEDS ARGUMENTS OF pytest
    local environment=$1 needs=$2
    shift 2
    printf '==> pytest with %s\n' "${environment##*/}"
    "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall "$wheel"
    # Where no folder is called racetrap.
    (cd target/wheel && RACETRAP_NEEDS="wheel nvcc $needs" "$environment/bin/python" -m pytest -q -p no:cacheprovider --rootdir "$root/python" "$@")
}

# The same in the environments of Numba, which stay as they are.
in_clients() { # ARGUMENTS OF pytest
    local site=$root/target/wheel/site client
    RACETRAP_REQUIRE_TOOLS=${RACETRAP_REQUIRE_TOOLS:-1} ci/clients.sh numba numba-cuda
    rm -rf "$site"
    "$environments/plain/bin/python" -m pip install --quiet --disable-pip-version-check --target "$site" "$wheel" pytest
    for client in numba numba-cuda; do
        [[ -x .toolchain/clients/$client/bin/python ]] || continue # Only with RACETRAP_REQUIRE_TOOLS=0.
        printf '==> pytest with %s\n' "$client"
        (cd target/wheel && RACETRAP_NEEDS='wheel nvcc numba' PYTHONPATH=$site CUDA_HOME=$root/.toolchain/clients/$client \
            "$root/.toolchain/clients/$client/bin/python" -m pytest -q -p no:cacheprovider --rootdir "$root/python" "$@")
    done
}

# With the newest Triton beside it, which is in an environment of its own.
with_pytorch() {
    local triton
    triton=$("$environments/triton-new/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    environment torch
    echo "$triton" >"$("$environments/torch/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/triton.pth"
    PATH=$environments/torch/bin:$PATH TORCH_USE_RTLD_GLOBAL=1 test_in "$environments/torch" 'torch triton' "$root/python/tests/test_pytorch.py"
}

start=$SECONDS
environment tools
build
inspect
printf 'wheel: built in %d s\n' $((SECONDS - start))
alone
compilers
[[ -x .toolchain/cuda/bin/nvcc && -z ${CUDA_PATH:-} ]] && export CUDA_PATH=$root/.toolchain/cuda
environment plain
test_in "$environments/plain" numpy "$root/python/tests"
if [[ ${RACETRAP_WHEEL_CLIENTS:-1} == 1 ]]; then
    # What Triton has kept names the folder that it was compiled in first, which may have been another checkout.
    rm -rf target/wheel/.triton
    export TRITON_CACHE_DIR=$root/target/wheel/.triton
    clients=("$root/python/tests/test_adapters.py" "$root/python/tests/test_watch.py" "$root/python/tests/test_notebook.py")
    for client in triton triton-new cupy notebook; do
        environment "$client"
        case $client in
        triton*) needs=triton ;;
        notebook) needs='nbclient nbformat' ;;
        *) needs=$client ;;
        esac
        test_in "$environments/$client" "$needs" "${clients[@]}"
    done
    with_pytorch
    in_clients "${clients[@]}"
fi
"$environments/plain/bin/python" python/tests/times.py
echo '==> types'
(cd target/wheel && "$tools/bin/mypy" --python-executable "$environments/plain/bin/python" --config-file "$root/python/pyproject.toml" "$root/python/racetrap")
"$tools/bin/pyright" --pythonpath "$environments/plain/bin/python" --project python/pyproject.toml
# All of what is public has types. With `--verifytypes`, pyright looks for the package in the environment of the first python on PATH.
PATH=$environments/plain/bin:$PATH "$tools/bin/pyright" --verifytypes racetrap --ignoreexternal >target/wheel/types.txt ||
    { cat target/wheel/types.txt; fail 'types are missing'; }
printf 'wheel: %s passed in %d s\n' "${wheel##*/}" $((SECONDS - start))

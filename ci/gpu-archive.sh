#!/usr/bin/env bash
# Builds an archive for running the catalogue on a GPU machine that has neither Rust nor a network.
#
#   ci/gpu-archive.sh [FOLDER] [ARGUMENTS FOR cargo nextest archive]
#
# FOLDER (default target/racetrap-gpu) is deleted and created again. It receives the test binaries with racetrap and
# racetrap-device, cargo-nextest and its configuration, the wrappers, the kernels and the cases: about 46 MB. Further
# arguments select test binaries; the default is the one that runs the catalogue. The GPU machine must have the same architecture as this
# one, and a C library that is not older. On the GPU machine run FOLDER/ci/gpu-run.sh FOLDER
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=${1:-target/racetrap-gpu}
(($#)) && shift
# racetrap's own tests, or those of a project that `racetrap new` made.
default=(--test kernels)
[[ -f tests/device.rs ]] && default=(--test device --features device)
(($#)) || set -- "${default[@]}"

say() { printf '%s\n' "gpu-archive: $*" >&2; }

export PATH="$PWD/.toolchain/bin:$PATH"
nextest=$(command -v cargo-nextest) || {
    say 'cargo-nextest was not found: ci/test.sh installs it'
    exit 1
}
if [[ -e $folder && ! -e $folder/tests.tar.zst && -n $(ls -A "$folder") ]]; then
    say "$folder is there and was not made by this script: choose another folder"
    exit 1
fi
rm -rf "$folder"
mkdir -p "$folder"

# Without debug information, it is less than half as large.
CARGO_PROFILE_DEV_DEBUG=0 cargo nextest archive --locked --zstd-level 12 --archive-file "$folder/tests.tar.zst" "$@"
cp "$nextest" "$folder/cargo-nextest"
# Stripping makes it a third smaller. It also works unstripped.
strip "$folder/cargo-nextest" 2>/dev/null || true
cp -R --parents .config/nextest.toml Cargo.toml kernels cases ci/gpu-run.sh "$folder"
if [[ -d sanitizer ]]; then
    cp -R sanitizer "$folder"
    cp --parents ci/which-gpu.sh "$folder"
else
    # A project of somebody's own takes the installed programs along.
    mkdir "$folder/bin"
    for program in racetrap racetrap-device; do
        found=$(command -v "$program") || {
            say "$program was not found: in a checkout of racetrap, CUDA_LIBRARY_PATH=/ cargo install --path . --features device"
            exit 1
        }
        cp "$found" "$folder/bin"
        strip "$folder/bin/$program" 2>/dev/null || true
        # The library of `racetrap exec --on gpu`, where it is installed.
        library=$(dirname "$found")/../lib/racetrap/libracetrap_interpose.so
        [[ ! -f $library ]] || cp "$library" "$folder/bin"
    done
fi
{ git rev-parse HEAD && git status --short; } >"$folder/revision.txt" 2>/dev/null || true

say "$(du -sh "$folder" | cut -f 1) in $folder; on a machine with a GPU: $folder/ci/gpu-run.sh $folder"

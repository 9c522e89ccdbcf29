#!/usr/bin/env bash
# Compiles runtime.cu to runtime.ptx; a test compares the two.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
nvcc=${1:-../../../.toolchain/cuda/bin/nvcc}
out=$(mktemp)
trap 'rm -f "$out"' EXIT
"$nvcc" -std=c++17 -arch=compute_75 -rdc=true -ptx -o "$out" runtime.cu
# Local names carry a hash of the file's path.
sed -E 's/_ZN[0-9]+_INTERNAL_[0-9a-f]{8}_[0-9]+_runtime_cu_[0-9a-f]{8}/__racetrap_/; /^\/\//d' "$out" >runtime.ptx

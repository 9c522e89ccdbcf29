#!/usr/bin/env bash
# The project of `racetrap new` on a GPU, from an archive of ci/new-project.sh: its six profiles, evidence and matrix; the same without
# cargo; a planted bug; and a program of its own under each tool of compute-sanitizer.
#
#   ci/new-project.sh FOLDER        on a machine with Rust
#   FOLDER/new-project-gpu.sh       on the one with the GPU; needs CUDA 13 with nvcc and compute-sanitizer, neither Rust nor a network
#
# Leaves summary.txt and results.tar.gz in $OUT, or in FOLDER/out. `tests/new` has the evidence that an H200 gave.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${OUT:-$here/out}
mkdir -p "$out"
work=$(mktemp -d)
cp -R "$here/." "$work"
rm -rf "$work/out"
cd "$work" || exit 2
export PATH=$work/bin:$PATH RACETRAP_PROFILE_LIMIT=300
for toolkit in "${CUDA_PATH:-}" /usr/local/cuda; do
    [[ -n $toolkit && -d $toolkit/bin ]] && PATH=$PATH:$toolkit/bin
done
{
    echo '==> the profiles, as on any GPU machine without Rust'
    ci/gpu-run.sh "$work" races gpu racecheck synccheck memcheck initcheck
    echo "status $?"
    echo '==> its evidence'
    racetrap dev evidence merge --catalog . results/receipts/gpu results/recordings
    echo "status $?"
    echo '==> its matrix'
    racetrap dev matrix --catalog . --all
    racetrap dev matrix --catalog .
    echo "status $?"
    echo '==> the same without cargo and nextest'
    for on in gpu racecheck synccheck memcheck initcheck; do
        racetrap test --catalog . --locked --on "$on" --keep "results/kept-$on"
        echo "status $? on $on"
    done
    echo '==> a planted bug: the barrier is gone'
    cp -R . ../planted
    cd ../planted || exit 2
    sed -i '/__syncthreads/d' kernels/example/reverse.cu
    for on in simulator gpu racecheck; do
        racetrap test --catalog . --on "$on"
        echo "status $? on $on"
    done
    cd "$work" || exit 2
    echo '==> a program of its own under compute-sanitizer'
    mkdir program
    cat >program/prog.cu <<'CUDA'
#include <cstdio>
__global__ void reverse(int *data)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = data[t];
    data[t] = tile[63 - t];
}
int main()
{
    int *data;
    cudaMalloc(&data, 64 * sizeof(int));
    cudaMemset(data, 0, 64 * sizeof(int));
    reverse<<<1, 64>>>(data);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(data);
}
CUDA
    cd program || exit 2
    nvcc -lineinfo -arch=native -o prog prog.cu
    for tool in racecheck synccheck memcheck initcheck; do
        racetrap sanitize --tool "$tool" --keep kept --also "sarif=$tool.sarif" --also "html=$tool.html" -- ./prog
        echo "status $? under $tool"
    done
    racetrap sanitize --baseline known.json --update-baseline -- ./prog
    echo "status $? (0 wanted: accepted)"
    racetrap sanitize --baseline known.json -- ./prog
    echo "status $? (0 wanted: known)"
} 2>&1 | tee "$out/summary.txt"
cd "$work" && tar -czf "$out/results.tar.gz" results evidence program 2>/dev/null
ls -la "$out"

#!/bin/sh
# Compiles the sources of this folder to the PTX pinned beside them.
# Usage: crates/ptx/tests/samples/pin.sh [NVCC]
set -eu
nvcc=$(command -v "${1:-nvcc}")
here=$(cd "$(dirname "$0")" && pwd)
# As nvcc spells the toolkit's folder.
toolkit=$(dirname "$nvcc")/../

# The sources are compiled from a folder whose name says nothing about this
# machine: the compiler writes it into the debugging information.
work=/tmp/racetrap-samples
rm -rf "$work" && mkdir "$work"
cp "$here"/*.cu "$work"
cd "$work"

pin() {
  source=$1 name=$2
  shift 2
  "$nvcc" -ptx -std=c++17 "$@" -o "$name.ptx" "$source.cu"
  sed "s|$toolkit|/usr/local/cuda|" "$name.ptx" >"$here/$source.$name.ptx"
}

pin inline_chain sm_75.lineinfo -arch=sm_75 -lineinfo
pin inline_chain sm_90.debug -arch=sm_90 -G
pin inline_chain sm_90.O0 -arch=sm_90 -Xcicc -O0
pin switch_table sm_75 -arch=sm_75
pin switch_table sm_90.debug -arch=sm_90 -G
pin printf_assert sm_75.debug -arch=sm_75 -G
pin printf_assert sm_90.lineinfo -arch=sm_90 -lineinfo
pin groups sm_75 -arch=sm_75
pin groups sm_90.lineinfo -arch=sm_90 -lineinfo
pin tensor sm_75 -arch=sm_75
pin tensor sm_90.lineinfo -arch=sm_90 -lineinfo
pin cluster sm_90a -arch=sm_90a
pin numbers sm_80 -arch=sm_80
pin numbers sm_90.lineinfo -arch=sm_90 -lineinfo
pin recursion sm_75.debug -arch=sm_75 -G
pin recursion sm_90 -arch=sm_90
pin texture sm_75 -arch=sm_75
pin texture sm_100f -arch=sm_100f
pin locks sm_80 -arch=sm_80
pin locks sm_90.lineinfo -arch=sm_90 -lineinfo

# LLVM's back end, where it is installed.
if command -v llc >/dev/null; then
  llc --dwarf-directory=0 -mcpu=sm_75 -mattr=+ptx75 -O1 "$here/llvm_ir.ll" -o "$here/llvm_ir.sm_75.debug.ptx"
fi

#!/usr/bin/env bash
# Makes the pinned files beside it, with the nvcc of one release: what CUDA 11.8, 12.4 and 13.0 make of the device code here.
#
#   tests/programs/releases/pin.sh TOOLKIT           makes NAME.RELEASE.fatbin, sources.RELEASE, and for 11.8 references.11.8.ptx
#   tests/programs/releases/pin.sh --check TOOLKIT   makes them elsewhere, and fails where the pinned ones differ
#
# TOOLKIT is a folder with bin/nvcc in it. ci/earlier-cuda.sh --debian has those of 11.8 and 12.4 and calls this. Names in the PTX depend on the
# folder where it is made, so that one is always the same.
set -euo pipefail

fail() {
    printf 'pin: %s\n' "$*" >&2
    exit 1
}

check=
[[ ${1:-} == --check ]] && check=yes && shift
[[ $# == 1 && -x $1/bin/nvcc ]] || fail 'give the folder of a CUDA toolkit'
toolkit=$(realpath -s "$1")
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
work=/tmp/racetrap-releases
mkdir "$work" || fail "$work is there already; delete it if no other pin.sh runs"
trap 'rm -rf "$work"' EXIT
ln -s "$toolkit" "$work/cuda"
cp "$here"/*.cu "$here"/*.h "$work"
cd "$work"

release=$(cuda/bin/nvcc --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
export PATH=$work/cuda/bin:$PATH
older=(-ccbin cuda/bin/g++-11)
[[ -x cuda/bin/g++-11 ]] || older=()
# A source says how it is built.
options() { sed -n 's/^\/\/~ nvcc //p' "$1.cu"; }
# Files are named as seen from here.
relative() { sed -i "s#\"$work/#\"#; s#\"cuda/bin/\.\./#\"cuda/#" "$@"; }
# What `nvcc -fatbin` makes, which calls `fatbinary` last, with the PTX that has these names.
pin() {
    local source=$1 options
    read -ra options < <(options "$2")
    local all=("${older[@]}" -lineinfo "${options[@]}" -keep -fatbin -o "$source.$release.fatbin" "$source.cu")
    cuda/bin/nvcc "${all[@]}"
    relative "$source".*ptx
    eval "$(cuda/bin/nvcc --dryrun "${all[@]}" 2>&1 | sed -n 's/^#\$ fatbinary/fatbinary/p')"
    made+=("$source.$release.fatbin")
}

made=()
pin groups groups
pin nodes nodes
pin twice nodes
if [[ $release == 11.* ]]; then
    pin runtime nodes
    read -ra options < <(options references)
    cuda/bin/nvcc "${older[@]}" -lineinfo "${options[@]}" -ptx -arch=sm_52 -o references.ptx references.cu
    relative references.ptx
    { echo "// nvcc $release -ptx -arch=sm_52 -lineinfo" && cat references.ptx; } >"references.$release.ptx"
    made+=("references.$release.ptx")
fi
# What they were made of.
LC_ALL=C cksum -- *.cu >"sources.$release"
made+=("sources.$release")

failed=0
for file in "${made[@]}"; do
    if [[ -z $check ]]; then
        cp "$file" "$here/$file"
    elif ! cmp "$file" "$here/$file"; then
        failed=1
    fi
done
exit "$failed"

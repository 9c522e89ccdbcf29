#!/bin/sh
# Renews the PTX that is pinned of tests' kernels: all that is stale, or that of the sources named.
#
#   tests/pin.sh                            with nvcc on the path, or NVCC=/where/bin/nvcc
#   tests/pin.sh tests/judged/buggy/a.cu
#
# Kernels of tests/judged and tests/necessity have one pin beside them. Those of tests/homework and tests/alone have the two builds that
# `racetrap check` makes of a source, in the folder `pinned`.
#
# The first two lines of a pin tell what it was made from: the flags, and the source's checksum by
# cksum(1), which tests/cli/pins.rs compares.
set -eu
cd "$(dirname "$0")/.."
nvcc=${NVCC:-nvcc}

pin() { # SOURCE PIN FLAGS…
    source=$1
    pin=$2
    shift 2
    sum=$(cksum <"$source")
    if [ -f "$pin" ] && [ "$(sed -n 2p "$pin")" = "// source $sum" ]; then
        return
    fi
    echo "$pin"
    mkdir -p "$(dirname "$pin")"
    "$nvcc" "$@" -o "$pin.new" "$source"
    {
        echo "// nvcc $*"
        echo "// source $sum"
        # File names that do not depend on the machine; of an unoptimised build, no debug information, which names folders too.
        sed -E -e "/\.file/s|\"$PWD/|\"|" -e '/\.file/s|"[^"]*/include/|"cuda/include/|' \
            -e '/^[[:space:]]*\.file/s|"(, [0-9]+)+$|"|' "$pin.new" |
            case " $* " in
            *' -G '*) sed -e '/^[[:space:]]*\.section/,$d' ;;
            *) cat ;;
            esac
    } >"$pin"
    rm "$pin.new"
}

[ $# -gt 0 ] || set -- tests/judged/*/*.cu tests/necessity/*.cu tests/homework/*.cu tests/alone/*.cu
for source; do
    name=${source##*/}
    folder=${source%/*}/pinned
    case $source in
    tests/homework/* | tests/alone/*)
        pin "$source" "$folder/${name%.cu}.optimised.ptx" -ptx -arch=sm_75 -O3 -lineinfo
        pin "$source" "$folder/${name%.cu}.unoptimised.ptx" -ptx -arch=sm_75 -G
        ;;
    *) pin "$source" "${source%.cu}.ptx" -ptx -arch=sm_90 -lineinfo -std=c++17 ;;
    esac
done

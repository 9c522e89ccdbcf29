#!/usr/bin/env bash
# Builds the programs of tests/programs with compilers of earlier CUDA releases, by `racetrap build`, and runs them with `racetrap exec`. Makes
# what tests/programs/releases keeps of these compilers anew, and compares.
#
#   ci/earlier-cuda.sh TOOLKIT…     folders with bin/nvcc in them
#   ci/earlier-cuda.sh --debian     CUDA 11.8 and 12.4 out of the packages of Debian 12 and 13, about 2 GB
#
# No part of ci/test.sh, for its size. With --debian it needs Debian, its section non-free, and no root: packages are unpacked into
# .toolchain/debian, and only the compiler and its headers are kept, 1 GB in all.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
    printf 'earlier-cuda: %s\n' "$*" >&2
    exit 1
}

# Unpacks the toolkit of a Debian release into a folder that looks like NVIDIA's own: release, further packages.
debian() {
    local release=$1 folder=$PWD/.toolchain/debian/$1 site
    shift
    [[ -f $folder/ready ]] && return
    rm -rf "$folder"
    mkdir -p "$folder"/{lists/partial,cache/archives/partial,packages,root,cuda/{bin,nvvm/bin,lib64}}
    site=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -v security | head -n 1)
    [[ -n $site ]] || fail 'apt-get knows no site of Debian'
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site $release main contrib non-free" >"$folder/sources.list"
    local apt=(apt-get -qq -o "Dir::Etc::sourcelist=$folder/sources.list" -o Dir::Etc::sourceparts=/dev/null
        -o "Dir::State::lists=$folder/lists" -o "Dir::Cache=$folder/cache" -o APT::Sandbox::User=root)
    "${apt[@]}" update
    (cd "$folder/packages" && "${apt[@]}" download nvidia-cuda-toolkit nvidia-cuda-dev libthrust-dev libcub-dev libcu++-dev "$@")
    local package
    for package in "$folder"/packages/*.deb; do
        # Of the libraries, those of the runtime.
        dpkg-deb --fsys-tarfile "$package" | tar -x -C "$folder/root" --wildcards --no-anchored \
            --exclude='*nsight*' --exclude='*/doc/*' --exclude='lib*_static.a' \
            'bin/*' 'include/*' 'libcuda*rt*' '*/gcc/*' '*libdevice*' 2>/dev/null || true
        rm "$package"
    done
    local root=$folder/root/usr cuda=$folder/cuda tool
    for tool in "$root"/bin/* "$root"/lib/nvidia-cuda-toolkit/bin/*; do
        ln -sfn "$tool" "$cuda/bin/${tool##*/}"
    done
    # nvcc looks for the rest beside its own file; Debian's packages replace compilers and profile by their own.
    rm -f "$cuda"/bin/{nvcc,nvcc.profile,gcc,g++}
    cp "$root/lib/nvidia-cuda-toolkit/bin/nvcc" "$cuda/bin/nvcc"
    ln -s "$root/include" "$cuda/include"
    ln -s "$root/lib/nvidia-cuda-toolkit/libdevice" "$cuda/nvvm/libdevice"
    ln -s "$root/lib/nvidia-cuda-toolkit/bin/cicc" "$cuda/nvvm/bin/cicc"
    ln -s "$root"/lib/*/libcudadevrt.a "$cuda/lib64/"
    printf '%s\n' 'TOP = $(_HERE_)/..' 'NVVMIR_LIBRARY_DIR = $(TOP)/nvvm/libdevice' 'PATH += $(TOP)/nvvm/bin:$(_HERE_):' \
        'INCLUDES += "-I$(TOP)/include" $(_SPACE_)' 'LIBRARIES =+ $(_SPACE_) "-L$(TOP)/lib64" $(_SPACE_)' >"$cuda/bin/nvcc.profile"
    touch "$folder/ready"
}

if [[ ${1:-} == --debian ]]; then
    # CUDA 11.8 takes no newer GCC than 11.
    debian bookworm g++-11 gcc-11 cpp-11 libstdc++-11-dev libgcc-11-dev
    debian trixie
    set -- "$PWD"/.toolchain/debian/{bookworm,trixie}/cuda
fi
[[ $# -gt 0 ]] || fail 'give the folders of CUDA toolkits, or --debian'

failed=0
for toolkit; do
    [[ -x $toolkit/bin/nvcc ]] || fail "there is no $toolkit/bin/nvcc"
    "$toolkit/bin/nvcc" --version | tail -n 2 | head -n 1
    older=$toolkit/bin/g++-11
    [[ -x $older ]] || older=
    # `racetrap build` hands on what stands in NVCC_PREPEND_FLAGS.
    env PATH="$toolkit/bin:$PATH" CUDA_PATH="$toolkit" ${older:+NVCC_PREPEND_FLAGS="-ccbin $older"} \
        cargo nextest run --locked -p racetrap --test programs -E 'test(a_program_is_judged_as_it_says)' || failed=1
    release=$("$toolkit/bin/nvcc" --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
    if [[ -f tests/programs/releases/sources.$release ]]; then
        tests/programs/releases/pin.sh --check "$toolkit" || failed=1
    fi
done
exit "$failed"

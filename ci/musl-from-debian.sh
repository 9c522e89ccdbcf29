#!/usr/bin/env bash
# A Rust toolchain for static programs (musl) out of Debian's packages, where rustup's is not to be had. No root.
#
#   source ci/musl-from-debian.sh      sets what cargo needs, and the array `standard`: further options of `cargo build`
#
# Debian has no compiled standard library for musl, but its sources: cargo builds it along (-Zbuild-std). Unpacks what it downloads, some
# 300 MB, into .toolchain/musl. Needs Debian 12, its package musl-tools, `cc`, and about 1.5 GB of disk.

musl_fail() {
    printf 'musl-from-debian: %s\n' "$*" >&2
    return 1
}

musl_toolchain() {
    local folder machine triplet llvm
    folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/.toolchain/musl
    machine=$(uname -m)
    triplet=$machine-linux-gnu
    command -v musl-gcc >/dev/null || musl_fail 'musl-gcc was not found: apt-get install musl-tools' || return 1
    if [[ ! -f $folder/ready ]]; then
        rm -rf "$folder"
        mkdir -p "$folder/packages/partial" "$folder/root" "$folder/unwind"
        # Only what is not installed is downloaded, which is all that is unpacked.
        apt-get install --yes --download-only --no-install-recommends -o Debug::NoLocking=1 -o "Dir::Cache::archives=$folder/packages" \
            rustc-web rust-web-src libunwind-14-dev >"$folder/apt.txt" 2>&1 || {
            tail -n 5 "$folder/apt.txt" >&2
            musl_fail "can't get rustc-web, rust-web-src and libunwind-14-dev: is this Debian 12, after apt-get update?" || return 1
        }
        local package
        for package in "$folder"/packages/*.deb; do
            dpkg -x "$package" "$folder/root" || return 1
        done
        rm -rf "$folder/packages"
        # LLVM's unwinder is built for another C library, whose headers turn `fprintf` into a function that musl does not have.
        printf '%s\n' '#include <stdarg.h>' '#include <stdio.h>' \
            'int __fprintf_chk(FILE *f, int flag, const char *text, ...) { va_list a; va_start(a, text); int n = vfprintf(f, text, a); va_end(a); return n; }' \
            >"$folder/unwind/checked.c"
        musl-gcc -O2 -c -o "$folder/unwind/checked.o" "$folder/unwind/checked.c" || return 1
        llvm=$(find "$folder/root" /usr/lib -name libunwind.a -path '*llvm*' 2>/dev/null | head -n 1)
        cp "$llvm" "$folder/unwind/libunwind.a" || return 1
        ar r "$folder/unwind/libunwind.a" "$folder/unwind/checked.o" || return 1
        touch "$folder/ready"
    fi
    export LD_LIBRARY_PATH="$folder/root/usr/lib/$triplet:$(find "$folder/root/usr/lib" -maxdepth 2 -path '*llvm-*/lib' | tr '\n' ':')"
    export RUSTC=$folder/root/usr/bin/rustc RUSTC_BOOTSTRAP=1
    local upper=${machine^^}
    # Not position-independent: musl-gcc has no start-up code for static programs that are. And musl-gcc's own start-up code, not rustup's.
    export "CARGO_TARGET_${upper}_UNKNOWN_LINUX_MUSL_LINKER=musl-gcc"
    export "CARGO_TARGET_${upper}_UNKNOWN_LINUX_MUSL_RUSTFLAGS=-C link-self-contained=no -C relocation-model=static -L native=$folder/unwind"
    standard=(-Zbuild-std=std,panic_unwind)
    "$RUSTC" --version
}

musl_toolchain

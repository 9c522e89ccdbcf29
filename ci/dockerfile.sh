#!/usr/bin/env bash
# Runs the last stage of the Dockerfile without Docker: its steps, one by one, in a fresh root of the same Debian release.
#
#   ci/dockerfile.sh [PROGRAM]
#
# PROGRAM is a racetrap to put into the image, built where the C library is no newer than the image's: by default
# target/release/racetrap. The first stage, which builds one, is what ci/install.sh does. Needs root, debootstrap and a network; certificates
# that SSL_CERT_FILE names, such as a proxy's, are taken along. Not part of ci/test.sh: it downloads some 500 MB.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program=$(realpath "${1:-target/release/racetrap}")
[[ -x $program ]] || {
    printf 'dockerfile: no program %s\n' "$program" >&2
    exit 2
}
work=$(mktemp -d "${TMPDIR:-/tmp}/racetrap-image.XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$work/root
environment=(HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
entrypoint=() folder=/

in_root() { # COMMAND…
    env -i "${environment[@]}" "${outside[@]}" chroot "$root" sh -c 'cd "$0" && exec "$@"' "$folder" "$@"
}

# One instruction a line: comments out, continued lines joined.
sed '/^[[:space:]]*#/d' Dockerfile | sed -e ':a' -e '/\\$/N; s/\\\n[[:space:]]*//; ta' >"$work/steps"
last=$(grep -n '^FROM' "$work/steps" | tail -n 1 | cut -d : -f 1)
outside=()
while read -r word rest; do
    case $word in
    '') continue ;;
    esac
    printf '==> %s %s\n' "$word" "$rest"
    case $word in
    FROM)
        suite=${rest#debian:}
        debootstrap --variant=minbase "${suite%-slim}" "$root" >"$work/debootstrap.txt" || {
            tail -n 20 "$work/debootstrap.txt" >&2
            exit 1
        }
        if [[ -n ${SSL_CERT_FILE:-} ]]; then
            cp "$SSL_CERT_FILE" "$root/certificates.pem"
            outside=(SSL_CERT_FILE=/certificates.pem PIP_CERT=/certificates.pem)
        fi
        for variable in http_proxy https_proxy HTTP_PROXY HTTPS_PROXY PIP_INDEX_URL; do
            [[ -z ${!variable:-} ]] || outside+=("$variable=${!variable}")
        done
        cp /etc/resolv.conf "$root/etc/" 2>/dev/null || true
        ;;
    COPY)
        read -r from what to <<<"$rest"
        [[ $from == --from=build && $what == /opt/racetrap ]] || {
            printf 'dockerfile: not known: COPY %s\n' "$rest" >&2
            exit 1
        }
        mkdir -p "$root$to/bin"
        cp "$program" "$root$to/bin/racetrap"
        ;;
    ENV)
        read -r -a settings <<<"$rest"
        for setting in "${settings[@]}"; do
            value=${setting#*=}
            path=$(printf '%s\n' "${environment[@]}" | sed -n 's/^PATH=//p' | tail -n 1)
            environment+=("${setting%%=*}=${value//\$PATH/$path}")
        done
        ;;
    RUN) in_root sh -c "$rest" ;;
    WORKDIR)
        folder=$rest
        mkdir -p "$root$folder"
        ;;
    ENTRYPOINT) mapfile -t entrypoint < <(tr -d '[]"' <<<"$rest" | tr ',' '\n') ;;
    *)
        printf 'dockerfile: not known: %s\n' "$word" >&2
        exit 1
        ;;
    esac
done < <(tail -n "+$last" "$work/steps")

echo '==> the image, as the Dockerfile says to use it'
cat >"$root$folder/kernel.cu" <<'KERNEL'
__global__ void reverse(int *data)
{
    __shared__ int tile[64];
    tile[threadIdx.x] = data[threadIdx.x];
    data[threadIdx.x] = tile[63 - threadIdx.x];
}
KERNEL
status=0
in_root "${entrypoint[@]}" check kernel.cu --block 64 >"$work/check.txt" 2>&1 || status=$?
cat "$work/check.txt"
((status == 1)) && grep -q 'error\[data-race\]' "$work/check.txt" || {
    printf 'dockerfile: FAILED: racetrap check ends with status %d\n' "$status" >&2
    exit 1
}
status=0
in_root "${entrypoint[@]}" run histogram/shared || status=$?
printf 'dockerfile: passed in %d s; the image has %s\n' "$SECONDS" "$(du -sh "$root" | cut -f 1)"
exit "$status"

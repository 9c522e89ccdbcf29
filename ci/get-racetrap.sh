#!/usr/bin/env bash
# Gets racetrap for a job of continuous integration: an archive of a release where there is one, else it is built.
#
#   ci/get-racetrap.sh [FOLDER]
#
# FOLDER is where it goes [default: ~/.cache/racetrap]; what an earlier job left there is used, so a service can keep it. Its `bin` is added
# to GITHUB_PATH, where that is set, and else printed. Nothing is done where `racetrap` is on the path.
#
#   RACETRAP_RELEASE   where racetrap-MACHINE-linux.tar.gz and its .sha256 lie: an address, or a folder
#   RACETRAP_SOURCE    what to build instead: a checkout, or the address of one for git [default: where this script lies]
set -euo pipefail

folder=${1:-$HOME/.cache/racetrap}
archive=racetrap-$(uname -m)-linux.tar.gz
source=${RACETRAP_SOURCE:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}

if found=$(command -v racetrap); then
    printf 'racetrap: %s\n' "$found"
    exit
fi

# Sets `work`, which the caller removes.
download() {
    local name from=${RACETRAP_RELEASE:-}
    [[ -n $from ]] || return 1
    for name in "$archive" "$archive.sha256"; do
        case $from in
        http*) curl --proto '=https' --fail --silent --show-error --location --retry 3 --output "$work/$name" "$from/$name" || return 1 ;;
        *) cp "$from/$name" "$work/$name" || return 1 ;;
        esac
    done
    # A wrong archive is no reason to build another: somebody has changed it.
    (cd "$work" && sha256sum --quiet --check "$archive.sha256") || {
        printf 'racetrap: %s/%s is not what its checksum says\n' "$from" "$archive" >&2
        exit 1
    }
    mkdir -p "$folder"
    tar -xzf "$work/$archive" --strip-components 1 -C "$folder"
}

build() {
    printf 'racetrap: no archive of a release; building it, which takes some minutes\n' >&2
    case $source in
    *://*) cargo install --locked --git "$source" --features grade --root "$folder" racetrap ;;
    *) cargo install --locked --path "$source" --features grade --root "$folder" ;;
    esac
}

if [[ ! -x $folder/bin/racetrap ]]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    download || build
fi
printf '%s\n' "$folder/bin" >>"${GITHUB_PATH:-/dev/stdout}"

#!/usr/bin/env bash
# Installs the CUDA compiler (no driver, no GPU, no root) from PyPI into .toolchain/cuda.
#
#   ci/cuda-toolkit.sh [FOLDER]      FOLDER: default .toolchain/cuda of this project
#
# Needs python3 with pip or venv. If the wanted versions are already installed, it does nothing and needs no network.
set -euo pipefail

project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
target=${1:-$project/.toolchain/cuda}

# The wheels and their hashes; `racetrap setup` installs the same ones.
wheels=$project/crates/toolchain/src/cuda-wheels.txt

say() { printf '%s\n' "cuda-toolkit: $*" >&2; }

stamp=$target/.racetrap-versions
wanted=$(sed -n 's/^\(nvidia-[^ ]*\).*/\1/p' "$wheels")
if [[ -x $target/bin/nvcc && -x $target/bin/ptxas && -f $stamp && $(<"$stamp") == "$wanted" ]]; then
    say "already in $target"
    exit 0
fi

command -v python3 >/dev/null || {
    say "python3 was not found; it is needed to fetch the compiler from PyPI"
    exit 1
}

mkdir -p "$(dirname "$target")"
scratch=$(mktemp -d "$(dirname "$target")/.install.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

# Use the system's pip if there is one, otherwise create a private one.
if python3 -m pip --version >/dev/null 2>&1; then
    pip=(python3 -m pip)
elif python3 -m venv "$scratch/venv" >/dev/null 2>&1; then
    pip=("$scratch/venv/bin/python" -m pip)
else
    say "python3 has neither pip nor venv (on Debian and Ubuntu: apt-get install python3-venv)"
    exit 1
fi

say "installing into $target (about 300 MB)"
site=$scratch/site
installed=
for try in 1 2 3; do
    if "${pip[@]}" install --quiet --disable-pip-version-check --no-input --no-deps --no-compile --root-user-action=ignore \
        --only-binary :all: --require-hashes --target "$site" -r "$wheels" >&2; then
        installed=yes
        break
    fi
    say "try $try failed"
    rm -rf "$site"
    sleep $((try * 3))
done
[[ $installed ]] || {
    say "pip could not install the compiler; see its messages above"
    exit 1
}

[[ -x $site/nvidia/cu13/bin/nvcc ]] || {
    say "the packages hold no nvidia/cu13/bin/nvcc: their layout has changed"
    exit 1
}
rm -rf "$target"
mv "$site/nvidia/cu13" "$target"
# nvcc searches lib64.
[[ -e $target/lib64 || ! -d $target/lib ]] || ln -s lib "$target/lib64"
printf '%s' "$wanted" >"$stamp"

"$target/bin/nvcc" --version | tail -n 2 >&2
say "done; racetrap finds it in .toolchain/cuda"

#!/usr/bin/env bash
# Checks what is published: the packages, what `cargo install` makes of them, and a project of `racetrap new`.
#
#   ./ci/packages.sh
#
# Needs what ci/test.sh needs, and installs what is missing as it does. After ci/test.sh, it builds only the packages.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source ci/steps.sh

step 'CUDA compiler' ci/cuda-toolkit.sh
step 'cargo-nextest' install_nextest
# Both build without optimisation, in folders of their own.
step 'installation' ci/install.sh
step 'a new project' ci/new-project.sh

echo
if ((${#failed[@]})); then
    printf 'ci/packages.sh: FAILED after %d s: %s\n' $((SECONDS - began)) "$(IFS=,; echo "${failed[*]}")"
    exit 1
fi
printf 'ci/packages.sh: all passed in %d s\n' $((SECONDS - began))

#!/usr/bin/env bash
# Checks what is published or handed to others: the packages, what `cargo install` makes of them, a project of `racetrap new`, and the zip
# that a course gives to its service.
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
step "a course's zip" cargo nextest run --locked --test grade --run-ignored only

echo
if ((${#failed[@]})); then
    printf 'ci/packages.sh: FAILED after %d s: %s\n' $((SECONDS - began)) "$(IFS=,; echo "${failed[*]}")"
    exit 1
fi
printf 'ci/packages.sh: all passed in %d s\n' $((SECONDS - began))

#!/usr/bin/env bash
# Checks what is published: what it depends on (deny.toml), the packages, what `cargo install` makes of them, and a project of `racetrap new`.
#
#   ./ci/packages.sh
#
# Needs what ci/test.sh needs, and installs what is missing as it does. After ci/test.sh, it builds only the packages.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source ci/steps.sh

fetch 'CUDA compiler' ci/cuda-toolkit.sh
fetch 'cargo-nextest' install_nextest
fetch 'cargo-deny' install_deny
step 'dependencies' cargo deny --all-features check licenses bans sources
# Both build without optimisation, in folders of their own.
step 'installation' ci/install.sh
step 'a new project' ci/new-project.sh

finish ci/packages.sh

#!/usr/bin/env bash
# Installs Chromium, in which the tests look at racetrap's pages, where it is missing: Debian's package, as root. Fails where it can't
# and RACETRAP_REQUIRE_TOOLS=1; otherwise those tests are skipped, and say so.
set -uo pipefail

for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null; then
        "$name" --version
        exit 0
    fi
done
root=()
((EUID)) && root=(sudo -n)
if command -v apt-get >/dev/null && "${root[@]}" true 2>/dev/null; then
    "${root[@]}" apt-get update -qq && "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null
    command -v chromium && exit 0
fi
echo 'chromium is missing and could not be installed: apt-get install chromium' >&2
[[ ${RACETRAP_REQUIRE_TOOLS:-} == 1 ]] && exit 1
exit 0

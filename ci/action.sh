#!/usr/bin/env bash
# The step "Check" of action.yml; runs anywhere.
#
#   RACETRAP_FILES='src/*.cu' [RACETRAP_OPTIONS='--all'] [RACETRAP_BASELINE=FILE] ci/action.sh
#
# Writes NAME.sarif, NAME.html and NAME.md for each file into racetrap-reports, and adds the last to GITHUB_STEP_SUMMARY. Exit
# status: 1 if a file has findings, else 2 if one can't be read, else 3 if one is inconclusive, else 0.
set -uo pipefail

reports=racetrap-reports
mkdir -p "$reports"
# Patterns are expanded here, and nothing else of these texts is: they are data, not commands.
IFS=$' \t\n' read -r -d '' -a patterns <<<"${RACETRAP_FILES:-}"
IFS=$' \t\n' read -r -d '' -a options <<<"${RACETRAP_OPTIONS:-}"
shopt -s nullglob globstar
files=()
for pattern in "${patterns[@]}"; do
    mapfile -t found < <(compgen -G "$pattern")
    files+=("${found[@]}")
done
if ((${#files[@]} == 0)); then
    printf '::error title=racetrap::no file matches %s\n' "${RACETRAP_FILES:-}"
    exit 2
fi
[[ -z ${RACETRAP_BASELINE:-} ]] || options+=(--baseline "$RACETRAP_BASELINE")

worst=0
for file in "${files[@]}"; do
    name=$reports/${file//[^A-Za-z0-9._-]/_}
    racetrap check "./$file" "${options[@]}" --format github \
        --also "sarif=$name.sarif" --also "html=$name.html" --also "markdown=$name.md"
    status=$?
    [[ ! -f $name.md || -z ${GITHUB_STEP_SUMMARY:-} ]] || cat "$name.md" >>"$GITHUB_STEP_SUMMARY"
    case "$worst $status" in
    *' 0') ;;
    0\ * | *' 1') worst=$status ;;
    '3 2') worst=2 ;;
    esac
done
exit "$worst"

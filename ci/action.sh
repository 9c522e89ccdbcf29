#!/usr/bin/env bash
# The step "Check" of action.yml; runs anywhere.
#
#   RACETRAP_FILES='src/*.cu' [RACETRAP_OPTIONS='--all'] [RACETRAP_BASELINE=FILE] ci/action.sh
#
# Each line of RACETRAP_FILES has patterns, and behind them options for their files: `src/scan.cu --grid 4`. A file that several lines name is
# checked once, with what the last says. Blanks within quotes stay.
#
# Writes NAME.html and NAME.md for each file into racetrap-reports, and racetrap.sarif for all; adds the .md to GITHUB_STEP_SUMMARY. Exit
# status: 1 if a file has findings, else 2 if one can't be read, else 3 if one is inconclusive, else 0.
set -uo pipefail

reports=racetrap-reports
rm -rf "$reports"
mkdir -p "$reports"
shopt -s nullglob globstar

# The words of a text into the array `words`: quotes and backslashes count, and nothing is expanded. These texts are data, not commands.
split() { # TEXT
    local text
    words=()
    text=$(xargs printf '%s\n' <<<"$1" 2>&1) || {
        printf '::error title=racetrap::%s: %s\n' "$1" "$text"
        exit 2
    }
    [[ -z $1 || -z $text ]] || mapfile -t words <<<"$text"
}

split "${RACETRAP_OPTIONS:-}"
options=("${words[@]}")
[[ -z ${RACETRAP_BASELINE:-} ]] || options+=(--baseline "$RACETRAP_BASELINE")

# By file, the line that names it last.
declare -A lines=()
files=()
mapfile -t all <<<"${RACETRAP_FILES:-}"
for number in "${!all[@]}"; do
    split "${all[number]}"
    for word in "${words[@]}"; do
        [[ $word != -* ]] || break
        mapfile -t found < <(compgen -G "$word")
        for file in "${found[@]}"; do
            [[ -n ${lines[$file]:-} ]] || files+=("$file")
            lines[$file]=$number
        done
    done
done
if ((${#files[@]} == 0)); then
    printf '::error title=racetrap::no file matches %s\n' "${RACETRAP_FILES:-}"
    exit 2
fi

# The options behind a line's patterns, into the array `own`.
own_options() { # LINE
    local word
    own=()
    split "$1"
    for word in "${words[@]}"; do
        [[ ${#own[@]} == 0 && $word != -* ]] || own+=("$word")
    done
}

worst=0
for file in "${files[@]}"; do
    name=$reports/${file//[^A-Za-z0-9._-]/_}
    own_options "${all[lines[$file]]}"
    racetrap check "./$file" "${options[@]}" "${own[@]}" --format github \
        --also "sarif=$name.part.sarif" --also "html=$name.html" --also "markdown=$name.md"
    status=$?
    [[ ! -f $name.md || -z ${GITHUB_STEP_SUMMARY:-} ]] || cat "$name.md" >>"$GITHUB_STEP_SUMMARY"
    case "$worst $status" in
    *' 0') ;;
    0\ * | *' 1') worst=$status ;;
    '3 2') worst=2 ;;
    esac
done
# Code scanning takes one run for each job and tool.
parts=("$reports"/*.part.sarif)
if ((${#parts[@]})); then
    racetrap dev merge-sarif --category "${RACETRAP_CATEGORY:-racetrap}" "${parts[@]}" >"$reports/racetrap.sarif" && rm "${parts[@]}"
fi
exit "$worst"

#!/usr/bin/env bash
# The compiler that cargo calls for crates of this workspace where continuous integration builds (RUSTC_WORKSPACE_WRAPPER).
#
#   ci/rustc.sh RUSTC ARGUMENTS…
#
# Leaves tests unoptimised, and with them the code that a crate's unit tests are compiled with a second time: that takes longer than they
# run, but for those of racetrap-detect. Libraries and programs, which all other tests use, are optimised as Cargo.toml says.
set -euo pipefail
case " $* " in
*' --crate-name racetrap_detect '*) ;;
*' --test '*) exec "$@" -C opt-level=0 ;;
esac
exec "$@"

#!/usr/bin/env bash
# A project from nothing: `racetrap new`, its tests, a planted bug that they must catch, the GPU profiles, and the archive for a machine
# without Rust.
#
#   ci/new-project.sh [FOLDER]
#
# FOLDER receives the archive, to be run on a machine with a GPU: FOLDER/new-project-gpu.sh
#
# Needs cargo-nextest, the CUDA compiler, and what ci/install.sh leaves. No GPU: the profile gpu runs on the simulated driver of `racetrap exec`, and a script stands
# in for compute-sanitizer. With RACETRAP_BUILT=1 it takes the programs in target/debug as they are.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
keep=${1:+$(realpath -m "$1")}
export PATH="$root/.toolchain/bin:$PATH"
export CARGO_TERM_COLOR=never NO_COLOR=1

work=$(mktemp -d "${TMPDIR:-/tmp}/racetrap-new.XXXXXX")
trap 'rm -rf "$work"' EXIT
fail() {
    printf 'new-project: FAILED: %s\n' "$*" >&2
    exit 1
}
has() { # FILE TEXT
    grep -qF -- "$2" "$1" || {
        cat "$1" >&2
        fail "does not say: $2"
    }
}

# As the tests are built, so that nothing is built twice. CUDA_PATH comes later: with another one, cargo builds anew what asks for it.
[[ ${RACETRAP_BUILT:-} == 1 ]] || cargo nextest run --locked --no-run
export PATH="$root/target/debug:$PATH" CUDA_PATH=${CUDA_PATH:-$root/.toolchain/cuda}

outside=${RACETRAP_OUTSIDE:-${TMPDIR:-/tmp}/racetrap-outside-$(id -u)}
[[ -f $outside/packed/.cargo/patched.toml ]] || ci/install.sh

echo '==> new'
cd "$work"
racetrap new --registry mine >new.txt
has new.txt tests/kernels.rs
racetrap new mine >again.txt 2>&1 && fail 'wrote into a folder that is not empty'
cd mine
# racetrap as it would be published, and the versions that it is tested with; built quickly, and together with ci/install.sh.
mkdir .cargo
cp "$outside/packed/.cargo/patched.toml" .cargo/config.toml
cp "$root/Cargo.lock" .
export CARGO_TARGET_DIR=$root/target/outside
cargo nextest run --no-run 2>build.txt || { cat build.txt; fail 'a new project does not build'; }

echo '==> the simulator'
cargo nextest run >run.txt 2>&1 || { cat run.txt; fail 'a new project does not pass'; }
has run.txt '2 passed'
has target/nextest/default/junit.xml 'example/no-barrier'
racetrap test --catalog . --locked >test.txt || { cat test.txt; fail 'racetrap test'; }
has test.txt 'caught 1/1'

echo '==> a planted bug'
sed -i '/__syncthreads/d' kernels/example/reverse.cu
racetrap test --catalog . --locked >locked.txt 2>&1 && fail '--locked takes old PTX'
has locked.txt 'out of date'
cargo nextest run >bug.txt 2>&1 && { cat bug.txt; fail 'a planted bug is not caught'; }
has bug.txt 'error[data-race]'
has bug.txt 'kernels/example/reverse.cu:6'
has bug.txt '1 passed, 1 failed'
racetrap test --catalog . >test.txt 2>&1 && fail 'racetrap test does not catch it'
has test.txt '1 verdict differs'
cd ..
racetrap new fresh >new.txt
cp fresh/kernels/example/* mine/kernels/example/
cd mine

echo '==> a GPU'
binary=$(cargo nextest list --message-format json 2>/dev/null |
    python3 -c 'import json, sys; print(next(s["binary-path"] for s in json.load(sys.stdin)["rust-suites"].values() if s["binary-name"] == "kernels"))')
RACETRAP_REQUIRE_GPU=1 racetrap exec --first 0 -- "$binary" --nocapture >gpu.txt 2>&1 || true
has gpu.txt 'test result: ok. 2 passed'
has gpu.txt 'example/reverse: clean on'
has gpu.txt 'right in 64 runs'
# Without one, the simulator judges and says so, or the run fails.
cargo nextest run --profile gpu >none.txt 2>&1 || { cat none.txt; fail 'the profile gpu without a GPU'; }
has none.txt 'no GPU: judged by the simulator'
RACETRAP_REQUIRE_GPU=1 cargo nextest run --profile gpu >none.txt 2>&1 && fail 'passes without the GPU that is required'
racetrap test --catalog . --on gpu >none.txt 2>&1 && fail '--on gpu passes without a GPU'
has none.txt 'no GPU'

echo '==> a tool'
mkdir ../tools
cat >../tools/compute-sanitizer <<'TOOL'
#!/usr/bin/env bash
# Stands in for compute-sanitizer: runs the program on the simulated driver, and reports the race of the case that has one.
while [[ $# -gt 0 && $1 == -* ]]; do
    case $1 in
    --version) printf 'NVIDIA (R) Compute Sanitizer\nVersion 1.2.3.0 (a stand-in)\n'; exit ;;
    --xml) shift ;;
    --log-file) log=$2; shift 2 ;;
    --save) save=$2; shift 2 ;;
    *) shift 2 ;;
    esac
done
printf '========= COMPUTE-SANITIZER\n' >"$log"
racetrap exec --first 0 -- "$@"
printf '<?xml version="1.0" encoding="utf-8"?><ComputeSanitizerOutput>' >"$save"
if [[ " $* " == *' example/no-barrier '* ]]; then
    printf '<record><kind>Analysis</kind><level>Error</level><what><text>Race condition</text><source><direction>Write</direction><where><func>reverse</func><path>kernels/example/reverse.cu</path><line>6</line><pc>0x10</pc></where></source><destination><direction>Read</direction><where><func>reverse</func><path>kernels/example/reverse.cu</path><line>10</line><pc>0x20</pc></where><count>31</count></destination></what></record></ComputeSanitizerOutput>' >>"$save"
    printf '========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n' >>"$log"
    exit 86
fi
printf '</ComputeSanitizerOutput>' >>"$save"
printf '========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n' >>"$log"
TOOL
chmod +x ../tools/compute-sanitizer
PATH=$work/tools:$PATH RACETRAP_REQUIRE_GPU=1 racetrap dev under racecheck "$binary" example/no-barrier --exact >tool.txt 2>&1 ||
    { cat tool.txt; fail 'a race that the tool reports'; }
has tool.txt 'caught example/no-barrier under racecheck: 6 runs'
PATH=$work/tools:$PATH racetrap test --catalog . --on racecheck --keep results >tool.txt 2>&1 || { cat tool.txt; fail '--on racecheck'; }
has tool.txt '2 cases on racecheck: 2 as expected'
racetrap dev evidence merge --catalog . results/recordings >merged.txt
has merged.txt '2 new'
racetrap dev matrix --catalog . --all >matrix.txt
has matrix.txt 'racecheck'

echo '==> an archive for a machine without Rust'
ci/gpu-archive.sh gpu >archive.txt 2>&1 || { cat archive.txt; fail 'ci/gpu-archive.sh'; }
[[ -z $keep ]] || { rm -rf "$keep" && cp -R gpu "$keep" && cp "$root/ci/new-project-gpu.sh" "$keep"; }
mv gpu "$work/elsewhere"
cd /
env -u CARGO_TARGET_DIR RACETRAP_REQUIRE_GPU=0 "$work/elsewhere/ci/gpu-run.sh" "$work/elsewhere" gpu racecheck >"$work/ran.txt" 2>&1 ||
    { cat "$work/ran.txt"; fail 'ci/gpu-run.sh'; }
has "$work/elsewhere/results/gpu.xml" 'example/no-barrier'

printf 'new-project: passed in %d s\n' "$SECONDS"

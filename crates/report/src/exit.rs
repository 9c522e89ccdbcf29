//! The exit codes of every racetrap command.

/// Everything is as expected: no errors, and every case has its expected verdict.
pub const OK: u8 = 0;

/// There are findings, or verdicts that differ from the expected ones.
///
/// `check`: at least one error (or warning, with `--deny warning`). `run` and `replay`: at least one case has an unexpected
/// verdict, or PTX that violates its `ptx` key. `diff`: the two operands differ, as with diff(1); with `--across`, the `ptx`
/// key of a case does not hold for some compiler.
pub const FINDINGS: u8 = 1;

/// The command line or an input is invalid: an unknown flag, a missing file, malformed PTX, an entry or argument that does
/// not fit.
pub const USAGE: u8 = 2;

/// racetrap could not reach a verdict: an unimplemented instruction, an exhausted budget without a finding, a tool that is
/// missing or crashed. Such a result is never printed as clean.
pub const INCONCLUSIVE: u8 = 3;

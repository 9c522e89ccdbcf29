//! The exit codes of every racetrap command.

/// Everything is as expected: no error, every verdict the one its case expects.
pub const OK: u8 = 0;

/// Findings, or verdicts that differ from the expected ones.
///
/// `check`: at least one error (or warning, with `--deny warning`). `run` and
/// `replay`: at least one case has a verdict other than its expected one, or PTX that is not what it says.
/// `diff`, as diff(1): the two differ; with `--across`, a case's claim about its PTX does not hold somewhere.
pub const FINDINGS: u8 = 1;

/// The command line or an input is wrong: unknown flag, missing file, text that
/// is no PTX, an entry or argument that does not fit.
pub const USAGE: u8 = 2;

/// racetrap could not tell: an instruction that the simulator does not have, a
/// budget spent without a finding, a tool that is missing or crashed. Never
/// printed as clean.
pub const INCONCLUSIVE: u8 = 3;

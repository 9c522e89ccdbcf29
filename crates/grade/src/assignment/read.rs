//! Reads an assignment, and has it [checked](super::check).

use super::Assignment;
use super::check::Checking;
pub use super::error::AssignmentError;
use catalog::load::parsed;
use std::path::Path;

/// Reads a file.
///
/// # Errors
///
/// The first mistake, with its line and key.
pub fn read(path: &Path) -> Result<(Assignment, String), AssignmentError> {
    let text = std::fs::read_to_string(path).map_err(|error| AssignmentError::Unreadable {
        path: path.to_path_buf(),
        reason: error.to_string(),
    })?;
    let assignment = from_yaml(&path.display().to_string(), &text)?;
    Ok((assignment, text))
}

/// Reads a text.
///
/// # Errors
///
/// As [`read`].
pub fn from_yaml(file: &str, text: &str) -> Result<Assignment, AssignmentError> {
    let assignment: Assignment =
        parsed(file, text).map_err(|error| AssignmentError::Syntax(error.to_string()))?;
    let checking = Checking { file, text };
    checking.whole(&assignment)?;
    Ok(assignment)
}

/// The JSON Schema of assignments.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Assignment).to_value()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const GOOD: &str = include_str!("../../../../examples/course/reduction/assignment.yaml");
    const PROGRAM: &str = include_str!("../../../../examples/course/row-sums/assignment.yaml");
    const WB: &str = include_str!("../../../../examples/course/wb-neighbours/assignment.yaml");

    #[test]
    fn the_schema_is_current() {
        let path = "examples/course/assignment.schema.json";
        let known = std::fs::read_to_string(testing::root().join(path)).unwrap();
        let known: serde_json::Value = serde_json::from_str(&known).unwrap();
        assert!(
            known == schema(),
            "renew it: cargo run -- grade --schema > {path}"
        );
    }

    /// A number that is none makes every comparison false.
    #[test]
    fn what_is_no_number_is_refused() {
        let text = GOOD.replace("points: 45", "points: .nan");
        let error = from_yaml("a.yaml", &text).unwrap_err().to_string();
        assert!(
            error.contains("is not a finite number") && error.contains("a.yaml:"),
            "{error}"
        );
    }

    #[test]
    fn the_examples_are_read() {
        for text in [GOOD, PROGRAM, WB] {
            from_yaml("assignment.yaml", text).unwrap();
        }
    }

    #[rstest]
    #[case(
        PROGRAM,
        "kind: program",
        "kind: kernel",
        "`build`: this kind needs the key `kernel`"
    )]
    #[case(PROGRAM, "program:\n  arguments", "kernel:\n  arguments", "a.yaml:")]
    #[case(
        PROGRAM,
        "\"{rows}\"",
        "\"{row}\"",
        "`program.arguments`: `row` is no size of the inputs"
    )]
    #[case(
        PROGRAM,
        "make: rowsums",
        "make: ../rowsums",
        "`build.make`: is not the name of a file"
    )]
    #[case(
        PROGRAM,
        "sums.bin: {type: i32}",
        "sums.bin: {}",
        "`compare.sums.bin`: give the `type` of its numbers"
    )]
    #[case(
        PROGRAM,
        "matrix.bin: {type",
        "../matrix.bin: {type",
        "`program.files.../matrix.bin`: this can't be the name of a file here"
    )]
    #[case(
        WB,
        "output: {}",
        "output: {type: i32}",
        "`compare.output`: its type and layout follow from `program.output`"
    )]
    #[case(WB, "output: vector", "output: vectors", "did you mean `vector`?")]
    #[case(
        WB,
        ", lose: [races], count: 1, scores: {results: \">=25\"}}",
        "}",
        "`selftest.mutants[0].mutation`: say what its mutants `lose`, or their `scores`"
    )]
    #[case(
        WB,
        ", lose: [races], count: 1, scores: {results: \">=25\"}}",
        ", scores: {raes: 0}}",
        "`selftest.mutants[0].scores`: there is no part `raes`"
    )]
    fn mistakes_in_programs_are_named(
        #[case] good: &str,
        #[case] text: &str,
        #[case] wrong: &str,
        #[case] said: &str,
    ) {
        assert!(good.contains(text), "{text}");
        let error = from_yaml("a.yaml", &good.replacen(text, wrong, 1)).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }

    #[rstest]
    #[case(
        "racetrap-assignment: 1",
        "racetrap-assignment: 2",
        "2:22: `racetrap-assignment`"
    )]
    #[case("check: races", "check: race", "did you mean `races`?")]
    #[case(
        "requires: [{part: results, least: 0.5}]",
        "requires: [{part: result, least: 0.5}]",
        "`parts[5].requires`: `result` is no part before this one; did you mean `results`?"
    )]
    #[case(
        "length: blocks",
        "length: block",
        "`kernel.arguments.out`: `block` is no size of the inputs, did you mean `blocks`?"
    )]
    #[case("secret: ", "sercet: ", "did you mean `secret`?")]
    #[case(
        "submission:\n  require: [reduction.cu]",
        "submission:\n  require: [../reduction.cu]",
        "`submission.require[0]`"
    )]
    fn mistakes_are_named_with_line_and_key(
        #[case] text: &str,
        #[case] wrong: &str,
        #[case] said: &str,
    ) {
        assert!(GOOD.contains(text), "{text}");
        let error = from_yaml("a.yaml", &GOOD.replacen(text, wrong, 1))
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("a.yaml:") && error.contains(said),
            "{error}"
        );
    }
}

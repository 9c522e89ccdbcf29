//! Takes from a program what a result does not need.

use super::build::Program;
use super::run::simulate;

/// The program without the lines that a column of outputs does without: whatever line can be left out
/// such that the simulator still gives the same column.
///
/// By halves, as in delta debugging (Zeller, Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE
/// Transactions on Software Engineering 28, 2002), except that one pass over each size is made.
pub fn minimised(program: &Program, output: usize) -> String {
    let column = |ptx: String| {
        let candidate = Program {
            ptx,
            ..program.clone()
        };
        let outputs = simulate(&candidate).ok()?;
        Some(outputs[program.outputs[output].range()].to_vec())
    };
    let mut lines: Vec<&str> = program.ptx.lines().collect();
    let Some(wanted) = column(lines.join("\n")) else {
        return program.ptx.clone();
    };
    let mut size = lines.len().div_ceil(2);
    loop {
        let mut at = 0;
        while at < lines.len() {
            let end = (at + size).min(lines.len());
            let without = [&lines[..at], &lines[end..]].concat();
            if column(without.join("\n")).as_ref() == Some(&wanted) {
                lines = without;
            } else {
                at = end;
            }
        }
        if size == 1 {
            break;
        }
        size = size.div_ceil(2);
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Generator;

    #[test]
    fn one_instruction_is_left_of_many() {
        let program = Generator::new(0).program(0);
        let output = 3;
        let least = minimised(&program, output);
        assert!(least.contains(&program.outputs[output].text), "{least}");
        for (o, other) in program.outputs.iter().enumerate() {
            assert!(o == output || !least.contains(&other.text), "{least}");
        }
    }
}

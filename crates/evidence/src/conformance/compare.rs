//! Two output buffers of a program, column by column.

use super::bounds::{Judged, judge};
use super::build::{Output, Program, Source};
use super::family::Family;
use super::values::THREADS;
use std::fmt;

/// A column in which they differ although all that went into it is the same.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The program.
    pub program: u32,
    /// The column.
    pub output: usize,
    /// Its [`Output::spelling`].
    pub spelling: String,
    /// Its [`Output::text`].
    pub text: String,
    /// How many threads differ; `None` where only a hash of what the GPU gave is known.
    pub threads: Option<usize>,
    /// The first few of them.
    pub examples: Vec<Example>,
}

/// A thread that has another result.
#[derive(Clone, Debug)]
pub struct Example {
    /// The thread.
    pub thread: usize,
    /// What went in, as far as it is known.
    pub inputs: Vec<Option<u64>>,
    /// What the GPU makes of it.
    pub gpu: u64,
    /// What the simulator makes of it.
    pub simulator: u64,
}

impl fmt::Display for Example {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {}: (", self.thread)?;
        for (i, input) in self.inputs.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            match input {
                Some(value) => write!(f, "{comma}{value:#x}")?,
                None => write!(f, "{comma}?")?,
            }
        }
        write!(f, ") is {:#x}, simulated {:#x}", self.gpu, self.simulator)
    }
}

/// The largest errors of an approximate instruction, 1 being what is allowed.
#[derive(Clone, Debug, PartialEq)]
pub struct Errors {
    /// The instruction.
    pub spelling: String,
    /// The GPU's largest error.
    pub gpu: f64,
    /// The simulator's.
    pub simulator: f64,
}

/// What a comparison of two buffers says.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// Where they begin to differ.
    pub differences: Vec<Difference>,
    /// How approximate instructions did.
    pub errors: Vec<Errors>,
}

/// Whether something that went into a column is wrong already.
pub fn follows(output: &Output, wrong: &[usize]) -> bool {
    let is_wrong = |s: &Source| matches!(s, Source::Output(k) if wrong.contains(k));
    output.sources.iter().any(is_wrong)
}

/// Columns whose bytes differ.
pub fn differing(program: &Program, gpu: &[u8], simulator: &[u8]) -> Vec<usize> {
    let differs = |o: &Output| gpu.get(o.range()) != simulator.get(o.range());
    (0..program.outputs.len())
        .filter(|&o| differs(&program.outputs[o]))
        .collect()
}

/// Compares all columns: bit for bit, or within the bounds of an approximate instruction.
///
/// A column that differs is passed over if one that went into it does. `wrong` are the columns known to differ
/// ([`differing`], and those of which only a hash is known), `shown` is the number of examples.
pub fn compare(
    program: &Program,
    gpu: &[u8],
    simulator: &[u8],
    wrong: &[usize],
    shown: usize,
) -> Comparison {
    let mut comparison = Comparison::default();
    if wrong.is_empty() && program.family != Family::Approximate {
        return comparison;
    }
    let columns: Vec<Vec<u64>> = (0..program.inputs.len())
        .map(|i| program.column(i))
        .collect();
    let input = |s: &Source, thread: usize| match *s {
        Source::Input(i) => Some(columns[i][thread]),
        Source::Output(k) => Some(program.outputs[k].value(gpu, thread)),
        Source::Other => None,
    };
    for (output, o) in program.outputs.iter().enumerate() {
        let approximate = program.family == Family::Approximate;
        if !approximate && (!wrong.contains(&output) || follows(o, wrong)) {
            continue;
        }
        let mut worst = Judged::default();
        let mut found = difference(program, output, Some(0));
        let mut count = 0;
        for thread in 0..THREADS {
            let (real, simulated) = (o.value(gpu, thread), o.value(simulator, thread));
            let inputs: Vec<Option<u64>> = o.sources.iter().map(|s| input(s, thread)).collect();
            let same = if approximate {
                let known: Vec<u64> = inputs.iter().flatten().copied().collect();
                let judged = judge(&o.spelling, &known, real, simulated);
                worst.gpu = worst.gpu.max(judged.gpu);
                worst.simulator = worst.simulator.max(judged.simulator);
                judged.allowed
            } else {
                real == simulated
            };
            if same {
                continue;
            }
            count += 1;
            if found.examples.len() < shown {
                found.examples.push(Example {
                    thread,
                    inputs,
                    gpu: real,
                    simulator: simulated,
                });
            }
        }
        if approximate {
            let (gpu, simulator) = (worst.gpu, worst.simulator);
            comparison.errors.push(Errors {
                spelling: o.spelling.clone(),
                gpu,
                simulator,
            });
        }
        if count > 0 {
            found.threads = Some(count);
            comparison.differences.push(found);
        }
    }
    comparison
}

/// A difference in a column, without examples.
pub fn difference(program: &Program, output: usize, threads: Option<usize>) -> Difference {
    let o = &program.outputs[output];
    Difference {
        program: program.number,
        output,
        spelling: o.spelling.clone(),
        text: o.text.clone(),
        threads,
        examples: Vec::new(),
    }
}

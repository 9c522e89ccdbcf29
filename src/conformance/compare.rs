//! Two output buffers of a program, column by column.

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
    /// How many threads differ.
    pub threads: usize,
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

/// Columns whose bytes differ.
pub fn differing(program: &Program, gpu: &[u8], simulator: &[u8]) -> Vec<usize> {
    let differs = |o: &Output| gpu.get(o.range()) != simulator.get(o.range());
    (0..program.outputs.len())
        .filter(|&o| differs(&program.outputs[o]))
        .collect()
}

/// Where the two begin to differ: columns that differ while none that went into them does.
/// Approximate instructions are not compared here.
pub fn compare(program: &Program, gpu: &[u8], simulator: &[u8], shown: usize) -> Vec<Difference> {
    let wrong = differing(program, gpu, simulator);
    if program.family == Family::Approximate {
        return Vec::new();
    }
    let columns: Vec<Vec<u64>> = (0..program.inputs.len())
        .map(|i| program.column(i))
        .collect();
    let mut differences = Vec::new();
    for &output in &wrong {
        let o = &program.outputs[output];
        let follows = |s: &Source| matches!(s, Source::Output(k) if wrong.contains(k));
        if o.sources.iter().any(follows) {
            continue;
        }
        let mut difference = Difference {
            program: program.number,
            output,
            spelling: o.spelling.clone(),
            text: o.text.clone(),
            threads: 0,
            examples: Vec::new(),
        };
        for thread in 0..THREADS {
            let (real, simulated) = (o.value(gpu, thread), o.value(simulator, thread));
            if real == simulated {
                continue;
            }
            difference.threads += 1;
            if difference.examples.len() < shown {
                let input = |s: &Source| match *s {
                    Source::Input(i) => Some(columns[i][thread]),
                    Source::Output(k) => Some(program.outputs[k].value(gpu, thread)),
                    Source::Other => None,
                };
                difference.examples.push(Example {
                    thread,
                    inputs: o.sources.iter().map(input).collect(),
                    gpu: real,
                    simulator: simulated,
                });
            }
        }
        differences.push(difference);
    }
    differences
}

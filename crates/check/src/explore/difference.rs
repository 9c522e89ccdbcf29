//! Runs of one input that leave different results: where they differ first, and by how much.

use super::memory::{Buffer, Memory};
use detect::rules::{Level, Rule};
use report::Diagnostic;
use session::buffer::ElementType;

/// Relative difference of floating-point numbers that another order of additions may make: to the largest number of the buffer.
const ROUNDING: [f64; 2] = [1e-4, 1e-11];
/// Characters of what was printed that are shown.
const SHOWN: usize = 40;

/// How a run's results differ from the first run's.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// What differs: `out[3]`, or what was printed.
    pub place: String,
    /// What it is in the first run, and in the other.
    pub values: [String; 2],
    /// All that differs are floating-point numbers, by no more than rounding may make.
    pub rounding: bool,
    /// Elements that differ.
    pub elements: u64,
    /// The schedules of both runs.
    pub schedules: [String; 2],
    /// The first element that differs, where it is in memory: its address and bytes.
    pub element: Option<(u64, u32)>,
}

impl Difference {
    /// The first one between two runs; a difference by more than rounding comes before one by rounding.
    pub fn between(
        schedules: [&str; 2],
        memories: [&Memory; 2],
        outputs: [&str; 2],
    ) -> Option<Difference> {
        let mut worst: Option<Difference> = None;
        let made = |place, values, rounding, elements, element| Difference {
            element,
            place,
            values,
            rounding,
            elements,
            schedules: schedules.map(str::to_owned),
        };
        if outputs[0] != outputs[1] {
            let line = |text: &str, at: usize| -> String {
                let line = text.lines().nth(at).unwrap_or("nothing more");
                line.chars()
                    .filter(|c| !c.is_control())
                    .take(SHOWN)
                    .collect()
            };
            let mut lines = outputs[0].lines().zip(outputs[1].lines());
            let same = lines.by_ref().take_while(|(a, b)| a == b).count();
            let values = outputs.map(|text| format!("`{}`", line(text, same)));
            worst = Some(made(
                format!("printed line {}", same + 1),
                values,
                false,
                1,
                None,
            ));
        }
        for buffer in memories[0].buffers() {
            let Some(other) = memories[1].buffers().iter().find(|b| *b == buffer) else {
                continue;
            };
            let read = |memory: &Memory, buffer: &Buffer| Some(memory.read(buffer)?.0);
            let (Some(a), Some(b)) = (read(memories[0], buffer), read(memories[1], other)) else {
                continue;
            };
            if a == b {
                continue;
            }
            let size = buffer.element.bytes();
            let pairs = || a.chunks(size).zip(b.chunks(size)).enumerate();
            let unlike = || pairs().filter(|(_, (a, b))| a != b);
            let largest = a.chunks(size).chain(b.chunks(size));
            let largest = largest.filter_map(|e| float(buffer.element, e));
            let largest = largest
                .filter(|x| x.is_finite())
                .fold(0f64, |m, x| m.max(x.abs()));
            let bound = ROUNDING[usize::from(size == 8)] * largest;
            let is_rounding =
                |a: &[u8], b: &[u8]| match (float(buffer.element, a), float(buffer.element, b)) {
                    (Some(a), Some(b)) => (a - b).abs() <= bound || a.is_nan() && b.is_nan(),
                    _ => false,
                };
            let rounding = unlike().all(|(_, (a, b))| is_rounding(a, b));
            let first = unlike().find(|(_, (a, b))| rounding || !is_rounding(a, b));
            let Some((index, (x, y))) = first else {
                continue;
            };
            if worst.as_ref().is_none_or(|w| w.rounding && !rounding) {
                let values = [x, y].map(|e| shown(buffer.element, e));
                let count = unlike().count() as u64;
                let at = buffer.address + (index * size) as u64;
                worst = Some(made(
                    format!("`{}[{index}]`", buffer.name),
                    values,
                    rounding,
                    count,
                    Some((at, size as u32)),
                ));
            }
        }
        worst
    }

    /// As a finding; a note where only rounding differs.
    pub fn diagnostic(&self) -> Diagnostic {
        let rule = Rule::NondeterministicResult;
        let (level, title, help) = match self.rounding {
            true => (
                Level::Note,
                "the rounding of the result depends on the order of threads",
                "to get the same bits in every run, add in a fixed order: a tree in shared memory, then one thread over the blocks' sums",
            ),
            false => (
                rule.level(),
                "the result depends on the order of threads",
                "if a value is read before all threads have added to it, wait for them first (`__syncthreads()` before the block is counted as done); if any order is right, expect this",
            ),
        };
        Diagnostic {
            rule,
            level,
            title: title.to_owned(),
            labels: Vec::new(),
            notes: vec![self.sentence()],
            help: Some(help.to_owned()),
            edit: None,
            no_change: Some(report::NoChange::Meaning),
            replay: None,
            count: 1,
            builds: Vec::new(),
            expected: false,
            accepted: None,
            trace: None,
            launched: None,
            about: report::About::default(),
        }
    }

    /// One sentence.
    pub fn sentence(&self) -> String {
        let [first, other] = &self.values;
        let [schedule, another] = &self.schedules;
        let more = match self.elements {
            0 | 1 => String::new(),
            n => format!("; {n} elements differ"),
        };
        format!(
            "{} is {first} under `{schedule}` and {other} under `{another}`{more}",
            self.place
        )
    }
}

fn bits(bytes: &[u8]) -> u64 {
    let mut all = [0; 8];
    let n = bytes.len().min(8);
    all[..n].copy_from_slice(&bytes[..n]);
    u64::from_le_bytes(all)
}

fn float(element: ElementType, bytes: &[u8]) -> Option<f64> {
    match element {
        ElementType::F32 => Some(f64::from(f32::from_bits(bits(bytes) as u32))),
        ElementType::F64 => Some(f64::from_bits(bits(bytes))),
        _ => None,
    }
}

fn shown(element: ElementType, bytes: &[u8]) -> String {
    let bits = bits(bytes);
    match element {
        ElementType::F32 => f32::from_bits(bits as u32).to_string(),
        ElementType::F64 => f64::from_bits(bits).to_string(),
        _ if element.is_unsigned() => bits.to_string(),
        _ => {
            let unused = 64 - 8 * element.bytes() as u32;
            ((bits << unused) as i64 >> unused).to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use simt::Device;

    fn memory(element: ElementType, bytes: &[u8]) -> Memory {
        let mut device = Device::new(1 << 20);
        let address = device.alloc(bytes.len() as u64, "out").expect("memory");
        device.write(address, bytes).expect("inside");
        let buffer = Buffer {
            name: "out".into(),
            parameter: 0,
            element,
            typed: true,
            address,
            bytes: bytes.len() as u64,
        };
        Memory {
            device: Some(device),
            buffers: vec![buffer],
        }
    }

    fn floats(values: &[f32]) -> Memory {
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        memory(ElementType::F32, &bytes)
    }

    fn between(a: &Memory, b: &Memory) -> Option<Difference> {
        Difference::between(["lockstep", "random:0"], [a, b], ["", ""])
    }

    #[test]
    fn rounding_is_told_from_other_results() {
        let first = floats(&[1.0, 100.0, 0.0]);
        assert_eq!(between(&first, &first), None);
        let rounded = between(&first, &floats(&[1.0, 100.001, 0.000_001])).expect("different");
        assert!(rounded.rounding && rounded.elements == 2);
        let other = between(&first, &floats(&[1.0, 100.001, 3.0])).expect("different");
        assert!(!other.rounding);
        let said = "`out[2]` is 0 under `lockstep` and 3 under `random:0`; 2 elements differ";
        assert_eq!(other.sentence(), said);
        let nan = between(&first, &floats(&[1.0, f32::NAN, 0.0])).expect("different");
        assert!(!nan.rounding);
    }

    #[test]
    fn integers_never_round() {
        let (a, b) = (
            memory(ElementType::I16, &[0xff, 0xff]),
            memory(ElementType::I16, &[1, 0]),
        );
        let found = between(&a, &b).expect("different");
        assert!(!found.rounding);
        assert_eq!(found.values, ["-1", "1"]);
    }

    #[test]
    fn what_is_printed_counts() {
        let same = floats(&[1.0]);
        let outputs = ["a\nb\n", "a\nc\n"];
        let found = Difference::between(["x", "y"], [&same, &same], outputs).expect("different");
        assert_eq!(
            found.sentence(),
            "printed line 2 is `b` under `x` and `c` under `y`"
        );
    }
}

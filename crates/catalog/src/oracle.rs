//! The named oracles: sequential Rust versions of what kernels must compute.
//!
//! Integers are computed modulo 2⁶⁴ and truncated to the element type for the comparison, which equals computing in that type.
//! Floating-point values are computed in double precision; the inputs of the catalogue are small integers, whose sums are exact
//! in single precision.

pub use session::buffer::Elements;

/// What an oracle is given.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// A buffer as it was at the start.
    Buffer(Elements),
    /// A number.
    Number(i64),
}

/// What an oracle's parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// The name of a buffer.
    Buffer,
    /// An expression over the sizes.
    Number,
}

/// A named oracle.
pub struct OracleFunction {
    /// Its name.
    pub name: &'static str,
    /// Its parameters.
    pub parameters: &'static [(&'static str, Takes)],
    /// How many of the last ones may be left out.
    pub optional: usize,
    /// One line for `racetrap list --oracles` and the documentation.
    pub summary: &'static str,
    compute: fn(&Arguments<'_>) -> Option<Elements>,
}

impl OracleFunction {
    /// How it is called: `inclusive_scan(data[, segment])`.
    pub fn signature(&self) -> String {
        let required = self.parameters.len() - self.optional;
        let mut text = format!("{}(", self.name);
        for (index, (name, _)) in self.parameters.iter().enumerate() {
            text.push_str(if index >= required { "[" } else { "" });
            text.push_str(if index > 0 { ", " } else { "" });
            text.push_str(name);
        }
        text.push_str(&"]".repeat(self.optional));
        text.push(')');
        text
    }

    /// Whether it can be called with so many arguments.
    pub fn takes(&self, arguments: usize) -> bool {
        (self.parameters.len() - self.optional..=self.parameters.len()).contains(&arguments)
    }

    /// The result, or `None` where the arguments make no sense (a negative length, a matrix that is
    /// smaller than its sizes say).
    pub fn compute(&self, given: &[Given]) -> Option<Elements> {
        if !self.takes(given.len()) {
            return None;
        }
        (self.compute)(&Arguments(given))
    }
}

/// The oracle of that name.
pub fn find(name: &str) -> Option<&'static OracleFunction> {
    ALL.iter().find(|oracle| oracle.name == name)
}

struct Arguments<'a>(&'a [Given]);

impl Arguments<'_> {
    fn buffer(&self, index: usize) -> Option<&Elements> {
        match self.0.get(index)? {
            Given::Buffer(elements) => Some(elements),
            Given::Number(_) => None,
        }
    }

    fn number(&self, index: usize) -> Option<i64> {
        match self.0.get(index)? {
            Given::Number(n) => Some(*n),
            Given::Buffer(_) => None,
        }
    }

    fn size(&self, index: usize) -> Option<usize> {
        self.number(index)?.try_into().ok()
    }

    fn positive(&self, index: usize) -> Option<usize> {
        self.size(index).filter(|n| *n > 0)
    }
}

/// What oracles compute of elements.
trait Computed: Sized {
    fn gather(&self, indices: impl Iterator<Item = usize>) -> Option<Elements>;
    fn running_sums(&self, segment: usize, inclusive: bool) -> Elements;
    fn sums(&self, group: usize) -> Elements;
    fn votes(&self, vote: fn(&[bool]) -> i64) -> Elements;
}

impl Computed for Elements {
    fn gather(&self, indices: impl Iterator<Item = usize>) -> Option<Elements> {
        Some(match self {
            Elements::Integers(v) => {
                Elements::Integers(indices.map(|i| v.get(i).copied()).collect::<Option<_>>()?)
            }
            Elements::Floats(v) => {
                Elements::Floats(indices.map(|i| v.get(i).copied()).collect::<Option<_>>()?)
            }
        })
    }

    fn running_sums(&self, segment: usize, inclusive: bool) -> Elements {
        match self {
            Elements::Integers(v) => Elements::Integers(
                v.chunks(segment)
                    .flat_map(|c| running(c, inclusive, i64::wrapping_add))
                    .collect(),
            ),
            Elements::Floats(v) => Elements::Floats(
                v.chunks(segment)
                    .flat_map(|c| running(c, inclusive, |a, b| a + b))
                    .collect(),
            ),
        }
    }

    fn sums(&self, group: usize) -> Elements {
        match self {
            Elements::Integers(v) => Elements::Integers(
                v.chunks(group)
                    .map(|c| c.iter().fold(0, |a: i64, b| a.wrapping_add(*b)))
                    .collect(),
            ),
            Elements::Floats(v) => {
                Elements::Floats(v.chunks(group).map(|c| c.iter().sum()).collect())
            }
        }
    }

    /// One result a group, given to each of its members.
    fn votes(&self, vote: fn(&[bool]) -> i64) -> Elements {
        let flags: Vec<bool> = match self {
            Elements::Integers(v) => v.iter().map(|x| *x != 0).collect(),
            Elements::Floats(v) => v.iter().map(|x| *x != 0.0).collect(),
        };
        let warps = flags.chunks(WARP);
        Elements::Integers(warps.flat_map(|w| vec![vote(w); w.len()]).collect())
    }
}

/// Threads of a warp.
const WARP: usize = 32;

fn scan(arguments: &Arguments<'_>, inclusive: bool) -> Option<Elements> {
    let data = arguments.buffer(0)?;
    let segment = match arguments.0.len() {
        1 => data.len().max(1),
        _ => arguments.positive(1)?,
    };
    Some(data.running_sums(segment, inclusive))
}

fn running<T: Copy + Default>(values: &[T], inclusive: bool, add: impl Fn(T, T) -> T) -> Vec<T> {
    let mut sum = T::default();
    let step = |value: &T| {
        let before = sum;
        sum = add(sum, *value);
        if inclusive { sum } else { before }
    };
    values.iter().map(step).collect()
}

/// The lane that each lane reads from in groups of `width`: its own where `source` is outside the group.
fn shuffled(
    data: &Elements,
    width: usize,
    source: impl Fn(usize) -> Option<usize>,
) -> Option<Elements> {
    let length = data.len();
    data.gather((0..length).map(|i| {
        let (group, lane) = (i / width * width, i % width);
        let from = source(lane).filter(|s| *s < width && group + s < length);
        group + from.unwrap_or(lane)
    }))
}

use Takes::{Buffer, Number as Size};

/// All named oracles.
pub const ALL: &[OracleFunction] = &[
    OracleFunction {
        name: "inclusive_scan",
        parameters: &[("data", Buffer), ("segment", Size)],
        optional: 1,
        summary: "the sum of each element and all before it (within segments of this length)",
        compute: |a| scan(a, true),
    },
    OracleFunction {
        name: "exclusive_scan",
        parameters: &[("data", Buffer), ("segment", Size)],
        optional: 1,
        summary: "the sum of all elements before each one (within segments of this length)",
        compute: |a| scan(a, false),
    },
    OracleFunction {
        name: "sum",
        parameters: &[("data", Buffer)],
        optional: 0,
        summary: "the sum of all elements, as one element",
        compute: |a| Some(a.buffer(0)?.sums(a.buffer(0)?.len().max(1))),
    },
    OracleFunction {
        name: "block_sums",
        parameters: &[("data", Buffer), ("block", Size)],
        optional: 0,
        summary: "the sum of every `block` elements",
        compute: |a| Some(a.buffer(0)?.sums(a.positive(1)?)),
    },
    OracleFunction {
        name: "histogram",
        parameters: &[("data", Buffer), ("bins", Size)],
        optional: 0,
        summary: "the number of occurrences of each value from 0 to bins - 1",
        compute: |a| {
            let Elements::Integers(data) = a.buffer(0)? else {
                return None;
            };
            let mut bins = vec![0; a.size(1)?];
            for value in data {
                *bins.get_mut(usize::try_from(*value).ok()?)? += 1;
            }
            Some(Elements::Integers(bins))
        },
    },
    OracleFunction {
        name: "transpose",
        parameters: &[("data", Buffer), ("rows", Size), ("columns", Size)],
        optional: 0,
        summary: "the transposed row-major matrix",
        compute: |a| {
            let (rows, columns) = (a.size(1)?, a.size(2)?);
            a.buffer(0)?
                .gather((0..rows * columns).map(|i| i % rows * columns + i / rows))
        },
    },
    OracleFunction {
        name: "matmul",
        parameters: &[
            ("a", Buffer),
            ("b", Buffer),
            ("m", Size),
            ("k", Size),
            ("n", Size),
        ],
        optional: 0,
        summary: "the product of row-major a (m × k) and b (k × n)",
        compute: |arguments| {
            let (m, k, n) = (arguments.size(2)?, arguments.size(3)?, arguments.size(4)?);
            let (a, b) = (arguments.buffer(0)?, arguments.buffer(1)?);
            if a.len() < m * k || b.len() < k * n {
                return None;
            }
            let pairs = |i: usize| (0..k).map(move |j| (i / n * k + j, j * n + i % n));
            Some(match (a, b) {
                (Elements::Integers(a), Elements::Integers(b)) => Elements::Integers(
                    (0..m * n)
                        .map(|i| {
                            pairs(i).fold(0i64, |sum, (x, y)| {
                                sum.wrapping_add(a[x].wrapping_mul(b[y]))
                            })
                        })
                        .collect(),
                ),
                (Elements::Floats(a), Elements::Floats(b)) => Elements::Floats(
                    (0..m * n)
                        .map(|i| pairs(i).map(|(x, y)| a[x] * b[y]).sum())
                        .collect(),
                ),
                _ => return None,
            })
        },
    },
    OracleFunction {
        name: "copy",
        parameters: &[("data", Buffer)],
        optional: 0,
        summary: "the same elements",
        compute: |a| a.buffer(0).cloned(),
    },
    OracleFunction {
        name: "reverse",
        parameters: &[("data", Buffer)],
        optional: 0,
        summary: "the elements in reverse order",
        compute: |a| a.buffer(0)?.gather((0..a.buffer(0)?.len()).rev()),
    },
    OracleFunction {
        name: "iota",
        parameters: &[("length", Size)],
        optional: 0,
        summary: "0, 1, 2 …",
        compute: |a| Some(Elements::Integers((0..a.number(0)?).collect())),
    },
    OracleFunction {
        name: "const",
        parameters: &[("value", Size), ("length", Size)],
        optional: 0,
        summary: "the same value everywhere",
        compute: |a| Some(Elements::Integers(vec![a.number(0)?; a.size(1)?])),
    },
    OracleFunction {
        name: "warp_any",
        parameters: &[("data", Buffer)],
        optional: 0,
        summary: "for each element, whether any of its 32 is not 0",
        compute: |a| Some(a.buffer(0)?.votes(|warp| warp.contains(&true).into())),
    },
    OracleFunction {
        name: "warp_all",
        parameters: &[("data", Buffer)],
        optional: 0,
        summary: "for each element, whether none of its 32 is 0",
        compute: |a| Some(a.buffer(0)?.votes(|warp| (!warp.contains(&false)).into())),
    },
    OracleFunction {
        name: "warp_ballot",
        parameters: &[("data", Buffer)],
        optional: 0,
        summary: "for each element, a bit for each of its 32 that is not 0",
        compute: |a| {
            Some(a.buffer(0)?.votes(|warp| {
                warp.iter()
                    .enumerate()
                    .map(|(lane, set)| i64::from(*set) << lane)
                    .sum()
            }))
        },
    },
    OracleFunction {
        name: "shuffle_up",
        parameters: &[("data", Buffer), ("delta", Size), ("width", Size)],
        optional: 0,
        summary: "the element `delta` to the left in its group of `width`, or itself",
        compute: |a| {
            let (delta, width) = (a.size(1)?, a.positive(2)?);
            shuffled(a.buffer(0)?, width, |lane| lane.checked_sub(delta))
        },
    },
    OracleFunction {
        name: "shuffle_down",
        parameters: &[("data", Buffer), ("delta", Size), ("width", Size)],
        optional: 0,
        summary: "the element `delta` to the right in its group of `width`, or itself",
        compute: |a| {
            let (delta, width) = (a.size(1)?, a.positive(2)?);
            shuffled(a.buffer(0)?, width, |lane| lane.checked_add(delta))
        },
    },
    OracleFunction {
        name: "broadcast",
        parameters: &[("data", Buffer), ("lane", Size), ("width", Size)],
        optional: 0,
        summary: "the element of `lane` in its group of `width`",
        compute: |a| {
            let (lane, width) = (a.size(1)?, a.positive(2)?);
            shuffled(a.buffer(0)?, width, |_| Some(lane % width))
        },
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use session::buffer::ElementType;

    fn integers(name: &str, given: &[Given]) -> Vec<i64> {
        match find(name).unwrap().compute(given) {
            Some(Elements::Integers(v)) => v,
            other => panic!("{name}: {other:?}"),
        }
    }

    fn data(values: &[i64]) -> Given {
        Given::Buffer(Elements::Integers(values.to_vec()))
    }

    #[test]
    fn scans_and_sums() {
        let d = data(&[3, 1, 4, 1, 5]);
        assert_eq!(
            integers("inclusive_scan", std::slice::from_ref(&d)),
            [3, 4, 8, 9, 14]
        );
        assert_eq!(
            integers("exclusive_scan", std::slice::from_ref(&d)),
            [0, 3, 4, 8, 9]
        );
        assert_eq!(integers("sum", std::slice::from_ref(&d)), [14]);
        assert_eq!(
            integers("block_sums", &[d.clone(), Given::Number(2)]),
            [4, 5, 5]
        );
        assert_eq!(
            integers("inclusive_scan", &[d.clone(), Given::Number(2)]),
            [3, 4, 4, 5, 5]
        );
        assert_eq!(integers("reverse", &[d]), [5, 1, 4, 1, 3]);
        let floats = Given::Buffer(Elements::Floats(vec![0.5, 1.5]));
        let sum = find("sum").unwrap().compute(&[floats]);
        assert_eq!(sum, Some(Elements::Floats(vec![2.0])));
    }

    #[test]
    fn matrices() {
        let a = data(&[1, 2, 3, 4, 5, 6]);
        let size = Given::Number;
        assert_eq!(
            integers("transpose", &[a.clone(), size(2), size(3)]),
            [1, 4, 2, 5, 3, 6]
        );
        let b = data(&[1, 0, 0, 1, 1, 1]);
        let product = integers("matmul", &[a, b, size(2), size(3), size(2)]);
        assert_eq!(product, [4, 5, 10, 11]);
        let short =
            find("matmul")
                .unwrap()
                .compute(&[data(&[1]), data(&[1]), size(2), size(1), size(2)]);
        assert_eq!(short, None);
    }

    #[test]
    fn histograms() {
        assert_eq!(
            integers("histogram", &[data(&[0, 2, 2]), Given::Number(3)]),
            [1, 0, 2]
        );
        assert_eq!(
            find("histogram")
                .unwrap()
                .compute(&[data(&[3]), Given::Number(3)]),
            None
        );
        assert_eq!(
            find("histogram")
                .unwrap()
                .compute(&[data(&[-1]), Given::Number(3)]),
            None
        );
    }

    #[test]
    fn warps() {
        let mut flags = [0; 40];
        flags[12] = 7;
        let all: Vec<_> = integers("warp_ballot", &[data(&flags)]);
        assert_eq!((all[0], all[31], all[32]), (1 << 12, 1 << 12, 0));
        assert_eq!(integers("warp_any", &[data(&flags)])[31..33], [1, 0]);
        assert_eq!(integers("warp_all", &[data(&[1, 1])]), [1, 1]);
        let d = data(&[10, 11, 12, 13]);
        let two = || Given::Number(2);
        let one = || Given::Number(1);
        assert_eq!(
            integers("shuffle_up", &[d.clone(), one(), two()]),
            [10, 10, 12, 12]
        );
        assert_eq!(
            integers("shuffle_down", &[d.clone(), one(), two()]),
            [11, 11, 13, 13]
        );
        assert_eq!(integers("broadcast", &[d, one(), two()]), [11, 11, 13, 13]);
    }

    #[test]
    fn bytes() {
        let values = Elements::Integers(vec![-1, 300]);
        assert_eq!(values.to_bytes(ElementType::U8), [255, 44]);
        let bytes = values.to_bytes(ElementType::I32);
        assert_eq!(Elements::from_bytes(ElementType::I32, &bytes), values);
        let bytes = values.to_bytes(ElementType::F32);
        assert_eq!(
            Elements::from_bytes(ElementType::F32, &bytes),
            Elements::Floats(vec![-1.0, 300.0])
        );
    }
}

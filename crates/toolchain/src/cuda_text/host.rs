//! Launches in host code: their geometry, and what they pass, with the sizes and contents of the buffers.
//!
//! The text is read, not run: a value counts where it follows from constants and from variables that are set once ([`function`]).
//! What a buffer holds is read from `cudaMemset`, from `cudaMemcpy` and how the host array was filled, or from the assignments to
//! managed memory. A buffer that nothing mentions between its allocation and the launch is untouched. Everything else is unknown.
//!
//! [`function`]: super::function

use super::CudaText;
use super::expression::Number;
use super::function::Place;
use super::scan::{identifier, matching, split, window, words};

/// A launch in host code, as far as its text tells.
#[derive(Clone, Debug, PartialEq)]
pub struct HostLaunch {
    /// Line, from 1.
    pub line: u32,
    /// Blocks.
    pub grid: Option<[u32; 3]>,
    /// Threads of a block.
    pub block: Option<[u32; 3]>,
    /// Bytes of dynamic shared memory.
    pub shared: Option<u32>,
    /// Whether it is a cooperative launch.
    pub cooperative: bool,
    /// What is passed, in order.
    pub arguments: Vec<HostArgument>,
}

/// An argument of a launch in host code.
#[derive(Clone, Debug, PartialEq)]
pub enum HostArgument {
    /// The text does not tell.
    Unknown,
    /// An integer; the null pointer is 0.
    Integer(i64),
    /// A floating-point number.
    Float(f64),
    /// A buffer.
    Buffer(HostBuffer),
    /// The buffer that an earlier argument is.
    Same(usize),
}

/// A buffer of device memory.
#[derive(Clone, Debug, PartialEq)]
pub struct HostBuffer {
    /// Its size.
    pub bytes: u64,
    /// What it holds.
    pub content: Content,
    /// Line of its allocation, from 1.
    pub line: u32,
}

/// What a buffer holds when the kernel starts.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Something.
    Unknown,
    /// Nothing has been written.
    Untouched,
    /// One byte, everywhere.
    Bytes(u8),
    /// One integer, everywhere.
    Integer(i64),
    /// One floating-point number, everywhere.
    Float(f64),
    /// 0, 1, 2, …
    Iota,
    /// Integers between these, both included.
    Range(i64, i64),
    /// Fractions between 0 and 1.
    Fractions,
    /// These numbers, as written, and zeros.
    List(Vec<String>),
}

/// Texts that are longer are no programs of somebody who wants to know about one kernel.
const LONGEST: usize = 1 << 20;
/// Places where a kernel is named that are looked at, and bytes of a launch.
const MENTIONS: usize = 1000;
const LAUNCH: usize = 4096;
/// Launches that are read.
const LAUNCHES: usize = 16;

impl CudaText {
    /// The launches of the kernel `name`, in the order of the text. `shrink` makes large problems smaller: what a definition
    /// beyond 4,095 is divided by, as a power of two.
    pub fn launches(&self, name: &str, shrink: u32) -> Vec<HostLaunch> {
        if self.text.len() > LONGEST {
            return Vec::new();
        }
        let direct = words(&self.text, name).take(MENTIONS).filter_map(|at| {
            let mut rest = window(&self.text[at + name.len()..], LAUNCH).trim_start();
            if rest.starts_with('<') && !rest.starts_with("<<<") {
                let close = rest.find("<<<")?;
                rest = rest[..close]
                    .trim_end()
                    .ends_with('>')
                    .then(|| &rest[close..])?;
            }
            let rest = rest.strip_prefix("<<<")?;
            let close = rest.find(">>>")?;
            let behind = rest[close + 3..].trim_start().strip_prefix('(')?;
            let inside = &behind[..matching(behind, '(', ')')?];
            let passed = match inside.trim() {
                "" => Vec::new(),
                _ => split(inside),
            };
            Some(self.launch(at, &split(&rest[..close]), &passed, false))
        });
        let through = words(&self.text, "cudaLaunchKernel")
            .map(|at| (at, false))
            .chain(words(&self.text, "cudaLaunchCooperativeKernel").map(|at| (at, true)));
        let through = through.take(MENTIONS).filter_map(|(at, cooperative)| {
            let rest = window(&self.text[at..], LAUNCH);
            let rest = &rest[rest.find('(')? + 1..];
            let parts = split(&rest[..matching(rest, '(', ')')?]);
            words(parts.first()?, name).next()?;
            let array = strip_casts(parts.get(3)?);
            let passed = self.pointers(at, array)?;
            let passed: Vec<&str> = passed.iter().map(String::as_str).collect();
            let geometry: Vec<&str> = [parts.get(1), parts.get(2), parts.get(4)]
                .into_iter()
                .flatten()
                .copied()
                .collect();
            Some(self.launch(at, &geometry, &passed, cooperative))
        });
        let mut all: Vec<HostLaunch> = direct
            .chain(through)
            .take(LAUNCHES)
            .map(|launch| self.read(&launch, shrink))
            .collect();
        all.sort_by_key(|launch| launch.line);
        all
    }

    fn launch<'a>(
        &self,
        at: usize,
        geometry: &[&'a str],
        passed: &[&'a str],
        cooperative: bool,
    ) -> Written {
        let owned = |all: &[&str]| all.iter().map(|s| s.trim().to_owned()).collect();
        Written {
            at,
            geometry: owned(geometry),
            passed: owned(passed),
            cooperative,
        }
    }

    /// `void *args[] = {&a, &n};`
    fn pointers(&self, at: usize, array: &str) -> Option<Vec<String>> {
        let start = self.place(at).map(|p| self.before(p))?;
        let declared = words(start, array).find_map(|at| {
            let rest = start[at + array.len()..].trim_start().strip_prefix('[')?;
            let rest = rest[rest.find(']')? + 1..].trim_start().strip_prefix('=')?;
            let rest = rest.trim_start().strip_prefix('{')?;
            Some(&rest[..matching(rest, '{', '}')?])
        })?;
        let one = |part: &str| Some(strip_casts(part).strip_prefix('&')?.trim().to_owned());
        split(declared).into_iter().map(one).collect()
    }

    fn read(&self, launch: &Written, shrink: u32) -> HostLaunch {
        let place = self.place(launch.at);
        let part = |index: usize| launch.geometry.get(index).map(String::as_str);
        let mut arguments: Vec<HostArgument> = Vec::new();
        for (index, passed) in launch.passed.iter().enumerate() {
            let earlier = launch.passed[..index].iter().position(|p| p == passed);
            arguments.push(match (earlier, self.argument(passed, place, shrink)) {
                (Some(first), HostArgument::Buffer(_)) => HostArgument::Same(first),
                (_, argument) => argument,
            });
        }
        HostLaunch {
            line: self.line_of(launch.at),
            grid: part(0).and_then(|e| self.dim3(e, place, shrink)),
            block: part(1).and_then(|e| self.dim3(e, place, shrink)),
            shared: match part(2) {
                Some(bytes) => self
                    .number(bytes, place, shrink)
                    .and_then(|n| n.integer().try_into().ok()),
                None => Some(0),
            },
            cooperative: launch.cooperative,
            arguments,
        }
    }

    fn argument(&self, written: &str, place: Option<Place>, shrink: u32) -> HostArgument {
        if let Some(buffer) = place.and_then(|place| self.buffer(written, place, shrink)) {
            return HostArgument::Buffer(buffer);
        }
        match self.number(written, place, shrink) {
            Some(Number::Integer(value)) => HostArgument::Integer(value),
            Some(Number::Float(value)) => HostArgument::Float(value),
            None => HostArgument::Unknown,
        }
    }

    /// A `dim3` expression: `n`, `dim3(x, y)`, `{x, y}`, or a variable initialised so.
    pub(super) fn dim3(
        &self,
        expression: &str,
        place: Option<Place>,
        shrink: u32,
    ) -> Option<[u32; 3]> {
        let expression = expression.trim();
        let list = expression
            .strip_prefix("dim3")
            .unwrap_or(expression)
            .trim_start();
        let list = list
            .strip_prefix(['(', '{'])
            .and_then(|l| l.strip_suffix([')', '}']));
        // `(n + 1) / (m)` begins and ends so as well.
        if let Some(inside) = list.filter(|l| matching(l, '(', ')').is_none()) {
            let mut out = [1; 3];
            let parts = split(inside);
            if parts.len() <= 3
                && out.iter_mut().zip(&parts).all(|(to, part)| {
                    match self.positive(part, place, shrink) {
                        Some(value) => {
                            *to = value;
                            true
                        }
                        None => false,
                    }
                })
            {
                return Some(out);
            }
        }
        if let Some(x) = self.positive(expression, place, shrink) {
            return Some([x, 1, 1]);
        }
        if identifier(expression) != expression {
            return None;
        }
        let before = match place {
            Some(place) => self.before(place),
            None => &self.text,
        };
        let declared = words(before, expression).find_map(|at| {
            let head = before[..at].trim_end();
            if !head.ends_with("dim3") && !head.ends_with(',') {
                return None;
            }
            let rest = before[at + expression.len()..].trim_start();
            let rest = rest.strip_prefix('=').unwrap_or(rest).trim_start();
            let open = rest.chars().next().filter(|c| "({d".contains(*c))?;
            let upto = match open {
                'd' => rest.find(';')?,
                '(' => 2 + matching(&rest[1..], '(', ')')?,
                _ => 2 + matching(&rest[1..], '{', '}')?,
            };
            self.dim3(&rest[..upto], place, shrink)
        });
        let declared = declared.or_else(|| self.members(expression, place?, shrink));
        // A parameter: what the caller passes.
        declared.or_else(|| {
            let super::function::Variable::Is(value, caller) = self.variable_at(place?, expression)
            else {
                return None;
            };
            (value != expression)
                .then(|| self.dim3(&value, Some(caller), shrink))
                .flatten()
        })
    }

    /// `block.x = 256; block.y = 1;`, here, or, where that is nowhere here, in another function.
    fn members(&self, name: &str, place: Place, shrink: u32) -> Option<[u32; 3]> {
        let deeper = place.deeper()?;
        let assigned = |at: usize| {
            let rest = window(&self.text[at + name.len()..], LAUNCH).trim_start();
            let rest = rest.strip_prefix('.')?.trim_start();
            let axis = ["x", "y", "z"]
                .iter()
                .position(|a| *a == identifier(rest))?;
            let value = rest[1..].trim_start().strip_prefix('=')?;
            let value = &value[..value.find(';')?];
            (!value.starts_with('=')).then_some((axis, at, value))
        };
        let all = words(&self.text, name).take(MENTIONS).filter_map(assigned);
        let all: Vec<(usize, usize, &str)> = all.collect();
        let here = |at: usize| self.place(at).is_some_and(|p| p.function == place.function);
        let local = all.iter().any(|(_, at, _)| here(*at));
        let mut out = [None, Some(1), Some(1)];
        let mut seen = [false; 3];
        for (axis, at, value) in all {
            if local && (!here(at) || at >= place.at) {
                continue;
            }
            if std::mem::replace(&mut seen[axis], true) {
                return None;
            }
            let there = Place {
                callers: deeper.callers,
                ..self.place(at)?
            };
            out[axis] = self.positive(value, Some(there), shrink);
        }
        let [Some(x), Some(y), Some(z)] = out else {
            return None;
        };
        Some([x, y, z])
    }

    fn positive(&self, expression: &str, place: Option<Place>, shrink: u32) -> Option<u32> {
        let value = self.number(expression, place, shrink)?.integer();
        u32::try_from(value).ok().filter(|v| *v > 0)
    }
}

/// A launch as it is written.
struct Written {
    at: usize,
    geometry: Vec<String>,
    passed: Vec<String>,
    cooperative: bool,
}

/// An expression without the casts and brackets around it.
pub(super) fn strip_casts(expression: &str) -> &str {
    let mut rest = expression.trim();
    loop {
        let before = rest;
        for cast in ["reinterpret_cast", "static_cast", "const_cast"] {
            if let Some(inner) = rest.strip_prefix(cast)
                && let Some(close) = inner.find(">(").or_else(|| inner.find("> ("))
            {
                let inner = inner[close + 1..].trim_start();
                rest = inner[1..].strip_suffix(')').unwrap_or(rest).trim();
            }
        }
        if let Some(inner) = rest.strip_prefix('(')
            && let Some(close) = matching(inner, '(', ')')
        {
            let (inside, behind) = (inner[..close].trim(), inner[close + 1..].trim());
            if behind.is_empty() {
                rest = inside;
            } else if inside.ends_with('*') && !behind.starts_with(['*', '/', '+', '-', '%']) {
                rest = behind;
            }
        }
        if rest == before {
            return rest;
        }
    }
}

#[cfg(test)]
mod tests;

//! Launches in host code: their geometry, and what they pass, with the sizes and contents of the buffers.
//!
//! The text is read, not run: a value counts where it follows from constants and from variables that are set once ([`function`]).
//! What a buffer holds is read from `cudaMemset`, from `cudaMemcpy` and how the host array was filled, or from the assignments to
//! managed memory. A buffer that nothing mentions between its allocation and the launch is untouched. Everything else is unknown.
//!
//! [`function`]: super::function

use super::CudaText;
use super::function::Place;
use super::scan::{identifier, matching, split, window, words};
use super::unknown::{How, Number, Takes};

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
    /// Blocks of a cluster (`cudaLaunchAttributeClusterDimension`).
    pub cluster: Option<[u32; 3]>,
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
    /// So many bytes of other contents; nothing has been written behind them.
    Part(u64, Box<Content>),
}

/// Texts that are longer are no programs of somebody who wants to know about one kernel.
const LONGEST: usize = 1 << 20;
/// Places where a kernel is named that are looked at, and bytes of a launch.
const MENTIONS: usize = 1000;
const LAUNCH: usize = 4096;
/// Launches that are read.
const LAUNCHES: usize = 16;

impl CudaText {
    /// The launches of the kernel `name`, or of one instance of a template (`name<256>`), in the order of the text. `shrink` makes large problems smaller: what a definition
    /// beyond 4,095 is divided by, as a power of two.
    pub fn launches(&self, name: &str, shrink: u32) -> Vec<HostLaunch> {
        let all = self.written(name);
        let all = all.iter();
        all.map(|launch| self.read(launch, How::shrunk(shrink), None).0)
            .collect()
    }

    /// The launches of the kernel `name` as they are written, in the order of the text.
    pub(super) fn written(&self, name: &str) -> Vec<Written> {
        if self.text.len() > LONGEST {
            return Vec::new();
        }
        // `k<256>` is one instance of a template.
        let (name, wanted) = name.split_once('<').unwrap_or((name, ""));
        let wanted = match wanted.strip_suffix('>') {
            Some(inside) => split(inside),
            None => Vec::new(),
        };
        let direct = words(&self.text, name).take(MENTIONS).filter_map(|at| {
            let mut rest = window(&self.text[at + name.len()..], LAUNCH).trim_start();
            if rest.starts_with('<') && !rest.starts_with("<<<") {
                let close = rest.find("<<<")?;
                let written = rest[1..close].trim_end().strip_suffix('>')?;
                self.may_be_template(written, &wanted).then_some(())?;
                rest = &rest[close..];
            }
            let (geometry, passed) = parts(rest)?;
            Some(self.launch(at, &geometry, &passed, false))
        });
        let through = ["cudaLaunchKernel", "cudaLaunchCooperativeKernel"];
        let through = through
            .iter()
            .flat_map(|function| words(&self.text, function).take(MENTIONS))
            .filter_map(|at| self.through_runtime(at, name));
        let extended = words(&self.text, "cudaLaunchKernelEx")
            .take(MENTIONS)
            .filter_map(|at| self.extended(at, name));
        let all = direct.chain(through).chain(extended);
        let all = all.chain(self.indirect(name));
        let all = all.chain(self.through_macros(name));
        let mut all: Vec<Written> = all.take(LAUNCHES).collect();
        all.sort_by_key(|launch| launch.at);
        all
    }

    /// `cudaLaunchKernel(kernel, grid, block, arguments, shared, stream)`, or the cooperative one.
    fn through_runtime(&self, at: usize, name: &str) -> Option<Written> {
        let function = identifier(&self.text[at..]);
        let rest = window(&self.text[at + function.len()..], LAUNCH).trim_start();
        let rest = match rest.strip_prefix('<') {
            Some(types) => types[types.find('>')? + 1..].trim_start(),
            None => rest,
        };
        let rest = rest.strip_prefix('(')?;
        let parts = split(&rest[..matching(rest, '(', ')')?]);
        self.names(at, parts.first()?, name).then_some(())?;
        let passed = self.pointers(at, strip_casts(parts.get(3)?))?;
        let passed: Vec<&str> = passed.iter().map(String::as_str).collect();
        let geometry = [parts.get(1), parts.get(2), parts.get(4)];
        let geometry: Vec<&str> = geometry.into_iter().flatten().copied().collect();
        let cooperative = function == "cudaLaunchCooperativeKernel";
        Some(self.launch(at, &geometry, &passed, cooperative))
    }

    /// `cudaLaunchKernelEx(&config, kernel, arguments…)`, with the members of `config` set one by one.
    fn extended(&self, at: usize, name: &str) -> Option<Written> {
        let rest = window(&self.text[at..], LAUNCH);
        let rest = &rest[rest.find('(')? + 1..];
        let parts = split(&rest[..matching(rest, '(', ')')?]);
        self.names(at, parts.get(1)?, name).then_some(())?;
        let config = strip_casts(parts.first()?).strip_prefix('&')?.trim();
        let before = self.place(at).map(|place| self.before(place))?;
        let member = |wanted: &str| {
            let set = words(before, config).filter_map(|at| {
                let rest = window(&before[at + config.len()..], LAUNCH).trim_start();
                let rest = rest.strip_prefix('.')?.trim_start();
                let value = rest.strip_prefix(wanted)?.trim_start().strip_prefix('=')?;
                Some(value[..value.find(';')?].trim())
            });
            set.last()
        };
        // `cudaLaunchConfig_t config = {grid, block, shared, stream};`
        let listed = words(before, config).find_map(|at| {
            let rest = before[at + config.len()..].trim_start();
            let rest = rest.strip_prefix('=').unwrap_or(rest).trim_start();
            let inside = rest.strip_prefix('{')?;
            Some(split(&inside[..matching(inside, '{', '}')?]))
        });
        let listed = listed.unwrap_or_default();
        let listed = |index: usize| {
            let one = listed.get(index).map(|part| part.trim());
            one.filter(|part| !part.is_empty() && !part.starts_with('.'))
        };
        let grid = member("gridDim").or(listed(0)).unwrap_or_default();
        let block = member("blockDim").or(listed(1)).unwrap_or_default();
        let shared = member("dynamicSmemBytes").or(listed(2)).unwrap_or("0");
        let cooperative = before.contains("cudaLaunchAttributeCooperative");
        // `attribute.val.clusterDim.x = 2;`
        let axis = |axis: &str| {
            let name = format!("clusterDim.{axis}");
            let rest = &before[before.rfind(&name)? + name.len()..];
            let value = rest.trim_start().strip_prefix('=')?;
            let value = value[..value.find(';')?].trim();
            self.positive(value, self.place(at), How::default())
        };
        let cluster = axis("x").map(|x| [x, axis("y").unwrap_or(1), axis("z").unwrap_or(1)]);
        let launch = self.launch(at, &[grid, block, shared], &parts[2..], cooperative);
        Some(Written { cluster, ..launch })
    }

    /// Whether an expression is the kernel `name`, or a variable that is set to it.
    fn names(&self, at: usize, expression: &str, name: &str) -> bool {
        if words(expression, name).next().is_some() {
            return true;
        }
        let variable = strip_casts(expression);
        let place = self.place(at).filter(|_| identifier(variable) == variable);
        let value = place.map(|place| self.variable_at(place, variable));
        matches!(value, Some(super::function::Variable::Is(value, _)) if words(&value, name).next().is_some())
    }

    pub(super) fn launch<'a>(
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
            cluster: None,
            via: None,
        }
    }

    /// `void *args[] = {&a, &n};`, or the elements set one by one.
    fn pointers(&self, at: usize, array: &str) -> Option<Vec<String>> {
        let start = self.place(at).map(|p| self.before(p))?;
        let one = |part: &str| Some(strip_casts(part).strip_prefix('&')?.trim().to_owned());
        if let Some(inside) = array.strip_prefix('{').and_then(|a| a.strip_suffix('}')) {
            return split(inside).into_iter().map(one).collect();
        }
        let declared = words(start, array).find_map(|at| {
            let rest = start[at + array.len()..].trim_start().strip_prefix('[')?;
            let rest = rest[rest.find(']')? + 1..].trim_start().strip_prefix('=')?;
            let rest = rest.trim_start().strip_prefix('{')?;
            Some(&rest[..matching(rest, '{', '}')?])
        });
        if let Some(declared) = declared {
            let parts = split(declared).into_iter();
            return parts.filter(|p| !p.trim().is_empty()).map(one).collect();
        }
        let mut elements: Vec<(usize, String)> = Vec::new();
        for at in words(start, array).take(MENTIONS) {
            let element = || {
                let rest = window(&start[at + array.len()..], LAUNCH).trim_start();
                let rest = rest.strip_prefix('[')?;
                let close = rest.find(']')?;
                let value = rest[close + 1..].trim_start().strip_prefix('=')?;
                let value = one(&value[..value.find(';')?])?;
                Some((usize::try_from(self.evaluate(&rest[..close])?).ok()?, value))
            };
            elements.extend(element());
        }
        elements.sort();
        let whole = elements
            .iter()
            .enumerate()
            .all(|(at, (index, _))| at == *index);
        (whole && !elements.is_empty()).then(|| elements.into_iter().map(|(_, e)| e).collect())
    }

    /// Reads a launch; and how many variables are missing for the block.
    pub(super) fn read(
        &self,
        launch: &Written,
        how: How<'_>,
        takes: Option<&[Takes]>,
    ) -> (HostLaunch, usize) {
        let place = launch.place(self);
        let part = |index: usize| launch.geometry.get(index).map(String::as_str);
        let block = part(1).and_then(|e| self.dim3(e, place, how));
        let of_block = how.missing.map_or(0, |missing| missing.borrow().len());
        let grid = part(0).and_then(|e| self.dim3(e, place, how));
        let shared = match part(2) {
            Some(bytes) => self
                .number(bytes, place, how)
                .and_then(|n| n.integer().try_into().ok()),
            None => Some(0),
        };
        let mut arguments: Vec<HostArgument> = Vec::new();
        for (index, passed) in launch.passed.iter().enumerate() {
            let earlier = launch.passed[..index].iter().position(|p| p == passed);
            let takes = takes.and_then(|t| t.get(index)).copied();
            arguments.push(match (earlier, self.argument(passed, place, how, takes)) {
                (Some(first), HostArgument::Buffer(_)) => HostArgument::Same(first),
                (_, argument) => argument,
            });
        }
        let launch = HostLaunch {
            line: self.line_of(launch.at),
            grid,
            block,
            shared,
            cooperative: launch.cooperative,
            cluster: launch.cluster,
            arguments,
        };
        (launch, of_block)
    }

    fn argument(
        &self,
        written: &str,
        place: Option<Place>,
        how: How<'_>,
        takes: Option<Takes>,
    ) -> HostArgument {
        if !matches!(takes, Some(Takes::Integer | Takes::Other))
            && let Some(buffer) = place.and_then(|place| self.buffer(written, place, how))
        {
            return HostArgument::Buffer(buffer);
        }
        let how = match takes {
            None | Some(Takes::Integer) => how,
            // What is missing for a pointer is no number.
            Some(Takes::Pointer | Takes::Other) => how.quiet(),
        };
        match self.number(written, place, how) {
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
        how: How<'_>,
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
                    match self.positive(part, place, how) {
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
            if expression.starts_with("dim3") {
                return None;
            }
        }
        let alone = identifier(expression) == expression;
        // The name of a `dim3` is no number that is missing.
        let number = if alone { how.quiet() } else { how };
        if let Some(x) = self.positive(expression, place, number) {
            return Some([x, 1, 1]);
        }
        if !alone {
            return None;
        }
        let before = match place {
            Some(place) => self.before(place),
            None => &self.text,
        };
        let mut found = false;
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
            found = true;
            self.dim3(&rest[..upto], place, how)
        });
        if found && (declared.is_some() || how.assumed.is_some()) {
            return declared;
        }
        if let Some(members) = self.members(expression, place?, how) {
            return members;
        }
        // A parameter: what the caller passes.
        if let super::function::Variable::Is(value, caller) = self.variable_at(place?, expression) {
            let other = value != expression;
            return other.then(|| self.dim3(&value, Some(caller), how))?;
        }
        Some([self.positive(expression, place, how)?, 1, 1])
    }

    /// `block.x = 256; block.y = 1;`, here, or, where that is nowhere here, in another function.
    /// `None` where there are no such assignments.
    fn members(&self, name: &str, place: Place, how: How<'_>) -> Option<Option<[u32; 3]>> {
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
        if all.is_empty() {
            return None;
        }
        let here = |at: usize| self.place(at).is_some_and(|p| p.function == place.function);
        let local = all.iter().any(|(_, at, _)| here(*at));
        let mut out = [None, Some(1), Some(1)];
        let mut seen = [false; 3];
        for (axis, at, value) in all {
            if local && (!here(at) || at >= place.at) {
                continue;
            }
            if std::mem::replace(&mut seen[axis], true) {
                return Some(None);
            }
            let Some(there) = self.place(at) else {
                return Some(None);
            };
            let there = Place {
                callers: deeper.callers,
                ..there
            };
            out[axis] = self.positive(value, Some(there), how);
        }
        let [Some(x), Some(y), Some(z)] = out else {
            return Some(None);
        };
        Some(Some([x, y, z]))
    }

    fn positive(&self, expression: &str, place: Option<Place>, how: How<'_>) -> Option<u32> {
        let value = self.number(expression, place, how)?.integer();
        u32::try_from(value).ok().filter(|v| *v > 0)
    }
}

/// A launch as it is written.
pub(super) struct Written {
    pub(super) at: usize,
    geometry: Vec<String>,
    pub(super) passed: Vec<String>,
    cooperative: bool,
    cluster: Option<[u32; 3]>,
    /// The call of the function around it that passes the kernel, where one does.
    pub(super) via: Option<usize>,
}

impl Written {
    /// Where it stands.
    pub(super) fn place(&self, text: &CudaText) -> Option<Place> {
        let place = text.place(self.at)?;
        Some(Place {
            via: self.via,
            ..place
        })
    }
}

/// Geometry and arguments of `<<<grid, block>>>(a, b)`.
pub(super) fn parts(text: &str) -> Option<(Vec<&str>, Vec<&str>)> {
    let rest = window(text, LAUNCH).strip_prefix("<<<")?;
    let close = rest.find(">>>")?;
    let behind = rest[close + 3..].trim_start().strip_prefix('(')?;
    let inside = &behind[..matching(behind, '(', ')')?];
    let passed = match inside.trim() {
        "" => Vec::new(),
        _ => split(inside),
    };
    Some((split(&rest[..close]), passed))
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

//! A second kernel, launched directly behind the first one: in stream order, or as a launch that depends on it programmatically.
//!
//! Both are run as one hypothesis. Its plan holds the parameters of both: those of the second kernel come behind the first one's in one parameter
//! block, which is cut in two for the launches. A parameter of the second kernel that has the name and size of one of the first is passed the same value, unless
//! `--arg KERNEL.NAME=…` says otherwise; so both work on the same buffers. Others are guessed as the first kernel's are. Where nothing is
//! said of the second launch it has the shape of the first one.
//!
//! Blind spots: guesses look at the first kernel alone, and so does what a clean verdict says it has not reached.

use super::argument::Value;
use super::error::{Error, ErrorKind};
use super::geometry::Geometry;
use super::parameters::{Parameter, Parameters};
use super::plan::{Origin, Plan, Planned};
use super::request::Then;
use super::shape;
use simt::{Dim3, Launch, Program};

/// Where the block of the second kernel begins: a multiple of the alignment of anything that is passed.
const ALIGNMENT: u32 = 128;

/// The second kernel, ready to run.
#[derive(Debug)]
pub struct Second {
    /// What was asked.
    pub then: Then,
    /// Its mangled name.
    pub entry: String,
    /// Its code in each build.
    pub programs: Vec<Program>,
}

impl Second {
    /// Grid and block, behind a launch of that shape.
    pub(super) fn shape(&self, (grid, block): (Dim3, Dim3)) -> (Dim3, Dim3) {
        (
            self.then.grid.unwrap_or(grid),
            self.then.block.unwrap_or(block),
        )
    }

    /// Its launch behind that of the first kernel.
    pub(super) fn launch(&self, geometry: &Geometry, shared: u32, params: Vec<u8>) -> Launch {
        let (grid, block) = self.shape((geometry.grid, geometry.block));
        Launch {
            grid,
            block,
            dynamic_shared: self.then.shared.unwrap_or(shared),
            params,
            cooperative: false,
            number: 1,
            cluster: None,
        }
    }
}

/// The parameters of both kernels, where the second one's block begins, and those of it that are passed what the first kernel is.
pub(super) fn joined(
    first: Parameters,
    second: Parameters,
    name: &str,
) -> (Parameters, u32, Vec<(usize, String)>) {
    let start = first.bytes().next_multiple_of(ALIGNMENT);
    let own = first.0.len();
    let mut all = first;
    let mut same = Vec::new();
    for (index, parameter) in second.0.iter().enumerate() {
        let of_first = &all.0[..own];
        let namesake = of_first
            .iter()
            .find(|one| one.name.is_some() && one.name == parameter.name);
        let alike = |one: &Parameter| one.bytes == parameter.bytes && is_word(one);
        if let (Some(alike), Some(label)) = (namesake.map(alike), &parameter.name)
            && alike
            && is_word(parameter)
        {
            same.push((all.0.len(), label.clone()));
        }
        let label = match (&parameter.name, namesake) {
            (Some(label), None) => label.clone(),
            _ => format!("{name}.{}", second.label(index)),
        };
        all.0.push(Parameter {
            name: Some(label),
            offset: start + parameter.offset,
            ..parameter.clone()
        });
    }
    (all, start, same)
}

/// Whether a parameter is a number or an address.
fn is_word(parameter: &Parameter) -> bool {
    !parameter.by_value && parameter.bytes <= 8
}

/// Passes the second kernel what the first one is passed, where nothing else was given.
pub(super) fn mirror(plan: &mut Plan, same: Vec<(usize, String)>) {
    for (index, name) in same {
        let planned = &mut plan.values[index];
        if planned.origin == Origin::Guessed {
            *planned = Planned {
                value: Value::Same(name),
                origin: Origin::Guessed,
            };
        }
    }
}

/// Reads `NAME`, `NAME<<<GRID,BLOCK>>>` or `NAME<<<GRID,BLOCK,SHARED>>>`, where a size of several dimensions is written `(X,Y)` or `(X,Y,Z)`.
///
/// # Errors
///
/// What is wrong with it.
pub fn parse(text: &str, dependent: bool) -> Result<Then, Error> {
    let wrong = |what: &str| {
        Error::new(ErrorKind::Launch, format!("`--then {text}`: {what}"))
            .help("write `--then NAME`, or `--then 'NAME<<<4,128>>>'` with blocks, threads and, if need be, bytes of dynamic shared memory")
    };
    let Some((name, rest)) = text.split_once("<<<") else {
        return match text.trim() {
            "" => Err(wrong("the kernel's name is missing")),
            name => Ok(Then {
                entry: name.to_owned(),
                grid: None,
                block: None,
                shared: None,
                dependent,
            }),
        };
    };
    let inside = rest.trim().strip_suffix(">>>");
    let inside = inside.ok_or_else(|| wrong("`>>>` is missing at the end"))?;
    let mut parts: Vec<String> = vec![String::new()];
    let mut depth = 0;
    for c in inside.chars() {
        match (c, parts.last_mut()) {
            ('(', _) => depth += 1,
            (')', _) => depth -= 1,
            (',', _) if depth == 0 => parts.push(String::new()),
            (c, Some(part)) => part.push(c),
            _ => {}
        }
    }
    let [grid, block, shared @ ..] = &parts[..] else {
        return Err(wrong("grid and block are missing between `<<<` and `>>>`"));
    };
    let size = |text: &String| shape::parse(text.trim()).map_err(|what| wrong(&what.to_string()));
    Ok(Then {
        entry: name.trim().to_owned(),
        grid: Some(size(grid)?),
        block: Some(size(block)?),
        shared: match shared {
            [] => None,
            [bytes] => Some(
                bytes
                    .trim()
                    .parse()
                    .map_err(|_| wrong("the bytes of shared memory are no number"))?,
            ),
            _ => {
                return Err(wrong(
                    "there are more than three parts between `<<<` and `>>>`",
                ));
            }
        },
        dependent,
    })
}

impl Then {
    /// As the command line takes it.
    pub fn words(&self) -> String {
        let size = |size: Dim3| match size {
            Dim3 { x, y: 1, z: 1 } => x.to_string(),
            Dim3 { x, y, z } => format!("({x},{y},{z})"),
        };
        match (self.grid, self.block) {
            (Some(grid), Some(block)) => {
                let shared = self.shared.map(|bytes| format!(",{bytes}"));
                let shared = shared.unwrap_or_default();
                format!("{}<<<{},{}{shared}>>>", self.entry, size(grid), size(block))
            }
            _ => self.entry.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_are_read_and_written() {
        for text in ["k", "k<<<4,128>>>", "k<<<(2,3,1),(8,8,2),96>>>"] {
            assert_eq!(parse(text, true).unwrap().words(), text);
        }
        let launch = parse(" k<<< 4 , 128 , 64 >>> ", false).unwrap();
        assert_eq!(launch.words(), "k<<<4,128,64>>>");
        for text in [
            "",
            "k<<<4>>>",
            "k<<<4,128",
            "k<<<4,0>>>",
            "k<<<1,2,3,4>>>",
            "k<<<1,2,x>>>",
        ] {
            let error = parse(text, false).unwrap_err().failure.message;
            assert!(error.starts_with(&format!("`--then {text}`: ")), "{error}");
        }
    }

    /// What has the name and size of a parameter of the first kernel is passed the same.
    #[test]
    fn parameters_of_both_kernels_are_one_block() {
        let text = ".version 8.0\n.target sm_90\n.address_size 64\n\
            .visible .entry a(.param .u64 a0, .param .u32 a1) { ret; }\n\
            .visible .entry b(.param .u32 b0, .param .u64 b1, .param .u64 b2) { ret; }\n";
        let module = ptx::parse(text).unwrap();
        let named = |entry: &str, names: &[&str]| {
            let mut all = Parameters::of(&module, entry, None);
            for (parameter, name) in all.0.iter_mut().zip(names) {
                parameter.name = Some((*name).to_owned());
            }
            all
        };
        let (first, second) = (named("a", &["p", "n"]), named("b", &["n", "n2", "p"]));
        let (all, start, same) = joined(first, second, "b");
        assert_eq!(start, 128);
        let shown: Vec<_> = (0..5).map(|i| (all.label(i), all.0[i].offset)).collect();
        let label = |name: &str, offset| (name.to_owned(), offset);
        let expected = [
            label("p", 0),
            label("n", 8),
            label("b.n", 128),
            label("n2", 136),
            label("b.p", 144),
        ];
        assert_eq!(shown, expected);
        assert_eq!(same, [(2, "n".to_owned()), (4, "p".to_owned())]);
        // Names that are not known are not the same.
        let (all, _, same) = joined(named("a", &[]), named("b", &[]), "b");
        assert_eq!((all.label(2), same.len()), ("b.0".to_owned(), 0));
    }
}

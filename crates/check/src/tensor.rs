//! Tensor maps as arguments: a `const __grid_constant__ CUtensorMap` parameter, in the notation of `--arg`.
//!
//! ```text
//! map=tensor:f16[64,128]:box=64,64:swizzle=128B          64 rows of 128 numbers, moved in boxes of 64 by 64
//! map=tensor:f32[32,32]:box=8,32:zeros                   what the tensor holds, as of any buffer
//! map=tensor:f32[32,32]:box=8,32:of=data                 the buffer of the parameter `data`
//! map=tensor:f16[9,9,64]:box=3,3,64:step=2,2,1:fill=nan  every second element; NaN outside of the tensor
//! ```
//!
//! Dimensions stand in the order of a C array, the innermost last, and rows lie together, each on a multiple of 16 bytes.

use session::buffer::ElementType;
use session::fill::Fill;
use simt::tensor_map::{Arguments, Element, MapError, Swizzle, TensorMap};
use std::fmt;

/// A tensor, and the boxes in which it is moved.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorSpec {
    /// Type of its elements.
    pub element: Element,
    /// Elements along each dimension, the innermost last.
    pub dims: Vec<u64>,
    /// The box.
    pub extent: Vec<u32>,
    /// Every how many elements are moved.
    pub steps: Vec<u32>,
    /// How rows lie in shared memory.
    pub swizzle: Swizzle,
    /// Whether elements outside of the tensor are NaN.
    pub fills_nan: bool,
    /// What it holds.
    pub contents: Contents,
}

/// What a tensor holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Contents {
    /// A buffer of its own.
    Own(Fill),
    /// The buffer of another parameter.
    Of(String),
}

const TYPES: [(&str, Element); 13] = [
    ("u8", Element::U8),
    ("u16", Element::U16),
    ("u32", Element::U32),
    ("i32", Element::S32),
    ("u64", Element::U64),
    ("i64", Element::S64),
    ("f16", Element::F16),
    ("f32", Element::F32),
    ("f64", Element::F64),
    ("bf16", Element::Bf16),
    ("f32ftz", Element::F32Ftz),
    ("tf32", Element::Tf32),
    ("tf32ftz", Element::Tf32Ftz),
];

const SWIZZLES: [(&str, Swizzle); 4] = [
    ("none", Swizzle::None),
    ("32B", Swizzle::Bytes32),
    ("64B", Swizzle::Bytes64),
    ("128B", Swizzle::Bytes128),
];

/// What is wrong, as a sentence's beginning, and how it is written.
type Problem = (String, Option<String>);

const USE: &str = "write for example `tensor:f16[64,128]:box=64,64:swizzle=128B`";

fn problem(what: impl Into<String>) -> Problem {
    (what.into(), Some(USE.into()))
}

/// Reads what follows `tensor:`; `fill` reads what a buffer holds.
pub(super) fn parse(
    text: &str,
    fill: impl Fn(&str, ElementType) -> Result<Fill, Problem>,
) -> Result<TensorSpec, Problem> {
    let (name, rest) = text
        .split_once('[')
        .ok_or_else(|| problem("the tensor's dimensions are missing"))?;
    let element = TYPES.iter().find(|(known, _)| *known == name.trim());
    let (_, element) = element.ok_or_else(|| {
        let all: Vec<&str> = TYPES.iter().map(|(name, _)| *name).collect();
        let types = format!("the types are {}", all.join(", "));
        (
            format!("`{name}` is not a type of a tensor's elements"),
            Some(types),
        )
    })?;
    let (dims, mut rest) = rest
        .split_once(']')
        .ok_or_else(|| problem("`]` is missing"))?;
    let dims = numbers::<u64>(dims)?;
    let mut spec = TensorSpec {
        element: *element,
        extent: Vec::new(),
        steps: vec![1; dims.len()],
        dims,
        swizzle: Swizzle::None,
        fills_nan: false,
        contents: Contents::Own(Fill::Random(None)),
    };
    while let Some(part) = rest.strip_prefix(':') {
        let (here, next) = part.find(':').map_or((part, ""), |at| part.split_at(at));
        rest = next;
        match here.split_once('=') {
            Some(("box", list)) => spec.extent = numbers(list)?,
            Some(("step", list)) => spec.steps = numbers(list)?,
            Some(("swizzle", name)) => {
                let known = SWIZZLES.iter().find(|(known, _)| *known == name);
                let (_, swizzle) = known.ok_or_else(|| {
                    let what = format!("`{name}` is not a swizzle");
                    let all = "the swizzles are none, 32B, 64B and 128B".to_owned();
                    (what, Some(all))
                })?;
                spec.swizzle = *swizzle;
            }
            Some(("fill", "nan")) => spec.fills_nan = true,
            Some(("fill", "zero")) => spec.fills_nan = false,
            Some(("of", name)) => spec.contents = Contents::Of(name.trim().to_owned()),
            // What it holds is the last.
            _ => {
                spec.contents = Contents::Own(fill(part, spec.buffer_element())?);
                rest = "";
            }
        }
    }
    if !rest.is_empty() {
        return Err(problem(format!("unexpected `{rest}`")));
    }
    if spec.extent.is_empty() {
        return Err(problem("the box is missing"));
    }
    for (what, count) in [("box", spec.extent.len()), ("step", spec.steps.len())] {
        if count != spec.dims.len() {
            let noun = if count == 1 { "number" } else { "numbers" };
            return Err(problem(format!(
                "`{what}` has {count} {noun}, and the tensor has {} dimensions",
                spec.dims.len()
            )));
        }
    }
    match spec.map(0) {
        Ok(_) => Ok(spec),
        Err(error) => Err((error.to_string(), None)),
    }
}

fn numbers<N: std::str::FromStr>(list: &str) -> Result<Vec<N>, Problem> {
    let number = |part: &str| {
        let part = part.trim();
        part.parse()
            .map_err(|_| problem(format!("`{part}` is not a number")))
    };
    list.split(',').map(number).collect()
}

impl TensorSpec {
    /// The type as which a buffer holds the elements.
    fn buffer_element(&self) -> ElementType {
        match self.element {
            Element::U8 => ElementType::U8,
            Element::U16 | Element::F16 | Element::Bf16 => ElementType::U16,
            Element::U32 => ElementType::U32,
            Element::S32 => ElementType::I32,
            Element::U64 => ElementType::U64,
            Element::S64 => ElementType::I64,
            Element::F64 => ElementType::F64,
            _ => ElementType::F32,
        }
    }

    /// Bytes from one element to the next along each dimension, the innermost first.
    fn strides(&self) -> Vec<u64> {
        let mut stride = u64::from(self.element.bytes());
        let mut strides = vec![stride];
        for size in self.dims.iter().skip(1).rev() {
            stride = stride.saturating_mul(*size).saturating_add(15) / 16 * 16;
            strides.push(stride);
        }
        strides
    }

    /// Its memory, where that is its own: elements of which type, how many, and what they are.
    pub fn buffer(&self) -> Option<(ElementType, u64, &Fill)> {
        let Contents::Own(fill) = &self.contents else {
            return None;
        };
        let outer = self.strides().last().copied().unwrap_or(1);
        let outer = outer.saturating_mul(self.dims.first().copied().unwrap_or(1));
        let length = outer / u64::from(self.element.bytes());
        Some((self.buffer_element(), length, fill))
    }

    /// The tensor map, where the tensor lies at this address.
    ///
    /// # Errors
    ///
    /// What CUDA would refuse.
    pub fn map(&self, address: u64) -> Result<TensorMap, MapError> {
        let reversed = |numbers: &[u32]| -> Vec<u32> { numbers.iter().rev().copied().collect() };
        let dims: Vec<u64> = self.dims.iter().rev().copied().collect();
        let strides = self.strides();
        let arguments = Arguments {
            element: self.element as u32,
            rank: u32::try_from(self.dims.len()).unwrap_or(u32::MAX),
            address,
            dims: &dims,
            strides: strides.get(1..).unwrap_or_default(),
            steps: &reversed(&self.steps),
            interleave: 0,
            swizzle: self.swizzle as u32,
            l2_promotion: 0,
            fill: self.fills_nan.into(),
        };
        TensorMap::tile(&arguments, &reversed(&self.extent))
    }
}

impl fmt::Display for TensorSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn list<N: ToString>(numbers: &[N]) -> String {
            let all: Vec<String> = numbers.iter().map(N::to_string).collect();
            all.join(",")
        }
        let name = TYPES.iter().find(|(_, element)| *element == self.element);
        let name = name.map_or("", |(name, _)| name);
        write!(
            f,
            "tensor:{name}[{}]:box={}",
            list(&self.dims),
            list(&self.extent)
        )?;
        if self.steps.iter().any(|step| *step != 1) {
            write!(f, ":step={}", list(&self.steps))?;
        }
        if let Some((name, _)) = SWIZZLES
            .iter()
            .find(|(_, s)| *s == self.swizzle && *s != Swizzle::None)
        {
            write!(f, ":swizzle={name}")?;
        }
        if self.fills_nan {
            f.write_str(":fill=nan")?;
        }
        match &self.contents {
            Contents::Own(fill) => write!(f, ":{fill}"),
            Contents::Of(name) => write!(f, ":of={name}"),
        }
    }
}

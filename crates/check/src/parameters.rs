//! What is known of a kernel's parameters: names, types, which of them are pointers.
//!
//! Types come from the mangled name (which carries them), names from the CUDA
//! source; where both fail, PTX says the size, and how the value is used
//! says whether it is an address.

use super::argument::{Argument, Value};
use super::decides::Decides;
use super::error::{Error, ErrorKind};
use super::roles::{self, Index};
use super::usage::{Usage, Use};
use ptx::ast::{Item, Module, ScalarType};
use ptx::demangle;
use report::suggest;
use session::buffer::ElementType;
use toolchain::cuda_text::{CudaText, Takes, scalar_bytes};

/// What a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An address, of elements of this type where that is known.
    Pointer(Option<ElementType>),
    /// The address of addresses, each of elements of this type where that is known.
    Rows(Option<ElementType>),
    /// The address of a function.
    Function,
    /// A number.
    Scalar(ElementType),
    /// Bytes, by value.
    Struct,
}

/// A parameter of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name in the source, if known.
    pub name: Option<String>,
    /// What it takes.
    pub kind: Kind,
    /// Its type in the source's words, or PTX's.
    pub ty: String,
    /// Size in bytes.
    pub bytes: u32,
    /// Offset in the parameter block.
    pub offset: u32,
    /// Whether `bytes` of it are an array in PTX (passed by value).
    pub by_value: bool,
    /// How the kernel uses it, as a whole and part by part.
    pub usage: Use,
    /// The parts that the kernel reads by themselves, by the byte at which they begin.
    pub parts: Vec<(u32, Use)>,
    /// Whether it is an index, or the number of a step, and no size.
    pub index: Option<Index>,
    /// Whether it is an integer that the kernel never compares with its threads: callers pass what fits the launch.
    pub fits: bool,
}

impl Parameter {
    /// Whether its type says how many bytes an element has that it points at: those of `names_element`, and halves.
    pub(super) fn says_element(&self) -> bool {
        let at = self.ty.find(['*', '(', '[']).unwrap_or(0);
        self.names_element() || scalar_bytes(&bare(&self.ty[..at])) == Some(2)
    }

    /// Whether its type names the type of the elements that it points at: `float *`, and not `Node *`.
    pub(super) fn names_element(&self) -> bool {
        let at = self.ty.find(['*', '(', '[']).unwrap_or(0);
        named(&bare(&self.ty[..at])).is_some()
    }
}

/// Parameters of one kernel, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters(pub Vec<Parameter>);

impl Parameters {
    /// Reads what is known of `entry` (mangled).
    pub fn of(module: &Module, entry: &str, source: Option<&CudaText>) -> Parameters {
        let Some(function) = module.items.iter().find_map(|item| match item {
            Item::Function(f) if f.name == entry && f.body.is_some() => Some(f),
            _ => None,
        }) else {
            return Parameters::default();
        };
        let count = function.params.len();
        let declared = source
            .and_then(|s| {
                s.parameters(
                    super::entry::plain(entry)
                        .rsplit("::")
                        .next()?
                        .split('<')
                        .next()?,
                )
            })
            .filter(|all| all.len() == count);
        let mangled = mangled_types(entry).filter(|all| all.len() == count);
        let usage = Usage::of(function);
        let decides = Decides::of(function);
        let roles = roles::roles(function);
        let mut offset = 0u32;
        let mut all = Vec::new();
        for (index, param) in function.params.iter().enumerate() {
            let element = scalar_type_bytes(param.ty) * param.vector.unwrap_or(1);
            let elements: u64 = param.dims.iter().map(|d| d.unwrap_or(0)).product();
            let bytes = u32::try_from(u64::from(element) * elements).unwrap_or(u32::MAX);
            let align = param.align.unwrap_or(element).max(1);
            offset = offset.next_multiple_of(align);
            let written = match (&mangled, &declared) {
                (Some(types), _) => Some(types[index].clone()),
                (None, Some(all)) if all[index].dims.is_empty() => Some(all[index].ty.clone()),
                // An array as a parameter is a pointer.
                (None, Some(all)) => Some(format!("{}*", all[index].ty)),
                (None, None) => None,
            };
            let by_value = !param.dims.is_empty();
            let used = Use {
                rows: decides.rows.contains(&(index, 0)),
                ..usage.parameter(index)
            };
            let pointer = param.pointer.is_some() || used.address;
            let kind = match &written {
                _ if by_value && !written.as_ref().is_some_and(|t| t.ends_with('*')) => {
                    Kind::Struct
                }
                // A name may say other types than the PTX has; what is passed has the PTX's size.
                Some(ty) => written_kind(ty, &used)
                    .filter(|_| bytes == 8)
                    .unwrap_or_else(|| Kind::Scalar(scalar(ty, param.ty, bytes))),
                None if used.points_at.is_some() && bytes == 8 => Kind::Rows(used.points_at),
                None if pointer && bytes == 8 => Kind::Pointer(used.element),
                None if used.float && bytes == 4 => Kind::Scalar(ElementType::F32),
                None if used.float && bytes == 8 => Kind::Scalar(ElementType::F64),
                None => Kind::Scalar(scalar("", param.ty, bytes)),
            };
            let name = declared
                .as_ref()
                .map(|d| d[index].name.clone())
                .filter(|name| !name.is_empty());
            let is_index = matches!(kind, Kind::Scalar(element) if !element.is_float())
                && !name.as_deref().is_some_and(roles::is_exponent);
            let unasked = roles.as_ref().is_some_and(|r| !r.asked.contains(&index));
            let known = roles.as_ref().and_then(|r| r.indices.get(&index));
            let place = known.copied().filter(|_| is_index);
            all.push(Parameter {
                fits: is_index && unasked && place.is_none(),
                index: place,
                name,
                kind,
                ty: written.unwrap_or_else(|| format!("{} bytes", bytes)),
                bytes,
                offset,
                by_value,
                usage: used,
                parts: usage.fields(index).map(|(at, u)| (at, u.clone())).collect(),
            });
            offset = offset.saturating_add(bytes);
        }
        Parameters(all)
    }

    /// The same with names that the caller knows, by position, for those that have none. Names are told apart, and from indices.
    #[must_use]
    pub fn named(mut self, names: &[Option<String>]) -> Parameters {
        for (index, name) in names.iter().enumerate().take(self.0.len()) {
            let Some(name) = name else { continue };
            let taken = self.0.iter().any(|p| p.name.as_ref() == Some(name));
            let index_like = name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit());
            if !taken && !index_like && self.0[index].name.is_none() {
                self.0[index].name = Some(name.clone());
            }
        }
        self
    }

    /// What each takes, for reading what a host program passes.
    pub(super) fn takes(&self) -> Vec<Takes> {
        let takes = |parameter: &Parameter| match parameter.kind {
            Kind::Pointer(_) | Kind::Rows(_) => Takes::Pointer,
            Kind::Scalar(element) if !element.is_float() => Takes::Integer,
            _ => Takes::Other,
        };
        self.0.iter().map(takes).collect()
    }

    /// The indices among them, by parameter.
    pub(super) fn indices(&self) -> Vec<Option<Index>> {
        self.0.iter().map(|parameter| parameter.index).collect()
    }

    /// The integers among what was given, by parameter.
    pub(super) fn integers_in(&self, given: &[Argument]) -> Vec<Option<i64>> {
        let mut all = vec![None; self.0.len()];
        for argument in given {
            if let (Ok(index), Value::Scalar(text, None)) =
                (self.find(&argument.parameter), &argument.value)
            {
                all[index] = text.parse().ok();
            }
        }
        all
    }

    /// A parameter's name, or its index.
    pub fn label(&self, index: usize) -> String {
        match &self.0[index].name {
            Some(name) => name.clone(),
            None => index.to_string(),
        }
    }

    /// The parameter that `--arg` names.
    ///
    /// # Errors
    ///
    /// None has this name or index; the message lists those that are there.
    pub fn find(&self, name: &str) -> Result<usize, Error> {
        if let Some(index) = self.0.iter().position(|p| p.name.as_deref() == Some(name)) {
            return Ok(index);
        }
        if let Ok(index) = name.parse::<usize>() {
            if index < self.0.len() {
                return Ok(index);
            }
            return Err(Error::new(
                ErrorKind::Argument,
                format!(
                    "`--arg {name}=…`: the kernel has {} parameter{}, counted from 0",
                    self.0.len(),
                    if self.0.len() == 1 { "" } else { "s" }
                ),
            )
            .text(self.list()));
        }
        let names: Vec<&str> = self.0.iter().filter_map(|p| p.name.as_deref()).collect();
        let failure = Error::new(
            ErrorKind::Argument,
            format!("the kernel has no parameter `{name}`"),
        )
        .text(self.list());
        Err(match suggest(name, names.iter().copied()) {
            Some(near) => failure.help(near),
            None if names.is_empty() => {
                failure.help("PTX has no names of parameters: use their index, `--arg 0=…`")
            }
            None => failure,
        })
    }

    fn list(&self) -> String {
        let lines: Vec<String> = self
            .0
            .iter()
            .enumerate()
            .map(|(i, p)| {
                format!("{i}: {} {}", p.ty, p.name.as_deref().unwrap_or(""))
                    .trim_end()
                    .to_string()
            })
            .collect();
        format!("its parameters are:\n{}", lines.join("\n"))
    }

    /// Bytes of the parameter block.
    pub fn bytes(&self) -> u32 {
        self.0
            .last()
            .map_or(0, |p| p.offset.saturating_add(p.bytes))
    }
}

/// The parameter types that the mangled name carries; `None` for plain C names.
fn mangled_types(entry: &str) -> Option<Vec<String>> {
    let full = demangle(entry);
    if full == entry || !full.ends_with(')') {
        return None;
    }
    let mut depth = 0;
    let open = full.char_indices().rev().find(|(_, c)| {
        match c {
            ')' | '>' => depth += 1,
            '(' | '<' => depth -= 1,
            _ => {}
        }
        *c == '(' && depth == 0
    })?;
    let inside = &full[open.0 + 1..full.len() - 1];
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, c) in inside.char_indices() {
        match c {
            '(' | '<' | '[' => depth += 1,
            ')' | '>' | ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(inside[start..at].trim().to_string());
                start = at + 1;
            }
            _ => {}
        }
    }
    let last = inside[start..].trim();
    if !last.is_empty() {
        parts.push(last.to_string());
    }
    Some(parts)
}

/// Words of a type that say nothing of its size.
fn bare(ty: &str) -> String {
    ty.split(|c: char| c.is_whitespace() || c == '*' || c == '&')
        .filter(|w| !["const", "volatile", "__restrict__", "restrict", ""].contains(w))
        .collect::<Vec<_>>()
        .join(" ")
}

/// What a parameter of a pointer's type takes; `None` for other types.
fn written_kind(ty: &str, used: &Use) -> Option<Kind> {
    let ty = ty.trim();
    // `float (*)[256]`, `void (*)(int)`, `int (&)[4]`
    if let Some(at) = ty.find("(*").or_else(|| ty.find("(&")) {
        let behind = ty[at..].split_once(')').map_or("", |(_, rest)| rest);
        if behind.trim_start().starts_with('(') {
            return Some(Kind::Function);
        }
        return Some(Kind::Pointer(named(&bare(&ty[..at])).or(used.element)));
    }
    let inner = ty.strip_suffix("const").map_or(ty, str::trim_end);
    let inner = inner
        .strip_suffix("__restrict__")
        .map_or(inner, str::trim_end);
    let pointed = inner.strip_suffix(['*', '&'])?.trim_end();
    let pointed = pointed.strip_suffix("const").map_or(pointed, str::trim_end);
    if pointed.ends_with('*') {
        return Some(Kind::Rows(pointee(pointed).or(used.points_at)));
    }
    Some(Kind::Pointer(pointee(inner).or(used.element)))
}

fn pointee(ty: &str) -> Option<ElementType> {
    let ty = ty.strip_suffix(['*', '&'])?.trim_end();
    let bare = bare(ty);
    named(&bare).or_else(|| {
        Some(match scalar_bytes(&bare)? {
            2 => ElementType::U16,
            8 | 12 | 16 if bare.starts_with("float") => ElementType::F32,
            8 | 12 | 16 => ElementType::I32,
            _ => return None,
        })
    })
}

fn named(bare: &str) -> Option<ElementType> {
    Some(match bare {
        "char" | "signed char" | "int8_t" => ElementType::I8,
        "unsigned char" | "bool" | "uint8_t" => ElementType::U8,
        "short" | "int16_t" => ElementType::I16,
        "unsigned short" | "uint16_t" => ElementType::U16,
        "int" | "int32_t" => ElementType::I32,
        "unsigned int" | "unsigned" | "uint32_t" | "uint" => ElementType::U32,
        "long" | "long long" | "int64_t" | "ptrdiff_t" => ElementType::I64,
        "unsigned long" | "unsigned long long" | "uint64_t" | "size_t" => ElementType::U64,
        "float" => ElementType::F32,
        "double" => ElementType::F64,
        _ => return None,
    })
}

fn scalar(ty: &str, ptx: ScalarType, bytes: u32) -> ElementType {
    if let Some(element) = named(&bare(ty)).filter(|e| e.bytes() as u32 == bytes) {
        return element;
    }
    match (ptx, bytes) {
        (ScalarType::F32, _) => ElementType::F32,
        (ScalarType::F64, _) => ElementType::F64,
        (ScalarType::S8, _) => ElementType::I8,
        (_, 1) => ElementType::U8,
        (ScalarType::S16, _) => ElementType::I16,
        (_, 2) => ElementType::U16,
        (_, 4) => ElementType::I32,
        _ => ElementType::I64,
    }
}

/// Bytes of a PTX type.
pub fn scalar_type_bytes(ty: ScalarType) -> u32 {
    use ScalarType::*;
    match ty {
        S8 | U8 | B8 | Pred => 1,
        S16 | U16 | B16 | F16 | Bf16 => 2,
        S32 | U32 | B32 | F32 | F16x2 | Bf16x2 => 4,
        S64 | U64 | B64 | F64 | Texref | Samplerref | Surfref => 8,
        B128 => 16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "
.version 9.0
.target sm_75
.address_size 64
.visible .entry NAME(
    .param .u64 p0,
    .param .u64 p1,
    .param .u32 p2,
    .param .align 4 .b8 p3[8],
    .param .f32 p4
)
{
    ld.param.u64 %rd1, [p0];
    ld.param.u64 %rd2, [p1];
    cvta.to.global.u64 %rd3, %rd1;
    add.s64 %rd4, %rd3, %rd2;
    st.global.u32 [%rd4], 0;
    ret;
}
";

    fn parameters(name: &str, source: Option<&str>) -> Vec<(Option<String>, Kind, u32)> {
        let module = ptx::parse(&PTX.replace("NAME", name)).unwrap();
        let text = source.map(|s| CudaText::new(s, &[]));
        let all = Parameters::of(&module, name, text.as_ref());
        assert_eq!(all.bytes(), 32);
        all.0
            .into_iter()
            .map(|p| (p.name, p.kind, p.offset))
            .collect()
    }

    #[test]
    fn mangled_names_carry_types() {
        use ElementType::*;
        let seen = parameters("_Z1kPfli1Pf", None);
        let kinds: Vec<Kind> = seen.iter().map(|s| s.1).collect();
        assert_eq!(
            kinds,
            [
                Kind::Pointer(Some(F32)),
                Kind::Scalar(I64),
                Kind::Scalar(I32),
                Kind::Struct,
                Kind::Scalar(F32)
            ]
        );
        let offsets: Vec<u32> = seen.iter().map(|s| s.2).collect();
        assert_eq!(offsets, [0, 8, 16, 20, 28]);
    }

    #[test]
    fn source_has_names() {
        let source = "extern \"C\" __global__ void k(unsigned char* out, size_t pitch, int n, P p, float a) {}";
        let seen = parameters("k", Some(source));
        let names: Vec<_> = seen.iter().map(|s| s.0.as_deref().unwrap()).collect();
        assert_eq!(names, ["out", "pitch", "n", "p", "a"]);
        assert_eq!(seen[0].1, Kind::Pointer(Some(ElementType::U8)));
        assert_eq!(seen[1].1, Kind::Scalar(ElementType::U64));
    }

    #[test]
    fn without_either_the_use_decides() {
        let seen = parameters("k", None);
        assert_eq!(seen[0].1, Kind::Pointer(Some(ElementType::I32)));
        assert_eq!(seen[2].1, Kind::Scalar(ElementType::I32));
    }

    #[test]
    fn pointers_are_written_in_many_ways() {
        let kind = |ty: &str| written_kind(ty, &Use::default());
        assert_eq!(
            kind("float (*) [256]"),
            Some(Kind::Pointer(Some(ElementType::F32)))
        );
        assert_eq!(
            kind("double const (*)[4]"),
            Some(Kind::Pointer(Some(ElementType::F64)))
        );
        assert_eq!(kind("float**"), Some(Kind::Rows(Some(ElementType::F32))));
        assert_eq!(
            kind("int const* const*"),
            Some(Kind::Rows(Some(ElementType::I32)))
        );
        assert_eq!(kind("void (*)(int)"), Some(Kind::Function));
        assert_eq!(kind("Node*"), Some(Kind::Pointer(None)));
        assert_eq!(kind("int"), None);
    }

    #[test]
    fn unknown_names_are_answered_with_the_known_ones() {
        let module = ptx::parse(&PTX.replace("NAME", "_Z1kPfli1Pf")).unwrap();
        let text = CudaText::new(
            "__global__ void k(float* data, long n, int m, P p, float a);",
            &[],
        );
        let all = Parameters::of(&module, "_Z1kPfli1Pf", Some(&text));
        assert_eq!(all.find("data"), Ok(0));
        assert_eq!(all.find("4"), Ok(4));
        insta::assert_snapshot!(all.find("dta").unwrap_err().render(false));
        insta::assert_snapshot!(all.find("5").unwrap_err().render(false));
    }
}

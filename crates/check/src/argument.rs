//! The notation of `--arg NAME_OR_INDEX=VALUE`.
//!
//! ```text
//! n=1024                  an integer; 0x400 too
//! alpha=1.5               a floating-point number
//! data=i32[1024]:random   a buffer: TYPE[ELEMENTS]:FILL
//! rows=f32[8][64]:zeros   8 pointers to buffers of 64 elements each
//! data=i32[9]:{1, 2, 3}   the first elements; the others are uninitialised
//! data=i32[9]:first:4:zeros  4 elements; the others are uninitialised
//! data=i32[9]:each:2 * i  an expression over the index
//! op=fn:twice             the address of a device function
//! out=&data               the buffer of the parameter `data`, once more
//! p={1, 2.5, 7:i64}       a struct, field by field; a field may be a buffer
//! p=0x0100000000002040    a struct, byte by byte
//! ```
//!
//! Tensor maps are written as [`super::tensor`] says.

use super::error::{Error, ErrorKind};
use super::number::number_bytes;
use super::tensor::{self, TensorSpec};
use report::suggest;
use session::buffer::{ElementType, integer};
use session::expression::Expression;
pub use session::fill::Fill;
use session::fill::FillError;
use std::fmt;

/// Which of a kernel's parameters an argument is for.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// The parameter's name in the source, or its index.
    pub parameter: String,
    /// What it is set to.
    pub value: Value,
}

/// What an argument is set to.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number as written, and the type it was given by a suffix.
    Scalar(String, Option<ElementType>),
    /// Global memory; the parameter gets its address.
    Buffer(BufferSpec),
    /// So many addresses of buffers in global memory; the parameter gets the address of the first.
    Rows(u64, BufferSpec),
    /// The buffer of another parameter.
    Same(String),
    /// The address of a device function, by its name, plain or mangled.
    Function(String),
    /// A struct's fields.
    Fields(Vec<Value>),
    /// A struct's bytes.
    Bytes(Vec<u8>),
    /// A tensor in global memory; the parameter gets its tensor map.
    Tensor(Box<TensorSpec>),
}

/// A buffer in global memory.
#[derive(Clone, Debug, PartialEq)]
pub struct BufferSpec {
    /// Type of the elements.
    pub element: ElementType,
    /// Number of elements; `None` where a file says it.
    pub length: Option<u64>,
    /// What it holds.
    pub fill: Fill,
}

/// The types by name, for messages.
fn type_names() -> impl Iterator<Item = &'static str> + Clone {
    ElementType::ALL.into_iter().map(ElementType::name)
}

/// Splits `NAME=VALUE` and reads the value.
///
/// # Errors
///
/// What is wrong with it, and what it should look like.
pub fn parse(argument: &str) -> Result<Argument, Error> {
    assignment("--arg", argument)
}

/// The same of `--set`, whose names are those of variables.
///
/// # Errors
///
/// As [`parse`].
pub fn parse_set(argument: &str) -> Result<Argument, Error> {
    assignment("--set", argument)
}

fn assignment(flag: &str, argument: &str) -> Result<Argument, Error> {
    let Some((name, value)) = argument.split_once('=') else {
        return Err(Error::new(
            ErrorKind::Argument,
            format!("`{flag} {argument}` has no `=`"),
        )
        .help(format!(
            "write `{flag} NAME=VALUE`, for example `{flag} n=1024` or `{flag} data=i32[1024]:random`"
        )));
    };
    let (name, value) = (name.trim(), value.trim());
    let value = parse_value(value, 0).map_err(|problem| {
        let mut failure = Error::new(
            ErrorKind::Argument,
            format!("`{flag} {argument}`: {}", problem.0),
        );
        failure.failure.help = problem.1;
        failure
    })?;
    Ok(Argument {
        parameter: name.to_string(),
        value,
    })
}

/// What is wrong, and the remedy.
type Problem = (String, Option<String>);

fn problem(what: impl Into<String>, help: impl Into<String>) -> Problem {
    (what.into(), Some(help.into()))
}

const EXAMPLES: &str =
    "write for example `1024`, `1.5`, `i32[1024]:random`, `{1, 2.5}` or `@file.bin`";

fn parse_value(text: &str, depth: u32) -> Result<Value, Problem> {
    if text.is_empty() {
        return Err(problem("the value is missing", EXAMPLES));
    }
    if let Some(path) = text.strip_prefix('@') {
        return Ok(Value::Buffer(BufferSpec {
            element: ElementType::U8,
            length: None,
            fill: Fill::File(path.into()),
        }));
    }
    if let Some(tensor) = text.strip_prefix("tensor:") {
        let spec = tensor::parse(tensor, fill)?;
        return match spec.contents {
            tensor::Contents::Of(_) if depth > 0 => Err(problem(
                "a tensor in a struct has a buffer of its own",
                "leave `of=…` out",
            )),
            _ => Ok(Value::Tensor(Box::new(spec))),
        };
    }
    if let Some(name) = text.strip_prefix("fn:").filter(|_| depth == 0) {
        return match name.trim() {
            "" => Err(problem(
                "a function's name is missing after `fn:`",
                EXAMPLES,
            )),
            name => Ok(Value::Function(name.to_owned())),
        };
    }
    if let Some(name) = text.strip_prefix('&').filter(|_| depth == 0) {
        return match name.trim() {
            "" => Err(problem("a parameter's name is missing after `&`", EXAMPLES)),
            name => Ok(Value::Same(name.to_owned())),
        };
    }
    if let Some(inside) = text.strip_prefix('{') {
        let Some(inside) = inside.strip_suffix('}') else {
            return Err(problem("`}` is missing at the end of the struct", EXAMPLES));
        };
        if depth > 16 {
            return Err(("structs are nested too deeply".into(), None));
        }
        let mut fields = Vec::new();
        for part in split(inside) {
            fields.push(parse_value(part.trim(), depth + 1)?);
        }
        return Ok(Value::Fields(fields));
    }
    if let Some(open) = text.find('[') {
        return match rows(text, open)? {
            Some((count, row)) => {
                let open = row.find('[').unwrap_or(0);
                Ok(Value::Rows(count, buffer(&row, open)?))
            }
            None => buffer(text, open).map(Value::Buffer),
        };
    }
    // `i32:@in.bin`: the file says how many.
    if let Some((ty, fill)) = text
        .split_once(':')
        .filter(|(_, fill)| fill.starts_with('@'))
    {
        let whole = format!("{ty}[]:{fill}");
        return buffer(&whole, ty.len()).map(Value::Buffer);
    }
    if let Some((number, ty)) = text.split_once(':') {
        let element = ElementType::named(ty).ok_or_else(|| unknown_type(ty))?;
        number_bytes(number, element).map_err(|error| (error.to_string(), None))?;
        return Ok(Value::Scalar(number.to_string(), Some(element)));
    }
    if let Some(hex) = text.strip_prefix("0x").filter(|h| h.len() > 16) {
        return bytes(hex).map(Value::Bytes);
    }
    let float = text.trim_end_matches(['f', 'F']).parse::<f64>();
    if integer(text).is_none() && float.is_err() && !["true", "false"].contains(&text) {
        return Err(problem(format!("`{text}` is not a number"), EXAMPLES));
    }
    Ok(Value::Scalar(text.to_string(), None))
}

fn unknown_type(name: &str) -> Problem {
    let near = suggest(name, type_names());
    let all: Vec<&str> = type_names().collect();
    problem(
        format!("`{name}` is not an element type"),
        near.unwrap_or_else(|| format!("the types are {}", all.join(", "))),
    )
}

/// `TYPE[COUNT][ELEMENTS]…`: the count, and the text of one row.
fn rows(text: &str, open: usize) -> Result<Option<(u64, String)>, Problem> {
    let Some(close) = text.find(']').filter(|c| text[c + 1..].starts_with('[')) else {
        return Ok(None);
    };
    let digits = text.get(open + 1..close).unwrap_or_default().trim();
    match integer(digits).and_then(|v| u64::try_from(v).ok()) {
        Some(count) if (1..=65_536).contains(&count) => Ok(Some((
            count,
            format!("{}{}", &text[..open], &text[close + 1..]),
        ))),
        _ => Err(problem(
            format!("`{digits}` is not a number of rows"),
            EXAMPLES,
        )),
    }
}

fn buffer(text: &str, open: usize) -> Result<BufferSpec, Problem> {
    let name = &text[..open];
    let element = ElementType::named(name).ok_or_else(|| unknown_type(name))?;
    let Some(close) = text.find(']').filter(|c| *c > open) else {
        return Err(problem("`]` is missing", EXAMPLES));
    };
    let length = text[open + 1..close].trim();
    let length = match length {
        "" => None,
        digits => match integer(digits).and_then(|v| u64::try_from(v).ok()) {
            Some(length) if length > 0 => Some(length),
            _ => {
                return Err(problem(
                    format!("`{digits}` is not a number of elements"),
                    EXAMPLES,
                ));
            }
        },
    };
    let rest = &text[close + 1..];
    let fill = match rest.strip_prefix(':') {
        Some(fill) => self::fill(fill, element)?,
        None if rest.is_empty() => Fill::Random(None),
        None => {
            return Err(problem(
                format!("unexpected `{rest}` after the `]`"),
                EXAMPLES,
            ));
        }
    };
    if length.is_none() && !matches!(fill, Fill::File(_)) {
        return Err(problem(
            "the number of elements is missing",
            format!("write `{name}[1024]`"),
        ));
    }
    Ok(BufferSpec {
        element,
        length,
        fill,
    })
}

fn fill(text: &str, element: ElementType) -> Result<Fill, Problem> {
    const USE: &str = "use `random`, `random:LOW..=HIGH`, `iota`, `zeros`, `const:NUMBER`, `each:EXPRESSION` (`i` is the index), `{1, 2, 3}`, `first:COUNT:FILL`, `uninitialized` or `@FILE`";
    let fill = Fill::parse(text).map_err(|error| match &error {
        FillError::Word(word) => problem(
            format!("`{text}` is not a buffer fill"),
            suggest(word, Fill::words()).unwrap_or_else(|| USE.into()),
        ),
        FillError::Form(_) | FillError::Number(_) | FillError::Unclosed => {
            problem(error.to_string(), USE)
        }
        FillError::NoNumber => problem(error.to_string(), "write `const:7`"),
        FillError::Range(_) => problem(error.to_string(), "write `random:0..=15`"),
        FillError::Expression(_) => (error.to_string(), None),
    })?;
    let nameless = |e: &Expression| e.evaluate(&|name| (name == "i").then_some(0));
    match &fill {
        Fill::Copy(name) => Err(problem(
            "`copy` is for cases of a catalogue",
            format!("`&{name}` passes the buffer of `{name}` once more"),
        )),
        Fill::Random(Some((low, high))) => match (nameless(low), nameless(high)) {
            (Ok(low), Ok(high)) if low <= high => Ok(()),
            (Err(error), _) | (_, Err(error)) => Err((error.to_string(), None)),
            (Ok(low), Ok(high)) => Err(problem(
                format!("{low}..={high} is not a range"),
                "write the smaller number first",
            )),
        },
        Fill::Each(e) => match e.names().into_iter().find(|name| *name != "i") {
            Some(name) => Err(problem(
                format!("`{name}` in `{e}` is unknown"),
                "`i`, the element's index, is the only name",
            )),
            None => Ok(()),
        },
        _ => Ok(()),
    }?;
    match fill.misfit(element) {
        Some(number) => Err((format!("{number} does not fit in {}", element.name()), None)),
        None => Ok(fill),
    }
}

fn bytes(hex: &str) -> Result<Vec<u8>, Problem> {
    let digit = |c: u8| (c as char).to_digit(16).map(|d| d as u8);
    let all: Option<Vec<u8>> = hex.bytes().map(digit).collect();
    match all {
        Some(digits) if digits.len().is_multiple_of(2) => Ok(digits
            .chunks(2)
            .map(|pair| pair[0] << 4 | pair[1])
            .collect()),
        Some(_) => Err((
            "the number of hexadecimal digits is odd, so these are not whole bytes".into(),
            None,
        )),
        None => Err((
            format!("`0x{hex}` contains other characters than hexadecimal digits"),
            None,
        )),
    }
}

/// Splits at commas that are in no brackets.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Scalar(text, None) => f.write_str(text),
            Value::Scalar(text, Some(ty)) => write!(f, "{text}:{}", ty.name()),
            Value::Buffer(buffer) => buffer.fmt(f),
            Value::Rows(count, row) => row.write(f, Some(*count)),
            Value::Same(name) => write!(f, "&{name}"),
            Value::Function(name) => write!(f, "fn:{name}"),
            Value::Tensor(tensor) => tensor.fmt(f),
            Value::Fields(fields) => {
                let parts: Vec<String> = fields.iter().map(Value::to_string).collect();
                write!(f, "{{{}}}", parts.join(","))
            }
            Value::Bytes(bytes) => {
                f.write_str("0x")?;
                bytes.iter().try_for_each(|b| write!(f, "{b:02x}"))
            }
        }
    }
}

impl BufferSpec {
    /// As it is written, behind so many rows.
    fn write(&self, f: &mut fmt::Formatter<'_>, rows: Option<u64>) -> fmt::Result {
        let rows = rows.map(|r| format!("[{r}]")).unwrap_or_default();
        let length = self.length.map(|l| l.to_string()).unwrap_or_default();
        write!(f, "{}{rows}[{length}]:", self.element.name())?;
        fmt::Display::fmt(&self.fill, f)
    }
}

impl fmt::Display for BufferSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("n=1024", "1024")]
    #[case("n = -0x10", "-0x10")]
    #[case("a=1.5e-3", "1.5e-3")]
    #[case("a=1.5f", "1.5f")]
    #[case("b=true", "true")]
    #[case("d=i32[64]", "i32[64]:random")]
    #[case("d=float[0x40]:iota", "f32[64]:iota")]
    #[case("d=u8[3]:const:255", "u8[3]:const:255")]
    #[case("d=i16[3]:random:-2..=2", "i16[3]:random:-2..=2")]
    #[case("d=i32[]:@in.bin", "i32[]:@in.bin")]
    #[case("d=i32:@in.bin", "i32[]:@in.bin")]
    #[case("d=@in.bin", "u8[]:@in.bin")]
    #[case("d=f32[8][64]:zeros", "f32[8][64]:zeros")]
    #[case("d=i32[9]:{1, -2,3}", "i32[9]:{1,-2,3}")]
    #[case("d=f32[4]:const:1.5f", "f32[4]:const:1.5")]
    #[case("d=i32[9]:each: 2 * i + 1", "i32[9]:each:2 * i + 1")]
    #[case("p={1, 2.5,{3:i64}, i32[4]:zeros}", "{1,2.5,{3:i64},i32[4]:zeros}")]
    #[case("d=i32[9]:first:4: zeros", "i32[9]:first:4:zeros")]
    #[case("d=f32[9]:first:4:random", "f32[9]:first:4:random")]
    #[case("op=fn:twice", "fn:twice")]
    #[case(
        "m=tensor:f16[64,128]:box=64,64:swizzle=128B",
        "tensor:f16[64,128]:box=64,64:swizzle=128B:random"
    )]
    #[case(
        "m=tensor:i32[4,8]:box=2,8:step=2,1:each:2 * i",
        "tensor:i32[4,8]:box=2,8:step=2,1:each:2 * i"
    )]
    #[case(
        "m=tensor:f32[64]:box=16:fill=nan:of=data",
        "tensor:f32[64]:box=16:fill=nan:of=data"
    )]
    #[case("p={1,tensor:u8[64]:box=16:iota}", "{1,tensor:u8[64]:box=16:iota}")]
    #[case("out=& in", "&in")]
    #[case("p=0x000102030405060708090a0b", "0x000102030405060708090a0b")]
    fn values_are_read_and_written(#[case] argument: &str, #[case] written: &str) {
        let parsed = parse(argument).unwrap();
        assert_eq!(parsed.value.to_string(), written);
        let again = parse(&format!("{}={}", parsed.parameter, parsed.value)).unwrap();
        assert_eq!(again, parsed);
    }

    #[rstest]
    #[case("n", "has no `=`")]
    #[case("n=", "missing")]
    #[case("n=abc", "`abc` is not a number")]
    #[case("d=i31[4]", "`i31` is not an element type")]
    #[case("d=i32[x]", "`x` is not a number of elements")]
    #[case("d=i32[0]", "`0` is not a number of elements")]
    #[case("d=i32[4", "`]` is missing")]
    #[case("d=i32[]:iota", "number of elements is missing")]
    #[case("d=i32[4]:radnom", "is not a buffer fill")]
    #[case("d=i32[4]:const", "needs a number")]
    #[case("d=u8[4]:const:256", "256 does not fit in u8")]
    #[case("d=i32[4]:random:5..=2", "is not a range")]
    #[case("d=i32[4]:each:i + n", "`n` in `i + n` is unknown")]
    #[case("d=i32[4]:copy:e", "`copy` is for cases")]
    #[case("d=i32[4]x", "unexpected `x` after the `]`")]
    #[case("d=i32[x][4]", "`x` is not a number of rows")]
    #[case("d=i32[4]:{1,a}", "`a` is not a number")]
    #[case("d=i32[4]:{1,2", "`}` is missing")]
    #[case("p={1,2", "`}` is missing")]
    #[case("p=0x01020304050607080", "digits is odd")]
    #[case("n=1:i31", "is not an element type")]
    #[case("m=tensor:f17[64]:box=8", "`f17` is not a type")]
    #[case("m=tensor:f16[64]", "box is missing")]
    #[case("m=tensor:f16[64,64]:box=8", "`box` has 1 number,")]
    #[case("m=tensor:f16[64]:box=8:swizzle=16B", "`16B` is not a swizzle")]
    #[case("m=tensor:f16[64]:box=9", "a row of 18 bytes")]
    #[case(
        "m=tensor:f16[64,64]:box=8,64:swizzle=64B",
        "longer than the swizzle's span"
    )]
    #[case("m=tensor:i32[64]:box=8:fill=nan", "no filling")]
    #[case("n=300:u8", "does not fit")]
    fn mistakes_are_named(#[case] argument: &str, #[case] message: &str) {
        let failure = parse(argument).unwrap_err();
        assert!(failure.failure.message.contains(message), "{failure}");
    }
}

//! What can be wrong with a PTX text, and where.

use super::ast::Span;

/// Why a text is not PTX: the place and the reason.
///
/// `Display` is one sentence with the place in front:
/// `line 7, column 12: expected a register, number or label, found `;``.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("line {line}, column {column}: {kind}")]
pub struct ParseError {
    /// From 1.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
    /// The bytes at fault.
    pub span: Span,
    /// What is wrong with them.
    pub kind: ParseErrorKind,
}

impl ParseError {
    /// The error `kind` at `span` of `source`.
    pub(super) fn new(source: &[u8], span: Span, kind: ParseErrorKind) -> ParseError {
        let before = &source[..(span.start as usize).min(source.len())];
        let line_start = before
            .iter()
            .rposition(|&b| b == b'\n')
            .map_or(0, |at| at + 1);
        // UTF-8 continuation bytes are no characters of their own.
        let characters = before[line_start..]
            .iter()
            .filter(|&&b| b & 0xc0 != 0x80)
            .count();
        ParseError {
            line: count(before.iter().filter(|&&b| b == b'\n').count()),
            column: count(characters),
            span,
            kind,
        }
    }
}

/// A 1-based position from the number of things before it.
fn count(before: usize) -> u32 {
    u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1)
}

/// The ways in which a text can fail to be PTX.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ParseErrorKind {
    /// A token that the grammar has no place for.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// What would have been right here.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// The line ended before the statement did.
    #[error("expected {expected} at the end of this line")]
    LineEnded {
        /// What would have been right here.
        expected: String,
    },
    /// The text ended inside a pair of brackets; the place is the opening one.
    #[error("this `{open}` is never closed: the file ends inside {inside}")]
    Unclosed {
        /// The opening bracket.
        open: &'static str,
        /// What it opens.
        inside: String,
    },
    /// A directive, type or state space that PTX does not have.
    #[error("`{found}` is not {kind}{}", did_you_mean(.nearest))]
    UnknownName {
        /// As written.
        found: String,
        /// `a directive`, `a type` …
        kind: &'static str,
        /// The nearest name that exists.
        nearest: Option<String>,
    },
    /// A text without `.version`, or with something before it.
    #[error("PTX starts with `.version`, found {found}")]
    NoVersion {
        /// What stands there.
        found: String,
    },
    /// A text without `.target`.
    #[error("the `.target` directive is missing")]
    NoTarget,
    /// A number that is none, or is too large.
    #[error("`{text}` is not a number: {fault}")]
    BadNumber {
        /// As written, clipped.
        text: String,
        /// What is wrong with it.
        fault: NumberFault,
    },
    /// A number outside the range that its place allows.
    #[error("{what} must be {range}, found {found}")]
    OutOfRange {
        /// What the number stands for.
        what: &'static str,
        /// The range, in words.
        range: &'static str,
        /// As written.
        found: u64,
    },
    /// A character that occurs nowhere in PTX.
    #[error("the character {0:?} has no place in PTX")]
    BadCharacter(char),
    /// `#include` and the like.
    #[error(
        "`#` starts a preprocessor directive, which PTX does not have: \
         is this CUDA C++ source? Compile it with `nvcc -ptx` first"
    )]
    Preprocessor,
    /// `/*` without `*/`.
    #[error("this comment is never closed: expected `*/`")]
    UnterminatedComment,
    /// A quote without its partner on the same line.
    #[error("this string is never closed: expected `\"` before the end of the line")]
    UnterminatedText,
    /// `.section … {` without `}`.
    #[error("this section is never closed: expected `}}`")]
    UnterminatedSection,
    /// Nesting beyond what any compiler writes.
    #[error("{what} nest or chain more than {limit} deep here")]
    TooDeep {
        /// `blocks`, `operands` …
        what: &'static str,
        /// The deepest that is read.
        limit: usize,
    },
    /// A text of 4 GiB or more.
    #[error("the file has {bytes} bytes; racetrap reads PTX of less than 4 GiB")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// A tree that takes more memory than it may.
    #[error("up to here the file takes more than the {} MiB of memory that it may", limit >> 20)]
    TooLarge {
        /// How many bytes the tree may take.
        limit: u64,
    },
    /// Bytes that are not UTF-8.
    #[error("byte {offset} of the file is not UTF-8 text")]
    NotUtf8 {
        /// From 0.
        offset: usize,
    },
    /// A NUL byte.
    #[error("byte {offset} of the file is NUL: this is not a text file")]
    Nul {
        /// From 0.
        offset: usize,
    },
    /// A well-known binary format.
    #[error("this is {0}")]
    Binary(Binary),
    /// No bytes, or only blanks and comments.
    #[error("the file holds no PTX: it is empty or has only comments")]
    Empty,
}

fn did_you_mean(nearest: &Option<String>) -> String {
    match nearest {
        Some(name) => format!("; did you mean `{name}`?"),
        None => String::new(),
    }
}

/// The first 60 characters of `text`, as messages quote it.
pub(super) fn clip(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// What is wrong with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NumberFault {
    /// A character that the radix does not have.
    #[error("it has a digit that its radix does not allow")]
    Digits,
    /// More than 64 bits.
    #[error("it needs more than 64 bits")]
    TooLarge,
    /// `0f` without eight hexadecimal digits.
    #[error("`0f` takes exactly 8 hexadecimal digits")]
    SingleDigits,
    /// `0d` without sixteen hexadecimal digits.
    #[error("`0d` takes exactly 16 hexadecimal digits")]
    DoubleDigits,
}

/// Binary formats that users mistake for PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Binary {
    /// An ELF file for the GPU.
    #[error("a cubin (GPU machine code), not PTX: compile the source with `nvcc -ptx`")]
    Cubin,
    /// An ELF file for the host.
    #[error(
        "a host executable or object file (ELF), not PTX: extract the PTX inside it with \
         `cuobjdump -xptx all`"
    )]
    Elf,
    /// NVIDIA's container of PTX and cubins.
    #[error("a fat binary, not PTX: extract the PTX inside it with `cuobjdump -xptx all`")]
    Fatbin,
    /// LLVM or NVVM bitcode.
    #[error("LLVM bitcode, not PTX: translate it with `llc -march=nvptx64`")]
    Bitcode,
    /// PE or Mach-O.
    #[error("a host executable, not PTX: extract the PTX inside it with `cuobjdump -xptx all`")]
    Executable,
    /// gzip, zip, xz or zstd.
    #[error("a compressed file, not PTX: unpack it first")]
    Compressed,
}

impl Binary {
    /// Recognises a format by its first bytes.
    pub fn sniff(bytes: &[u8]) -> Option<Binary> {
        /// `e_machine` of ELF files for NVIDIA GPUs.
        const EM_CUDA: [u8; 2] = 190u16.to_le_bytes();
        const MAGICS: [(&[u8], Binary); 12] = [
            (&[0x50, 0xed, 0x55, 0xba], Binary::Fatbin),
            (&[0xb1, 0x43, 0x62, 0x46], Binary::Fatbin),
            (&[b'B', b'C', 0xc0, 0xde], Binary::Bitcode),
            (&[0xde, 0xc0, 0x17, 0x0b], Binary::Bitcode),
            (&[b'M', b'Z', 0x90, 0x00], Binary::Executable),
            (&[0xcf, 0xfa, 0xed, 0xfe], Binary::Executable),
            (&[0xfe, 0xed, 0xfa, 0xcf], Binary::Executable),
            (&[0xca, 0xfe, 0xba, 0xbe], Binary::Executable),
            (&[0x1f, 0x8b], Binary::Compressed),
            (&[b'P', b'K', 3, 4], Binary::Compressed),
            (&[0xfd, b'7', b'z', b'X', b'Z', 0], Binary::Compressed),
            (&[0x28, 0xb5, 0x2f, 0xfd], Binary::Compressed),
        ];
        if bytes.starts_with(b"\x7fELF") {
            let cuda = bytes.get(18..20) == Some(&EM_CUDA);
            return Some(if cuda { Binary::Cubin } else { Binary::Elf });
        }
        MAGICS
            .iter()
            .find(|(magic, _)| bytes.starts_with(magic))
            .map(|(_, format)| *format)
    }
}

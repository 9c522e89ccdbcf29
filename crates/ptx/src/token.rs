//! The tokens of PTX (PTX ISA, "Source Format", "Comments", "Identifiers" and
//! "Constants").
//!
//! The text is cut into [`Lexeme`]s as the parser goes: a file may have a hundred megabytes. A
//! lexical error does not stop the parser at once: it becomes the last token, so that a syntax
//! error further up is still the one reported.
//!
//! Three things differ from the usual C-like lexer:
//!
//! * a dot glues to the word behind it, `::` included: `.shared::cta` and
//!   `.L2::128B` are one token each;
//! * the braces of a `.section` hold DWARF data for the assembler; they become
//!   one [`Token::SectionBody`];
//! * lines that start with `#` followed by a number or `line` (what a C
//!   preprocessor leaves behind) are white space.

use super::ast::Span;
use super::error::{NumberFault, ParseErrorKind, clip};

/// What a piece of the text is.
#[derive(Clone, Debug, PartialEq)]
pub enum Token<'s> {
    /// An identifier, register, label or opcode: `add`, `%r1`, `$L__BB0_1`, `_`.
    Word(&'s str),
    /// A directive, type or modifier with its dot: `.global`, `.shared::cta`.
    Dotted(&'s str),
    /// An integer literal, and whether it ends in `U`.
    Int(u64, bool),
    /// `0f…`: the bits of a single.
    F32(u32),
    /// `0d…` or a decimal literal: the bits of a double.
    F64(u64),
    /// A quoted string: what stands between the quotes, escapes as written.
    Text(&'s str),
    /// Punctuation.
    Symbol(&'static str),
    /// What the braces of a `.section` enclose.
    SectionBody(&'s str),
    /// The text can't be cut any further.
    Bad(Box<ParseErrorKind>),
    /// The end of the text.
    End,
}

impl Token<'_> {
    /// The token as an error message names it.
    pub fn describe(&self) -> String {
        match self {
            Token::Word(text) | Token::Dotted(text) => format!("`{}`", clip(text)),
            Token::Int(value, false) => format!("the number {value}"),
            Token::Int(value, true) => format!("the number {value}U"),
            Token::F32(bits) => format!("the number 0f{bits:08X}"),
            Token::F64(bits) => format!("the number {:?}", f64::from_bits(*bits)),
            Token::Text(text) => format!("the string \"{}\"", clip(text)),
            Token::Symbol(symbol) => format!("`{symbol}`"),
            Token::SectionBody(_) => "the contents of a section".into(),
            Token::Bad(kind) => kind.to_string(),
            Token::End => "the end of the file".into(),
        }
    }
}

/// A token and where it stands.
#[derive(Clone, Debug)]
pub struct Lexeme<'s> {
    /// The token.
    pub token: Token<'s>,
    /// Its bytes.
    pub span: Span,
    /// Whether it is the first token of its line.
    pub starts_line: bool,
}

/// The punctuation of PTX, longest first.
const SYMBOLS: [&str; 32] = [
    "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "{", "}", "(", ")", "[", "]", "<", ">", ",",
    ";", ":", "=", "+", "-", "*", "/", "%", "&", "|", "^", "!", "~", "?", "@",
];

/// Cuts a text into tokens, one after the other. The last one is [`Token::End`] or [`Token::Bad`].
#[derive(Debug)]
pub struct Tokens<'s>(Option<Lexer<'s>>);

impl<'s> Tokens<'s> {
    /// The tokens of `source`.
    pub fn of(source: &'s str) -> Tokens<'s> {
        Tokens(Some(Lexer {
            source,
            bytes: source.as_bytes(),
            // A byte order mark is no part of the text.
            at: if source.starts_with('\u{feff}') { 3 } else { 0 },
            starts_line: true,
            section: Section::Outside,
            after_dwarf: false,
        }))
    }
}

impl<'s> Iterator for Tokens<'s> {
    type Item = Lexeme<'s>;

    fn next(&mut self) -> Option<Lexeme<'s>> {
        let lexeme = self.0.as_mut()?.next();
        if matches!(lexeme.token, Token::End | Token::Bad(_)) {
            self.0 = None;
        }
        Some(lexeme)
    }
}

/// Where the lexer stands relative to a `.section` directive.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Section {
    Outside,
    /// `.section` was read, its brace was not.
    Head,
    /// The opening brace was read.
    Body,
}

#[derive(Debug)]
struct Lexer<'s> {
    source: &'s str,
    bytes: &'s [u8],
    at: usize,
    starts_line: bool,
    section: Section,
    /// Whether the token before is the word of an `@@DWARF` line, whose
    /// `.section` has no braces.
    after_dwarf: bool,
}

type Cut<'s> = Result<Token<'s>, ParseErrorKind>;

impl<'s> Lexer<'s> {
    fn next(&mut self) -> Lexeme<'s> {
        let blank = match self.section {
            Section::Body => Ok(()),
            _ => self.skip_blank(),
        };
        let start = self.at;
        let token = match blank.and_then(|()| self.cut()) {
            Ok(token) => token,
            Err(kind) => Token::Bad(Box::new(kind)),
        };
        self.section = match (self.section, &token) {
            (_, Token::Dotted(".section")) if !self.after_dwarf => Section::Head,
            (Section::Head, Token::Symbol("{")) => Section::Body,
            (Section::Head, Token::Symbol(";")) | (Section::Body, _) => Section::Outside,
            (state, _) => state,
        };
        self.after_dwarf = matches!(token, Token::Word(word) if word.eq_ignore_ascii_case("dwarf"));
        let end = if matches!(token, Token::Bad(_)) {
            self.at.max(start + 1)
        } else {
            self.at
        };
        Lexeme {
            token,
            span: span(start, end.min(self.bytes.len())),
            starts_line: std::mem::take(&mut self.starts_line),
        }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// White space, comments and line markers.
    fn skip_blank(&mut self) -> Result<(), ParseErrorKind> {
        loop {
            match self.peek(0) {
                b'\n' => {
                    self.starts_line = true;
                    self.at += 1;
                }
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => self.at += 1,
                b'/' if self.peek(1) == b'/' => self.skip_line(),
                b'/' if self.peek(1) == b'*' => self.skip_comment()?,
                b'#' if self.starts_line && self.at_line_marker() => self.skip_line(),
                _ => return Ok(()),
            }
        }
    }

    fn skip_line(&mut self) {
        let rest = &self.bytes[self.at..];
        self.at += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
    }

    fn skip_comment(&mut self) -> Result<(), ParseErrorKind> {
        let rest = &self.source[self.at + 2..];
        let length = rest.find("*/").ok_or(ParseErrorKind::UnterminatedComment)?;
        self.starts_line |= rest.as_bytes()[..length].contains(&b'\n');
        self.at += length + 4;
        Ok(())
    }

    /// `# 1 "file"` or `#line 1 "file"`.
    fn at_line_marker(&self) -> bool {
        let rest = self.source[self.at + 1..].trim_start_matches([' ', '\t']);
        rest.starts_with("line") || rest.starts_with(|c: char| c.is_ascii_digit())
    }

    fn cut(&mut self) -> Cut<'s> {
        if self.section == Section::Body {
            return self.section_body();
        }
        let Some(&first) = self.bytes.get(self.at) else {
            return Ok(Token::End);
        };
        match first {
            b'0'..=b'9' => self.number(),
            b'"' => self.text(),
            b'.' if is_word(self.peek(1)) => Ok(self.dotted()),
            // As in ptxas, the remainder `7 % 2` needs the space: `%2` is a name.
            b'%' if is_word(self.peek(1)) => Ok(self.word()),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' => Ok(self.word()),
            _ => self.symbol(),
        }
    }

    fn word(&mut self) -> Token<'s> {
        let start = self.at;
        self.at += 1;
        self.skip_word();
        Token::Word(&self.source[start..self.at])
    }

    fn dotted(&mut self) -> Token<'s> {
        let start = self.at;
        self.at += 1;
        self.skip_word();
        while self.peek(0) == b':' && self.peek(1) == b':' && is_word(self.peek(2)) {
            self.at += 2;
            self.skip_word();
        }
        Token::Dotted(&self.source[start..self.at])
    }

    fn skip_word(&mut self) {
        while is_word(self.peek(0)) {
            self.at += 1;
        }
    }

    /// A quoted string on one line; a backslash keeps the next character inside.
    fn text(&mut self) -> Cut<'s> {
        let start = self.at + 1;
        let mut end = start;
        loop {
            match self.bytes.get(end) {
                Some(b'"') => break,
                Some(b'\\') if !matches!(self.bytes.get(end + 1), None | Some(b'\n')) => end += 2,
                None | Some(b'\n') => {
                    self.at = end.min(self.bytes.len());
                    return Err(ParseErrorKind::UnterminatedText);
                }
                Some(_) => end += 1,
            }
        }
        self.at = end + 1;
        Ok(Token::Text(&self.source[start..end]))
    }

    fn symbol(&mut self) -> Cut<'s> {
        let rest = &self.source[self.at..];
        if let Some(symbol) = SYMBOLS.iter().find(|s| rest.starts_with(**s)) {
            self.at += symbol.len();
            return Ok(Token::Symbol(symbol));
        }
        let found = rest.chars().next().unwrap_or_default();
        self.at += found.len_utf8();
        if found == '#' {
            return Err(ParseErrorKind::Preprocessor);
        }
        Err(ParseErrorKind::BadCharacter(found))
    }

    /// Everything up to the `}` of a section, comments skipped over.
    fn section_body(&mut self) -> Cut<'s> {
        let start = self.at;
        loop {
            match self.peek(0) {
                b'}' => return Ok(Token::SectionBody(&self.source[start..self.at])),
                b'/' if self.peek(1) == b'/' => self.skip_line(),
                b'/' if self.peek(1) == b'*' => self.skip_comment()?,
                _ if self.at >= self.bytes.len() => {
                    return Err(ParseErrorKind::UnterminatedSection);
                }
                _ => self.at += 1,
            }
        }
    }

    /// PTX ISA, "Integer Constants" and "Floating-Point Constants".
    fn number(&mut self) -> Cut<'s> {
        let start = self.at;
        self.skip_word();
        let plain = &self.source[start..self.at];
        if !starts_with_radix(plain) && self.skip_fraction(start) {
            let text = &self.source[start..self.at];
            return match text.parse::<f64>() {
                Ok(value) => Ok(Token::F64(value.to_bits())),
                Err(_) => Err(bad_number(text, NumberFault::Digits)),
            };
        }
        if let Some(digits) = strip_prefix(plain, "0f") {
            return match hex_bits(digits, 8) {
                Some(bits) => Ok(Token::F32(bits as u32)),
                None => Err(bad_number(plain, NumberFault::SingleDigits)),
            };
        }
        if let Some(digits) = strip_prefix(plain, "0d") {
            return match hex_bits(digits, 16) {
                Some(bits) => Ok(Token::F64(bits)),
                None => Err(bad_number(plain, NumberFault::DoubleDigits)),
            };
        }
        integer(plain)
    }

    /// Extends the number that starts at `start` over `.digits` and an exponent;
    /// tells whether it is a decimal floating-point literal.
    fn skip_fraction(&mut self, start: usize) -> bool {
        let mut float = false;
        if self.peek(0) == b'.' && !self.source[start..self.at].contains(['e', 'E']) {
            float = true;
            self.at += 1;
            self.skip_word();
        }
        let exponent = self.source[start..self.at].ends_with(['e', 'E']);
        if exponent && matches!(self.peek(0), b'+' | b'-') && self.peek(1).is_ascii_digit() {
            self.at += 1;
            self.skip_word();
        }
        float || self.source[start..self.at].contains(['e', 'E'])
    }
}

fn integer<'s>(text: &str) -> Cut<'s> {
    let (body, unsigned) = match text.strip_suffix(['U', 'u']) {
        Some(body) => (body, true),
        None => (text, false),
    };
    let (digits, radix) = match (strip_prefix(body, "0x"), strip_prefix(body, "0b")) {
        (Some(digits), _) => (digits, 16),
        (_, Some(digits)) => (digits, 2),
        _ if body.len() > 1 && body.starts_with('0') => (&body[1..], 8),
        _ => (body, 10),
    };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Err(bad_number(text, NumberFault::Digits));
    }
    match u64::from_str_radix(digits, radix) {
        Ok(value) => Ok(Token::Int(value, unsigned)),
        Err(_) => Err(bad_number(text, NumberFault::TooLarge)),
    }
}

fn starts_with_radix(text: &str) -> bool {
    ["0x", "0b", "0f", "0d"]
        .iter()
        .any(|radix| strip_prefix(text, radix).is_some())
}

/// `text` without `prefix`, whose letter may be of either case.
fn strip_prefix<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix)
        .then(|| &text[prefix.len()..])
}

fn hex_bits(digits: &str, length: usize) -> Option<u64> {
    let valid = digits.len() == length && digits.bytes().all(|b| b.is_ascii_hexdigit());
    valid
        .then(|| u64::from_str_radix(digits, 16).ok())
        .flatten()
}

fn bad_number(text: &str, fault: NumberFault) -> ParseErrorKind {
    ParseErrorKind::BadNumber {
        text: clip(text),
        fault,
    }
}

/// Characters that continue an identifier (PTX ISA, "Identifiers").
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

/// A span; sources are at most 4 GiB (checked before tokenizing).
fn span(start: usize, end: usize) -> Span {
    Span {
        start: start as u32,
        end: end as u32,
    }
}

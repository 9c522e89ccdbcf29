//! The parser: recursive descent over the [tokens](super::token), one file for
//! each part of the grammar.
//!
//! | file | chapter of the PTX ISA |
//! |---|---|
//! | `module.rs` | "PTX Module Directives", "Linking Directives", "Debugging Directives" |
//! | `function.rs` | "Kernel Entry Point and Function Directives", "Control Flow Directives" |
//! | `variable.rs` | "State Spaces", "Types", "Variables" |
//! | `instruction.rs` | "Instruction Statements" |
//! | `operand.rs` | "Instruction Operands" |
//! | `expression.rs` | "Constant Expressions" |
//!
//! Opcodes, modifiers and unknown directives are kept as they are, so a newer
//! compiler's text parses. What bounds the work on hostile input: nesting stops
//! at [`NESTING`] levels and an expression at [`EXPRESSION_NODES`] nodes, so
//! neither the parser nor anything that walks the tree can exhaust the stack;
//! what ranges expand to stops at [`RANGE`] names. Only the tokens of one
//! statement are in memory at a time, and [`parse_items`] drops what is not wanted.

mod expression;
mod function;
mod instruction;
mod module;
mod operand;
mod variable;

pub(crate) use expression::precedence;

use super::ast::{Item, Module, Span};
use super::error::{Binary, ParseError, ParseErrorKind, clip};
use super::token::{Lexeme, Token, Tokens};
use std::collections::VecDeque;

/// How deep blocks, initialisers and operands may nest.
pub const NESTING: usize = 100;
/// How many nodes one constant expression may have.
pub const EXPRESSION_NODES: usize = 500;
/// How many names the ranges of a module, such as `label<4>`, may stand for in all.
pub const RANGE: u64 = 65_536;
/// How many tokens the parser looks ahead.
const LOOKAHEAD: usize = 2;

/// Parses a PTX module.
///
/// # Errors
///
/// The first place where the text is not PTX. No input makes it panic.
///
/// ```
/// let module = racetrap_ptx::parse(".version 8.0\n.target sm_90\n.address_size 64\n").unwrap();
/// assert_eq!(module.version, (8, 0));
///
/// let error = racetrap_ptx::parse(".version 8.0\n.target sm_90\n.visible .entry (").unwrap_err();
/// assert_eq!((error.line, error.column), (3, 17));
/// ```
pub fn parse(source: &str) -> Result<Module, ParseError> {
    parse_items(source, u64::MAX, &mut Some)
}

/// Parses a PTX module item by item, within about so many bytes of memory. Each item goes to `keep` as soon as it has been read; what
/// that returns is in the module. What it drops takes no memory any more.
///
/// # Errors
///
/// As [`parse`]; besides, what is kept, with the item that is being read, takes more memory.
pub fn parse_items(
    source: &str,
    bytes: u64,
    keep: &mut dyn FnMut(Item) -> Option<Item>,
) -> Result<Module, ParseError> {
    let failed = |span, kind| Err(ParseError::new(source.as_bytes(), span, kind));
    if u32::try_from(source.len()).is_err() {
        return failed(
            Span::default(),
            ParseErrorKind::TooLong {
                bytes: source.len(),
            },
        );
    }
    if let Some(offset) = source.bytes().position(|byte| byte == 0) {
        return failed(byte_span(offset), ParseErrorKind::Nul { offset });
    }
    Parser::new(source, bytes)
        .module(keep)
        .or_else(|Fault { span, kind }| failed(span, *kind))
}

/// Parses a PTX module from the bytes of a file.
///
/// # Errors
///
/// As [`parse`]; besides, for files that are no text: their format where it is a
/// well-known one, else the offset of the first byte that can't be text.
pub fn parse_bytes(bytes: &[u8]) -> Result<Module, ParseError> {
    if let Some(format) = Binary::sniff(bytes) {
        return Err(ParseError::new(
            bytes,
            Span::default(),
            ParseErrorKind::Binary(format),
        ));
    }
    match std::str::from_utf8(bytes) {
        Ok(source) => parse(source),
        Err(error) => {
            let invalid = error.valid_up_to();
            let nul = bytes[..invalid].iter().position(|&byte| byte == 0);
            let (offset, kind) = match nul {
                Some(offset) => (offset, ParseErrorKind::Nul { offset }),
                None => (invalid, ParseErrorKind::NotUtf8 { offset: invalid }),
            };
            Err(ParseError::new(bytes, byte_span(offset), kind))
        }
    }
}

fn byte_span(offset: usize) -> Span {
    let start = u32::try_from(offset).unwrap_or(u32::MAX);
    Span {
        start,
        end: start.saturating_add(1),
    }
}

/// An error before its line and column are known.
#[derive(Debug)]
struct Fault {
    span: Span,
    kind: Box<ParseErrorKind>,
}

type Parsed<T> = Result<T, Fault>;

struct Parser<'s> {
    source: &'s str,
    tokens: Tokens<'s>,
    /// The tokens of the statement that is being read, the one before it, and those ahead.
    lexemes: VecDeque<Lexeme<'s>>,
    /// Number of the first of them, from the text's first one.
    first: usize,
    /// Number of the current token; the last one is never passed.
    at: usize,
    /// Levels of blocks, initialisers and operands that are open.
    depth: usize,
    /// Nodes of the constant expression being read.
    nodes: usize,
    /// Names that ranges may still expand to.
    range_left: u64,
    /// Bytes that the tree may still take, and all of them.
    bytes_left: u64,
    bytes: u64,
}

impl<'s> Parser<'s> {
    fn new(source: &'s str, bytes: u64) -> Parser<'s> {
        let mut parser = Parser {
            source,
            tokens: Tokens::of(source),
            lexemes: VecDeque::new(),
            first: 0,
            at: 0,
            depth: 0,
            nodes: 0,
            range_left: RANGE,
            bytes_left: bytes,
            bytes,
        };
        parser.look_ahead();
        parser
    }

    fn lexeme(&self, ahead: usize) -> &Lexeme<'s> {
        &self.lexemes[(self.at - self.first + ahead).min(self.lexemes.len() - 1)]
    }

    /// Reads the tokens that the parser may look at before it goes on.
    fn look_ahead(&mut self) {
        while self.lexemes.len() <= self.at - self.first + LOOKAHEAD {
            match self.tokens.next() {
                Some(lexeme) => self.lexemes.push_back(lexeme),
                None => return,
            }
        }
    }

    /// Forgets the tokens of statements that have been read, but for the last one: nothing goes back beyond the statement that begins.
    fn begin_statement(&mut self) {
        let done = (self.at - self.first).saturating_sub(1);
        self.lexemes.drain(..done);
        self.first += done;
    }

    /// Counts bytes of the tree, about.
    fn spend(&mut self, bytes: usize) -> Parsed<()> {
        match self.bytes_left.checked_sub(bytes as u64) {
            Some(left) => {
                self.bytes_left = left;
                Ok(())
            }
            None => {
                let kind = ParseErrorKind::TooLarge { limit: self.bytes };
                Err(Fault::new(self.span(), kind))
            }
        }
    }

    fn token(&self) -> &Token<'s> {
        &self.lexeme(0).token
    }

    fn span(&self) -> Span {
        self.lexeme(0).span
    }

    /// From `start` to the end of the last token read.
    fn span_since(&self, start: Span) -> Span {
        Span {
            start: start.start,
            end: self.before().span.end,
        }
    }

    /// The current token as written.
    fn text(&self) -> &'s str {
        let span = self.span();
        self.source
            .get(span.start as usize..span.end as usize)
            .unwrap_or("")
    }

    /// The token before the current one.
    fn before(&self) -> &Lexeme<'s> {
        &self.lexemes[(self.at - self.first).saturating_sub(1)]
    }

    fn advance(&mut self) {
        self.at = (self.at + 1).min(self.first + self.lexemes.len() - 1);
        self.look_ahead();
    }

    fn is(&self, symbol: &str) -> bool {
        matches!(self.token(), Token::Symbol(found) if *found == symbol)
    }

    fn is_dotted(&self, name: &str) -> bool {
        matches!(self.token(), Token::Dotted(found) if *found == name)
    }

    /// Reads `symbol` if it comes next.
    fn eat(&mut self, symbol: &str) -> bool {
        let found = self.is(symbol);
        if found {
            self.advance();
        }
        found
    }

    /// Reads the dotted word `name` if it comes next.
    fn eat_dotted(&mut self, name: &str) -> bool {
        let found = self.is_dotted(name);
        if found {
            self.advance();
        }
        found
    }

    /// Reads `symbol`; `expected` says what it is for.
    fn expect(&mut self, symbol: &str, expected: &str) -> Parsed<()> {
        if self.eat(symbol) {
            Ok(())
        } else {
            Err(self.missing(expected))
        }
    }

    fn word(&mut self, expected: &str) -> Parsed<String> {
        match *self.token() {
            Token::Word(word) => {
                self.advance();
                Ok(word.to_owned())
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    fn quoted(&mut self, expected: &str) -> Parsed<String> {
        match *self.token() {
            Token::Text(text) => {
                self.advance();
                Ok(text.to_owned())
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    fn int(&mut self, expected: &str) -> Parsed<u64> {
        match *self.token() {
            Token::Int(value, _) => {
                self.advance();
                Ok(value)
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    /// An integer of 32 bits.
    fn int32(&mut self, what: &'static str) -> Parsed<u32> {
        let span = self.span();
        let found = self.int(what)?;
        u32::try_from(found).map_err(|_| {
            Fault::new(
                span,
                ParseErrorKind::OutOfRange {
                    what,
                    range: "below 2^32",
                    found,
                },
            )
        })
    }

    /// Reads `items` separated by commas until `close`, which is read too. The
    /// opening bracket stands at `open`.
    fn list<T>(
        &mut self,
        open: Span,
        (bracket, close): (&'static str, &'static str),
        inside: &str,
        mut item: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        if self.eat(close) {
            return Ok(items);
        }
        loop {
            self.not_at_end(open, bracket, inside)?;
            items.push(item(self)?);
            if self.eat(close) {
                return Ok(items);
            }
            self.not_at_end(open, bracket, inside)?;
            if !self.eat(",") {
                return Err(self.missing(&format!("`,` or `{close}` in {inside}")));
            }
        }
    }

    /// An error that points at the opening bracket where the text has ended.
    fn not_at_end(&self, span: Span, open: &'static str, inside: &str) -> Parsed<()> {
        match self.token() {
            Token::End => {
                let inside = inside.to_owned();
                Err(Fault::new(span, ParseErrorKind::Unclosed { open, inside }))
            }
            _ => Ok(()),
        }
    }

    /// Runs `read` one level deeper.
    fn nested<T>(
        &mut self,
        what: &'static str,
        read: impl FnOnce(&mut Self) -> Parsed<T>,
    ) -> Parsed<T> {
        if self.depth >= NESTING {
            let kind = ParseErrorKind::TooDeep {
                what,
                limit: NESTING,
            };
            return Err(Fault::new(self.span(), kind));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// The error that the current token is not `expected`.
    fn unexpected(&self, expected: &str) -> Fault {
        let Lexeme { token, span, .. } = self.lexeme(0);
        if let Token::Bad(kind) = token {
            return Fault {
                span: *span,
                kind: kind.clone(),
            };
        }
        let (expected, found) = (expected.to_owned(), token.describe());
        Fault::new(*span, ParseErrorKind::Unexpected { expected, found })
    }

    /// As [`Parser::unexpected`], for what ends a statement or separates the
    /// items of a list: where a new line has begun, the mistake is at the end of
    /// the line before.
    fn missing(&self, expected: &str) -> Fault {
        let next = self.lexeme(0);
        let line_ended = next.starts_line && !matches!(next.token, Token::Bad(_) | Token::End);
        if self.at == 0 || !line_ended {
            return self.unexpected(expected);
        }
        let end = self.before().span.end;
        let expected = expected.to_owned();
        Fault::new(
            Span { start: end, end },
            ParseErrorKind::LineEnded { expected },
        )
    }
}

impl Fault {
    fn new(span: Span, kind: ParseErrorKind) -> Fault {
        Fault {
            span,
            kind: Box::new(kind),
        }
    }

    /// `found` is no `kind`; suggests the nearest of `known`.
    fn unknown_name(span: Span, found: &str, kind: &'static str, known: &[&str]) -> Fault {
        let nearest = known
            .iter()
            .filter(|name| found.len() <= 2 * name.len())
            .map(|name| (strsim::damerau_levenshtein(found, name), *name))
            .min_by_key(|(distance, _)| *distance)
            .filter(|(distance, name)| *distance <= 1 + name.len() / 5)
            .map(|(_, name)| name.to_owned());
        let found = clip(found);
        Fault::new(
            span,
            ParseErrorKind::UnknownName {
                found,
                kind,
                nearest,
            },
        )
    }
}

//! PTX ISA, "PTX Module Directives", "Linking Directives", "Debugging Directives".

use super::{Fault, Parsed, Parser};
use crate::ast::*;
use crate::error::ParseErrorKind;
use crate::token::Token;

/// The directives that can stand at module scope, for suggestions.
const DIRECTIVES: [&str; 17] = [
    ".version",
    ".target",
    ".address_size",
    ".file",
    ".section",
    ".pragma",
    ".alias",
    ".extern",
    ".visible",
    ".weak",
    ".common",
    ".entry",
    ".func",
    ".global",
    ".const",
    ".shared",
    ".tex",
];

/// Whether `.target` may name this: an architecture, or one of the options of the section ".target".
fn is_target(word: &str) -> bool {
    let options = [
        "texmode_unified",
        "texmode_independent",
        "debug",
        "map_f64_to_f32",
    ];
    let number = word
        .strip_prefix("sm_")
        .map(|rest| rest.strip_suffix(['a', 'f']).unwrap_or(rest));
    let architecture = number.and_then(|digits| digits.parse::<u16>().ok());
    options.contains(&word) || architecture.is_some_and(|number| (10..1000).contains(&number))
}

impl Parser<'_> {
    /// `.version`, `.target` and `.address_size`, then items to the end.
    pub(super) fn module(&mut self, keep: &mut dyn FnMut(Item) -> Option<Item>) -> Parsed<Module> {
        let version = self.version()?;
        let mut module = Module {
            version,
            target: Vec::new(),
            address_size: 64,
            items: Vec::new(),
        };
        let mut read = Vec::new();
        loop {
            self.begin_statement();
            match *self.token() {
                Token::End if module.target.is_empty() => {
                    return Err(Fault::new(self.span(), ParseErrorKind::NoTarget));
                }
                Token::End => return Ok(module),
                Token::Dotted(".target") => self.target(&mut module.target)?,
                Token::Dotted(".address_size") => module.address_size = self.address_size()?,
                Token::Symbol(";") => self.advance(),
                _ => {
                    let left = self.bytes_left;
                    self.item(&mut read)?;
                    let (given, bodies) = (read.len(), bodies(&read));
                    let before = module.items.len();
                    module.items.extend(read.drain(..).filter_map(&mut *keep));
                    let kept = &module.items[before..];
                    if (kept.len(), self::bodies(kept)) < (given, bodies) {
                        // What stays of a function without its body is small.
                        self.bytes_left = left;
                    }
                }
            }
        }
    }

    /// "PTX Module Directives: .version": `.version major.minor`.
    fn version(&mut self) -> Parsed<(u32, u32)> {
        if let Token::Bad(_) = self.token() {
            return Err(self.unexpected("`.version`"));
        }
        if !self.eat_dotted(".version") {
            let kind = match self.token() {
                Token::End => ParseErrorKind::Empty,
                found => ParseErrorKind::NoVersion {
                    found: found.describe(),
                },
            };
            return Err(Fault::new(self.span(), kind));
        }
        let (major, minor) = self.text().split_once('.').unwrap_or_default();
        match (self.token(), major.parse(), minor.parse()) {
            (Token::F64(_), Ok(major), Ok(minor)) => {
                self.advance();
                Ok((major, minor))
            }
            _ => Err(self.unexpected("a version such as 8.0")),
        }
    }

    /// "PTX Module Directives: .target": `.target sm_90, debug`.
    fn target(&mut self, target: &mut Vec<String>) -> Parsed<()> {
        self.advance();
        loop {
            let known = matches!(*self.token(), Token::Word(word) if is_target(word));
            if !known {
                return Err(self.unexpected("a target such as sm_90"));
            }
            target.push(self.word("a target such as sm_90")?);
            if !self.eat(",") {
                return Ok(());
            }
        }
    }

    /// "PTX Module Directives: .address_size": 32 or 64.
    fn address_size(&mut self) -> Parsed<u32> {
        self.advance();
        let span = self.span();
        match self.int("an address size, 32 or 64")? {
            32 => Ok(32),
            64 => Ok(64),
            found => {
                let (what, range) = ("the address size", "32 or 64");
                Err(Fault::new(
                    span,
                    ParseErrorKind::OutOfRange { what, range, found },
                ))
            }
        }
    }

    fn item(&mut self, items: &mut Vec<Item>) -> Parsed<()> {
        match *self.token() {
            Token::Dotted(".file") => items.push(Item::File(self.file()?)),
            Token::Dotted(".section") => items.push(Item::Section(self.section()?)),
            Token::Dotted(name) if name != ".version" => {
                let linkage = self.linkage();
                if self.is_dotted(".entry") || self.is_dotted(".func") {
                    items.push(Item::Function(self.function(linkage)?));
                } else if self.at_variable() {
                    let variables = self.variables(linkage)?;
                    items.extend(variables.into_iter().map(Item::Variable));
                } else if linkage.is_some() {
                    return Err(self.unexpected("`.entry`, `.func` or a state space"));
                } else if matches!(self.lexeme(1).token, Token::Dotted(_))
                    && !self.lexeme(1).starts_line
                {
                    // No directive takes another one as its first argument.
                    let kind = "a directive";
                    return Err(Fault::unknown_name(self.span(), name, kind, &DIRECTIVES));
                } else {
                    items.push(Item::Directive(self.raw_directive()?));
                }
            }
            Token::Symbol("@") if self.at_dwarf() => items.push(Item::Directive(self.dwarf()?)),
            _ => return Err(self.unexpected("a directive, a variable or a function")),
        }
        Ok(())
    }

    /// PTX ISA, "Linking Directives".
    pub(super) fn linkage(&mut self) -> Option<Linkage> {
        let linkage = match self.token() {
            Token::Dotted(".extern") => Linkage::Extern,
            Token::Dotted(".visible") => Linkage::Visible,
            Token::Dotted(".weak") => Linkage::Weak,
            Token::Dotted(".common") => Linkage::Common,
            _ => return None,
        };
        self.advance();
        Some(linkage)
    }

    /// "Debugging Directives: .file": `.file index "name"[, timestamp, size]`. A
    /// directory in a string of its own is joined to the name.
    fn file(&mut self) -> Parsed<FileDirective> {
        let start = self.span();
        self.advance();
        let index = self.int32("the file's number")?;
        let mut name = self.quoted("the file's name in quotes")?;
        if let Token::Text(file) = *self.token() {
            self.advance();
            name = format!("{name}/{file}");
        }
        let mut stamp = None;
        if self.eat(",") {
            let time = self.int("the file's time stamp")?;
            self.expect(",", "`,` and the file's size")?;
            stamp = Some((time, self.int("the file's size")?));
        }
        Ok(FileDirective {
            index,
            name,
            stamp,
            span: self.span_since(start),
        })
    }

    /// "Debugging Directives: .section": the lines between the braces, without
    /// comments and blank lines.
    fn section(&mut self) -> Parsed<Section> {
        let start = self.span();
        self.advance();
        let Token::Dotted(name) = *self.token() else {
            return Err(self.unexpected("the section's name, such as `.debug_str`"));
        };
        self.advance();
        self.expect("{", "`{` and the section's contents")?;
        let Token::SectionBody(body) = *self.token() else {
            return Err(self.unexpected("the section's contents"));
        };
        self.advance();
        self.spend(4 * body.len())?;
        self.expect("}", "`}` at the end of the section")?;
        Ok(Section {
            name: name.to_owned(),
            lines: section_lines(body),
            span: self.span_since(start),
        })
    }

    /// `@@DWARF …` (PTX ISA, "Debugging Directives: @@dwarf").
    fn at_dwarf(&self) -> bool {
        matches!(self.lexeme(1).token, Token::Symbol("@"))
            && matches!(self.lexeme(2).token, Token::Word(_))
    }

    fn dwarf(&mut self) -> Parsed<RawDirective> {
        self.advance();
        self.advance();
        let mut directive = self.raw_directive()?;
        directive.name.insert_str(0, "@@");
        Ok(directive)
    }

    /// A directive that is kept as its tokens: up to a semicolon, or to the end
    /// of a line that neither ends in a comma nor leaves a parenthesis open.
    pub(super) fn raw_directive(&mut self) -> Parsed<RawDirective> {
        let start = self.span();
        let name = self.text().to_owned();
        self.advance();
        let mut tokens = Vec::new();
        let mut open = 0usize;
        let mut comma = false;
        loop {
            let ended = self.lexeme(0).starts_line && open == 0 && !comma;
            match self.token() {
                Token::Symbol(";") => {
                    self.advance();
                    let span = self.span_since(start);
                    return Ok(RawDirective {
                        name,
                        tokens,
                        semicolon: true,
                        span,
                    });
                }
                Token::End | Token::Bad(_) | Token::Symbol("{" | "}") => break,
                _ if ended => break,
                Token::Symbol("(") => open += 1,
                Token::Symbol(")") => open = open.saturating_sub(1),
                _ => {}
            }
            comma = self.is(",");
            self.spend(4 * size_of::<String>())?;
            tokens.push(self.text().to_owned());
            self.advance();
        }
        Ok(RawDirective {
            name,
            tokens,
            semicolon: false,
            span: self.span_since(start),
        })
    }
}

/// How many of the items are functions with bodies.
fn bodies(items: &[Item]) -> usize {
    let has_body = |item: &&Item| matches!(item, Item::Function(f) if f.body.is_some());
    items.iter().filter(has_body).count()
}

/// The lines of a section: trimmed, without comments, without blank ones.
fn section_lines(body: &str) -> Vec<String> {
    let mut text = String::with_capacity(body.len());
    let mut rest = body;
    while let Some(slash) = rest.find('/') {
        let (before, from_slash) = rest.split_at(slash);
        text.push_str(before);
        let end = match from_slash.as_bytes().get(1) {
            Some(b'/') => from_slash.find('\n'),
            Some(b'*') => from_slash[2..].find("*/").map(|length| length + 4),
            _ => Some(1),
        };
        let (slash_or_comment, after) = from_slash.split_at(end.unwrap_or(from_slash.len()));
        text.push_str(match slash_or_comment {
            "/" => "/",
            // A comment separates what stands around it.
            _ => " ",
        });
        rest = after;
    }
    text.push_str(rest);
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

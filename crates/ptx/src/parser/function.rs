//! PTX ISA, "Kernel Entry Point and Function Directives", "Control Flow
//! Directives", "Performance-Tuning Directives" and the statements of a body.

use super::{Fault, Parsed, Parser};
use crate::ast::*;
use crate::error::ParseErrorKind;
use crate::token::Token;

/// Directives that a label gives a name to ("Control Flow Directives").
const LABELLED: [&str; 3] = [".branchtargets", ".calltargets", ".callprototype"];

impl Parser<'_> {
    /// `.entry` or `.func` to its semicolon or closing brace.
    pub(super) fn function(&mut self, linkage: Option<Linkage>) -> Parsed<Function> {
        let kind = match self.is_dotted(".entry") {
            true => FunctionKind::Entry,
            false => FunctionKind::Func,
        };
        self.advance();
        let mut attributes = Vec::new();
        while self.is_dotted(".attribute") {
            attributes.extend(self.attribute_directive()?);
        }
        let returns = self.parameters("the return parameters")?;
        let span = self.span();
        let name = self.word("the function's name")?;
        let params = self.parameters("the parameter list")?;
        let directives = self.head_directives()?;
        let body = self.body(&name)?;
        Ok(Function {
            linkage,
            kind,
            attributes,
            returns,
            name,
            params,
            directives,
            body,
            span,
        })
    }

    /// A parenthesised list; none counts as an empty one.
    fn parameters(&mut self, inside: &str) -> Parsed<Vec<Variable>> {
        let open = self.span();
        match self.eat("(") {
            true => self.list(open, ("(", ")"), inside, Self::parameter),
            false => Ok(Vec::new()),
        }
    }

    /// "Performance-Tuning Directives" and the like: each a name and its
    /// arguments. Of them only `.pragma` has a semicolon of its own.
    fn head_directives(&mut self) -> Parsed<Vec<RawDirective>> {
        let mut directives = Vec::new();
        while let Token::Dotted(name) = *self.token() {
            let start = self.span();
            self.advance();
            let mut tokens = Vec::new();
            let mut open = 0usize;
            loop {
                match self.token() {
                    Token::Symbol("{" | ";") | Token::End | Token::Bad(_) => break,
                    Token::Dotted(_) if open == 0 => break,
                    Token::Symbol("(") => open += 1,
                    Token::Symbol(")") => open = open.saturating_sub(1),
                    _ => {}
                }
                self.spend(4 * size_of::<String>())?;
                tokens.push(self.text().to_owned());
                self.advance();
            }
            let semicolon = name == ".pragma";
            if semicolon {
                self.expect(";", "`;` after the pragma")?;
            }
            let (name, span) = (name.to_owned(), self.span_since(start));
            directives.push(RawDirective {
                name,
                tokens,
                semicolon,
                span,
            });
        }
        Ok(directives)
    }

    fn body(&mut self, name: &str) -> Parsed<Option<Vec<Stmt>>> {
        let open = self.span();
        if self.eat(";") {
            return Ok(None);
        }
        self.expect("{", "`{` and the function's body, or `;`")?;
        Ok(Some(
            self.statements(open, &format!("the body of `{name}`"))?,
        ))
    }

    /// Statements up to the `}` that closes the `{` at `open`.
    fn statements(&mut self, open: Span, inside: &str) -> Parsed<Vec<Stmt>> {
        let mut statements = Vec::new();
        while !self.eat("}") {
            self.not_at_end(open, "{", inside)?;
            self.statement(&mut statements)?;
        }
        Ok(statements)
    }

    /// PTX ISA, "Statements".
    fn statement(&mut self, statements: &mut Vec<Stmt>) -> Parsed<()> {
        self.begin_statement();
        self.spend(2 * size_of::<Stmt>())?;
        let open = self.span();
        match *self.token() {
            Token::Symbol(";") => self.advance(),
            Token::Symbol("{") => {
                self.advance();
                let block = self.nested("blocks", |parser| parser.statements(open, "a block"))?;
                statements.push(Stmt::Block(block));
            }
            Token::Dotted(".loc") => statements.push(Stmt::Loc(self.loc()?)),
            Token::Dotted(_) => {
                let linkage = self.linkage();
                if self.at_variable() {
                    let variables = self.variables(linkage)?;
                    statements.extend(variables.into_iter().map(Stmt::Variable));
                } else if linkage.is_some() {
                    return Err(self.unexpected("a state space such as `.shared`"));
                } else if matches!(self.token(), Token::Dotted(name) if LABELLED.contains(name)) {
                    return Err(self.unexpected("a label in front of this directive"));
                } else {
                    statements.push(Stmt::Directive(self.raw_directive()?));
                }
            }
            Token::Word(name) if matches!(self.lexeme(1).token, Token::Symbol(":")) => {
                let span = self.span();
                self.advance();
                self.advance();
                statements.push(self.labelled(name.to_owned(), span)?);
            }
            Token::Word(_) | Token::Symbol("@") => {
                statements.push(Stmt::Instruction(self.instruction()?));
            }
            _ => return Err(self.unexpected("an instruction, a label or a declaration")),
        }
        Ok(())
    }

    /// What stands behind `name:`; a plain label where no directive does.
    fn labelled(&mut self, name: String, span: Span) -> Parsed<Stmt> {
        match *self.token() {
            Token::Dotted(".branchtargets") => {
                Ok(Stmt::BranchTargets(self.target_list(name, span)?))
            }
            Token::Dotted(".calltargets") => Ok(Stmt::CallTargets(self.target_list(name, span)?)),
            Token::Dotted(".callprototype") => {
                Ok(Stmt::CallPrototype(self.call_prototype(name, span)?))
            }
            _ => Ok(Stmt::Label(Label { name, span })),
        }
    }

    /// "Control Flow Directives: .branchtargets" and ".calltargets".
    fn target_list(&mut self, name: String, span: Span) -> Parsed<TargetList> {
        self.advance();
        let mut targets = Vec::new();
        loop {
            let target = self.word("the name of a target")?;
            if self.eat("<") {
                let at = self.span();
                let found = self.int("how many targets the name stands for")?;
                self.expect(">", "`>` after the number of targets")?;
                if found > self.range_left {
                    let (what, range) = ("the number of targets", "at most 65536 in a module");
                    return Err(Fault::new(
                        at,
                        ParseErrorKind::OutOfRange { what, range, found },
                    ));
                }
                self.range_left -= found;
                targets.extend((0..found).map(|index| format!("{target}{index}")));
            } else {
                targets.push(target);
            }
            if !self.eat(",") {
                break;
            }
        }
        self.expect(";", "`,` or `;` in the list of targets")?;
        Ok(TargetList {
            name,
            targets,
            span,
        })
    }

    /// "Control Flow Directives: .callprototype".
    fn call_prototype(&mut self, name: String, span: Span) -> Parsed<CallPrototype> {
        self.advance();
        let returns = self.parameters("the return parameters")?;
        self.word("`_` in place of the function's name")?;
        let params = self.parameters("the parameter list")?;
        let directives = self.head_directives()?;
        self.expect(";", "`;` after the prototype")?;
        Ok(CallPrototype {
            name,
            returns,
            params,
            directives,
            span,
        })
    }

    /// "Debugging Directives: .loc".
    fn loc(&mut self) -> Parsed<Loc> {
        let span = self.span();
        self.advance();
        let (file, line, column) = self.position()?;
        let mut inlined = None;
        if self.eat(",") {
            if self.word("`function_name`")? != "function_name" {
                return Err(self.not("`function_name`"));
            }
            let function = self.word("the label of the function's name")?;
            let offset = match self.eat("+") {
                true => self.int32("a byte offset")?,
                false => 0,
            };
            self.expect(",", "`,` and `inlined_at`")?;
            if self.word("`inlined_at`")? != "inlined_at" {
                return Err(self.not("`inlined_at`"));
            }
            let (file, line, column) = self.position()?;
            inlined = Some(InlinedAt {
                function,
                offset,
                file,
                line,
                column,
            });
        }
        Ok(Loc {
            file,
            line,
            column,
            inlined,
            span: self.span_since(span),
        })
    }

    /// The error that the token just read is not `expected`.
    fn not(&mut self, expected: &str) -> Fault {
        self.at -= 1;
        self.unexpected(expected)
    }

    /// File, line and column; a column that is left out counts as 0.
    fn position(&mut self) -> Parsed<(u32, u32, u32)> {
        let file = self.int32("the file's number")?;
        let line = self.int32("the line")?;
        let column = match self.token() {
            Token::Int(..) if !self.lexeme(0).starts_line => self.int32("the column")?,
            _ => 0,
        };
        Ok((file, line, column))
    }
}

//! PTX ISA, "State Spaces", "Types" and "Variables".

use super::{Fault, Parsed, Parser};
use crate::ast::*;
use crate::constant::{Constant, evaluate};
use crate::error::ParseErrorKind;
use crate::token::Token;

/// What a declaration says in front of its names.
#[derive(Clone)]
struct Attributes {
    vector: Option<u32>,
    align: Option<u32>,
    ty: Option<ScalarType>,
    pointer: Option<PointerAttribute>,
    other: Vec<String>,
}

impl Parser<'_> {
    /// Whether a state space comes next.
    pub(super) fn at_variable(&self) -> bool {
        matches!(self.token(), Token::Dotted(name) if split_space(name).is_some())
    }

    /// `.global .align 4 .b8 a[4] = {…}, b;` with its semicolon.
    pub(super) fn variables(&mut self, linkage: Option<Linkage>) -> Parsed<Vec<Variable>> {
        let mut variables = vec![self.variable(linkage)?];
        while self.eat(",") {
            let mut next = variables[0].clone();
            self.declarator(&mut next)?;
            variables.push(next);
        }
        self.expect(";", "`;` after the declaration")?;
        Ok(variables)
    }

    /// A parameter of a function or prototype.
    pub(super) fn parameter(&mut self) -> Parsed<Variable> {
        if !self.at_variable() {
            return Err(self.unexpected("a parameter such as `.param .u64 name`"));
        }
        self.variable(None)
    }

    fn variable(&mut self, linkage: Option<Linkage>) -> Parsed<Variable> {
        let (space, space_suffix) = self.space()?;
        let bank = self.bank()?;
        let Attributes {
            vector,
            align,
            ty,
            pointer,
            other,
        } = self.attributes()?;
        let Some(ty) = ty else {
            return Err(match *self.token() {
                Token::Dotted(found) => {
                    let types = TYPES.map(|(name, _)| name);
                    Fault::unknown_name(self.span(), found, "a type", &types)
                }
                _ => self.unexpected("the variable's type, such as `.b32`"),
            });
        };
        let mut variable = Variable {
            linkage,
            space,
            space_suffix,
            bank,
            align,
            vector,
            ty,
            pointer,
            attributes: other,
            name: String::new(),
            count: None,
            dims: Vec::new(),
            init: None,
            span: Span::default(),
        };
        self.declarator(&mut variable)?;
        Ok(variable)
    }

    /// PTX ISA, "State Spaces".
    fn space(&mut self) -> Parsed<(StateSpace, Option<String>)> {
        let space = match *self.token() {
            Token::Dotted(name) => split_space(name),
            _ => None,
        };
        match space {
            Some((space, suffix)) => {
                let suffix = suffix.map(str::to_owned);
                self.advance();
                Ok((space, suffix))
            }
            None => Err(self.unexpected("a state space such as `.global`")),
        }
    }

    /// "Constant State Space": `.const[bank]`.
    fn bank(&mut self) -> Parsed<Option<u32>> {
        if !self.eat("[") {
            return Ok(None);
        }
        let bank = self.int32("the constant bank's number")?;
        self.expect("]", "`]` after the constant bank's number")?;
        Ok(Some(bank))
    }

    /// Types, alignment and attributes in any order.
    fn attributes(&mut self) -> Parsed<Attributes> {
        let mut found = Attributes {
            vector: None,
            align: None,
            ty: None,
            pointer: None,
            other: Vec::new(),
        };
        while let Token::Dotted(name) = *self.token() {
            match name {
                ".align" => {
                    self.advance();
                    found.align = Some(self.int32("an alignment in bytes")?);
                }
                ".v2" | ".v4" | ".v8" => {
                    self.advance();
                    found.vector = Some(u32::from(name.as_bytes()[2] - b'0'));
                }
                ".ptr" => {
                    self.advance();
                    found.pointer = Some(self.pointer()?);
                }
                ".attribute" => found.other.extend(self.attribute_directive()?),
                _ => match scalar_type(name) {
                    Some(ty) => {
                        self.advance();
                        found.ty = Some(ty);
                    }
                    None => break,
                },
            }
        }
        Ok(found)
    }

    /// "Kernel Function Parameter Attribute: .ptr".
    fn pointer(&mut self) -> Parsed<PointerAttribute> {
        let space = match *self.token() {
            Token::Dotted(name) => split_space(name).map(|(space, _)| space),
            _ => None,
        };
        if space.is_some() {
            self.advance();
        }
        let align = match self.eat_dotted(".align") {
            true => Some(self.int32("an alignment in bytes")?),
            false => None,
        };
        Ok(PointerAttribute { space, align })
    }

    /// "Variable and Function Attribute Directive: .attribute": each attribute
    /// as written, without white space.
    pub(super) fn attribute_directive(&mut self) -> Parsed<Vec<String>> {
        self.advance();
        let open = self.span();
        self.expect("(", "`(` after `.attribute`")?;
        self.list(open, ("(", ")"), "the attribute list", Self::attribute)
    }

    fn attribute(&mut self) -> Parsed<String> {
        let Token::Dotted(name) = *self.token() else {
            return Err(self.unexpected("an attribute such as `.managed`"));
        };
        let mut text = name.to_owned();
        self.advance();
        let open = self.span();
        if self.eat("(") {
            let values = self.list(open, ("(", ")"), "the attribute's values", |parser| {
                let value = parser.text().to_owned();
                parser.int("a number")?;
                Ok(value)
            })?;
            text.push_str(&format!("({})", values.join(",")));
        }
        Ok(text)
    }

    /// A name with its range, dimensions and initial value: PTX ISA,
    /// "Parameterized Variable Names", "Array Declarations", "Initializers".
    fn declarator(&mut self, variable: &mut Variable) -> Parsed<()> {
        self.spend(2 * size_of::<Variable>())?;
        variable.span = self.span();
        variable.name = self.word("the variable's name")?;
        variable.count = None;
        if self.eat("<") {
            variable.count = Some(self.int32("the number of variables")?);
            self.expect(">", "`>` after the number of variables")?;
        }
        variable.dims = Vec::new();
        while self.eat("[") {
            variable.dims.push(self.dimension()?);
        }
        variable.init = match self.eat("=") {
            true => Some(self.initializer()?),
            false => None,
        };
        Ok(())
    }

    fn dimension(&mut self) -> Parsed<Option<u64>> {
        if self.eat("]") {
            return Ok(None);
        }
        let size = self.constant("the array's size")?;
        self.expect("]", "`]` after the array's size")?;
        Ok(Some(size))
    }

    /// PTX ISA, "Initializers".
    fn initializer(&mut self) -> Parsed<Initializer> {
        let open = self.span();
        if self.eat("{") {
            return self.nested("initialisers", |parser| {
                let items = parser.list(open, ("{", "}"), "the initialiser", Self::initializer)?;
                Ok(Initializer::List(items))
            });
        }
        if let (&Token::Word(name), Token::Symbol("=")) = (self.token(), &self.lexeme(1).token) {
            let name = name.to_owned();
            self.advance();
            self.advance();
            return Ok(Initializer::Field(name, self.operand()?));
        }
        Ok(Initializer::Value(self.operand()?))
    }

    /// A constant expression with an integer value.
    pub(super) fn constant(&mut self, expected: &str) -> Parsed<u64> {
        let span = self.span();
        let found = self.token().describe();
        let expression = self.expression()?;
        evaluate(&expression)
            .and_then(Constant::bits)
            .ok_or_else(|| {
                let expected = expected.to_owned();
                Fault::new(span, ParseErrorKind::Unexpected { expected, found })
            })
    }
}

/// `.shared::cta` as its space and suffix.
pub(super) fn split_space(name: &str) -> Option<(StateSpace, Option<&str>)> {
    let (space, suffix) = match name.split_once("::") {
        Some((space, suffix)) => (space, Some(suffix)),
        None => (name, None),
    };
    let space = match space {
        ".reg" => StateSpace::Reg,
        ".sreg" => StateSpace::Sreg,
        ".const" => StateSpace::Const,
        ".global" => StateSpace::Global,
        ".local" => StateSpace::Local,
        ".param" => StateSpace::Param,
        ".shared" => StateSpace::Shared,
        ".tex" => StateSpace::Tex,
        _ => return None,
    };
    Some((space, suffix))
}

fn scalar_type(name: &str) -> Option<ScalarType> {
    TYPES
        .iter()
        .find(|(text, _)| *text == name)
        .map(|(_, ty)| *ty)
}

/// PTX ISA, "Fundamental Types" and "Texture, Sampler and Surface Types".
const TYPES: [(&str, ScalarType); 23] = [
    (".s8", ScalarType::S8),
    (".s16", ScalarType::S16),
    (".s32", ScalarType::S32),
    (".s64", ScalarType::S64),
    (".u8", ScalarType::U8),
    (".u16", ScalarType::U16),
    (".u32", ScalarType::U32),
    (".u64", ScalarType::U64),
    (".f16", ScalarType::F16),
    (".f16x2", ScalarType::F16x2),
    (".bf16", ScalarType::Bf16),
    (".bf16x2", ScalarType::Bf16x2),
    (".f32", ScalarType::F32),
    (".f64", ScalarType::F64),
    (".b8", ScalarType::B8),
    (".b16", ScalarType::B16),
    (".b32", ScalarType::B32),
    (".b64", ScalarType::B64),
    (".b128", ScalarType::B128),
    (".pred", ScalarType::Pred),
    (".texref", ScalarType::Texref),
    (".samplerref", ScalarType::Samplerref),
    (".surfref", ScalarType::Surfref),
];

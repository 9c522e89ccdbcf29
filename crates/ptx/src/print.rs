//! The printer: a tree back to PTX text.
//!
//! The text is laid out as nvcc does it, parses back to an equal tree, and
//! assembles with `ptxas` where the text that the tree came from did. Constant
//! expressions have the parentheses that they need and no more: the parser limits
//! how deep they nest, and what it read it must be able to read again.

use std::fmt::{self, Display, Formatter, Write as _};

use super::ast::*;
use super::parser::precedence;

/// The text of a module.
///
/// ```
/// # use racetrap_ptx as ptx;
/// let module = ptx::parse(".version 8.0 .target sm_90 .global .align 4 .b8 g[8];").unwrap();
/// let text = ptx::print(&module);
/// assert!(text.contains(".global .align 4 .b8 g[8];\n"));
/// assert_eq!(ptx::parse(&text).unwrap(), module);
/// ```
pub fn print(module: &Module) -> String {
    let mut printer = Printer {
        text: String::new(),
        indent: 0,
    };
    printer.module(module);
    printer.text
}

impl Display for Instruction {
    /// The instruction as [`print()`] writes it, semicolon included.
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        if let Some(Guard { negated, register }) = &self.guard {
            write!(f, "@{}{register} ", if *negated { "!" } else { "" })?;
        }
        f.write_str(&self.opcode)?;
        self.modifiers
            .iter()
            .try_for_each(|modifier| write!(f, ".{modifier}"))?;
        if !self.operands.is_empty() {
            write!(f, " {}", Separated(&self.operands))?;
        }
        f.write_str(";")
    }
}

impl Display for Operand {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Operand::Name(name, None) => f.write_str(name),
            Operand::Name(name, Some(component)) => write!(f, "{name}.{component}"),
            Operand::Offset(name, offset) => write!(f, "{name}{offset:+}"),
            Operand::Index(name, index) => write!(f, "{name}[{index}]"),
            Operand::Int(value, unsigned) => {
                write!(f, "{value}{}", if *unsigned { "U" } else { "" })
            }
            Operand::F32(bits) => write!(f, "0f{bits:08X}"),
            Operand::F64(bits) => write!(f, "0d{bits:016X}"),
            Operand::Neg(inner) => write!(f, "-{inner}"),
            Operand::Not(inner) => write!(f, "!{inner}"),
            Operand::Expr(expression) => write!(f, "{expression}"),
            Operand::Address(Address { base, offset, rest }) => {
                write!(f, "[{base}")?;
                if *offset != 0 {
                    write!(f, "+{offset}")?;
                }
                rest.iter().try_for_each(|part| write!(f, ", {part}"))?;
                f.write_str("]")
            }
            Operand::Vector(lanes) => write!(f, "{{{}}}", Separated(lanes)),
            Operand::Pair(first, second) => write!(f, "{first}|{second}"),
            Operand::List(operands) => write!(f, "({})", Separated(operands)),
            Operand::Text(text) => write!(f, "\"{text}\""),
        }
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Expr::Leaf(operand) => write!(f, "{operand}"),
            Expr::Unary(symbol, inner) => write!(f, "{symbol}{}", Above(UNARY, inner)),
            Expr::Binary(symbol, left, right) => {
                // Operators of one precedence go from left to right.
                let own = precedence(symbol).unwrap_or(0);
                write!(f, "{} {symbol} {}", Above(own, left), Above(own + 1, right))
            }
            Expr::Conditional(condition, yes, no) => {
                write!(f, "{} ? {yes} : {no}", Above(1, condition))
            }
            Expr::Call(name, inner) => write!(f, "{name}({inner})"),
        }
    }
}

/// What binds tighter than every binary operator.
const UNARY: u8 = u8::MAX;

/// An expression where only operators of at least some precedence can stand.
struct Above<'a>(u8, &'a Expr);

impl Display for Above<'_> {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let Above(lowest, expression) = self;
        let own = match expression {
            Expr::Leaf(_) | Expr::Call(..) | Expr::Unary(..) => UNARY,
            Expr::Binary(symbol, ..) => precedence(symbol).unwrap_or(0),
            Expr::Conditional(..) => 0,
        };
        if own >= *lowest {
            write!(f, "{expression}")
        } else {
            write!(f, "({expression})")
        }
    }
}

/// Items with commas between them.
struct Separated<'a, T>(&'a [T]);

impl<T: Display> Display for Separated<'_, T> {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        for (at, item) in self.0.iter().enumerate() {
            write!(f, "{}{item}", if at == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl Display for Initializer {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Initializer::Value(value) => write!(f, "{value}"),
            Initializer::List(items) => write!(f, "{{{}}}", Separated(items)),
            Initializer::Field(name, value) => write!(f, "{name} = {value}"),
        }
    }
}

impl Display for Variable {
    /// The declaration without its semicolon: also a parameter's.
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        if let Some(linkage) = self.linkage {
            write!(f, "{linkage} ")?;
        }
        write!(f, "{}", self.space)?;
        if let Some(suffix) = &self.space_suffix {
            write!(f, "::{suffix}")?;
        }
        if let Some(bank) = self.bank {
            write!(f, "[{bank}]")?;
        }
        attributes(f, &self.attributes)?;
        if let Some(align) = self.align {
            write!(f, " .align {align}")?;
        }
        if let Some(lanes) = self.vector {
            write!(f, " .v{lanes}")?;
        }
        write!(f, " {}", self.ty)?;
        if let Some(PointerAttribute { space, align }) = &self.pointer {
            f.write_str(" .ptr")?;
            if let Some(space) = space {
                write!(f, " {space}")?;
            }
            if let Some(align) = align {
                write!(f, " .align {align}")?;
            }
        }
        write!(f, " {}", self.name)?;
        if let Some(count) = self.count {
            write!(f, "<{count}>")?;
        }
        for dim in &self.dims {
            match dim {
                Some(size) => write!(f, "[{size}]")?,
                None => f.write_str("[]")?,
            }
        }
        match &self.init {
            Some(init) => write!(f, " = {init}"),
            None => Ok(()),
        }
    }
}

fn attributes(f: &mut Formatter, attributes: &[String]) -> fmt::Result {
    match attributes {
        [] => Ok(()),
        _ => write!(f, " .attribute({})", Separated(attributes)),
    }
}

impl Display for Linkage {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.write_str(match self {
            Linkage::Extern => ".extern",
            Linkage::Visible => ".visible",
            Linkage::Weak => ".weak",
            Linkage::Common => ".common",
        })
    }
}

impl Display for StateSpace {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.write_str(match self {
            StateSpace::Reg => ".reg",
            StateSpace::Sreg => ".sreg",
            StateSpace::Const => ".const",
            StateSpace::Global => ".global",
            StateSpace::Local => ".local",
            StateSpace::Param => ".param",
            StateSpace::Shared => ".shared",
            StateSpace::Tex => ".tex",
        })
    }
}

impl Display for ScalarType {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.write_str(match self {
            ScalarType::S8 => ".s8",
            ScalarType::S16 => ".s16",
            ScalarType::S32 => ".s32",
            ScalarType::S64 => ".s64",
            ScalarType::U8 => ".u8",
            ScalarType::U16 => ".u16",
            ScalarType::U32 => ".u32",
            ScalarType::U64 => ".u64",
            ScalarType::F16 => ".f16",
            ScalarType::F16x2 => ".f16x2",
            ScalarType::F32 => ".f32",
            ScalarType::F64 => ".f64",
            ScalarType::Bf16 => ".bf16",
            ScalarType::Bf16x2 => ".bf16x2",
            ScalarType::B8 => ".b8",
            ScalarType::B16 => ".b16",
            ScalarType::B32 => ".b32",
            ScalarType::B64 => ".b64",
            ScalarType::B128 => ".b128",
            ScalarType::Pred => ".pred",
            ScalarType::Texref => ".texref",
            ScalarType::Samplerref => ".samplerref",
            ScalarType::Surfref => ".surfref",
        })
    }
}

impl Display for RawDirective {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.write_str(&self.name)?;
        for token in &self.tokens {
            let glued = token == ",";
            write!(f, "{}{token}", if glued { "" } else { " " })?;
        }
        f.write_str(if self.semicolon { ";" } else { "" })
    }
}

impl Display for Loc {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        write!(f, ".loc {} {} {}", self.file, self.line, self.column)?;
        if let Some(InlinedAt {
            function,
            offset,
            file,
            line,
            column,
        }) = &self.inlined
        {
            write!(f, ", function_name {function}")?;
            if *offset != 0 {
                write!(f, "+{offset}")?;
            }
            write!(f, ", inlined_at {file} {line} {column}")?;
        }
        Ok(())
    }
}

struct Printer {
    text: String,
    indent: usize,
}

impl Printer {
    fn line(&mut self, line: impl Display) {
        // Writing to a string can't fail.
        let _ = writeln!(self.text, "{:width$}{line}", "", width = 4 * self.indent);
    }

    fn module(&mut self, module: &Module) {
        let Module {
            version: (major, minor),
            target,
            address_size,
            items,
        } = module;
        self.line(format_args!(".version {major}.{minor}"));
        self.line(format_args!(".target {}", Separated(target)));
        self.line(format_args!(".address_size {address_size}"));
        for item in items {
            match item {
                Item::File(file) => self.file(file),
                Item::Variable(variable) => self.line(format_args!("{variable};")),
                Item::Function(function) => self.function(function),
                Item::Directive(directive) => self.line(directive),
                Item::Section(section) => self.section(section),
            }
        }
    }

    fn file(
        &mut self,
        FileDirective {
            index, name, stamp, ..
        }: &FileDirective,
    ) {
        match stamp {
            Some((time, size)) => {
                self.line(format_args!(".file {index} \"{name}\", {time}, {size}"));
            }
            None => self.line(format_args!(".file {index} \"{name}\"")),
        }
    }

    fn section(&mut self, Section { name, lines, .. }: &Section) {
        self.line(format_args!(".section {name}"));
        self.line("{");
        lines.iter().for_each(|line| self.line(line));
        self.line("}");
    }

    fn function(&mut self, function: &Function) {
        let Function {
            linkage,
            kind,
            attributes,
            returns,
            name,
            params,
            directives,
            body,
            ..
        } = function;
        let mut head = String::new();
        if let Some(linkage) = linkage {
            let _ = write!(head, "{linkage} ");
        }
        head.push_str(match kind {
            FunctionKind::Entry => ".entry",
            FunctionKind::Func => ".func",
        });
        if !attributes.is_empty() {
            let _ = write!(head, " .attribute({})", Separated(attributes));
        }
        if !returns.is_empty() {
            let _ = write!(head, " ({})", Separated(returns));
        }
        self.line(format_args!("\n{head} {name}("));
        for (at, param) in params.iter().enumerate() {
            let comma = if at + 1 < params.len() { "," } else { "" };
            self.line(format_args!("    {param}{comma}"));
        }
        self.line(")");
        directives.iter().for_each(|directive| self.line(directive));
        match body {
            Some(body) => self.block(body),
            None => self.line(";"),
        }
    }

    fn block(&mut self, statements: &[Stmt]) {
        self.line("{");
        self.indent += 1;
        statements
            .iter()
            .for_each(|statement| self.statement(statement));
        self.indent -= 1;
        self.line("}");
    }

    fn statement(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Label(label) => {
                let _ = writeln!(self.text, "{}:", label.name);
            }
            Stmt::Variable(variable) => self.line(format_args!("{variable};")),
            Stmt::Instruction(instruction) => self.line(instruction),
            Stmt::Loc(loc) => self.line(loc),
            Stmt::Block(inner) => self.block(inner),
            Stmt::BranchTargets(list) => self.targets(".branchtargets", list),
            Stmt::CallTargets(list) => self.targets(".calltargets", list),
            Stmt::CallPrototype(prototype) => self.prototype(prototype),
            Stmt::Directive(directive) => self.line(directive),
        }
    }

    fn targets(&mut self, directive: &str, TargetList { name, targets, .. }: &TargetList) {
        self.line(format_args!("{name}: {directive} {};", Separated(targets)));
    }

    fn prototype(&mut self, prototype: &CallPrototype) {
        let CallPrototype {
            name,
            returns,
            params,
            directives,
            ..
        } = prototype;
        let (returns, params) = (Separated(returns), Separated(params));
        let mut tail = String::new();
        for directive in directives {
            let _ = write!(tail, " {directive}");
        }
        self.line(format_args!(
            "{name}: .callprototype ({returns}) _ ({params}){tail};"
        ));
    }
}

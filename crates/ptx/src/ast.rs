//! The PTX syntax tree.
//!
//! One type for each construct of the grammar (PTX ISA, chapters 4 to 11). The
//! tree is *lossless for meaning*, not for layout: comments and white space are
//! gone, and printing a tree and parsing it again gives an equal tree (spans
//! aside, see [`Span`]'s equality). Instructions are kept as opcode, modifiers
//! and operands, whether racetrap knows the opcode or not, so that a file that
//! a newer compiler wrote still parses.

/// A half-open byte range of the source text.
///
/// All spans compare equal, so that two trees are equal when they mean the same
/// text, wherever it stood.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl PartialEq for Span {
    fn eq(&self, _: &Span) -> bool {
        true
    }
}
impl Eq for Span {}
impl std::hash::Hash for Span {
    /// Adds nothing: all spans are equal.
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

/// One PTX module: a whole `.ptx` file.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Module {
    /// `.version major.minor`.
    pub version: (u32, u32),
    /// `.target` and its options in order: `["sm_90"]`, `["sm_80", "debug"]`.
    pub target: Vec<String>,
    /// `.address_size`, in bits: 64 or 32. 64 where the directive is left out.
    pub address_size: u32,
    /// Everything else at module scope, in order.
    pub items: Vec<Item>,
}

/// A directive or declaration at module scope.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// `.file index "name"[, timestamp, size]`.
    File(FileDirective),
    /// A module-scope variable.
    Variable(Variable),
    /// `.entry` or `.func`, a declaration or a definition.
    Function(Function),
    /// `.pragma "…";`, `.alias a, b;` and whatever else ends in a semicolon,
    /// kept as its tokens.
    Directive(RawDirective),
    /// `.section name { … }`, kept as its text (DWARF: never executed).
    Section(Section),
}

/// `.file index "name"`.
#[derive(Clone, Debug, PartialEq)]
pub struct FileDirective {
    /// The number that `.loc` refers to.
    pub index: u32,
    /// The path as the compiler wrote it.
    pub name: String,
    /// Optional time stamp and size.
    pub stamp: Option<(u64, u64)>,
    /// Where.
    pub span: Span,
}

/// A directive that racetrap keeps but does not interpret.
#[derive(Clone, Debug, PartialEq)]
pub struct RawDirective {
    /// With its dot: `.pragma`.
    pub name: String,
    /// The rest up to the semicolon (or the line's end), token by token, as written.
    pub tokens: Vec<String>,
    /// Whether a semicolon ended it.
    pub semicolon: bool,
    /// Where.
    pub span: Span,
}

/// `.section .debug_… { … }`.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// With its dot.
    pub name: String,
    /// The lines between the braces, trimmed.
    pub lines: Vec<String>,
    /// Where.
    pub span: Span,
}

/// Linking directives (PTX ISA, "Linking Directives").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Linkage {
    /// `.extern`
    Extern,
    /// `.visible`
    Visible,
    /// `.weak`
    Weak,
    /// `.common`
    Common,
}

/// State spaces (PTX ISA, "State Spaces") in which a variable can be declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StateSpace {
    /// `.reg`
    Reg,
    /// `.sreg`
    Sreg,
    /// `.const`
    Const,
    /// `.global`
    Global,
    /// `.local`
    Local,
    /// `.param` (with `::entry` or `::func` where written)
    Param,
    /// `.shared` (with `::cta` or `::cluster` where written)
    Shared,
    /// `.tex`
    Tex,
}

/// Fundamental types (PTX ISA, "Fundamental Types"), opaque handle types included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum ScalarType {
    S8,
    S16,
    S32,
    S64,
    U8,
    U16,
    U32,
    U64,
    F16,
    F16x2,
    F32,
    F64,
    Bf16,
    Bf16x2,
    B8,
    B16,
    B32,
    B64,
    B128,
    Pred,
    Texref,
    Samplerref,
    Surfref,
}

/// A variable or parameter declaration (one name a node: a list
/// `.reg .b32 a, b;` becomes several).
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// `.visible` and the like.
    pub linkage: Option<Linkage>,
    /// The space.
    pub space: StateSpace,
    /// `::cta`, `::entry` … where written.
    pub space_suffix: Option<String>,
    /// `.const[bank]`.
    pub bank: Option<u32>,
    /// `.align n`, in bytes.
    pub align: Option<u32>,
    /// `.v2`, `.v4`, `.v8`: lanes of the vector.
    pub vector: Option<u32>,
    /// Element type.
    pub ty: ScalarType,
    /// `.ptr [.space] [.align n]` on kernel parameters.
    pub pointer: Option<PointerAttribute>,
    /// `.attribute(.managed)` and the like, as written.
    pub attributes: Vec<String>,
    /// The name.
    pub name: String,
    /// `name<count>`: declares `name0 … name(count-1)`.
    pub count: Option<u32>,
    /// Array dimensions; `None` is `[]`.
    pub dims: Vec<Option<u64>>,
    /// `= …`
    pub init: Option<Initializer>,
    /// Where the name stands.
    pub span: Span,
}

/// `.ptr` attribute of a kernel parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct PointerAttribute {
    /// `.global`, `.shared`, … where written.
    pub space: Option<StateSpace>,
    /// `.align n`, in bytes.
    pub align: Option<u32>,
}

/// A variable's initialiser.
#[derive(Clone, Debug, PartialEq)]
pub enum Initializer {
    /// A constant expression.
    Value(Operand),
    /// A nested list.
    List(Vec<Initializer>),
    /// `addr_mode_0 = clamp_to_edge`: a field of a `.samplerref`, `.texref` or
    /// `.surfref` (PTX ISA, "Texture, Sampler and Surface Types").
    Field(String, Operand),
}

/// Kernel or device function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    /// `.entry`
    Entry,
    /// `.func`
    Func,
}

/// A function.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// `.visible` and the like.
    pub linkage: Option<Linkage>,
    /// `.entry` or `.func`.
    pub kind: FunctionKind,
    /// `.attribute(.unified(…))`, as written.
    pub attributes: Vec<String>,
    /// Return parameters: `(.param .b32 r)`, `(.reg .u32 r)`.
    pub returns: Vec<Variable>,
    /// The (mangled) name.
    pub name: String,
    /// Parameters.
    pub params: Vec<Variable>,
    /// `.noreturn`, `.maxntid 256, 1, 1`, `.minnctapersm 2`, `.reqntid`,
    /// `.pragma`, `.explicitcluster` … between the head and the body.
    pub directives: Vec<RawDirective>,
    /// `None` for a declaration.
    pub body: Option<Vec<Stmt>>,
    /// Where the name stands.
    pub span: Span,
}

/// A statement of a function body.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// `name:`
    Label(Label),
    /// `.reg`, `.local`, `.shared`, `.param` … declarations.
    Variable(Variable),
    /// An instruction.
    Instruction(Instruction),
    /// `.loc`: holds for the instructions that follow.
    Loc(Loc),
    /// `{ … }`: a scope of its own.
    Block(Vec<Stmt>),
    /// `name: .branchtargets a, b;`, also a range `a<3>` (expanded).
    BranchTargets(TargetList),
    /// `name: .calltargets f, g;`
    CallTargets(TargetList),
    /// `name: .callprototype (ret) _ (params) …;`
    CallPrototype(CallPrototype),
    /// `.pragma` and whatever else.
    Directive(RawDirective),
}

/// A label.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// Without the colon.
    pub name: String,
    /// Where.
    pub span: Span,
}

/// `.branchtargets` or `.calltargets`.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetList {
    /// The label in front.
    pub name: String,
    /// The targets in order.
    pub targets: Vec<String>,
    /// Where.
    pub span: Span,
}

/// `.callprototype`.
#[derive(Clone, Debug, PartialEq)]
pub struct CallPrototype {
    /// The label in front.
    pub name: String,
    /// Return parameters (names are `_`).
    pub returns: Vec<Variable>,
    /// Parameters (names are `_`).
    pub params: Vec<Variable>,
    /// `.noreturn`, `.abi_preserve n`, as written.
    pub directives: Vec<RawDirective>,
    /// Where.
    pub span: Span,
}

/// `.loc file line column[, function_name label[+n], inlined_at file line column]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Loc {
    /// Index of a [`FileDirective`].
    pub file: u32,
    /// From 1; 0 where the compiler had none.
    pub line: u32,
    /// From 1; 0 where the compiler had none.
    pub column: u32,
    /// Set where the instruction stands in an inlined function.
    pub inlined: Option<InlinedAt>,
    /// Where the directive stands: an `inlined_at` names its caller by position
    /// alone, and means the nearest such `.loc` before this one.
    pub span: Span,
}

/// The inlining part of a `.loc`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InlinedAt {
    /// Label of the function's name in `.debug_str`, as `label` or `label+n`.
    pub function: String,
    /// Byte offset added to the label.
    pub offset: u32,
    /// Caller's file.
    pub file: u32,
    /// Caller's line.
    pub line: u32,
    /// Caller's column.
    pub column: u32,
}

/// `@p` or `@!p`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Guard {
    /// `@!p`.
    pub negated: bool,
    /// The predicate register.
    pub register: String,
}

/// One instruction: `@p ld.global.v2.u32 {a, b}, [c+8];`.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// `@p`.
    pub guard: Option<Guard>,
    /// Up to the first dot: `ld`.
    pub opcode: String,
    /// What follows, without dots and in order: `["global", "v2", "u32"]`.
    /// A `::` stays inside its modifier: `shared::cta`, `L2::128B`.
    pub modifiers: Vec<String>,
    /// The operands in order, destination first. For `call` see [`Operand::List`].
    pub operands: Vec<Operand>,
    /// The whole instruction, guard to semicolon.
    pub span: Span,
}

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A register, variable, label, function or special register, with its
    /// vector component where written: `%r1`, `smem`, `$L__BB0_2`, `%tid.x`
    /// (name `%tid`, component `x`), `_` (sink).
    Name(String, Option<String>),
    /// `sym+8`, `sym-8` outside brackets.
    Offset(String, i64),
    /// `arr[2]`: the address of an array's element, as an operand or behind `ld`
    /// (PTX ISA, "Arrays as Operands"); the index counts elements.
    Index(String, u64),
    /// Integer literal; the flag says that it was written with a `U` suffix.
    Int(u64, bool),
    /// `0f3F800000`: bits of a single.
    F32(u32),
    /// `0d…` or a decimal literal: bits of a double.
    F64(u64),
    /// `-x` before a literal or register where the grammar allows it.
    Neg(Box<Operand>),
    /// `!p`: a negated predicate operand.
    Not(Box<Operand>),
    /// Another constant expression, kept as a tree.
    Expr(Box<Expr>),
    /// `[base+offset]`; further comma-separated parts are kept in `rest`
    /// (texture coordinates, tensor coordinates, surface coordinates).
    Address(Address),
    /// `{a, b, c, d}`.
    Vector(Vec<Operand>),
    /// `a|b`: a pair of destinations (`setp`, `shfl`, `match`).
    Pair(Box<Operand>, Box<Operand>),
    /// `(a, b)`: argument and return lists of `call`.
    List(Vec<Operand>),
    /// `"text"`.
    Text(String),
}

/// The inside of `[…]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Address {
    /// Register, variable or integer.
    pub base: Box<Operand>,
    /// Added to it, in bytes.
    pub offset: i64,
    /// Whatever follows a comma inside the brackets.
    pub rest: Vec<Operand>,
}

/// Constant expressions (PTX ISA, "Constant Expressions").
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A leaf.
    Leaf(Operand),
    /// `+ - ! ~` or a cast `(.s64)`/`(.u64)`, as written.
    Unary(String, Box<Expr>),
    /// A binary operator, as written; also `generic(x)` with an empty right side
    /// is not here but a [`Expr::Call`].
    Binary(String, Box<Expr>, Box<Expr>),
    /// `c ? a : b`.
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `generic(sym)`, `mask(…)`.
    Call(String, Box<Expr>),
}

impl Instruction {
    /// Whether `name` is among the modifiers.
    ///
    /// ```
    /// # use racetrap_ptx::ast::*;
    /// let i = Instruction { guard: None, opcode: "ld".into(), modifiers: vec!["global".into(), "u32".into()],
    ///     operands: vec![], span: Span::default() };
    /// assert!(i.has("global") && !i.has("volatile"));
    /// ```
    pub fn has(&self, name: &str) -> bool {
        self.modifiers.iter().any(|m| m == name)
    }
}

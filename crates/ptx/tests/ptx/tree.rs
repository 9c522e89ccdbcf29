//! Random syntax trees: every tree that some text parses to, with names and
//! numbers drawn from few shapes.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use ptx::ast::*;

/// A whole module.
pub fn module() -> BoxedStrategy<Module> {
    let target = vec("sm_[1-9][0-9]a?|debug|texmode_independent", 1..3);
    let address_size = prop_oneof![Just(32), Just(64)];
    (
        (0..100u32, 0..100u32),
        target,
        address_size,
        vec(item(), 0..8),
    )
        .prop_map(|(version, target, address_size, items)| Module {
            version,
            target,
            address_size,
            items,
        })
        .boxed()
}

fn word() -> BoxedStrategy<String> {
    "[a-zA-Z][a-zA-Z0-9_$]{0,6}|[_$%][a-zA-Z0-9_$]{1,6}|_".boxed()
}

fn text() -> BoxedStrategy<String> {
    r#"([a-zA-Z0-9 {}()\[\];:,.@/*#é]|\\[nt"\\]){0,12}"#.boxed()
}

fn item() -> BoxedStrategy<Item> {
    let section = (
        "[.]debug_[a-z]{1,5}",
        vec("[.$a-z0-9]([.$a-z0-9,: +]{0,20}[.$a-z0-9:])?", 0..5),
    );
    prop_oneof![
        file().prop_map(Item::File),
        variable(true).prop_map(Item::Variable),
        function().prop_map(Item::Function),
        directive().prop_map(Item::Directive),
        section.prop_map(|(name, lines)| {
            Item::Section(Section {
                name,
                lines,
                span: Span::default(),
            })
        }),
    ]
    .boxed()
}

fn file() -> BoxedStrategy<FileDirective> {
    (any::<u32>(), text(), option::of(any::<(u64, u64)>()))
        .prop_map(|(index, name, stamp)| FileDirective {
            index,
            name,
            stamp,
            span: Span::default(),
        })
        .boxed()
}

/// A directive that ends in a semicolon or with its line.
fn directive() -> BoxedStrategy<RawDirective> {
    let tokens = prop_oneof![
        word(),
        "[1-9][0-9]{0,3}",
        text().prop_map(|text| format!("\"{text}\""))
    ];
    (
        "[.](pragma|alias|unheard_of)",
        vec(tokens, 0..4),
        any::<bool>(),
    )
        .prop_map(|(name, tokens, semicolon)| RawDirective {
            name,
            tokens: separated(tokens),
            semicolon,
            span: Span::default(),
        })
        .boxed()
}

/// A directive between a function's head and its body.
fn head_directive() -> BoxedStrategy<RawDirective> {
    let numbers = vec("[1-9][0-9]{0,3}", 1..4).prop_map(separated);
    prop_oneof![
        ("maxntid|minnctapersm|unheard_of", numbers)
            .prop_map(|(name, tokens)| (format!(".{name}"), tokens)),
        Just((".noreturn".to_owned(), vec![])),
        text().prop_map(|text| (".pragma".to_owned(), vec![format!("\"{text}\"")])),
    ]
    .prop_map(|(name, tokens)| {
        let semicolon = name == ".pragma";
        RawDirective {
            name,
            tokens,
            semicolon,
            span: Span::default(),
        }
    })
    .boxed()
}

fn separated(tokens: Vec<String>) -> Vec<String> {
    let mut all = Vec::new();
    for token in tokens {
        if !all.is_empty() {
            all.push(",".to_owned());
        }
        all.push(token);
    }
    all
}

fn linkage() -> BoxedStrategy<Linkage> {
    use Linkage::*;
    prop::sample::select(vec![Extern, Visible, Weak, Common]).boxed()
}

fn space() -> BoxedStrategy<StateSpace> {
    use StateSpace::*;
    prop::sample::select(vec![Reg, Sreg, Const, Global, Local, Param, Shared, Tex]).boxed()
}

fn scalar_type() -> BoxedStrategy<ScalarType> {
    use ScalarType::*;
    prop::sample::select(vec![
        S8, S16, S32, S64, U8, U16, U32, U64, F16, F16x2, F32, F64, Bf16, Bf16x2, B8, B16, B32,
        B64, B128, Pred, Texref, Samplerref, Surfref,
    ])
    .boxed()
}

fn attributes() -> BoxedStrategy<Vec<String>> {
    let attribute = prop_oneof![
        Just(".managed".to_owned()),
        any::<(u64, u64)>().prop_map(|(high, low)| format!(".unified({high},{low})")),
    ];
    vec(attribute, 0..3).boxed()
}

/// A declaration; a parameter has neither linkage nor initialiser.
fn variable(whole: bool) -> BoxedStrategy<Variable> {
    let pointer = (option::of(space()), option::of(any::<u32>()))
        .prop_map(|(space, align)| PointerAttribute { space, align });
    let head = (
        option::of(linkage()),
        space(),
        option::of("[a-z]{1,5}"),
        option::weighted(0.1, any::<u32>()),
        option::of(any::<u32>()),
        option::of(prop::sample::select(vec![2, 4, 8])),
        scalar_type(),
        option::weighted(0.2, pointer),
        attributes(),
    );
    let tail = (
        word(),
        option::of(any::<u32>()),
        vec(option::of(any::<u64>()), 0..3),
        option::of(initializer()),
    );
    (head, tail)
        .prop_map(move |(head, (name, count, dims, init))| {
            let (linkage, space, space_suffix, bank, align, vector, ty, pointer, attributes) = head;
            Variable {
                linkage: linkage.filter(|_| whole),
                space,
                space_suffix,
                bank,
                align,
                vector,
                ty,
                pointer,
                attributes,
                name,
                count,
                dims,
                init: init.filter(|_| whole),
                span: Span::default(),
            }
        })
        .boxed()
}

fn initializer() -> BoxedStrategy<Initializer> {
    let is_vector = |operand: &Operand| matches!(operand, Operand::Vector(_));
    let leaf = prop_oneof![
        operand()
            .prop_filter("braces are lists here", move |operand| !is_vector(operand))
            .prop_map(Initializer::Value),
        (word(), operand()).prop_map(|(name, value)| Initializer::Field(name, value)),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        vec(inner, 0..4).prop_map(Initializer::List)
    })
    .boxed()
}

fn function() -> BoxedStrategy<Function> {
    let head = (
        option::of(linkage()),
        prop_oneof![Just(FunctionKind::Entry), Just(FunctionKind::Func)],
        attributes(),
        vec(variable(false), 0..2),
        word(),
        vec(variable(false), 0..4),
        vec(head_directive(), 0..3),
    );
    (head, option::of(vec(statement(), 0..8)))
        .prop_map(|(head, body)| {
            let (linkage, kind, attributes, returns, name, params, directives) = head;
            let span = Span::default();
            Function {
                linkage,
                kind,
                attributes,
                returns,
                name,
                params,
                directives,
                body,
                span,
            }
        })
        .boxed()
}

fn statement() -> BoxedStrategy<Stmt> {
    let span = Span::default();
    let targets = || {
        (word(), vec(word(), 1..4)).prop_map(move |(name, targets)| TargetList {
            name,
            targets,
            span,
        })
    };
    let prototype = (
        word(),
        vec(variable(false), 0..2),
        vec(variable(false), 0..3),
        vec(head_directive(), 0..2),
    );
    let leaf = prop_oneof![
        4 => instruction().prop_map(Stmt::Instruction),
        1 => word().prop_map(move |name| Stmt::Label(Label { name, span })),
        1 => variable(true).prop_map(Stmt::Variable),
        1 => loc().prop_map(Stmt::Loc),
        1 => targets().prop_map(Stmt::BranchTargets),
        1 => targets().prop_map(Stmt::CallTargets),
        1 => prototype.prop_map(move |(name, returns, params, directives)| {
            Stmt::CallPrototype(CallPrototype { name, returns, params, directives, span })
        }),
        1 => directive().prop_map(Stmt::Directive),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| vec(inner, 0..4).prop_map(Stmt::Block))
        .boxed()
}

fn loc() -> BoxedStrategy<Loc> {
    let inlined = (word(), any::<u32>(), any::<(u32, u32, u32)>()).prop_map(
        |(function, offset, (file, line, column))| InlinedAt {
            function,
            offset,
            file,
            line,
            column,
        },
    );
    (any::<(u32, u32, u32)>(), option::of(inlined))
        .prop_map(|((file, line, column), inlined)| Loc {
            file,
            line,
            column,
            inlined,
            span: Span::default(),
        })
        .boxed()
}

fn instruction() -> BoxedStrategy<Instruction> {
    let guard = (any::<bool>(), word()).prop_map(|(negated, register)| Guard { negated, register });
    let call = vec(
        prop_oneof![operand(), vec(operand(), 0..3).prop_map(Operand::List)],
        0..4,
    );
    let (plain, call) = (
        (word(), vec(operand(), 0..4)).prop_filter("calls are below", |(name, _)| name != "call"),
        (Just("call".to_owned()), call),
    );
    let modifiers = vec("[a-zA-Z0-9_]{1,6}(::[a-zA-Z0-9_]{1,4}){0,2}", 0..4);
    (
        option::of(guard),
        modifiers,
        prop_oneof![4 => plain, 1 => call],
    )
        .prop_map(|(guard, modifiers, (opcode, operands))| Instruction {
            guard,
            opcode,
            modifiers,
            operands,
            span: Span::default(),
        })
        .boxed()
}

fn name() -> BoxedStrategy<Operand> {
    (word(), option::weighted(0.3, "[a-z][a-z0-9]{0,2}"))
        .prop_map(|(name, component)| Operand::Name(name, component))
        .boxed()
}

fn number() -> BoxedStrategy<Operand> {
    prop_oneof![
        any::<(u64, bool)>().prop_map(|(value, unsigned)| Operand::Int(value, unsigned)),
        any::<u32>().prop_map(Operand::F32),
        any::<u64>().prop_map(Operand::F64),
    ]
    .boxed()
}

/// Operands in the one form that each has.
fn operand() -> BoxedStrategy<Operand> {
    let leaf = prop_oneof![
        4 => name(),
        2 => number(),
        1 => (word(), any::<i64>()).prop_map(|(name, offset)| Operand::Offset(name, offset)),
        1 => (word(), any::<u64>()).prop_map(|(name, index)| Operand::Index(name, index)),
        1 => prop_oneof![name(), number()].prop_map(|inner| Operand::Neg(Box::new(inner))),
        1 => name().prop_map(|inner| Operand::Not(Box::new(inner))),
        1 => (name(), name()).prop_map(|(a, b)| Operand::Pair(Box::new(a), Box::new(b))),
        1 => expression().prop_map(|expression| Operand::Expr(Box::new(expression))),
        1 => text().prop_map(Operand::Text),
    ];
    leaf.prop_recursive(2, 8, 4, |inner| {
        let base = prop_oneof![
            (word(), any::<i64>()).prop_map(|(name, offset)| (Operand::Name(name, None), offset)),
            any::<u64>().prop_map(|address| (Operand::Int(address, false), 0)),
        ];
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Operand::Vector),
            (base, vec(inner, 0..3)).prop_map(|((base, offset), rest)| {
                Operand::Address(Address {
                    base: Box::new(base),
                    offset,
                    rest,
                })
            }),
        ]
    })
    .boxed()
}

/// Expressions that no plainer operand says.
fn expression() -> BoxedStrategy<Expr> {
    let not_leaf = subexpression().prop_filter("plainer", |inner| !matches!(inner, Expr::Leaf(_)));
    let pair = |left: &Expr, right: &Expr| {
        [left, right]
            .iter()
            .all(|side| matches!(side, Expr::Leaf(Operand::Name(..))))
    };
    prop_oneof![
        (unary(), not_leaf).prop_map(|(symbol, inner)| Expr::Unary(symbol, Box::new(inner))),
        ("~|[+]|[(][.][su]64[)]", subexpression())
            .prop_map(|(symbol, inner)| Expr::Unary(symbol, Box::new(inner))),
        (
            "[*/%^&|]|<<|>>|&&|[|][|]|<=?|>=?|[!=]=",
            subexpression(),
            subexpression()
        )
            .prop_filter("a pair of names", move |(symbol, left, right)| {
                symbol != "|" || !pair(left, right)
            })
            .prop_map(|(symbol, left, right)| {
                Expr::Binary(symbol, Box::new(left), Box::new(right))
            }),
        (number(), "[+-]", subexpression()).prop_map(|(left, symbol, right)| {
            Expr::Binary(symbol, Box::new(Expr::Leaf(left)), Box::new(right))
        }),
        conditional(subexpression()),
        call(subexpression()),
    ]
    .boxed()
}

fn subexpression() -> BoxedStrategy<Expr> {
    let leaf = prop_oneof![name(), number()].prop_map(Expr::Leaf);
    leaf.prop_recursive(4, 12, 3, |inner| {
        prop_oneof![
            (unary(), inner.clone())
                .prop_map(|(symbol, inner)| Expr::Unary(symbol, Box::new(inner))),
            (
                "[-+*/%^&|]|<<|>>|&&|[|][|]|<=?|>=?|[!=]=",
                inner.clone(),
                inner.clone()
            )
                .prop_map(|(symbol, left, right)| Expr::Binary(
                    symbol,
                    Box::new(left),
                    Box::new(right)
                )),
            conditional(inner.clone()),
            call(inner),
        ]
    })
    .boxed()
}

fn unary() -> BoxedStrategy<String> {
    "[-+!~]|[(][.][su]64[)]".boxed()
}

fn conditional(inner: BoxedStrategy<Expr>) -> BoxedStrategy<Expr> {
    (inner.clone(), inner.clone(), inner)
        .prop_map(|(condition, yes, no)| {
            Expr::Conditional(Box::new(condition), Box::new(yes), Box::new(no))
        })
        .boxed()
}

fn call(inner: BoxedStrategy<Expr>) -> BoxedStrategy<Expr> {
    ("generic|mask|0xff0{0,6}", inner)
        .prop_map(|(name, inner)| Expr::Call(name, Box::new(inner)))
        .boxed()
}

//! The grammar, chapter by chapter of the PTX ISA: each text is in the printer's
//! layout, so that parsing and printing it must give it back.

use ptx::{
    self,
    ast::*,
    constant::{Constant, evaluate_operand},
};
use rstest::rstest;

fn module(items: &str) -> Module {
    let source = format!(".version 9.0\n.target sm_100a\n.address_size 64\n{items}");
    ptx::parse(&source).unwrap_or_else(|error| panic!("{error}\n{source}"))
}

fn body(statements: &str) -> Vec<Stmt> {
    match &module(&format!(".entry k() {{\n{statements}\n}}")).items[..] {
        [Item::Function(function)] => function.body.clone().unwrap(),
        other => panic!("{other:?}"),
    }
}

fn instruction(text: &str) -> Instruction {
    match &body(text)[..] {
        [Stmt::Instruction(instruction)] => instruction.clone(),
        other => panic!("{other:?}"),
    }
}

fn name(name: &str) -> Operand {
    Operand::Name(name.into(), None)
}

fn address(base: Operand, offset: i64, rest: Vec<Operand>) -> Operand {
    Operand::Address(Address {
        base: Box::new(base),
        offset,
        rest,
    })
}

#[rstest]
// "Predicated Execution"
#[case("@%p1 bra $L__BB0_2;")]
#[case("@!%p1 bra.uni $L__BB0_2;")]
// "Integer Arithmetic Instructions", "Extended-Precision Integer Arithmetic"
#[case("add.s32 %r1, %r2, -4;")]
#[case("mad.lo.cc.u32 %r1, %r2, 305419896U, %r3;")]
#[case("dp4a.u32.u32 %r1, %r2, %r3, %r4;")]
// "Floating Point Instructions", "Half Precision", "Mixed Precision"
#[case("fma.rn.ftz.sat.f32 %f1, %f2, 0f3F800000, 0fBF000000;")]
#[case("add.rn.f64 %fd1, %fd2, 0d3FF0000000000000;")]
#[case("cvt.rn.relu.satfinite.e4m3x2.f32 %rs1, %f1, %f2;")]
#[case("min.ftz.xorsign.abs.f16x2 %r1, %r2, %r3;")]
// "Comparison and Selection Instructions"
#[case("setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3;")]
#[case("setp.eq.f16x2 %p1|_, %r1, %r2;")]
// "Logic and Shift Instructions"
#[case("lop3.or.b32 %r1|%p1, %r2, %r3, %r4, 63, !%p2;")]
#[case("shf.l.wrap.b32 %r1, %r2, %r3, 3;")]
// "Data Movement and Conversion Instructions"
#[case("mov.u32 %r1, %tid.x;")]
#[case("mov.b64 {%r1, %r2}, %rd1;")]
#[case("mov.b64 %rd1, {%r1, %r2};")]
#[case("mov.b128 {%rd1, %rd2}, %rq1;")]
#[case("mov.b64 {_, %r2}, %rd1;")]
#[case("ld.param::func.b64 %rd1, [param0];")]
#[case("ld.volatile.shared::cta.v4.f32 {%f1, %f2, %f3, _}, [%rd1+-16];")]
#[case("ld.global.nc.L1::no_allocate.L2::128B.v8.b32 {a, b, c, d, e, f, g, h}, [%rd1+32];")]
#[case("ld.weak.global.L1::evict_last.L2::cache_hint.u32 %r1, [%rd1], %rd2;")]
#[case("st.relaxed.gpu.global.b128 [tab+8], %rq1;")]
#[case("ld.global.u32 %r1, [4096];")]
#[case("ld.const.f32 %f1, arr[3];")]
#[case("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [a], {b, c, d, e}, [f];")]
#[case("prefetchu.L1 [%rd1];")]
#[case("createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %rd1, 0d3FF0000000000000;")]
#[case("isspacep.shared::cluster %p1, %rd1;")]
#[case("shfl.sync.down.b32 %r1|%p1, %r2, 16, 31, -1;")]
#[case("prmt.b32.f4e %r1, %r2, %r3, %r4;")]
#[case("mapa.shared::cluster.u32 %r1, tile, %r2;")]
#[case("cp.async.cg.shared.global.L2::256B [%r1], [%rd1], 16, %r2;")]
#[case(
    "cp.async.bulk.tensor.5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster \
     [dst], [map, {c0, c1, c2, c3, c4}], [bar], {i0, i1, i2}, mask;"
)]
#[case("cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [map, {c0}], [src];")]
#[case("tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd2;")]
// "Texture Instructions", "Surface Instructions"
#[case("tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [tex, samp, {%f5, %f6}], {%r1, %r2}, %f7;")]
#[case("tex.a2d.v4.s32.s32 {a, b, c, d}, [t, {i, x, y, y}];")]
#[case("suld.b.3d.v2.b64.trap {a, b}, [surf, {x, y, z, w}];")]
#[case("sust.p.1d.b32.clamp [surf, {x}], {v};")]
// "Control Flow Instructions"
#[case("brx.idx.uni %r1, $targets;")]
#[case("call.uni _Z1fv;")]
#[case("call (retval0), _Z1fi, (param0, 5, %r1);")]
#[case("call.uni (r0, r1), %rd1, (param0), prototype_0;")]
#[case("call (), f, ();")]
#[case("ret.uni;")]
// "Parallel Synchronization and Communication Instructions"
#[case("bar.sync 0;")]
#[case("barrier.cta.red.popc.aligned.u32 %r1, 2, 64, !%p1;")]
#[case("atom.acq_rel.cluster.shared::cluster.cas.b128 d, [%rd1], b, c;")]
#[case(
    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc.u32 [a], b, [c];"
)]
#[case("red.global.v4.bf16x2.add.noftz [%rd1], {a, b, c, d};")]
#[case("multimem.ld_reduce.acquire.sys.global.add.acc::f32.v4.bf16x2 {a, b, c, d}, [%rd1];")]
#[case("match.all.sync.b32 %r1|%p1, %r2, -1;")]
#[case("elect.sync _|%p1, -1;")]
#[case("fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;")]
#[case("mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p1, [%r1], %r2, 1000;")]
#[case("clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {a, b, c, _}, %rq1;")]
// "Warp Level Matrix Multiply-Accumulate Instructions", "Asynchronous …", "TensorCore 5th Generation"
#[case("wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {a, b}, [%r1], %r2;")]
#[case(
    "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.e3m2.e2m1.f32 {a}, {b}, {c}, {d}, e, 0;"
)]
#[case("ldmatrix.sync.aligned.m8n16.x4.b8x16.b6x16_p32 {a, b, c, d}, [%r1];")]
#[case(
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {a, b, c, d}, %rd1, %rd2, %p1, 1, -1, 0, 1;"
)]
#[case(
    "tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X [%r1], %rd1, %rd2, %r2, [%r3], [%r4+8], %p1;"
)]
#[case("tcgen05.ld.sync.aligned.16x64b.x2.b32 {a, b}, [%r1], 2;")]
// "Video Instructions"
#[case("vmad.s32.u32.s32.sat.shr7 %r1, %r2.b0, -%r3.h1, %r4;")]
#[case("vadd4.u32.u32.u32.add %r1.b3210, %r2.b7654, %r3, %r4;")]
// "Miscellaneous Instructions", and what no manual knows
#[case("trap;")]
#[case("nanosleep.u32 20;")]
#[case("teleport.32x.kind::quantum.64b %q1|%q2, [%r1, {a, {b, c}}, [d+4], \"x\"], !%p1, -%r2;")]
fn instructions_print_as_written(#[case] text: &str) {
    assert_eq!(instruction(text).to_string(), text);
}

#[test]
fn opcodes_modifiers_and_operands_are_told_apart() {
    let found = instruction("@!%p ld.shared::cluster.L2::128B.v2.u32 {%r1, _}, [%rd1 + 4*2 - 16];");
    assert_eq!(
        found.guard,
        Some(Guard {
            negated: true,
            register: "%p".into()
        })
    );
    assert_eq!(found.opcode, "ld");
    assert_eq!(
        found.modifiers,
        ["shared::cluster", "L2::128B", "v2", "u32"]
    );
    let operands = vec![
        Operand::Vector(vec![name("%r1"), name("_")]),
        address(name("%rd1"), -8, vec![]),
    ];
    assert_eq!(found.operands, operands);
}

#[test]
fn spans_cover_the_instruction() {
    let source = ".version 8.0 .target sm_90 .entry k() { add.u32 a, /* b */ b, c ; @p ret; }";
    let module = ptx::parse(source).unwrap();
    let Item::Function(function) = &module.items[0] else {
        panic!()
    };
    let texts: Vec<&str> = function
        .body
        .iter()
        .flatten()
        .map(|statement| match statement {
            Stmt::Instruction(i) => &source[i.span.start as usize..i.span.end as usize],
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(texts, ["add.u32 a, /* b */ b, c ;", "@p ret;"]);
}

#[rstest]
#[case("call (r), f, (a, b), p;", vec![
    Operand::List(vec![name("r")]),
    name("f"),
    Operand::List(vec![name("a"), name("b")]),
    name("p"),
])]
#[case("call f, ((1 + 2) * 3), (1) + 2;", vec![
    name("f"),
    Operand::List(vec![Operand::Expr(Box::new(Expr::Binary(
        "*".into(),
        Box::new(Expr::Binary("+".into(), int(1), int(2))),
        int(3),
    )))]),
    Operand::Expr(Box::new(Expr::Binary("+".into(), int(1), int(2)))),
])]
// "Integer Constants": hexadecimal, octal, binary, suffix.
#[case("x 0x1F, 017, 0b101, 42U, 0, -0x80000000;", vec![
    Operand::Int(31, false),
    Operand::Int(15, false),
    Operand::Int(5, false),
    Operand::Int(42, true),
    Operand::Int(0, false),
    Operand::Neg(Box::new(Operand::Int(0x8000_0000, false))),
])]
// "Floating-Point Constants"
#[case("x 1.5, 2e3, 1.e-2, .5, 0f3F800000, 0DBFF0000000000000, -1.0;", vec![
    Operand::F64(1.5f64.to_bits()),
    Operand::F64(2e3f64.to_bits()),
    Operand::F64(1e-2f64.to_bits()),
    Operand::F64(0.5f64.to_bits()),
    Operand::F32(1f32.to_bits()),
    Operand::F64((-1f64).to_bits()),
    Operand::Neg(Box::new(Operand::F64(1f64.to_bits()))),
])]
// "Addresses as Operands", "Arrays as Operands"
#[case("x [a], [a-4], [8+8], [a+0x10], arr[1+2], sym+8, sym-8;", vec![
    address(name("a"), 0, vec![]),
    address(name("a"), -4, vec![]),
    address(Operand::Int(16, false), 0, vec![]),
    address(name("a"), 16, vec![]),
    Operand::Index("arr".into(), 3),
    Operand::Offset("sym".into(), 8),
    Operand::Offset("sym".into(), -8),
])]
fn operands_have_one_form(#[case] text: &str, #[case] expected: Vec<Operand>) {
    assert_eq!(instruction(text).operands, expected);
}

fn int(value: u64) -> Box<Expr> {
    Box::new(Expr::Leaf(Operand::Int(value, false)))
}

#[rstest]
// "Constant Expressions": C's precedence, 64 bits. The values are those of ptxas.
#[case("1 + 2 * 3 - 8 / 4 % 3", 5)]
#[case("(1 | 2 ^ 3 & 1) << 2 + 1", 24)]
#[case("-7 / 2", -3i64 as u64)]
#[case("-7 % 4", 1)]
#[case("(-8 % -4) >> 60", 15)]
#[case("-7U / 2", 0x7fff_ffff_ffff_fffc)]
#[case("-16 >> 2", -4i64 as u64)]
#[case("(.u64)-16 >> 60", 15)]
#[case("-1 < 0", 1)]
#[case("-1 < 0U", 0)]
#[case("5 > -1U", 0)]
#[case("0xffffffffffffffff > 0", 1)]
#[case("(.s64)0xffffffffffffffff / 2", 0)]
#[case("!5 + ~0", -1i64 as u64)]
#[case("~0 < 0", 0)]
#[case("~0 / 2", 0x7fff_ffff_ffff_ffff)]
#[case("(-8 & -4) / 2", -4i64 as u64)]
#[case("(-8 | -4) / 2", -2i64 as u64)]
#[case("(-8 ^ 4) / 2", -2i64 as u64)]
#[case("1 == 1 && 2 != 2 || 3 >= 3", 1)]
#[case("!0 - 2 < 0", 1)]
#[case("0 ? 10 : 1 ? 20 : 30", 20)]
#[case("(1 ? 1 : 2U) - 2 < 0", 0)]
#[case("WARP_SZ * 2", 64)]
#[case("1 << 65", 2)]
#[case("-1U >> 65", 0x7fff_ffff_ffff_ffff)]
#[case("1.5 < 2.5", 1)]
fn constant_expressions_have_the_value_of_the_manual(#[case] text: &str, #[case] value: u64) {
    let found = instruction(&format!("x [{text}];")).operands;
    assert_eq!(found, [address(Operand::Int(value, false), 0, vec![])]);
}

#[test]
fn floating_point_expressions_have_values_too() {
    for (text, value) in [
        ("1.0 / 4.0", 0.25),
        ("-(2.0 * 3.0) - 1.0", -7.0),
        ("2 > 1 ? 0.5 : 1.5", 0.5),
    ] {
        let found = instruction(&format!("x {text};")).operands;
        assert_eq!(
            evaluate_operand(&found[0]),
            Some(Constant::F64(value)),
            "{text}"
        );
    }
    for mixed in [
        "1.5 + 2",
        "1 + 1.5",
        "1 ? 1 : 2.5",
        "!1.5",
        "~1.5",
        "1.5 ? 1 : 2",
        "a + 1.5",
    ] {
        let found = instruction(&format!("x {mixed};")).operands;
        assert_eq!(evaluate_operand(&found[0]), None, "{mixed}");
    }
}

#[test]
fn what_is_not_constant_is_kept_as_an_expression() {
    for text in ["a * 2", "1 / 0", "generic(a) + 4", "1.5 + 2"] {
        let found = instruction(&format!("x {text};")).operands;
        assert!(
            matches!(&found[..], [Operand::Expr(_)]),
            "{text}: {found:?}"
        );
    }
}

#[rstest]
// "State Spaces", "Types", "Variables"
#[case(".global .align 4 .b8 g[16];")]
#[case(".visible .global .align 8 .u64 g[2] = {generic(g), generic(g) + 12};")]
#[case(".extern .shared .align 16 .b8 smem[];")]
#[case(".weak .const .f32 c = 0f3F800000;")]
#[case(".const[3] .s32 c[2][3] = {{1, -2, 3}, {4, 5, 6}};")]
#[case(".common .global .b128 q;")]
#[case(".global .attribute(.managed, .unified(19,95)) .align 4 .u32 m = 3;")]
#[case(".global .u8 bytes[] = {255(g), 65280(g), 16711680(generic(g))};")]
#[case(".global .v4 .f32 v = {0d3FF0000000000000, 0f00000000, 1, 2};")]
#[case(".global .texref t;")]
#[case(
    ".global .samplerref s = {addr_mode_0 = clamp_to_edge, filter_mode = linear, force_unnormalized_coords = 1};"
)]
#[case(".shared::cluster .b32 x;")]
#[case(".reg .v2 .f16x2 h<4>;")]
// "Linking Directives", "Kernel Entry Point and Function Directives"
#[case(
    "\n.extern .func (.param .b32 r) f(\n    .param .b64 p,\n    .param .align 8 .b8 q[]\n)\n.noreturn\n;"
)]
#[case(
    "\n.visible .entry k(\n    .param .u64 .ptr .global .align 16 p,\n    .param .u32 .ptr q\n)\n.maxntid 256, 1, 1\n.minnctapersm 2\n.reqnctapercluster 2, 1, 1\n.explicitcluster\n{\n}"
)]
#[case(
    "\n.weak .func .attribute(.unified(1,2)) (.reg .b32 r) f(\n    .reg .u32 a,\n    .reg .u32 b\n)\n.abi_preserve 8\n.pragma \"nounroll\";\n{\n    ret;\n}"
)]
// ".pragma", ".alias", ".file", ".section", "@@DWARF"
#[case(".pragma \"a \\\"quoted\\\" \\x word\";")]
#[case(".alias f, g;")]
#[case(".file 1 \"C:\\\\src\\\\k.cu\", 1700000000, 4096")]
#[case(".section .debug_str\n{\n$L__info_string0:\n.b8 95,90,0\n}")]
#[case(
    "@@DWARF .section .debug_info, \"\", @ progbits\n@@DWARF .byte 0x02, 0x06\n\n.entry k(\n)\n{\n}"
)]
#[case(".unheard_of 1, ( a .b c ), \"x\";")]
fn module_items_print_as_written(#[case] text: &str) {
    let printed = ptx::print(&module(text));
    let items = printed.splitn(4, '\n').nth(3).unwrap();
    assert_eq!(items.trim_end(), text);
}

#[rstest]
// "Control Flow Directives", "Debugging Directives", scopes
#[case("t: .branchtargets A, B, C;")]
#[case("t: .calltargets f, g;")]
#[case("p: .callprototype (.param .b32 _) _ (.param .b64 _, .param .align 8 .b8 _[16]) .noreturn;")]
#[case("p: .callprototype () _ ();")]
#[case(".loc 1 5 3")]
#[case(".loc 1 5 3, function_name $L__info_string0+4, inlined_at 2 7 9")]
#[case(".pragma \"nounroll\";")]
#[case("{\n        .reg .b32 t;\n    }")]
#[case(".param .align 8 .b8 param0[24];")]
fn statements_print_as_written(#[case] text: &str) {
    let printed = ptx::print(&module(&format!(".entry k() {{\n{text}\n}}")));
    let (_, body) = printed.split_once("{\n").unwrap();
    assert_eq!(body.trim_end().trim_end_matches('}').trim(), text);
}

#[test]
fn lists_of_names_become_one_node_each() {
    let statements = body(".reg .b32 a, b<4>, c[2];");
    let found: Vec<_> = statements
        .iter()
        .map(|statement| match statement {
            Stmt::Variable(v) => (v.name.as_str(), v.count, v.dims.clone()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        found,
        [
            ("a", None, vec![]),
            ("b", Some(4), vec![]),
            ("c", None, vec![Some(2)])
        ]
    );
}

#[test]
fn ranges_of_targets_are_expanded() {
    match &body("t: .branchtargets A<3>, B;")[..] {
        [Stmt::BranchTargets(list)] => assert_eq!(list.targets, ["A0", "A1", "A2", "B"]),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_label_may_stand_on_a_line_of_its_own() {
    let found = body("$L__prototype_0 :\n.callprototype ()_ (.param .b64 _);\nL:\nL2: ret;\nend:");
    assert!(matches!(
        &found[..],
        [
            Stmt::CallPrototype(_),
            Stmt::Label(_),
            Stmt::Label(_),
            Stmt::Instruction(_),
            Stmt::Label(_)
        ]
    ));
}

#[test]
fn comments_and_line_markers_are_blank() {
    let source = "// Generated\n# 1 \"k.cu\" 2\n/* .version 1.0 \n */ .version 8.5 // x\n\
        #line 3 \"k.cu\"\n.target sm_90a, debug\n.entry k() {\n\
        // begin inline asm\n{ add.u32 a, b, c; } /* ; */ // end inline asm\n}\n// the end";
    let module = ptx::parse(source).unwrap();
    assert_eq!((module.version, module.address_size), ((8, 5), 64));
    assert_eq!(module.target, ["sm_90a", "debug"]);
    assert_eq!(module.items.len(), 1);
}

#[test]
fn layout_does_not_matter() {
    let spread =
        body("call\n(\nr\n)\n,\nf\n,\n(\na\n,\nb\n)\n;\n@\n%p\nld\n.global\n.u32 r,[a\n+\n4];");
    assert_eq!(spread, body("call(r),f,(a,b);@%p ld.global.u32 r,[a+4];"));
    let crlf = ".version 8.0\r\n.target sm_90\r\n.entry k() {\r\n.loc 1 2 3\r\nret;\r\n}\r\n";
    assert_eq!(ptx::parse(crlf), ptx::parse(&crlf.replace('\r', "")));
    let marked = format!("\u{feff}{crlf}");
    assert_eq!(ptx::parse(&marked), ptx::parse(crlf));
}

#[test]
fn a_file_in_a_folder_of_its_own_string_is_joined() {
    match &module(".file 1 \"/src\" \"k.c\"\n.file 2 \"l.c\", 5, 6").items[..] {
        [Item::File(first), Item::File(second)] => {
            assert_eq!(first.name, "/src/k.c");
            assert_eq!(second.stamp, Some((5, 6)));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn section_contents_lose_comments_only() {
    let source =
        ".section .debug_info {\n.b8 1 // a } brace\n /* and\n } another */\n  .b64 L + 4\n\n}";
    match &module(source).items[..] {
        [Item::Section(section)] => assert_eq!(section.lines, [".b8 1", ".b64 L + 4"]),
        other => panic!("{other:?}"),
    }
}

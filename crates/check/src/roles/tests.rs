//! Roles of parameters in kernels of a few instructions.

use super::*;
use ptx::ast::Item;

const THREAD: &str = "mov.u32 %r1, %ntid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %tid.x; mad.lo.s32 %i, %r2, %r1, %r3;
     ld.param.u64 %a, [p0]; ld.param.u32 %n, [p1]; ld.param.u32 %k, [p2];";
/// Loads element `%at`.
const LOAD: &str = "mul.wide.s32 %o, %at, 4; add.s64 %b, %a, %o; ld.global.f32 %f, [%b];";

/// The roles in a kernel of an array, `n` and `k`.
fn of(body: &str) -> Roles {
    let body = body.replace("LOAD", LOAD);
    let text = format!(
        ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p0, .param .u32 p1, .param .u32 p2)\n{{\n{THREAD}\n{body}\nEND: ret;\n}}\n"
    );
    let module = ptx::parse(&text).expect("valid PTX");
    let function = module.items.iter().find_map(|item| match item {
        Item::Function(f) => Some(f),
        _ => None,
    });
    roles(function.expect("a function")).expect("a short one")
}

/// The indices of such a kernel, by their places.
fn found(body: &str) -> Vec<(usize, u64, bool)> {
    let mut all: Vec<_> = of(body)
        .indices
        .into_iter()
        .filter(|(place, _)| *place > 0)
        .map(|(place, index)| (place, index.start, index.bits))
        .collect();
    all.sort_unstable();
    all
}

/// The parameters that the kernel asks its threads about.
fn asked(body: &str) -> Vec<usize> {
    let mut all: Vec<usize> = of(body).asked.into_iter().collect();
    all.sort_unstable();
    all
}

#[test]
fn half_of_a_size_is_no_index() {
    // `a[i + k / 2]`, and `a[i + k]`
    let half =
        "shr.u32 %s, %k, 31; add.s32 %s, %k, %s; shr.s32 %s, %s, 1; add.s32 %at, %i, %s; LOAD";
    assert_eq!(found(half), []);
    assert_eq!(found("add.s32 %at, %i, %k; LOAD"), [(2, 0, false)]);
}

#[test]
fn threads_ask_about_sizes() {
    assert_eq!(asked(BELOW_N), [1]);
    assert!(asked("mad.lo.s32 %at, %i, %n, %k; LOAD").is_empty());
    assert_eq!(asked("rem.s32 %at, %i, %n; LOAD"), [1]);
    assert_eq!(asked("min.s32 %at, %i, %n; LOAD"), [1]);
    // Two sizes that go together, and a product of one with a thread's number.
    let both = "add.s32 %at, %i, %k; setp.ge.s32 %p, %at, %n; @%p bra END;";
    assert!(asked(both).is_empty());
    let product = "mul.lo.s32 %at, %i, %k; setp.ge.s32 %p, %at, %n; @%p bra END;";
    assert_eq!(asked(product), [1]);
}

const BELOW_N: &str = "setp.ge.s32 %p, %i, %n; @%p bra END;";

#[test]
fn a_row_and_a_column_are_indices() {
    // `a[i * n + k]`, `a[k * n + i]`
    let column = "mad.lo.s32 %at, %i, %n, %k; LOAD";
    let row = "mad.lo.s32 %at, %k, %n, %i; LOAD";
    assert_eq!(found(column), [(2, 0, false)]);
    assert_eq!(found(&format!("{BELOW_N} {row}")), [(2, 0, false)]);
    // `a[h * w + i * w]`: both are sizes where threads stay below both.
    let plane = "setp.ge.s32 %q, %i, %k; or.pred %p, %p, %q; @%p bra END;";
    let plane = format!("setp.ge.s32 %p, %i, %n; {plane} {row} {column}");
    assert_eq!(found(&plane), []);
}

#[test]
fn threads_work_below_sizes_and_beyond_indices() {
    let at = "mov.u32 %at, %i; LOAD";
    let beyond =
        "setp.le.s32 %p, %i, %k; setp.ge.s32 %q, %i, %n; or.pred %p3, %p, %q; @%p3 bra END;";
    assert_eq!(found(&format!("{beyond} {at}")), [(2, 0, false)]);
    let other = "setp.gt.s32 %p, %i, %k; @!%p bra END;";
    assert_eq!(found(&format!("{BELOW_N} {other} {at}")), [(2, 0, false)]);
    let source = "setp.ne.s32 %p, %i, %k; @%p bra END;";
    assert_eq!(found(&format!("{BELOW_N} {source} {at}")), [(2, 0, false)]);
    // Whatever is done with it, and of an element as of a thread.
    let chosen = "setp.eq.s32 %p, %i, %k; selp.b32 %at, 0, %i, %p; LOAD";
    assert_eq!(found(&format!("{BELOW_N} {chosen}")), [(2, 0, false)]);
    let level =
        "mov.u32 %at, %i; LOAD setp.ne.s32 %p, %f, %k; @%p bra END; st.global.u32 [%b], %n;";
    assert_eq!(found(&format!("{BELOW_N} {level}")), [(2, 0, false)]);
    let around = "add.s32 %at, %i, 1; setp.eq.s32 %p, %at, %k; selp.b32 %at, 0, %at, %p; LOAD";
    assert_eq!(found(around), []);
    // The last thread: `i == k - 1`.
    let last = "add.s32 %l, %k, -1; setp.ne.s32 %p, %i, %l; @%p bra END;";
    assert_eq!(found(&format!("{last} {at}")), []);
    // `for (j = i; j < k; j++)`
    let around = "mov.u32 %j, %i; AGAIN: mov.u32 %at, %j; LOAD add.s32 %j, %j, 1; setp.lt.s32 %p, %j, %k; @%p bra AGAIN;";
    assert_eq!(found(around), []);
}

#[test]
fn halves_and_mirrors_are_sizes() {
    let half = "setp.ge.s32 %p, %i, %k; @%p bra END; add.s32 %at, %i, %k; LOAD";
    assert_eq!(found(half), []);
    assert_eq!(found("sub.s32 %at, %k, %i; LOAD"), []);
    assert_eq!(found("not.b32 %m, %i; add.s32 %at, %m, %k; LOAD"), []);
    assert_eq!(found("add.s32 %at, %k, -1; LOAD"), []);
    let last = "add.s32 %l, %k, -1; mad.lo.s32 %at, %l, %n, %i; LOAD";
    assert_eq!(found(&format!("{BELOW_N} {last}")), []);
    let last = "mad.lo.s32 %l, %k, %n, %i; sub.s32 %at, %l, %n; LOAD";
    assert_eq!(found(&format!("{BELOW_N} {last}")), []);
}

#[test]
fn offsets_begin_at_one() {
    let back = "sub.s32 %at, %i, %k; LOAD";
    assert_eq!(found(&format!("{BELOW_N} {back}")), [(2, 1, false)]);
    let partner = "xor.b32 %at, %i, %k; LOAD";
    assert_eq!(found(partner), [(2, 1, false)]);
    let bits = "shl.b32 %s, 1, %k; rem.s32 %q, %i, %s; add.s32 %at, %i, %s; LOAD";
    assert_eq!(found(&format!("{BELOW_N} {bits}")), [(2, 0, true)]);
    assert_eq!(
        found(&format!("{BELOW_N} add.s32 %at, %i, %k; LOAD")),
        [(2, 0, false)]
    );
}

#[test]
fn other_settings_stay_below_the_size() {
    let index = Index {
        start: 0,
        bits: false,
        zero: false,
    };
    assert_eq!([2, 1, 0].map(|h| index.within(100, h)), [99, 50, 0]);
    assert_eq!([2, 1, 0].map(|h| index.within(0, h)), [0, 0, 0]);
    let bits = Index {
        bits: true,
        ..index
    };
    assert_eq!([2, 1, 0].map(|h| bits.within(64, h)), [5, 3, 0]);
    let offset = Index { start: 1, ..index };
    assert_eq!([2, 1, 0].map(|h| offset.within(64, h)), [63, 32, 1]);
    assert_eq!([2, 1, 0].map(|h| offset.within(1, h)), [1, 1, 1]);
}

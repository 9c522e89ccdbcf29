//! Results that depend on the order of threads, at the default budget of schedules.

use check::{Request, Source};
use detect::rules::{Level, Rule};
use simt::Dim3;

/// The sum of the last block: every warp adds its part, thread 0 counts its block as done, and the last one to count takes the total. The
/// barrier lets all warps of the block add before it is counted; without one, whoever is late is left out.
fn last_block(barrier: bool) -> String {
    let barrier = if barrier { "bar.sync 0;" } else { "" };
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n\
.visible .entry sum(.param .u64 total, .param .u64 done, .param .u64 out) {{\n\
.reg .b64 %t, %d, %o; .reg .b32 %v, %i, %x, %n, %k, %c; .reg .pred %p;\n\
ld.param.u64 %t, [total]; ld.param.u64 %d, [done]; ld.param.u64 %o, [out];\n\
mov.u32 %x, %tid.x; mov.u32 %c, %ctaid.x; mov.u32 %n, %ntid.x; mad.lo.u32 %i, %c, %n, %x; add.u32 %i, %i, 1;\n\
mov.u32 %v, %i;\n\
and.b32 %k, %x, 31; setp.ne.u32 %p, %k, 0; @%p bra ADDED;\n\
red.global.add.u32 [%t], %v;\n\
ADDED: {barrier}\n\
setp.ne.u32 %p, %x, 0; @%p bra END;\n\
membar.gl; atom.global.add.u32 %k, [%d], 1;\n\
mov.u32 %n, %nctaid.x; sub.u32 %n, %n, 1; setp.ne.u32 %p, %k, %n; @%p bra END;\n\
membar.gl; ld.volatile.global.u32 %v, [%t]; st.global.u32 [%o], %v;\n\
END: ret;\n}}\n"
    )
}

fn checked(ptx: String) -> check::Checked {
    let mut request = Request::new(Source::Ptx {
        name: "sum.ptx".into(),
        text: ptx,
    });
    request.launch.grid = Some(Dim3::linear(4));
    request.launch.block = Some(Dim3::linear(96));
    for argument in ["0=u32[1]:zeros", "1=u32[1]:zeros", "2=u32[1]:zeros"] {
        request
            .arguments
            .push(check::argument::parse(argument).unwrap());
    }
    check::check(&request, &check::Unwatched).unwrap_or_else(|e| panic!("{}", e.render(false)))
}

fn level(checked: &check::Checked, rule: Rule) -> Option<Level> {
    let all = checked.check.diagnostics.iter();
    let found = all.filter(|d| d.rule == rule);
    found.map(|d| d.level).next()
}

#[test]
fn a_block_that_is_counted_before_its_warps_have_added_is_found() {
    let missing = checked(last_block(false));
    // That the results differ makes an error of it, and is not told a second time.
    assert_eq!(
        level(&missing, Rule::UnorderedCommunication),
        Some(Level::Error),
        "{:?}",
        missing.check
    );
    assert_eq!(level(&missing, Rule::NondeterministicResult), None);
    let there = checked(last_block(true));
    assert!(there.check.diagnostics.is_empty(), "{:?}", there.check);
}

/// Whoever draws the last ticket leaves its number: the finding shows the store.
#[test]
fn a_result_that_depends_on_the_order_names_the_store() {
    let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n\
.visible .entry last(.param .u64 ticket, .param .u64 unused, .param .u64 out) {\n\
.reg .b64 %t, %o; .reg .b32 %i, %x, %n, %c, %k; .reg .pred %p;\n\
ld.param.u64 %t, [ticket]; ld.param.u64 %o, [out];\n\
mov.u32 %x, %tid.x; mov.u32 %c, %ctaid.x; mov.u32 %n, %ntid.x; mad.lo.u32 %i, %c, %n, %x;\n\
atom.global.add.u32 %k, [%t], 1; setp.ne.u32 %p, %k, 383; @%p bra END;\n\
st.global.u32 [%o], %i;\n\
END: ret;\n}\n";
    let last = checked(ptx.to_owned());
    let all = last.check.diagnostics.iter();
    let found: Vec<_> = all
        .filter(|d| d.rule == Rule::NondeterministicResult)
        .collect();
    let [finding] = found[..] else {
        panic!("{:?}", last.check);
    };
    assert_eq!(finding.labels.len(), 1, "{finding:?}");
    let label = &finding.labels[0];
    assert!(
        label
            .source
            .line(label.line)
            .is_some_and(|l| l.contains("st.global"))
    );
    assert!(label.text.contains("writes `2"), "{}", label.text);
    assert!(finding.notes[0].starts_with("`2"), "{:?}", finding.notes);
}

/// A kernel's parameters are read-only: a store to them is a finding, whatever state space it claims.
#[test]
fn a_store_to_a_parameter_is_out_of_bounds() {
    let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n\
.visible .entry k(.param .u64 x, .param .u64 y, .param .u64 n) {\n\
.reg .b64 %a; mov.b64 %a, n; cvta.param.u64 %a, %a;\n\
st.u32 [%a], 1;\nst.shared.u32 [n], 2;\nret;\n}\n";
    let stored = checked(ptx.to_owned());
    let rules: Vec<Rule> = stored.check.diagnostics.iter().map(|d| d.rule).collect();
    assert_eq!(rules, [Rule::OutOfBounds; 2], "{:?}", stored.check);
}

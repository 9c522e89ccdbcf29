//! What a kernel is launched with is data, and how many hypotheses are tried follows from how much of it was given.

use check::hypothesis::Origin;
use check::{Checked, Request, Source, Unwatched, check};
use simt::Dim3;

/// `if (i < n) x[i] = a;`
const KERNEL: &str = ".version 8.0\n.target sm_75\n.address_size 64
.visible .entry k(.param .u64 x, .param .u32 n, .param .f32 a)
{
    .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %a<5>; .reg .f32 %f;
    ld.param.u64 %a0, [x]; ld.param.u32 %r0, [n]; ld.param.f32 %f, [a];
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
    mad.lo.s32 %r4, %r2, %r3, %r1; setp.ge.s32 %p, %r4, %r0; @%p bra DONE;
    mul.wide.s32 %a1, %r4, 4; add.s64 %a2, %a0, %a1; st.global.f32 [%a2], %f;
DONE: ret;
}
";

fn checked(arguments: &[&str], launch: bool) -> Checked {
    let mut request = Request::new(Source::Ptx {
        name: "k.ptx".into(),
        text: KERNEL.into(),
    });
    if launch {
        request.launch.grid = Some(Dim3::linear(2));
        request.launch.block = Some(Dim3::linear(64));
    }
    let arguments = arguments.iter();
    request.arguments = arguments
        .map(|text| check::argument::parse(text).expect("an argument"))
        .collect();
    check(&request, &Unwatched).expect("checked")
}

#[test]
fn what_is_fully_given_is_the_only_hypothesis() {
    let all = ["0=f32[128]", "1=128", "2=1.5"];
    let given = checked(&all, true);
    assert!(given.hypothesis.fully_given());
    assert_eq!(given.tried, 1);
    for (arguments, launch) in [(&all[..2], true), (&all[1..], true), (&all[..], false)] {
        let open = checked(arguments, launch);
        assert!(!open.hypothesis.fully_given());
    }
    assert!(checked(&[], false).tried > 1);
}

#[test]
fn each_part_says_where_it_comes_from() {
    let parts = checked(&["1=100"], false).hypothesis.parts();
    let said: Vec<_> = parts.iter().map(|p| (p.name.as_str(), p.origin)).collect();
    assert_eq!(
        said,
        [
            ("grid", Origin::Default),
            ("block", Origin::Default),
            ("0", Origin::Default),
            ("1", Origin::Given),
            ("2", Origin::Default),
        ]
    );
    assert_eq!(parts[3].value, "100");
}

/// Each block writes its neighbour's shared memory and reads its own.
const CLUSTER: &str = ".version 8.0\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 x)
{
    .reg .b32 %r<9>; .reg .b64 %a<5>; .shared .b32 mine;
    ld.param.u64 %a0, [x]; mov.u32 %r0, %cluster_ctarank; xor.b32 %r1, %r0, 1; mov.u32 %r2, mine;
    barrier.cluster.arrive; barrier.cluster.wait;
    mapa.shared::cluster.u32 %r3, %r2, %r1; mov.u32 %r4, %ctaid.x; mov.u32 %r5, %tid.x;
    setp.ne.u32 %p, %r5, 0; @%p bra MEET; st.shared::cluster.u32 [%r3], %r4;
MEET:
    barrier.cluster.arrive; barrier.cluster.wait;
    @%p ret; ld.shared.u32 %r6, [mine]; mul.wide.u32 %a1, %r4, 4; add.s64 %a2, %a0, %a1; st.global.u32 [%a2], %r6;
    ret;
}
";

#[test]
fn a_kernel_that_needs_clusters_is_launched_in_clusters() {
    let with = |directive: &str, cluster: Option<Dim3>, grid: Option<Dim3>| {
        let text = CLUSTER.replace(".reg .b32", ".reg .pred %p; .reg .b32");
        let text = text.replace(".param .u64 x)", &format!(".param .u64 x) {directive}"));
        let mut request = Request::new(Source::Ptx {
            name: "k.ptx".into(),
            text,
        });
        (request.launch.cluster, request.launch.grid) = (cluster, grid);
        let checked = check(&request, &Unwatched).expect("checked");
        assert_eq!(checked.check.diagnostics, []);
        let parts = checked.hypothesis.parts();
        let cluster = parts.iter().find(|part| part.name == "cluster");
        let cluster = cluster.map(|part| (part.value.clone(), part.origin));
        (cluster, parts[0].value.clone())
    };
    let pair = |origin| Some(("2".to_owned(), origin));
    assert_eq!(with("", None, None), (pair(Origin::Default), "4".into()));
    let two = Some(Dim3::linear(2));
    assert_eq!(with("", two, None), (pair(Origin::Given), "4".into()));
    assert_eq!(with("", two, two), (pair(Origin::Given), "2".into()));
    // The kernel says it itself.
    assert_eq!(with(".reqnctapercluster 2", None, None), (None, "4".into()));
}

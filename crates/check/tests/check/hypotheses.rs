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

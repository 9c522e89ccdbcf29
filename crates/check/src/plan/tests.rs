//! Tests of plans.

use super::grow::GUESSED_BYTES;
use super::*;

fn parameters() -> Parameters {
    let ptx = "
.version 9.0
.target sm_75
.address_size 64
.visible .entry _Z1kPfiS_1P(.param .u64 a, .param .u32 b, .param .u64 c, .param .align 8 .b8 d[16])
{ ret; }
";
    Parameters::of(&ptx::parse(ptx).unwrap(), "_Z1kPfiS_1P", None)
}

fn plan(given: &[&str]) -> Result<Plan, Error> {
    let given: Result<Vec<Argument>, Error> =
        given.iter().map(|s| crate::argument::parse(s)).collect();
    Plan::new(parameters(), &given?, Sizes::linear(96), 1)
}

fn encode(given: &[&str]) -> Result<(Vec<u8>, Vec<PlannedBuffer>), Error> {
    let mut buffers = Vec::new();
    let block = plan(given)?.encode(
        &mut |buffer| {
            buffers.push(buffer);
            Ok(0x1000 * buffers.len() as u64)
        },
        &|name| (name == "f").then_some(0xf00),
    )?;
    Ok((block, buffers))
}

#[test]
fn what_is_not_given_is_inferred() {
    let (block, buffers) = encode(&[]).unwrap();
    let made: Vec<_> = buffers.iter().map(|b| (b.name.as_str(), b.bytes)).collect();
    assert_eq!(made, [("0", 96 * 4), ("2", 96 * 4)]);
    assert_eq!(block.len(), 40);
    assert_eq!(block[..8], 0x1000u64.to_le_bytes());
    assert_eq!(block[8..12], 96u32.to_le_bytes());
    let first = buffers[0].initial.as_ref().unwrap();
    assert_ne!(
        first,
        buffers[1].initial.as_ref().unwrap(),
        "buffers differ"
    );
    assert_eq!(
        first,
        encode(&[]).unwrap().1[0].initial.as_ref().unwrap(),
        "runs do not"
    );
}

#[test]
fn what_is_given_is_passed() {
    let (block, buffers) = encode(&[
        "0=f32[2]:const:1.5",
        "1=-7",
        "2=0",
        "3={1, 2.5, i32[3]:iota}",
    ])
    .unwrap();
    assert_eq!(block[8..12], (-7i32).to_le_bytes());
    assert_eq!(block[16..24], [0; 8]);
    assert_eq!(block[24..28], 1i32.to_le_bytes());
    assert_eq!(block[28..32], 2.5f32.to_le_bytes());
    assert_eq!(block[32..40], 0x2000u64.to_le_bytes());
    assert_eq!(
        buffers[0].initial.as_deref(),
        Some(&[0, 0, 0xc0, 0x3f, 0, 0, 0xc0, 0x3f][..])
    );
    assert_eq!(
        buffers[1].initial.as_deref(),
        Some(&[0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0][..])
    );
}

#[test]
fn what_does_not_fit_is_refused() {
    let messages: Vec<String> = [
        "0=5",
        "1=i32[4]",
        "1=5000000000",
        "1=1.5",
        "1=3:i64",
        "3=7",
        "3={1,2}",
        "3=0x000102030405060708",
        "0={1}",
    ]
    .iter()
    .map(|a| encode(&[a]).map(|_| ()).unwrap_err().render(false))
    .collect();
    insta::assert_snapshot!(messages.concat());
    assert!(
        encode(&["1=1", "1=2"])
            .unwrap_err()
            .to_string()
            .contains("twice")
    );
}

/// The plan for a kernel of one parameter `p`, and the buffers that it makes.
fn guess(param: &str, body: &str) -> (Plan, Vec<PlannedBuffer>, Vec<u8>) {
    let ptx = format!(
        ".version 9.0\n.target sm_75\n.address_size 64\n.visible .entry k({param})\n{{ {body} ret; }}\n"
    );
    let parameters = Parameters::of(&ptx::parse(&ptx).unwrap(), "k", None);
    let plan = Plan::new(parameters, &[], Sizes::linear(96), 1).unwrap();
    let mut buffers = Vec::new();
    let block = plan.encode(
        &mut |buffer| {
            buffers.push(buffer);
            Ok(0x1000 * buffers.len() as u64)
        },
        &|_| None,
    );
    (plan, buffers, block.unwrap())
}

#[test]
fn pointers_in_structs_get_buffers() {
    let (plan, buffers, block) = guess(
        ".param .align 8 .b8 p[32]",
        "ld.param.u64 %rd1, [p]; st.global.f32 [%rd1], %f1; ld.param.u32 %r1, [p+12];
         ld.param.u64 %rd2, [p+16]; st.global.u8 [%rd2], %r2;",
    );
    let names: Vec<_> = buffers.iter().map(|b| (b.name.as_str(), b.bytes)).collect();
    assert_eq!(names, [("0.0", 96 * 4), ("0.1", 96)]);
    assert_eq!(
        plan.values[0].value.to_string(),
        "{f32[96]:random,0:u32,96:i32,u8[96]:random,0:u64}"
    );
    assert_eq!(block[..8], 0x1000u64.to_le_bytes());
    assert_eq!(block[12..16], 96u32.to_le_bytes());
    assert_eq!(block[16..24], 0x2000u64.to_le_bytes());
    // What is shown can be given.
    let shown = crate::argument::parse(&format!("0={}", plan.values[0].value)).unwrap();
    assert_eq!(shown.value, plan.values[0].value);
    let mut plan = plan;
    assert!(plan.grow(0, "0.1", 500));
    assert!(plan.values[0].value.to_string().contains("u8[1024]"));
}

#[test]
fn pointers_to_pointers_get_rows() {
    let (mut plan, buffers, block) = guess(
        ".param .u64 p",
        "ld.param.u64 %rd1, [p]; ld.global.u64 %rd2, [%rd1+8]; ld.global.f32 %f1, [%rd2];",
    );
    assert_eq!(plan.values[0].value.to_string(), "f32[64][96]:random");
    assert_eq!(buffers.len(), 65);
    assert_eq!(
        buffers[64].initial.as_ref().unwrap()[8..16],
        0x2000u64.to_le_bytes()
    );
    assert_eq!(block, 0x41000u64.to_le_bytes());
    assert_eq!(plan.named("0[3]"), Some(0));
    assert!(plan.grow(0, "0[3]", 500) && plan.grow(0, "0", 800));
    assert_eq!(plan.values[0].value.to_string(), "f32[256][256]:random");
}

#[test]
fn counters_start_at_zero() {
    let (plan, ..) = guess(
        ".param .u64 p",
        "ld.param.u64 %rd1, [p]; atom.global.add.u32 %r1, [%rd1], 1;",
    );
    assert_eq!(plan.values[0].value.to_string(), "i32[96]:zeros");
}

/// A guess is never the user's mistake: what needs more memory than guesses get stays as it is.
#[test]
fn guesses_have_a_budget() {
    let (mut plan, ..) = guess(
        ".param .u64 p",
        "ld.param.u64 %rd1, [p]; st.global.u32 [%rd1], %r1;",
    );
    let mut steps = 0;
    while plan.grow(0, "0", 0) {
        steps += 1;
    }
    assert!(steps < 64 && plan.values[0].guessed_bytes() <= GUESSED_BYTES);
}

#[test]
fn guessed_buffers_grow() {
    let mut plan = plan(&["2=f32[4]"]).unwrap();
    assert!(plan.grow(0, "0", 1000));
    assert_eq!(plan.values[0].value.to_string(), "f32[512]:random");
    assert!(!plan.grow(1, "1", 1000) && !plan.grow(2, "2", 1000));
    assert_eq!((plan.named("0"), plan.named("x")), (Some(0), None));
}

#[test]
fn elements_have_the_type_that_the_parameter_names() {
    for given in ["0=i32[4]", "0=f64[4]:zeros", "2=u16[4]"] {
        let said = plan(&[given]).unwrap_err();
        assert_eq!(said.kind, ErrorKind::Argument);
        let said = said.render(false);
        let ty = given[2..].split('[').next().unwrap();
        assert!(
            said.contains(&format!(
                "the parameter is `float*`, whose elements are f32, not {ty}"
            )),
            "{said}"
        );
        assert!(
            said.contains(&format!("write `--arg {}", given.replace(ty, "f32"))),
            "{said}"
        );
    }
    // Bytes may be anything.
    plan(&["0=f32[4]", "2=u8[16]"]).unwrap();
    plan(&["2=i8[16]"]).unwrap();
}

#[test]
fn further_settings_keep_indices_below_sizes() {
    let ptx = ".version 9.0\n.target sm_75\n.address_size 64
        .visible .entry k(.param .u64 a, .param .u32 n, .param .u32 k, .param .f32 x) {
        ld.param.u64 %a, [a]; ld.param.u32 %n, [n]; ld.param.u32 %k, [k]; mov.u32 %t, %tid.x;
        setp.ge.u32 %p, %t, %n; @%p bra DONE;
        mad.lo.s32 %i, %t, %n, %k; mul.wide.s32 %o, %i, 4; add.s64 %b, %a, %o; ld.global.u32 %r, [%b]; DONE: ret; }";
    let of = |ptx: &str| {
        let parameters = Parameters::of(&ptx::parse(ptx).unwrap(), "k", None);
        Plan::new(parameters, &[], Sizes::linear(96), 1).unwrap()
    };
    // A size that no thread is compared with has to fit the launch, so it stays.
    let unasked = of(&ptx.replace("setp.ge.u32 %p, %t, %n;", ""));
    assert_eq!(unasked.with_sizes(|_| 95, 2).integer_values(), [96, 95]);
    let first = of(ptx);
    assert_eq!(first.integer_values(), [96, 0]);
    let with = |size: u64, halves| first.with_sizes(|_| size, halves).integer_values();
    assert_eq!(with(95, 2), [95, 94]);
    assert_eq!(with(71, 1), [71, 35]);
    assert_eq!(with(97, 0), [97, 0]);
    assert_eq!(with(0, 2), [0, 0]);
    assert_eq!(first.common_size(), Some(96));
    assert_eq!(first.floats(), ["`3` = 1.0"]);
    let small = first.with_floats("0.001").unwrap();
    assert_eq!(small.floats(), ["`3` = 0.001"]);
    assert_eq!(plan(&[]).unwrap().with_floats("0.0"), None);
}

/// An array of the host that grows, because a guess leads further, holds what it held before: indices below the program's sizes.
#[test]
fn contents_of_the_hosts_arrays_do_not_grow() {
    let ptx = ".version 9.0\n.target sm_75\n.address_size 64\n.visible .entry _Z1kPiS_(.param .u64 a, .param .u64 b) { ret; }";
    let parameters = Parameters::of(&ptx::parse(ptx).unwrap(), "_Z1kPiS_", None);
    let mut plan = Plan::new(parameters, &[], Sizes::linear(96), 1).unwrap();
    plan.values[0].origin = Origin::Host {
        filled_by_guess: false,
        line: 1,
        binding: false,
    };
    assert!(plan.grow(0, "0", 1000) && plan.grow(1, "1", 1000));
    let said: Vec<String> = plan.values.iter().map(|v| v.value.to_string()).collect();
    assert_eq!(said, ["i32[512]:random:0..=95", "i32[512]:random"]);
    // Both are guesses still.
    assert_eq!(plan.random_integers(), [0, 1]);
}

#[test]
fn addresses_can_be_passed_again() {
    let (block, buffers) = encode(&["0=fn:f", "2=f32[4]:iota"]).unwrap();
    assert_eq!(
        (block[..8].to_vec(), buffers.len()),
        (0xf00u64.to_le_bytes().to_vec(), 1)
    );
    let (block, buffers) = encode(&["0=&2"]).unwrap();
    assert_eq!((&block[..8], buffers.len()), (&block[16..24], 1));
    let refused = |given: &str| encode(&[given]).unwrap_err().to_string();
    assert!(refused("0=fn:g").contains("no device function"));
    assert!(refused("0=&0").contains("another parameter"));
    assert!(refused("0=&1").contains("another parameter"));
    assert!(refused("1=&0").contains("another parameter"));
}

/// A name that says "pointer" where the PTX has four bytes, as a changed file may.
#[test]
fn what_is_passed_has_the_size_that_the_ptx_says() {
    let text = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry _Z1kPiPFivEPS_(.param .u32 a, .param .u16 b, .param .u8 c)\n{ ret; }\n";
    let mut request = crate::Request::new(crate::Source::Ptx {
        name: "k.ptx".into(),
        text: text.into(),
    });
    request.budgets.jobs = 1;
    let checked = crate::check(&request, &crate::Unwatched).expect("checked");
    assert_eq!(checked.check.diagnostics, []);
    for given in ["0=i32[4]", "1=fn:f", "2=&0"] {
        let mut request = request.clone();
        request.arguments = vec![crate::argument::parse(given).expect("an argument")];
        assert!(
            crate::check(&request, &crate::Unwatched).is_err(),
            "{given}"
        );
    }
}

//! Calls that lead nowhere end a launch with a finding, and what was found before is there too.

use detect::finding::{Detail, Finding};
use detect::rules::Rule;
use session::{Options, Session};
use simt::{BadCall, Dim3, Launch, Program, Stop};

/// What one block of 32 threads gives for a body that sees `%x`, the address of a buffer of 4 bytes; `externs` come before the kernel.
fn run(externs: &str, body: &str) -> (Vec<Finding>, Option<Stop>) {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n{externs}\n.visible .entry k(.param .u64 out) {{\n\
         .reg .b64 %x, %p;\n.reg .b32 %t;\nld.param.u64 %x, [out];\nmov.u32 %t, %tid.x;\n{body}\nret;\n}}\n"
    );
    let module = ptx::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let program = Program::lower(&module, &text, "k").unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut session = Session::new(Options::default());
    let out = session.device().alloc(4, "out").unwrap();
    let launch = Launch {
        cluster: None,
        grid: Dim3::linear(1),
        block: Dim3::linear(32),
        dynamic_shared: 0,
        params: out.to_le_bytes().to_vec(),
        cooperative: false,
        number: 0,
    };
    let _ = session.launch(&program, &launch);
    let (outcome, _) = session.finish();
    (outcome.findings, outcome.stopped)
}

fn rules(findings: &[Finding]) -> Vec<Rule> {
    findings.iter().map(|f| f.rule).collect()
}

const RACE: &str = "st.global.u32 [%x], %t;";

#[test]
fn a_function_without_a_body_is_named_and_hides_no_race() {
    let (findings, _) = run(
        ".extern .func elsewhere;",
        &format!("{RACE} call elsewhere;"),
    );
    assert_eq!(rules(&findings), [Rule::DataRace, Rule::InvalidCall]);
    let detail = Detail::Call(BadCall::NoBody("elsewhere".into()));
    assert_eq!(findings[1].detail, detail);
}

#[test]
fn what_the_driver_provides_and_the_simulator_lacks_is_no_fault_of_the_kernel() {
    let (findings, stop) = run(
        ".extern .func cudaDeviceSynchronize;",
        "call cudaDeviceSynchronize;",
    );
    assert_eq!(rules(&findings), []);
    assert!(matches!(stop, Some(Stop::Unsupported { .. })), "{stop:?}");
}

#[test]
fn a_call_through_a_pointer_to_data_says_where_it_points() {
    let call = "mov.u64 %p, %x; prototype: .callprototype _ (); call %p, prototype;";
    let (findings, _) = run("", call);
    assert_eq!(rules(&findings), [Rule::InvalidCall]);
    let wrong = |d: &Detail| matches!(d, Detail::Call(BadCall::NoFunction(_)));
    assert!(wrong(&findings[0].detail), "{findings:?}");
}

/// "Behaviour is undefined if the value of index is greater than or equal to the length of tlist" (PTX ISA, "brx.idx").
#[test]
fn a_branch_by_an_index_that_the_list_has_not_is_told() {
    let branch = |index: u32| {
        format!(".reg .b32 %i; mov.u32 %i, {index}; T: .branchtargets A, B; brx.idx %i, T; A: B:")
    };
    for index in [2, u32::MAX] {
        let (findings, _) = run("", &branch(index));
        assert_eq!(rules(&findings), [Rule::InvalidCall]);
        assert_eq!(findings[0].detail, Detail::Call(BadCall::NoLabel(index, 2)));
    }
    assert_eq!(rules(&run("", &branch(1)).0), []);
}

/// A block of a rank that no cluster has is no block, whatever the rank is: addresses of shared memory have 32 bits.
#[test]
fn shared_memory_of_a_rank_that_no_cluster_has_is_nobodys() {
    for rank in [16u32, 254, 255, 256, u32::MAX] {
        let store = format!(
            ".reg .b32 %at; mov.u32 %at, own; mapa.shared::cluster.u32 %at, %at, {rank}; st.shared::cluster.u32 [%at], 1;"
        );
        let (findings, _) = run(".shared .align 4 .b8 own[64];", &store);
        assert!(
            !findings.is_empty() && !rules(&findings).contains(&Rule::DataRace),
            "{rank}: {findings:?}"
        );
    }
}

#[test]
fn only_what_malloc_returned_is_freed() {
    let (findings, stop) = run(
        ".extern .func free(.param .b64 p);",
        "{ .param .b64 a; st.param.b64 [a], %x; call.uni free, (a); }",
    );
    assert_eq!(rules(&findings), [Rule::InvalidCall]);
    assert_eq!(stop, None, "the launch goes on");
}

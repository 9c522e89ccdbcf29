//! The public API, as somebody's own tests use it.

use racetrap::{Buffer, BufferError, Check, ErrorKind, Format, Level, Promise, Verdict};
use std::panic::catch_unwind;
use std::time::Duration;

const KERNELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/kernels.ptx");

/// `reverse` of the command line's own tests: PTX with line information, its source beside it.
fn reverse(entry: &str) -> Check {
    Check::cuda(KERNELS)
        .entry(entry)
        .grid(2)
        .block(64)
        .arg_named("data", Buffer::iota::<i32>(128))
        .arg_named("n", 128)
}

#[test]
fn a_clean_kernel_computes() {
    let report = reverse("reverse_fixed").run().unwrap();
    report.assert_clean();
    assert_eq!(report.verdict(), Verdict::Clean);
    assert_eq!(report.explored().promise, Some(Promise::EverySchedule));
    assert!(report.explored().guessed.is_empty());
    let data = report.buffer::<i32>("data").unwrap();
    assert_eq!(data, report.buffer::<i32>("0").unwrap());
    let reversed: Vec<i32> = (0..64).rev().chain((64..128).rev()).collect();
    assert_eq!(data, reversed);
}

#[test]
fn a_buggy_kernel_fails_the_test_with_its_lines() {
    let report = reverse("reverse").run().unwrap();
    report.assert_finds("data-race");
    let finding = &report.findings()[0];
    assert_eq!((finding.rule, finding.level), ("data-race", Level::Error));
    assert!(finding.message.contains("`tile["), "{finding:?}");
    assert_eq!(finding.places.len(), 2);
    assert!(
        finding
            .places
            .iter()
            .all(|p| p.file.ends_with("kernels.cu"))
    );
    assert!(report.render(Format::Sarif).contains("data-race"));
    let panic = catch_unwind(|| report.assert_clean()).unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    assert!(message.contains("error[data-race]"), "{message}");
    assert!(message.contains("kernels.cu:19"), "{message}");
    let panic = catch_unwind(|| report.assert_finds("deadlock")).unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    assert!(message.starts_with("no `deadlock` was found"), "{message}");
}

#[test]
fn buffers_are_typed() {
    let report = reverse("reverse_fixed").run().unwrap();
    assert!(matches!(
        report.buffer::<u8>("data"),
        Err(BufferError::WrongType {
            held: "i32",
            wanted: "u8",
            ..
        })
    ));
    assert!(matches!(
        report.buffer::<i32>("tile"),
        Err(BufferError::Unknown { .. })
    ));
    let text = "
        .version 8.0
        .target sm_75
        .address_size 64
        .visible .entry first(.param .u64 out, .param .f64 x, .param .u8 flag, .param .s64 n) {
            .reg .b64 %a<3>; .reg .f64 %d; .reg .b16 %h;
            ld.param.u64 %a0, [out];
            ld.param.f64 %d, [x];
            st.global.f64 [%a0], %d;
            ld.param.u8 %h, [flag];
            st.global.u8 [%a0+16], %h;
            ld.param.s64 %a1, [n];
            st.global.u64 [%a0+24], %a1;
            ret;
        }";
    let check = Check::ptx(text).grid(1).block(1);
    let check = check
        .arg(Buffer::uninitialized::<f64>(4))
        .arg(0.1f32)
        .arg(true)
        .arg(-2i64);
    let report = check.run().unwrap();
    report.assert_clean();
    let error = report.buffer::<f64>("0").unwrap_err();
    assert_eq!(error.to_string(), "`0[1]` was never written");
    let report = Check::ptx(text)
        .grid(1)
        .block(1)
        .arg([1.0f64, 2.0, 3.0, 4.0])
        .arg(0.5)
        .arg(false)
        .arg(7)
        .run()
        .unwrap();
    assert_eq!(report.buffer::<f64>("0").unwrap()[..2], [0.5, 2.0]);
    assert_eq!(report.buffer::<u64>("0").unwrap()[3], 7);
}

#[test]
fn what_is_wrong_is_an_error_that_says_so() {
    let error = Check::cuda("nowhere/kernel.ptx").run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Input);
    let error = reverse("revers").run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Kernel);
    assert!(
        error.to_string().contains("did you mean `reverse`?"),
        "{error}"
    );
    let error = reverse("reverse").arg_named("m", 1).run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
    let error = reverse("reverse").block(2000).run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Launch);
    let error = reverse("reverse").schedule("sometimes").run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Launch);
    let error = reverse("reverse").arg_text("n").run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
}

#[test]
fn a_spent_budget_is_not_clean() {
    let report = Check::cuda(KERNELS)
        .entry("spin")
        .max_steps(100_000)
        .run()
        .unwrap();
    assert!(!report.is_clean());
    match reverse("reverse_fixed").timeout(Duration::ZERO).run() {
        Ok(report) => assert_ne!(report.verdict(), Verdict::Clean),
        Err(error) => assert_eq!(error.kind(), ErrorKind::Time),
    }
}

/// Another thread may end a check.
#[test]
fn a_check_can_be_cancelled() {
    let cancel = ::check::Cancel::default();
    cancel.cancel();
    let request = ::check::Request::new(::check::Source::File(KERNELS.into()));
    let request = ::check::Request {
        entry: Some("reverse".into()),
        ..request
    };
    let error = ::check::check(&request, &cancel).unwrap_err();
    assert_eq!(error.kind, ::check::ErrorKind::Cancelled);
}

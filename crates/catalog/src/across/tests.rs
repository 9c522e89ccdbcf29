use super::*;

fn sample() -> Across {
    let found = |release: &str, target: &str, holds, counted| Found {
        release: release.into(),
        target: target.into(),
        holds,
        counted,
        problem: holds
            .is_none()
            .then(|| "does not compile: no such header".to_owned()),
    };
    Across {
        version: 2,
        compilers: vec![
            CompilerUsed {
                release: "12.0".into(),
                compiler: "NVRTC".into(),
                version: "12.0.140".into(),
            },
            CompilerUsed {
                release: "13.0".into(),
                compiler: "nvcc".into(),
                version: "13.0.88".into(),
            },
        ],
        targets: vec!["sm_75".into(), "sm_90".into()],
        claims: vec![
            Claim {
                case: "scan/warp/plain-pointer".into(),
                claim: "counts st.shared".into(),
                expected: "2".into(),
                found: vec![
                    found("12.0", "sm_75", Some(true), Some(2)),
                    found("12.0", "sm_90", Some(false), Some(3)),
                    found("13.0", "sm_75", Some(true), Some(2)),
                    found("13.0", "sm_90", Some(true), Some(2)),
                ],
            },
            Claim {
                case: "scan/warp/plain-pointer".into(),
                claim: "lacks bar*".into(),
                expected: "none".into(),
                found: vec![
                    found("12.0", "sm_75", None, None),
                    found("13.0", "sm_75", Some(true), Some(0)),
                ],
            },
        ],
    }
}

#[test]
fn tables() {
    let across = sample();
    assert!(!across.holds());
    insta::assert_snapshot!(across.markdown("racetrap diff --across"));
    insta::assert_snapshot!(across.terminal(false));
}

#[test]
fn what_is_written_is_read() {
    let across = sample();
    let json = across.json().unwrap();
    assert_eq!(serde_json::from_str::<Across>(&json).unwrap(), across);
    let claim = r#"    {"case":"scan/warp/plain-pointer","claim":"counts st.shared","expected":"2","found":[{"holds":true,"counted":2,"releases":{"sm_75":["12.0","13.0"],"sm_90":["13.0"]}},{"holds":false,"counted":3,"releases":{"sm_90":["12.0"]}}]},"#;
    assert!(json.lines().any(|line| line == claim), "{json}");
}

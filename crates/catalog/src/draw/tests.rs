use super::*;

fn case(sizes: &str) -> Case {
    let yaml = format!(
        "title: t\nkernel: k.cu\nsizes: {sizes}\nlaunches: []\nexpect: {{simulator: clean}}"
    );
    super::super::load::from_yaml("c.yaml", &yaml).unwrap()
}

fn fixed_runner() -> TestRunner {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    TestRunner::new_with_rng(Config::default(), rng)
}

#[test]
fn sizes_follow_each_other() {
    let case = case("{n: \"threads + 1..=blocks * threads\", threads: [32, 64], blocks: 2..=5}");
    let mut runner = fixed_runner();
    for run in 0..100 {
        let draws = Draws {
            case: &case,
            schedule: None,
            weak: false,
            run,
        };
        let draw = draws.new_tree(&mut runner).unwrap().current();
        let s = draw.sizes(&case).unwrap();
        assert!(
            s["n"] > s["threads"] && s["n"] <= s["blocks"] * s["threads"],
            "{s:?}"
        );
        if run == 0 {
            assert_eq!((s["n"], s["threads"], s["blocks"]), (320, 64, 5));
        }
        if run == 1 {
            assert_eq!((s["n"], s["threads"], s["blocks"]), (33, 32, 2));
        }
    }
}

#[test]
fn empty_ranges_are_errors() {
    let case = case("{a: 3, b: \"5..=a\"}");
    let error = sizes(&case, &mut |_, _| 0).unwrap_err();
    assert_eq!(error.to_string(), "size `b`: the range 5..=3 is empty");
}

#[test]
fn shrinks_to_the_smallest_that_still_fails() {
    let case = case("{n: 1..=1000, threads: [1, 32, 64, 128]}");
    let mut runner = fixed_runner();
    let fails = |draw: &Draw| {
        let s = draw.sizes(&case).unwrap();
        s["n"] >= 37 && s["threads"] > 32 && draw.schedule != ScheduleSpec::Lockstep
    };
    let mut shrunk = 0;
    for run in 0..40 {
        let draws = Draws {
            case: &case,
            schedule: None,
            weak: false,
            run,
        };
        let mut tree = draws.new_tree(&mut runner).unwrap();
        if !fails(&tree.current()) {
            continue;
        }
        // proptest's loop.
        let mut best = tree.current();
        let mut failed = true;
        loop {
            let moved = if failed {
                tree.simplify()
            } else {
                tree.complicate()
            };
            if !moved && failed {
                break;
            }
            if !moved {
                failed = true;
                continue;
            }
            failed = fails(&tree.current());
            if failed {
                best = tree.current();
            }
        }
        let s = best.sizes(&case).unwrap();
        assert_eq!((s["n"], s["threads"]), (37, 64));
        assert_eq!(
            (best.inputs, best.schedule),
            (Inputs::Ones, ScheduleSpec::LaneByLane)
        );
        shrunk += 1;
    }
    assert!(shrunk > 5, "{shrunk}");
}

#[test]
fn inputs_lie_in_their_range() {
    for inputs in [Inputs::Ones, Inputs::Iota, Inputs::Random(3)] {
        assert_eq!(inputs.to_string().parse(), Ok(inputs));
        for (low, high) in [(-9, 9), (5, 7), (0, 0), (i64::MIN, i64::MAX), (-3, -2)] {
            for index in 0..50 {
                let value = inputs.value("data", index, low, high);
                assert!(
                    (low..=high).contains(&value),
                    "{inputs} {value} {low} {high}"
                );
            }
        }
    }
    let counting: Vec<_> = (0..4).map(|i| Inputs::Iota.value("", i, 0, 2)).collect();
    assert_eq!(counting, [1, 2, 0, 1]);
}

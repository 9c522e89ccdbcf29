//! Random kernels of clusters of two blocks, against what their barriers say.

use super::*;
use proptest::prelude::*;

/// A step of a random kernel, which all threads of both blocks of a cluster come to.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// One thread accesses a word in the shared memory of one of the two blocks.
    Access {
        rank: u32,
        warp: u32,
        of: u32,
        word: u32,
        writes: bool,
    },
    /// `cluster.sync()`
    Cluster,
    /// `__syncthreads()`
    Block,
}

fn step() -> impl Strategy<Value = Step> {
    let access = (0..2u32, 0..2u32, 0..2u32, 0..2u32, any::<bool>());
    prop_oneof![
        5 => access.prop_map(|(rank, warp, of, word, writes)| Step::Access { rank, warp, of, word, writes }),
        1 => Just(Step::Cluster),
        1 => Just(Step::Block),
    ]
}

/// What is wrong with such a kernel: a data race, and memory of a block that may not have begun or may have ended. Threads are ordered by nothing but
/// the barriers that all of them, or those of their block, come to.
fn wrong(steps: &[Step]) -> (bool, bool) {
    let accesses: Vec<(usize, Step)> = steps
        .iter()
        .copied()
        .enumerate()
        .filter(|(_, step)| matches!(step, Step::Access { .. }))
        .collect();
    let between = |from: usize, to: usize, cluster: bool| {
        steps[from..to].iter().any(|step| match step {
            Step::Cluster => true,
            Step::Block => !cluster,
            Step::Access { .. } => false,
        })
    };
    let (mut races, mut memory) = (false, false);
    for (k, (i, a)) in accesses.iter().enumerate() {
        let Step::Access {
            rank,
            warp,
            of,
            word,
            writes,
        } = *a
        else {
            continue;
        };
        if of != rank {
            memory |= !between(0, *i, true) || !between(*i, steps.len(), true);
        }
        for (j, b) in &accesses[k + 1..] {
            let Step::Access {
                rank: r,
                warp: w,
                of: o,
                word: x,
                writes: also,
            } = *b
            else {
                continue;
            };
            let meet = (of, word) == (o, x) && (writes || also) && (rank, warp) != (r, w);
            races |= meet && !between(*i, *j, rank != r);
        }
    }
    (races, memory)
}

fn kernel(steps: &[Step]) -> String {
    let mut body = String::from("setp.lt.u32 %q, %t, 2;\n@%q bra begin;\nbegin:\n");
    for (number, step) in steps.iter().enumerate() {
        body += &match *step {
            Step::Cluster => SYNC.to_owned(),
            Step::Block => "bar.sync 0;\n".to_owned(),
            Step::Access {
                rank,
                warp,
                of,
                word,
                writes,
            } => {
                let what = match writes {
                    true => format!("st.shared::cluster.u32 [%far], {number}"),
                    false => "ld.shared::cluster.u32 %r4, [%far]".to_owned(),
                };
                format!(
                    "mapa.shared::cluster.u32 %far, %tile, {of};\nadd.u32 %far, %far, {};\nsetp.eq.u32 %p, %rank, {rank};\n\
                     setp.eq.and.u32 %p, %t, {}, %p;\n@%p {what};\n",
                    4 * word,
                    32 * warp
                )
            }
        };
    }
    body
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(160))]

    /// Each race and each access to memory that may not be there is told under every schedule, and nothing else; both engines say the same.
    #[test]
    fn random_kernels_of_two_blocks_are_judged_as_their_barriers_say(steps in prop::collection::vec(step(), 1..14)) {
        let body = kernel(&steps);
        let (races, memory) = wrong(&steps);
        for schedule in ["lockstep", "lane-by-lane", "random:1"] {
            let ran = run(&body, PAIRS, "", schedule, Engine::Both);
            prop_assert_eq!(ran.stop.clone(), None);
            let told = |rule| ran.rules.contains(&rule);
            prop_assert_eq!((told(Rule::DataRace), told(Rule::ClusterMemory)), (races, memory), "{}\n{:?}\n{}", schedule, ran.rules, body);
            let known = [Rule::DataRace, Rule::ClusterMemory, Rule::UninitializedRead];
            prop_assert!(ran.rules.iter().all(|rule| known.contains(rule)), "{:?}", ran.rules);
        }
    }
}

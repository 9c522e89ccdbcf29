//! What runs without being judged in full: the one table that verdicts take their notes from, and docs/unjudged.md its rows.
//!
//! A construct that is accepted although racetrap does not judge all that it can do wrong has a row here. Whoever runs it reports the variant;
//! the verdict says the note, and is `inconclusive` where a race could hide behind it. An empty table is the goal.

use std::collections::BTreeSet;

/// A construct that runs and is not judged in full.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Unjudged {
    /// Many launches by one kernel that nothing orders.
    ChildrenAtOnce,
    /// What a kernel does behind its launch of another one.
    ChildBesideParent,
    /// A launch that may begin before the one in front of it has ended, on a GPU that can't.
    EarlyLaunch,
    /// One kernel of two of which the second may begin before the first one has ended, checked alone.
    DependentAlone,
    /// Operations that were forgotten before the host had waited for them.
    TooManyOperations,
    /// `fence.sc` of cluster scope.
    ClusterScope,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The construct, as a CUDA programmer knows it.
    pub construct: &'static str,
    /// What racetrap does with it.
    pub done: &'static str,
    /// What could hide behind it.
    pub hidden: &'static str,
    /// What the verdict says.
    pub note: &'static str,
    /// Whether the verdict is then `inconclusive` instead of `clean`.
    pub inconclusive: bool,
}

impl Unjudged {
    /// All of them.
    pub const ALL: [Unjudged; 6] = [
        Unjudged::ChildrenAtOnce,
        Unjudged::ChildBesideParent,
        Unjudged::EarlyLaunch,
        Unjudged::DependentAlone,
        Unjudged::TooManyOperations,
        Unjudged::ClusterScope,
    ];

    /// Its row.
    pub const fn row(self) -> Row {
        match self {
            Unjudged::ChildrenAtOnce => Row {
                construct: "more than 64 launches by one kernel that nothing orders (`cudaStreamFireAndForget`, streams of the device)",
                done: "64 are told apart; the others count as ordered behind the last of these",
                hidden: "a race between launches that nothing orders",
                note: "a kernel launched more than 64 others that nothing orders: races between those behind the 64th are not judged",
                inconclusive: true,
            },
            Unjudged::ChildBesideParent => Row {
                construct: "launches by a kernel (CUDA dynamic parallelism)",
                done: "run when the kernel that launched them has ended",
                hidden: "a race between the launched kernel and what the other one does meanwhile",
                note: "kernels launched by a kernel ran when it had ended: races between the two are not judged",
                inconclusive: false,
            },
            Unjudged::EarlyLaunch => Row {
                construct: "programmatic dependent launches (`cudaLaunchAttributeProgrammaticStreamSerialization`) on a GPU before sm_90",
                done: "wait for the launch in front of them, as on such a GPU; with `--device sm_90` they do not",
                hidden: "a race with the launch in front of it, on newer GPUs",
                note: "a launch may begin before the one in front of it has ended, but only from sm_90 on: `--device sm_90` judges that",
                inconclusive: false,
            },
            Unjudged::DependentAlone => Row {
                construct: "a kernel with `cudaGridDependencySynchronize` or `cudaTriggerProgrammaticLaunchCompletion`, checked alone",
                done: "runs as if the launch in front of it had ended; `check --then KERNEL --programmatic`, cases with `dependent: true` and `exec` run both",
                hidden: "`missing-dependency-wait`",
                note: "it may run at the same time as a launch in front of it or behind it (`griddepcontrol`), which was not run: `--entry FIRST --then SECOND --programmatic` runs both",
                inconclusive: false,
            },
            Unjudged::TooManyOperations => Row {
                construct: "thousands of unfinished operations on several streams",
                done: "the last 4,096 are remembered and compared with what comes later",
                hidden: "a race with an operation that was forgotten",
                note: "so many operations were unfinished at once that the oldest were forgotten: races with those are not judged",
                inconclusive: true,
            },
            Unjudged::ClusterScope => Row {
                construct: "`fence.sc.cluster`, in launches of several clusters",
                done: "counts as `fence.sc.gpu`, but for what it releases and acquires",
                hidden: "`insufficient-scope` between blocks of different clusters",
                note: "`fence.sc` of cluster scope was taken to be ordered with those of other clusters: that its scope is too narrow for that is not judged",
                inconclusive: false,
            },
        }
    }
}

/// What a verdict says of these, and whether it can't be clean.
pub fn notes(all: &BTreeSet<Unjudged>) -> (Vec<String>, bool) {
    let rows = all.iter().map(|one| one.row());
    let notes = rows.clone().map(|row| row.note.to_owned()).collect();
    (notes, rows.into_iter().any(|row| row.inconclusive))
}

/// The page docs/unjudged.md.
pub fn page() -> String {
    let mut out = "# What runs and is not judged in full\n\n\
         Generated by `cargo run -- dev renew` from crates/report/src/unjudged.rs. If a program uses one of these constructs, the verdict says so. It is \
         `inconclusive` instead of `clean` where a race could hide behind the construct, and has a note otherwise.\n\n\
         | construct | what racetrap does | what could hide behind it | verdict |\n|---|---|---|---|\n"
        .to_owned();
    for one in Unjudged::ALL {
        let row = one.row();
        let verdict = match row.inconclusive {
            true => "inconclusive",
            false => "a note",
        };
        out += &format!(
            "| {} | {} | {} | {verdict} |\n",
            row.construct, row.done, row.hidden
        );
    }
    out
}

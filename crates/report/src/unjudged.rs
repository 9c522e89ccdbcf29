//! What runs without being judged in full: the one table that verdicts take their notes from, and docs/limits.md its rows.
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
    /// A launch that may begin before the one before it has ended.
    ProgrammaticLaunch,
    /// Many launches by one kernel that nothing orders.
    ChildrenAtOnce,
    /// What a kernel does behind its launch of another one.
    ChildBesideParent,
    /// Operations that were forgotten before the host had waited for them.
    TooManyOperations,
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
    pub const ALL: [Unjudged; 4] = [
        Unjudged::ProgrammaticLaunch,
        Unjudged::ChildrenAtOnce,
        Unjudged::ChildBesideParent,
        Unjudged::TooManyOperations,
    ];

    /// Its row.
    pub const fn row(self) -> Row {
        match self {
            Unjudged::ProgrammaticLaunch => Row {
                construct: "programmatic dependent launch (`cudaLaunchAttributeProgrammaticStreamSerialization`) on sm_90",
                done: "runs after the launch before it has ended",
                hidden: "a race between the two, where the later one does not wait (`griddepcontrol.wait`) or the earlier one lets it begin too soon",
                note: "a launch that may begin before the one before it has ended (programmatic dependent launch) ran behind it: races between the two are not judged",
                inconclusive: true,
            },
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
            Unjudged::TooManyOperations => Row {
                construct: "thousands of unfinished operations on several streams",
                done: "the last 4,096 are remembered and compared with what comes later",
                hidden: "a race with an operation that was forgotten",
                note: "so many operations were unfinished at once that the oldest were forgotten: races with those are not judged",
                inconclusive: true,
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

/// The table for docs/limits.md, in Markdown.
pub fn table() -> String {
    let mut out = "| construct | what racetrap does | what could hide behind it | verdict |\n|---|---|---|---|\n".to_owned();
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

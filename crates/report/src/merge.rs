//! Merges findings that are the same to the reader.

use super::Diagnostic;
use detect::rules::Rule;
use std::collections::{HashMap, HashSet};

/// Adds `new` to `all`. Findings of the same rule on the same lines become one. It keeps the example of the first, adds the
/// counts and lists all builds.
pub fn merge(all: &mut Vec<Diagnostic>, new: impl IntoIterator<Item = Diagnostic>) {
    let mut known: HashMap<_, usize> = all.iter().enumerate().map(|(i, d)| (d.key(), i)).collect();
    for diagnostic in new {
        let Some(&index) = known.get(&diagnostic.key()) else {
            known.insert(diagnostic.key(), all.len());
            all.push(diagnostic);
            continue;
        };
        let old = &mut all[index];
        old.count += diagnostic.count;
        old.level = old.level.max(diagnostic.level);
        old.about.merge(diagnostic.about);
        for build in diagnostic.builds {
            if !old.builds.contains(&build) {
                old.builds.push(build);
            }
        }
    }
    settle_values(all);
}

/// Where runs or builds differ in whether writes had equal values, they race: the finding that says so stays.
fn settle_values(all: &mut Vec<Diagnostic>) {
    let races = |d: &&Diagnostic| matches!(d.rule, Rule::DataRace | Rule::InsufficientScope);
    let guilty: HashSet<(String, u32)> = all.iter().filter(races).flat_map(|d| d.key().1).collect();
    all.retain(|d| {
        d.rule != Rule::SameValueWrite || !d.key().1.iter().any(|line| guilty.contains(line))
    });
}

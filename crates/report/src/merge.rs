//! Merges findings that are the same to the reader.

use super::Diagnostic;
use std::collections::HashMap;

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
        for build in diagnostic.builds {
            if !old.builds.contains(&build) {
                old.builds.push(build);
            }
        }
    }
}

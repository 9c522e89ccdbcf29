//! What a case says of its PTX: kernels that are launched, cases that exist, targets that are pinned.

use super::Check;
use crate::entry::Entry;
use crate::error::Hint;

impl Check<'_> {
    /// What is said about the PTX: kernels that are launched, cases that exist, targets that are pinned.
    pub(super) fn compiled(&mut self, all: &[Entry], unreadable: bool) {
        let Some(claims) = &self.case().ptx else {
            return;
        };
        if let Some(name) = &claims.entry
            && !self.case().launched().any(|launch| launch.entry == *name)
        {
            let names: Vec<&str> = self.case().launched().map(|l| l.entry.as_str()).collect();
            let hint = Hint::new(name, names.into_iter());
            self.inconsistent(
                &["ptx".into(), "entry".into()],
                format!("the case launches no `{name}` ({hint})"),
            );
        }
        let claimed =
            claims.counts.len() + claims.has.len() + claims.lacks.len() + claims.order.len();
        if claimed + claims.effects.values().map(|e| e.len()).sum::<usize>() == 0 {
            self.inconsistent(&["ptx".into()], "the key `ptx` states nothing");
        }
        if claims.order.iter().any(|order| order.len() < 2) {
            self.inconsistent(
                &["ptx".into(), "order".into()],
                "an order needs at least two patterns",
            );
        }
        for name in claims.effects.keys() {
            let known = |stem: &str| {
                all.iter()
                    .any(|e| e.id == stem || e.family() == self.entry.family() && e.stem() == stem)
            };
            let found = match (name.as_str(), &self.case().twin) {
                ("twin", twin) => twin.is_some(),
                (name, _) => known(name),
            };
            if !found && !unreadable {
                let family = self.entry.family();
                let stems: Vec<&str> = all
                    .iter()
                    .filter(|e| e.family() == family)
                    .map(Entry::stem)
                    .collect();
                let hint = Hint::new(name, stems.into_iter());
                self.inconsistent(
                    &["ptx".into(), "effects".into(), name.as_str().into()],
                    format!("no case `{name}` ({hint})"),
                );
            }
        }
        let quantities = claims
            .counts
            .values()
            .chain(claims.effects.values().flat_map(|e| e.values()));
        let targets: Vec<String> = quantities
            .flat_map(|q| q.targets())
            .map(str::to_owned)
            .collect();
        let pinned: Vec<&str> = self.case().target_names().collect();
        for target in targets
            .iter()
            .filter(|target| !pinned.contains(&target.as_str()))
        {
            self.inconsistent(
                &["ptx".into()],
                format!(
                    "no PTX is pinned for `{target}`, only for {}",
                    pinned.join(" and ")
                ),
            );
        }
    }
}

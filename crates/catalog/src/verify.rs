//! What is wrong with the pinned files.

use super::entry::{Catalog, Entry};
use super::error::{CatalogError, Place};
use super::locate::locate;
use super::pinned::{Pin, pinned, pins};
use super::refused::diagnostics;
use std::collections::BTreeMap;

/// What is wrong with the pinned files, PTX and diagnostics: some are missing, stale, or needed by nobody.
pub fn verify(catalog: &Catalog) -> Vec<CatalogError> {
    let tree = &catalog.tree;
    let (pins, refused) = (pins(catalog), diagnostics(catalog));
    let needed: BTreeMap<&str, (&Pin, &Entry)> = pins
        .iter()
        .map(|(file, (pin, entry))| (file.as_str(), (pin, *entry)))
        .chain(
            refused
                .iter()
                .map(|(file, (of, entry))| (file.as_str(), (&of.pin, *entry))),
        )
        .collect();
    let mut errors = Vec::new();
    for (&file, (pin, entry)) in &needed {
        match tree.text(file) {
            None => {
                let yaml = tree.text(&entry.file).unwrap_or_default();
                let (line, column) = locate(yaml, &["kernel".into()]);
                let place = Place {
                    file: entry.file.clone(),
                    line,
                    column,
                };
                let file = file.to_owned();
                errors.push(match entry.case.refusal() {
                    None => CatalogError::MissingPtx { place, ptx: file },
                    Some(_) => CatalogError::MissingDiagnostics { place, file },
                });
            }
            Some(text) => {
                errors.extend(pin.stale(tree, text).map(|reason| CatalogError::StalePtx {
                    file: file.to_owned(),
                    reason,
                }))
            }
        }
    }
    for file in pinned(tree).filter(|file| !needed.contains_key(file)) {
        errors.push(CatalogError::OrphanPtx {
            file: file.to_owned(),
        });
    }
    errors
}

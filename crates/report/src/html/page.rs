//! The skeleton of a page: head, style, theme, and the filter of its cards. Reports of any kind put their own content into it.
//!
//! A page is one file. It loads nothing: its policy forbids every request, and allows no script but its own, by its hash. Without
//! JavaScript everything is there, and nothing is hidden.

use maud::{DOCTYPE, Markup, PreEscaped, html};

/// The style of all pages.
const STYLE: &str = include_str!("style.css");
/// The theme, the filter and the keyboard.
const SCRIPT: &str = include_str!("script.js");
/// The hash of [`SCRIPT`] as a content security policy writes it; a test compares the two.
const SCRIPT_HASH: &str = "sha256-ImBzW+syNIEMx0qJBYv1zc4y/FKquHfLGqBDPmx9Dro=";

/// A choice of cards: a list of values, each with the number of cards that have it.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// The name of the property, as cards carry it: `rule` for the attribute `data-rule`.
    pub name: &'static str,
    /// What the reader sees.
    pub label: &'static str,
    /// Values and numbers of cards, in order.
    pub values: Vec<(String, usize)>,
}

impl Filter {
    /// Counts the values of a property, in the order in which they first appear.
    pub fn of<'v>(
        name: &'static str,
        label: &'static str,
        values: impl Iterator<Item = &'v str>,
    ) -> Filter {
        let mut counted: Vec<(String, usize)> = Vec::new();
        for value in values {
            match counted.iter_mut().find(|(known, _)| known == value) {
                Some((_, count)) => *count += 1,
                None => counted.push((value.to_owned(), 1)),
            }
        }
        Filter {
            name,
            label,
            values: counted,
        }
    }
}

/// A whole page: its title, the head of its content, filters for the cards (elements of class `card` with an attribute `data-NAME` for
/// each filter), the content, and a note at its foot.
pub fn page(title: &str, head: Markup, filters: &[Filter], content: Markup, note: &str) -> String {
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src '{SCRIPT_HASH}'; base-uri 'none'; form-action 'none'"
    );
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content=(concat!("racetrap ", env!("CARGO_PKG_VERSION")));
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#content" { "Skip to the content" }
                header.top {
                    h1 { (title) }
                    button #theme type="button" hidden { "dark or light" }
                    (head)
                }
                (bar(filters))
                main #content { (content) }
                footer { "Made by racetrap " (env!("CARGO_PKG_VERSION")) ". " (note) " Keys: " kbd { "j" } " and " kbd { "k" } " go to the next and the previous finding, " kbd { "/" } " to the filter." }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
    .into_string()
}

/// The filters; shown by the script alone, since without it they can do nothing.
fn bar(filters: &[Filter]) -> Markup {
    let useful: Vec<&Filter> = filters.iter().filter(|f| f.values.len() > 1).collect();
    html! {
        form #filter.bar hidden {
            @for filter in useful {
                label {
                    (filter.label) " "
                    select name=(filter.name) {
                        option value="" { "all" }
                        @for (value, count) in &filter.values {
                            option value=(value) { (value) " (" (count) ")" }
                        }
                    }
                }
            }
            label { "Text " input type="search" name="text" placeholder="in a finding"; }
            output #shown {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use sha2::{Digest as _, Sha256};

    #[test]
    fn the_policy_allows_the_script_that_is_there() {
        let hash = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(SCRIPT));
        assert_eq!(SCRIPT_HASH, format!("sha256-{hash}"));
        // Neither ends its element early.
        assert!(!SCRIPT.contains("</") && !STYLE.contains("</"));
    }
}

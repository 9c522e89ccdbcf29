//! The skeleton of a page: one file that loads nothing and runs nothing, as its policy says.

use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("page.css");
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// A whole page: its title, what stands beside it, and the content.
pub fn page(title: &str, head: &Markup, content: &Markup) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header { h1 { (title) } (head) }
                main { (content) }
                footer { "Made by racetrap " (env!("CARGO_PKG_VERSION")) ". Hidden inputs are in this page: do not publish it." }
            }
        }
    }
    .into_string()
}

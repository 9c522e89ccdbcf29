//! `racetrap explain [RULE or EFFECT]`: prints the manual pages.

use anstyle::{AnsiColor, Style};
use detect::rules::{Level, Rule};
use ptxdiff::effect::Effect;
use report::{Failure, suggest};
use std::fmt::Write as _;

/// The page of a rule or effect, or the list of all.
///
/// # Errors
///
/// No rule or effect has this name.
pub fn explain(rule: Option<&str>, color: bool) -> Result<String, Failure> {
    let Some(name) = rule else {
        return Ok(list(color));
    };
    let wanted = name.trim().replace('_', "-").to_lowercase();
    if let Some(effect) = Effect::ALL.iter().find(|e| e.name() == wanted) {
        return Ok(page(&effect.page(), effect_style(color), color));
    }
    match Rule::ALL.iter().find(|r| r.name() == wanted) {
        Some(rule) => Ok(page(
            &report::rules::page(*rule),
            style(rule.level(), color),
            color,
        )),
        None => {
            let failure = Failure::usage(format!("there is no rule or effect `{name}`"));
            let names = Rule::ALL.iter().map(|r| r.name());
            Err(
                match suggest(&wanted, names.chain(Effect::ALL.iter().map(|e| e.name()))) {
                    Some(near) => failure.help(near),
                    None => failure.help("`racetrap explain` lists all rules and effects"),
                },
            )
        }
    }
}

fn list(color: bool) -> String {
    let mut out = String::new();
    for level in [Level::Error, Level::Warning, Level::Note] {
        let style = style(level, color);
        let name = match level {
            Level::Error => "errors: incorrect code",
            Level::Warning => "warnings: right only by chance, or only on some hardware",
            Level::Note => "notes: correct but slow (with --perf), or about whole programs",
        };
        let _ = writeln!(out, "{style}{name}{style:#}");
        for rule in Rule::ALL.iter().filter(|r| r.level() == level) {
            let _ = writeln!(out, "  {:<24} {}", rule.name(), rule.summary());
        }
        out.push('\n');
    }
    let style = effect_style(color);
    let _ = writeln!(
        out,
        "{style}effects: what the compiler did (shown by `racetrap diff`){style:#}"
    );
    for effect in Effect::ALL {
        let _ = writeln!(out, "  {:<26} {}", effect.name(), effect.summary());
    }
    out.push('\n');
    out.push_str(
        "`racetrap explain NAME` describes a rule and how to fix the code, or how an effect is recognised.\n",
    );
    out
}

fn style(level: Level, color: bool) -> Style {
    let hue = match level {
        Level::Error => AnsiColor::Red,
        Level::Warning => AnsiColor::Yellow,
        Level::Note => AnsiColor::Green,
    };
    match color {
        true => Style::new().bold().fg_color(Some(hue.into())),
        false => Style::new(),
    }
}

fn effect_style(color: bool) -> Style {
    match color {
        true => Style::new().bold().fg_color(Some(AnsiColor::Cyan.into())),
        false => Style::new(),
    }
}

/// The page from the rule's file, with headings and code in colour.
fn page(text: &str, heading: Style, color: bool) -> String {
    if !color {
        return format!("{text}\n");
    }
    let code = Style::new().fg_color(Some(AnsiColor::Cyan.into()));
    let mut fenced = false;
    let mut out = String::new();
    for line in text.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        } else if fenced {
            let _ = writeln!(out, "    {code}{line}{code:#}");
        } else if let Some(title) = line.strip_prefix('#') {
            let title = title.trim_start_matches('#').trim();
            let _ = writeln!(out, "{heading}{title}{heading:#}");
        } else {
            for (at, part) in line.split('`').enumerate() {
                let _ = match at % 2 {
                    0 => write!(out, "{part}"),
                    _ => write!(out, "{code}{part}{code:#}"),
                };
            }
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_a_page() {
        let rules = Rule::ALL.iter().map(|r| r.name());
        for name in rules.chain(Effect::ALL.iter().map(|e| e.name())) {
            let plain = explain(Some(name), false).unwrap();
            assert!(plain.starts_with(&format!("# {name}")), "{plain}");
            let colour = explain(Some(name), true).unwrap();
            assert!(colour.contains('\u{1b}'));
        }
    }

    #[test]
    fn the_list_has_all_rules() {
        insta::assert_snapshot!(explain(None, false).unwrap());
    }

    #[test]
    fn unknown_rules_get_a_suggestion() {
        let failure = explain(Some("data-rase"), false).unwrap_err();
        assert_eq!(failure.help.as_deref(), Some("did you mean `data-race`?"));
        assert!(
            explain(Some("zzz"), false)
                .unwrap_err()
                .help
                .unwrap()
                .contains("lists")
        );
    }
}

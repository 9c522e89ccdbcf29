//! Renders a diff for the terminal: effects first, then the instructions below their source lines, side by side if there is
//! room.

use super::Side;
use super::report::{Cell, DiffReport, EffectReport, FunctionReport, Row, RowKind};
use super::sass::MachineReport;
use anstyle::{AnsiColor, Style};
use std::fmt::Write as _;

/// Layout options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Width of the terminal in columns.
    pub width: usize,
    /// Number of equal instructions to show around differences; `None` for all.
    pub context: Option<usize>,
    /// Whether to use colour.
    pub color: bool,
    /// Whether to list the instructions after the effects.
    pub listing: bool,
}

/// Below this width the two sides are shown one below the other.
pub const SIDE_BY_SIDE: usize = 100;

/// Returns the text of a source line, given the file and the line counted from 1.
pub type SourceText<'s> = dyn FnMut(&str, u32) -> Option<String> + 's;

struct Styles {
    bold: Style,
    dim: Style,
    a: Style,
    b: Style,
    changed: Style,
}

impl Styles {
    fn of(color: bool) -> Styles {
        let plain = Style::new();
        let hue = |hue: AnsiColor| match color {
            true => plain.fg_color(Some(hue.into())),
            false => plain,
        };
        Styles {
            bold: if color { plain.bold() } else { plain },
            dim: if color { plain.dimmed() } else { plain },
            a: hue(AnsiColor::Red),
            b: hue(AnsiColor::Green),
            changed: hue(AnsiColor::Yellow),
        }
    }
}

/// Renders the whole report.
pub fn render(report: &DiffReport, layout: &Layout, source: &mut SourceText) -> String {
    let styles = Styles::of(layout.color);
    let mut out = String::new();
    let width = report
        .a
        .name
        .chars()
        .count()
        .max(report.b.name.chars().count());
    for (side, style, operand) in [("A", styles.a, &report.a), ("B", styles.b, &report.b)] {
        let _ = writeln!(
            out,
            "{style}{side}{style:#}  {:width$}  {}",
            operand.name, operand.made
        );
    }
    for function in &report.functions {
        out.push('\n');
        render_function(&mut out, function, layout, &styles, source);
    }
    for (side, style, names) in [
        ("A", styles.a, &report.only_a),
        ("B", styles.b, &report.only_b),
    ] {
        for name in names {
            let _ = writeln!(out, "\n{style}only {side} has the kernel {name}{style:#}");
        }
    }
    out
}

fn render_function(
    out: &mut String,
    function: &FunctionReport,
    layout: &Layout,
    styles: &Styles,
    source: &mut SourceText,
) {
    let bold = styles.bold;
    match function.a == function.b {
        true => {
            let _ = writeln!(out, "{bold}{}{bold:#}", function.a);
        }
        false => {
            let _ = writeln!(
                out,
                "{bold}{}{bold:#} and {bold}{}{bold:#}",
                function.a, function.b
            );
        }
    }
    if function.same {
        let _ = writeln!(
            out,
            "  equal: {} instructions, except for the names of registers and labels and the order of blocks",
            function.instructions_a
        );
        if let Some(machine) = &function.machine {
            render_machine(out, machine, styles);
        }
        return;
    }
    let _ = writeln!(
        out,
        "  {} instructions in A, {} in B",
        function.instructions_a, function.instructions_b
    );
    if function.effects.iter().all(|e| e.effect.is_kept()) {
        out.push_str("  instructions differ, but racetrap recognises no effect\n");
    }
    let mut before: Vec<&EffectReport> = Vec::new();
    for effect in &function.effects {
        render_effect(out, effect, &before, styles, source);
        before.push(effect);
    }
    for declaration in &function.declarations {
        let shown = |d: &Option<String>| d.clone().unwrap_or_else(|| "nothing".to_owned());
        let _ = writeln!(
            out,
            "\n{bold}{} is declared differently{bold:#}\n    A  {}\n    B  {}",
            declaration.name,
            shown(&declaration.a),
            shown(&declaration.b)
        );
    }
    if let Some(machine) = &function.machine {
        render_machine(out, machine, styles);
    }
    if layout.listing && !function.same {
        out.push('\n');
        Listing {
            layout,
            styles,
            out,
            source,
            at: None,
        }
        .rows(&function.rows);
    }
}

/// The maximum number of occurrences listed for an effect.
const PLACES: usize = 12;

fn render_effect(
    out: &mut String,
    effect: &EffectReport,
    before: &[&EffectReport],
    styles: &Styles,
    source: &mut SourceText,
) {
    let (bold, dim) = (styles.bold, styles.dim);
    let factor = effect.occurrences.iter().find_map(|o| o.factor);
    let factor = factor.map_or(String::new(), |f| format!(" ({f} copies of its body)"));
    let _ = writeln!(
        out,
        "\n{bold}{}{factor}{bold:#}  {dim}[{}]{dim:#}",
        effect.title, effect.effect
    );
    if effect.effect.is_kept() {
        return;
    }
    // An effect that refines another one does not list its occurrences again.
    let known = |earlier: &&&EffectReport| {
        effect
            .occurrences
            .iter()
            .all(|o| earlier.occurrences.contains(o))
    };
    if let Some(earlier) = before.iter().find(known) {
        let all = if earlier.count == effect.count {
            "the"
        } else {
            "of the"
        };
        let _ = writeln!(
            out,
            "  {dim}{all} {} above{dim:#}",
            earlier.effect.title(earlier.count)
        );
        return;
    }
    // Group occurrences by source line, in order of appearance.
    let mut groups: Vec<(Option<(String, u32)>, Vec<Shown>)> = Vec::new();
    for occurrence in &effect.occurrences {
        // List the body of a loop once for all its copies.
        let most = if occurrence.factor.is_some() { 2 } else { 8 };
        let cell = |side| move |cell: &Cell| Shown::Cell(side, cell.clone());
        let mut cells: Vec<Shown> = (occurrence.a.iter().take(most))
            .map(cell(Side::A))
            .chain(occurrence.b.iter().take(most).map(cell(Side::B)))
            .collect();
        let line = (occurrence.a.iter().chain(&occurrence.b))
            .find_map(|c| Some((c.file.clone()?, c.line?)));
        // Each side may be weaker in one occurrence; the text describes the side that has the effect.
        if let (Some(note), Some(side)) = (&occurrence.note, effect.side) {
            cells.push(Shown::Note(side, note.clone()));
        }
        match groups
            .iter_mut()
            .find(|(known, _)| *known == line && line.is_some())
        {
            Some((_, known)) => known.extend(cells),
            None => groups.push((line, cells)),
        }
    }
    let mut shown = 0;
    let mut last = None;
    let cells = groups.iter().flat_map(|(_, cells)| cells);
    let total = cells.filter(|c| matches!(c, Shown::Cell(..))).count();
    for (line, cells) in groups {
        if shown >= PLACES {
            break;
        }
        if let Some((file, line)) = line {
            let text = source(&file, line).unwrap_or_default();
            let _ = writeln!(out, "  {dim}{file}:{line}{dim:#}  {}", code(&text));
        }
        for cell in cells {
            if shown >= PLACES {
                break;
            }
            let (side, cell) = match cell {
                Shown::Cell(side, cell) => (side, cell),
                Shown::Note(side, note) => {
                    let _ = writeln!(out, "             {dim}{side}: {note}{dim:#}");
                    continue;
                }
            };
            shown += 1;
            let style = match side {
                Side::A => styles.a,
                Side::B => styles.b,
            };
            // Show repeated addresses once.
            let address = cell.address.filter(|a| last.as_ref() != Some(a));
            last = address.clone().or(last);
            let address = address.map_or(String::new(), |a| format!("  {dim}[{a}]{dim:#}"));
            let _ = writeln!(
                out,
                "    {style}{side}{style:#} {:>5}  {}{address}",
                cell.ptx_line, cell.text
            );
        }
    }
    if total > shown {
        let _ = writeln!(out, "    {dim}and {} more{dim:#}", total - shown);
    }
}

/// A line below an effect.
enum Shown {
    Cell(Side, Cell),
    Note(Side, String),
}

/// The table of machine code counts, with notes.
fn render_machine(out: &mut String, machine: &MachineReport, styles: &Styles) {
    let (bold, dim) = (styles.bold, styles.dim);
    let _ = writeln!(
        out,
        "\n{bold}below PTX{bold:#}                     A: PTX  machine    B: PTX  machine"
    );
    for row in &machine.rows {
        let style = if row.sass_a == row.sass_b {
            dim
        } else {
            styles.changed
        };
        let _ = writeln!(
            out,
            "  {style}{:<24} {:>8} {:>8} {:>9} {:>8}{style:#}",
            row.kind.name(),
            row.ptx_a,
            row.sass_a,
            row.ptx_b,
            row.sass_b
        );
    }
    for note in &machine.notes {
        let _ = writeln!(out, "  {note}");
    }
}

struct Listing<'l, 's, 't> {
    layout: &'l Layout,
    styles: &'l Styles,
    out: &'l mut String,
    source: &'s mut SourceText<'t>,
    /// The source line of the rows.
    at: Option<(String, u32)>,
}

impl Listing<'_, '_, '_> {
    fn rows(&mut self, rows: &[Row]) {
        let shown = self.visible(rows);
        let mut skipped = 0;
        for (row, shown) in rows.iter().zip(shown) {
            if !shown {
                skipped += 1;
                continue;
            }
            self.gap(&mut skipped);
            self.heading(row);
            match self.layout.width >= SIDE_BY_SIDE {
                true => self.beside(row),
                false => self.under(row),
            }
        }
        self.gap(&mut skipped);
    }

    /// The rows that are close enough to a difference to show.
    fn visible(&self, rows: &[Row]) -> Vec<bool> {
        let Some(context) = self.layout.context else {
            return vec![true; rows.len()];
        };
        let mut shown = vec![false; rows.len()];
        for (index, _) in rows
            .iter()
            .enumerate()
            .filter(|(_, row)| row.kind != RowKind::Same)
        {
            let end = (index + context + 1).min(rows.len());
            shown[index.saturating_sub(context)..end].fill(true);
        }
        shown
    }

    fn gap(&mut self, skipped: &mut usize) {
        if *skipped > 0 {
            let dim = self.styles.dim;
            let _ = writeln!(self.out, "{dim}  … {skipped} equal{dim:#}");
            *skipped = 0;
        }
    }

    fn heading(&mut self, row: &Row) {
        let cell = row.a.as_ref().or(row.b.as_ref());
        let line = cell.and_then(|c| Some((c.file.clone()?, c.line?)));
        let Some((file, line)) = line.filter(|line| self.at.as_ref() != Some(line)) else {
            return;
        };
        let text = (self.source)(&file, line).unwrap_or_default();
        let (dim, bold) = (self.styles.dim, self.styles.bold);
        let _ = writeln!(
            self.out,
            "{dim}{file}:{line}{dim:#}  {bold}{}{bold:#}",
            cut(
                code(&text),
                self.layout.width.saturating_sub(file.len() + 8)
            )
        );
        self.at = Some((file, line));
    }

    fn beside(&mut self, row: &Row) {
        // Each side has line number, blank and text; the mark is between them.
        let room = (self.layout.width - 2 - 3 - 2 * 6) / 2;
        let (mark, a, b) = match row.kind {
            RowKind::Same => (' ', self.styles.dim, self.styles.dim),
            RowKind::Changed => ('~', self.styles.changed, self.styles.changed),
            RowKind::Moved => ('^', self.styles.changed, self.styles.changed),
            RowKind::OnlyA => ('<', self.styles.a, self.styles.a),
            RowKind::OnlyB => ('>', self.styles.b, self.styles.b),
        };
        let side = |cell: &Option<Cell>| match cell {
            Some(cell) => (format!("{:>5}", cell.ptx_line), cut(&cell.text, room)),
            None => (" ".repeat(5), String::new()),
        };
        let ((line_a, text_a), (line_b, text_b)) = (side(&row.a), side(&row.b));
        let pad = " ".repeat(room.saturating_sub(text_a.chars().count()));
        let dim = self.styles.dim;
        let left = format!("  {dim}{line_a}{dim:#} {a}{text_a}{a:#}{pad} {mark}");
        match row.b {
            Some(_) => {
                let _ = writeln!(self.out, "{left} {dim}{line_b}{dim:#} {b}{text_b}{b:#}");
            }
            None => {
                let _ = writeln!(self.out, "{left}");
            }
        }
    }

    fn under(&mut self, row: &Row) {
        let mut line = |mark: char, style: Style, cell: &Cell| {
            let _ = writeln!(
                self.out,
                "{style}{mark} {:>5} {}{style:#}",
                cell.ptx_line, cell.text
            );
        };
        match (row.kind, &row.a, &row.b) {
            (RowKind::Same, Some(a), _) => line(' ', self.styles.dim, a),
            (_, a, b) => {
                if let Some(a) = a {
                    line('-', self.styles.a, a);
                }
                if let Some(b) = b {
                    line('+', self.styles.b, b);
                }
            }
        }
    }
}

/// A source line without its annotation tags (`kernels/ANNOTATIONS.md`).
fn code(line: &str) -> &str {
    line.split_once("//~").map_or(line, |(code, _)| code).trim()
}

/// Truncates text to `room` characters, ending in an ellipsis.
fn cut(text: &str, room: usize) -> String {
    match text.chars().count() > room {
        true => text
            .chars()
            .take(room.saturating_sub(1))
            .chain(['…'])
            .collect(),
        false => text.to_owned(),
    }
}

//! Pictures as inline SVG: threads as lanes with the time downwards, banks of shared memory, sectors of global memory.

use crate::trace::{NOTHING, Request, Step, Trace, What};
use crate::{Diagnostic, Who};
use detect::rules::Rule;
use maud::{Markup, html};

/// Lanes of threads in a picture; the rows of other threads are in the table.
const LANES: usize = 6;
const LEFT: usize = 70;
const LANE: usize = 215;
/// Of the style's text, at most.
const CHARACTER: usize = 8;
const ROW: usize = 34;
const HEAD: usize = 46;

/// The picture of a finding, if there is one to draw.
pub fn picture(diagnostic: &Diagnostic) -> Option<Markup> {
    match &diagnostic.trace {
        Some(Trace::Location { steps, left_out }) => Some(html! {
            h4 { (heading(steps)) }
            div.scroll { (interleaving(steps, diagnostic)) }
            @if steps.iter().all(|s| s.by.is_none()) { (table(steps, *left_out)) }
        }),
        Some(Trace::Banks(request)) => Some(html! {
            h4 { "The banks of shared memory that the worst request touches" }
            div.scroll { (banks(request)) }
        }),
        Some(Trace::Sectors(request)) => Some(html! {
            h4 { "The sectors of global memory that such a request moves" }
            div.scroll { (sectors(request)) }
        }),
        None => ends(diagnostic).map(|steps| {
            html! {
                h4 { "The two places" }
                div.scroll { (interleaving(&steps, diagnostic)) }
            }
        }),
    }
}

/// What a picture of steps is of.
fn heading(steps: &[Step]) -> &'static str {
    match steps.iter().any(|s| s.by.is_some()) {
        true => "What may happen at the same time, in the order of this run",
        false => "What happened, in the order of this run",
    }
}

/// The two ends alone, where nothing else was written down: the earlier access first.
fn ends(diagnostic: &Diagnostic) -> Option<Vec<Step>> {
    let mut guilty = diagnostic
        .labels
        .iter()
        .enumerate()
        .filter(|(_, l)| l.who.is_some());
    let (later, earlier) = (guilty.next()?, guilty.next()?);
    let mut steps = Vec::new();
    for (number, (index, label)) in [earlier, later].into_iter().enumerate() {
        let Who { thread, block, .. } = label.who?;
        let what = match &label.text {
            text if text.contains(" read") => What::Read,
            text if text.contains(" write") => What::Write,
            text if text.contains(" update") => What::Atomic,
            _ => return None,
        };
        steps.push(Step {
            number: number as u64 + 1,
            what,
            thread: Some(thread),
            block,
            by: None,
            place: Some(crate::SourcePlace {
                file: label.source.path.clone(),
                line: label.line,
            }),
            before: None,
            after: None,
            end: Some(index),
        });
    }
    Some(steps)
}

fn triple([x, y, z]: [u32; 3]) -> String {
    match (y, z) {
        (0, 0) => x.to_string(),
        _ => format!("({x},{y},{z})"),
    }
}

/// Who a lane is for: a thread, or an operation that has none.
#[derive(PartialEq)]
struct Lane<'s> {
    by: Option<&'s str>,
    thread: Option<([u32; 3], [u32; 3])>,
}

impl Lane<'_> {
    /// `None` for barriers, which belong to all lanes.
    fn of(step: &Step) -> Option<Lane<'_>> {
        let thread = step.thread.map(|thread| (step.block, thread));
        let by = step.by.as_deref();
        (step.what != What::Barrier && (thread.is_some() || by.is_some()))
            .then_some(Lane { by, thread })
    }

    /// The two lines of its head.
    fn head(&self) -> (String, String) {
        match (self.by, self.thread) {
            (Some(by), None) => match by.split_once(" on ") {
                Some((what, place)) => (what.to_owned(), format!("on {place}")),
                None => (by.to_owned(), String::new()),
            },
            (Some(by), Some((block, thread))) => (
                by.to_owned(),
                format!("block {}, thread {}", triple(block), triple(thread)),
            ),
            (None, Some((block, thread))) => (
                format!("thread {}", triple(thread)),
                format!("block {}", triple(block)),
            ),
            (None, None) => Default::default(),
        }
    }
}

/// Those that get a lane: those of the finding first, then those of other steps.
fn lanes(steps: &[Step]) -> Vec<Lane<'_>> {
    let mut all: Vec<Lane<'_>> = Vec::new();
    let guilty = steps.iter().filter(|s| s.end.is_some());
    for lane in guilty.chain(steps).filter_map(Lane::of) {
        if !all.contains(&lane) && all.len() < LANES {
            all.push(lane);
        }
    }
    all
}

/// Threads as lanes, time downwards.
fn interleaving(steps: &[Step], diagnostic: &Diagnostic) -> Markup {
    let lanes = lanes(steps);
    let heads = lanes.iter().map(Lane::head);
    let heads = heads.map(|(name, more)| name.chars().count().max(more.chars().count()));
    let lane_width = LANE.max(heads.max().unwrap_or(0) * CHARACTER + 15);
    let x = |lane: usize| LEFT + lane * lane_width;
    let lane_of = |step: &Step| {
        let lane = Lane::of(step)?;
        lanes.iter().position(|l| *l == lane)
    };
    let shown: Vec<&Step> = steps
        .iter()
        .filter(|s| s.what == What::Barrier || lane_of(s).is_some())
        .collect();
    let row_of = |end: usize| shown.iter().position(|s| s.end == Some(end));
    // Between the two accesses there is room for what would have ordered them.
    let pair = row_of(1).zip(row_of(0)).filter(|(a, b)| a < b);
    let gap = pair.map(|(_, later)| later);
    let y = |row: usize| {
        HEAD + 20
            + row * ROW
            + if gap.is_some_and(|g| row >= g) {
                ROW
            } else {
                0
            }
    };
    let width = LEFT + lanes.len().max(2) * lane_width;
    // What the last lane says may need more room than a lane has.
    let needed = shown.iter().filter_map(|step| {
        let characters = said(step).chars().count();
        Some(x(lane_of(step)?) + 20 + characters * CHARACTER)
    });
    let room = needed.max().unwrap_or(0).max(width);
    let height = y(shown.len().saturating_sub(1)) + 30;
    let summary = format!("Lanes with the time downwards: {}", diagnostic.title);
    html! {
        svg role="img" aria-label=(summary) width=(room) height=(height) viewBox={ "0 0 " (room) " " (height) } {
            text.dim x="8" y=(HEAD + 4) { "time ↓" }
            @for (index, lane) in lanes.iter().enumerate() {
                @let (name, more) = lane.head();
                text.head x=(x(index)) y="18" { (name) }
                text.dim x=(x(index)) y="34" { (more) }
                line.lane x1=(x(index)) y1=(HEAD) x2=(x(index)) y2=(height - 8) {}
            }
            @for (row, step) in shown.iter().enumerate() {
                @let at = y(row);
                text.dim x="8" y=(at + 4) { (step.number) }
                @if step.what == What::Barrier {
                    line.bar x1=(LEFT - 12) y1=(at) x2=(width - 20) y2=(at) {}
                    text.dim x=(LEFT) y=(at - 6) { "barrier of block " (triple(step.block)) @if let Some(place) = &step.place { ", line " (place.line) } }
                } @else if let Some(lane) = lane_of(step) {
                    @let class = step.end.map(|e| format!("e{}", e.min(1))).unwrap_or_default();
                    circle class={ "dot " (class) } cx=(x(lane)) cy=(at) r="6" {}
                    text class=(class) x=(x(lane) + 12) y=(at + 4) { (said(step)) }
                }
            }
            @if let (Some((earlier, later)), Some(gap)) = (pair, gap) {
                (missing(diagnostic, shown[later].by.is_some(), y(gap) - ROW, width))
                @if let (Some(from), Some(to)) = (lane_of(shown[earlier]), lane_of(shown[later])) {
                    @if from != to {
                        path.unordered d={ "M " (x(from)) " " (y(earlier) + 7) " L " (x(to)) " " (y(later) - 7) } {}
                    }
                }
            }
        }
    }
}

/// What would have ordered the two, as a line across.
fn missing(diagnostic: &Diagnostic, of_operations: bool, y: usize, width: usize) -> Markup {
    let words = match diagnostic.rule {
        _ if of_operations => "no event and no synchronisation orders the two".to_owned(),
        Rule::InsufficientScope => "no operation of sufficient scope orders the two".to_owned(),
        Rule::UninitializedRead => return html! {},
        _ => match &diagnostic.about.missing_barrier {
            Some(barrier) => format!("{barrier} is missing here"),
            None => "nothing orders the two".to_owned(),
        },
    };
    html! {
        line.miss x1=(LEFT - 12) y1=(y) x2=(width - 20) y2=(y) {}
        text.miss x=(LEFT) y=(y - 6) { (words) }
    }
}

/// `reads 5, line 12`
fn said(step: &Step) -> String {
    let mut text = step.what.verb().to_owned();
    let nothing = step.before.as_deref() == Some(NOTHING);
    match (step.what, &step.before, &step.after) {
        (What::Read, ..) if nothing => text += " what nobody has written",
        (What::Write, _, Some(after)) if nothing => {
            text += &format!(" {after}, the first value there")
        }
        (What::Write, Some(before), Some(after)) => text += &format!(" {before} → {after}"),
        (What::Write, None, Some(after)) => text += &format!(" {after}"),
        (What::Read, Some(value), _) => text += &format!(" {value}"),
        _ => {}
    }
    match &step.place {
        Some(place) => text + &format!(", line {}", place.line),
        None => text,
    }
}

/// All accesses as a table, for readers who can't see the picture and for those that have no lane.
fn table(steps: &[Step], left_out: u64) -> Markup {
    html! {
        details {
            summary { "All accesses of the location (" (steps.iter().filter(|s| s.what != What::Barrier).count()) ")" }
            div.scroll { table.steps {
                tr { th { "step" } th { "block" } th { "thread" } th { "what" } th { "before" } th { "after" } th { "line" } }
                @for step in steps {
                    tr class=[step.end.map(|e| format!("e{}", e.min(1)))] {
                        td { (step.number) }
                        td { (triple(step.block)) }
                        td { @if let Some(thread) = step.thread { (triple(thread)) } }
                        td { (step.what.verb()) }
                        td { @if let Some(value) = &step.before { (value) @if value == NOTHING { " yet" } } }
                        td { @if let Some(value) = &step.after { (value) } }
                        td { @if let Some(place) = &step.place { (place.file) ":" (place.line) } }
                    }
                }
            } }
            @if left_out > 0 { p { (crate::terminal::thousands(left_out)) " further accesses and barriers are left out." } }
        }
    }
}

/// Rows of a map: beyond, a request of a warp has none.
const ROWS: usize = 64;

/// A map of 32 banks: a column for each bank, a row for each further word that it has to serve.
fn banks(request: &Request) -> Markup {
    let mut columns: Vec<Vec<(u64, Vec<usize>)>> = vec![Vec::new(); Request::BANKS as usize];
    for (word, lanes) in request.units(Request::WORD) {
        columns[(word % Request::BANKS) as usize].push((word, lanes));
    }
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0).min(ROWS);
    let (cell, left, top) = (26, 76, 24);
    let (width, height) = (left + 32 * cell + 8, top + rows.max(1) * cell + 8);
    html! {
        svg role="img" aria-label={ "32 banks, up to " (rows) " words in one bank" } width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) } {
            text.dim x="4" y="15" { "bank" }
            @for bank in 0..32 { text.dim x=(left + bank * cell + 4) y="15" { (bank) } }
            @for row in 0..rows {
                text.dim x="4" y=(top + row * cell + 17) { "pass " (row + 1) }
                @for (bank, words) in columns.iter().enumerate() {
                    @let word = words.get(row);
                    @let class = match word { None => "cell", Some(_) if words.len() > 1 => "cell many", Some(_) => "cell one" };
                    rect class=(class) x=(left + bank * cell) y=(top + row * cell) width=(cell - 2) height=(cell - 2) rx="3" {
                        @if let Some((word, lanes)) = word { title { "bank " (bank) ", word " (word) ": " (listed(lanes)) } }
                    }
                    @if let Some((_, lanes)) = word { text x=(left + bank * cell + 3) y=(top + row * cell + 17) { (lanes[0]) @if lanes.len() > 1 { "+" } } }
                }
            }
        }
        p { "A number is the lane that asks for a word of this bank; + means further lanes, which share the word." }
    }
}

fn listed(lanes: &[usize]) -> String {
    let all: Vec<String> = lanes.iter().map(usize::to_string).collect();
    match all.len() {
        1 => format!("lane {}", all[0]),
        _ => format!("lanes {}", all.join(", ")),
    }
}

/// The sectors that a request moves: each a bar of 32 bytes, filled where a lane asks for a byte.
fn sectors(request: &Request) -> Markup {
    let units = request.units(Request::SECTOR);
    let (byte, top, left, across) = (5, 8, 90, 4);
    let slot = 32 * byte + 16;
    let shown = units.iter().take(ROWS);
    let rows = units.len().min(ROWS).div_ceil(across);
    let (width, height) = (left + across * slot, top + rows.max(1) * 26 + 8);
    let first = units.first().map_or(0, |(sector, _)| *sector);
    html! {
        svg role="img" aria-label={ (units.len()) " sectors of 32 bytes" } width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) } {
            @for row in 0..rows { text.dim x="4" y=(top + row * 26 + 14) { (row * across + 1) " to " (((row + 1) * across).min(units.len())) } }
            @for (index, (sector, lanes)) in shown.enumerate() {
                @let x = left + index % across * slot;
                @let y = top + index / across * 26;
                rect.cell x=(x) y=(y) width=(32 * byte) height="18" { title { "sector " (sector - first) " from the first: " (listed(lanes)) } }
                @for lane in lanes {
                    @let (from, to) = part(request, *lane, *sector);
                    rect class="cell one" x=(x as u64 + from * byte as u64) y=(y) width=((to - from) * byte as u64) height="18" {}
                }
            }
        }
        p { (units.len()) " sectors of 32 bytes move; the filled parts are what the lanes ask for, " (request.bytes) " bytes each." }
    }
}

/// The bytes of a sector that a lane asks for, from 0 to 32.
fn part(request: &Request, lane: usize, sector: u64) -> (u64, u64) {
    let start = request.lanes[lane].unwrap_or(0);
    let end = start.saturating_add(u64::from(request.bytes));
    let base = sector * Request::SECTOR;
    let from = start.saturating_sub(base).min(Request::SECTOR);
    (
        from,
        end.saturating_sub(base).min(Request::SECTOR).max(from),
    )
}

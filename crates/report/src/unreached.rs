//! Lines of the source that runs did not reach.

use super::{SourcePlace, Sources, of_toolkit};
use simt::Program;
use simt::ids::Mask;
use simt::program::SiteInfo;
use std::collections::BTreeMap;

/// The user's own line that an instruction belongs to, where its text can be read and says more than the end of a function.
pub fn source_place(site: &SiteInfo, sources: &mut Sources) -> Option<SourcePlace> {
    let own = |l: &&ptx::source::SourceLine| !of_toolkit(&l.file) && l.line > 0;
    let own = site.lines.iter().find(own)?;
    let file = sources.find(&own.file)?;
    let text = file.line(own.line)?.trim();
    (text.len() > 1).then(|| SourcePlace {
        file: file.path.clone(),
        line: own.line,
    })
}

/// Notes for each line of a program whether a thread ran it. `masks` has, for each site, the warps that came there.
pub fn note_lines(
    program: &Program,
    masks: &[Mask],
    sources: &mut Sources,
    ran: &mut BTreeMap<SourcePlace, bool>,
) {
    for (site, mask) in program.sites.iter().zip(masks) {
        if let Some(place) = source_place(site, sources) {
            *ran.entry(place).or_default() |= *mask != 0;
        }
    }
}

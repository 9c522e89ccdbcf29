//! What orders two operations of a host program: launches, copies, and what the host itself does.

use super::Guilty;
use crate::View;
use crate::finding_view::Pair;

/// Two operations of the host program that nothing orders.
pub(crate) fn unordered(pair: &Pair<'_>, steps: &[View<'_>]) -> Option<String> {
    let first = steps.get(pair.earlier.launch as usize)?;
    let second = steps.get(pair.later.launch as usize)?;
    let is_host = |view: &View<'_>| matches!(view, View::Host(view) if view.is_host_itself());
    let name = |view: &View<'_>, one: &Guilty| match view {
        View::Kernel(kernel) => format!(
            "the launch of `{}`",
            kernel.name.split('(').next().unwrap_or_default()
        ),
        View::Host(host) => match &host.named {
            Some(name) => name.clone(),
            None => format!("the step at {}", one.place()),
        },
    };
    let (first_name, second_name) = (name(first, pair.from), name(second, pair.to));
    Some(if is_host(second) {
        format!(
            "let the host wait for {first_name} before {second_name}: call `cudaStreamSynchronize` for its stream, or `cudaEventSynchronize` for an event recorded after it"
        )
    } else if is_host(first) {
        match first {
            View::Host(host) if host.named.is_some() => {
                format!("let the host touch the memory before it issues {second_name}")
            }
            _ => format!("let the host perform {first_name} before it issues {second_name}"),
        }
    } else {
        format!(
            "put both on one stream; or record an event after {first_name} (`cudaEventRecord`) and let the other stream wait for it (`cudaStreamWaitEvent`) before {second_name}"
        )
    })
}

//! Work on several cores, in a process that may be out of threads: a stranger's program can use up all that it is allowed.

use std::sync::{Mutex, PoisonError};
use std::thread::Builder;

/// What `work` makes of each item, in order: on a thread each, the first one on this thread, and so are all that no thread can be had for.
pub fn each<I: Send, T: Send>(
    items: impl IntoIterator<Item = I>,
    work: impl Fn(I) -> T + Sync,
) -> Vec<T> {
    let items: Vec<Mutex<Option<I>>> = items
        .into_iter()
        .map(|item| Mutex::new(Some(item)))
        .collect();
    let run = |item: &Mutex<Option<I>>| {
        let item = item.lock().unwrap_or_else(PoisonError::into_inner).take();
        item.map(&work)
    };
    let run = &run;
    std::thread::scope(|scope| {
        let on_threads: Vec<_> = items
            .iter()
            .skip(1)
            .map(|item| Builder::new().spawn_scoped(scope, move || run(item)).ok())
            .collect();
        let first = items.first().and_then(run);
        let others = items.iter().skip(1).zip(on_threads);
        let others = others.map(|(item, thread)| match thread {
            Some(thread) => thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            None => run(item),
        });
        first.into_iter().chain(others.flatten()).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_worked_on_once_and_in_order() {
        for count in [0, 1, 2, 40] {
            let done = each(0..count, |item: u32| item * item);
            assert_eq!(done, Vec::from_iter((0..count).map(|item| item * item)));
        }
    }

    #[test]
    fn items_may_be_borrowed() {
        let mut sums = [1, 2, 3];
        each(sums.iter_mut(), |sum| *sum += 1);
        assert_eq!(sums, [2, 3, 4]);
    }
}

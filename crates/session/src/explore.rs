//! Trying many runs on all cores, as if one followed the other.
//!
//! The first run has all cores to itself: most explorations end with it, and it may deal its blocks out to the cores. The others
//! share the cores, one each. Results are taken in the order of the runs, so that the number of cores changes nothing of what comes
//! out; what was begun behind the run that ended the exploration is thrown away.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Does `run` for each item, on up to `jobs` cores, and gives the results to `take` in the order of the items, until it breaks.
///
/// `run` is told how many cores it may use.
pub fn in_order<T, R>(
    items: &[T],
    jobs: usize,
    run: impl Fn(&T, usize) -> R + Sync,
    mut take: impl FnMut(&T, R) -> ControlFlow<()>,
) where
    T: Sync,
    R: Send,
{
    let Some((first, rest)) = items.split_first() else {
        return;
    };
    if take(first, run(first, jobs)).is_break() {
        return;
    }
    let jobs = jobs.max(1);
    for batch in rest.chunks(jobs) {
        // What is left over of the cores goes to the runs of a short batch.
        let results = parallel(batch.len(), jobs, &|index| {
            run(&batch[index], (jobs / batch.len()).max(1))
        });
        for (item, result) in batch.iter().zip(results) {
            if take(item, result).is_break() {
                return;
            }
        }
    }
}

/// The values of `each` for 0 to below `count`, in order, made on `jobs` threads.
pub fn parallel<T: Send>(count: usize, jobs: usize, each: &(dyn Fn(usize) -> T + Sync)) -> Vec<T> {
    if jobs <= 1 || count <= 1 {
        return (0..count).map(each).collect();
    }
    let next = AtomicUsize::new(0);
    let made: Mutex<Vec<(usize, T)>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..jobs.min(count) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        break;
                    }
                    let value = each(index);
                    let mut made = made.lock().unwrap_or_else(|e| e.into_inner());
                    made.push((index, value));
                }
            });
        }
    });
    let mut made = made.into_inner().unwrap_or_else(|e| e.into_inner());
    made.sort_by_key(|(index, _)| *index);
    made.into_iter().map(|(_, value)| value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is taken, of ten items with a break at `stop`, and how many runs were begun.
    fn taken(jobs: usize, stop: u32) -> (Vec<u32>, usize) {
        let begun = AtomicUsize::new(0);
        let mut taken = Vec::new();
        let items: Vec<u32> = (0..10).collect();
        in_order(
            &items,
            jobs,
            |item, _| {
                begun.fetch_add(1, Ordering::Relaxed);
                item * item
            },
            |item, square| {
                taken.push(square);
                match *item == stop {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            },
        );
        (taken, begun.into_inner())
    }

    #[test]
    fn the_number_of_cores_changes_nothing() {
        for stop in [0, 1, 4, 9, 20] {
            let (alone, _) = taken(1, stop);
            assert_eq!(alone.len() as u32, stop.min(9) + 1);
            for jobs in 2..12 {
                assert_eq!(taken(jobs, stop).0, alone, "{jobs} jobs, stop at {stop}");
            }
        }
    }

    #[test]
    fn the_first_run_is_alone() {
        assert_eq!(taken(8, 0).1, 1);
        assert_eq!(taken(1, 3).1, 4);
    }
}

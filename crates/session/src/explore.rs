//! Trying many runs on all cores, as if one followed the other.
//!
//! The first run has all cores to itself: most explorations end with it, and it may deal its blocks out to the cores. The others
//! share the cores, one each. Results are taken in the order of the runs, so that the number of cores changes nothing of what comes
//! out; what was begun behind the run that ended the exploration is thrown away.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};

/// Does `run` for each item, on up to `jobs` cores, and gives the results to `take` in the order of the items, until it breaks.
///
/// `run` is told how many cores it may use. Each core goes on with the next item as soon as it has finished one, but no further than
/// two items a core ahead of what has been taken: what is behind the run that ends the exploration is made in vain.
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
    side_by_side(rest, jobs, run, take);
}

/// The same where the first item has not all cores to itself.
pub fn side_by_side<T, R>(
    rest: &[T],
    jobs: usize,
    run: impl Fn(&T, usize) -> R + Sync,
    mut take: impl FnMut(&T, R) -> ControlFlow<()>,
) where
    T: Sync,
    R: Send,
{
    let cores = jobs.clamp(1, rest.len().max(1));
    // What is left over goes to the runs of a short list.
    let each = (jobs / cores).max(1);
    if cores == 1 {
        for item in rest {
            if take(item, run(item, each)).is_break() {
                return;
            }
        }
        return;
    }
    let line = Line {
        state: Mutex::new(State {
            next: 0,
            taken: 0,
            ended: false,
            made: BTreeMap::new(),
        }),
        changed: Condvar::new(),
    };
    std::thread::scope(|scope| {
        // Whatever happens to whom, nobody waits for somebody who is gone.
        let _end = End(&line);
        let work = || {
            let _end = EndOfPanic(&line);
            while let Some(index) = line.next(rest.len(), 2 * cores) {
                let result = run(&rest[index], each);
                line.lock().made.insert(index, result);
                line.changed.notify_all();
            }
        };
        // A stranger's program may have used up all threads.
        let spawn = || {
            std::thread::Builder::new()
                .spawn_scoped(scope, work)
                .is_ok()
        };
        if (0..cores).filter(|_| spawn()).count() == 0 {
            for item in rest {
                if take(item, run(item, each)).is_break() {
                    return;
                }
            }
            return;
        }
        for (index, item) in rest.iter().enumerate() {
            let Some(result) = line.made(index) else {
                return;
            };
            if take(item, result).is_break() {
                return;
            }
        }
    });
}

/// Runs that are made in any order and taken in one.
struct Line<R> {
    state: Mutex<State<R>>,
    changed: Condvar,
}

struct State<R> {
    /// The next item to be run.
    next: usize,
    /// How many have been taken.
    taken: usize,
    /// Nobody needs more.
    ended: bool,
    made: BTreeMap<usize, R>,
}

impl<R> Line<R> {
    fn lock(&self) -> MutexGuard<'_, State<R>> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State<R>>) -> MutexGuard<'s, State<R>> {
        self.changed.wait(state).unwrap_or_else(|e| e.into_inner())
    }

    /// The number of an item to run, of so many, at most `ahead` beyond what has been taken.
    fn next(&self, items: usize, ahead: usize) -> Option<usize> {
        let mut state = self.lock();
        while !state.ended && state.next < items && state.next >= state.taken + ahead {
            state = self.wait(state);
        }
        if state.ended || state.next >= items {
            return None;
        }
        state.next += 1;
        Some(state.next - 1)
    }

    /// What an item's run came to. `None` if nobody will make it any more.
    fn made(&self, index: usize) -> Option<R> {
        let mut state = self.lock();
        loop {
            if let Some(result) = state.made.remove(&index) {
                state.taken = index + 1;
                self.changed.notify_all();
                return Some(result);
            }
            if state.ended {
                return None;
            }
            state = self.wait(state);
        }
    }

    fn end(&self) {
        self.lock().ended = true;
        self.changed.notify_all();
    }
}

/// Ends the line when it goes out of scope.
struct End<'l, R>(&'l Line<R>);

impl<R> Drop for End<'_, R> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// The same when a run panics.
struct EndOfPanic<'l, R>(&'l Line<R>);

impl<R> Drop for EndOfPanic<'_, R> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end();
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
    simt::cores::each(0..jobs.min(count), |_| {
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

//! How much memory a run holds: the allocator counts it, for each thread.
//!
//! Dozens of structures grow while a kernel runs: shadows, clocks, logs, histories, stacks. What they take together is what a memory
//! limit is about, and the one place where all of it passes is the allocator. So that one counts, and nobody else has to: a structure
//! that is added tomorrow is counted, too. The count is a number of the thread, without a lock; a run that is spread over several threads
//! adds up what each of them says.
//!
//! A program has one allocator, which the program itself chooses: `#[global_allocator] static ALLOCATOR: Metered = Metered;`. Where it
//! chooses another one, [`held`] is always 0, and limits on memory do not hold.
//!
//! It can't see: memory that is mapped without an allocator; what the allocator itself adds to each piece; and memory that one thread takes
//! and another one gives back counts for both.

#![allow(unsafe_code)] // An allocator is unsafe to write: its functions hand through what the system's allocator says.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, with a count.
#[derive(Clone, Copy, Debug, Default)]
pub struct Metered;

thread_local! {
    // Without a destructor, so that it is there as long as the thread is.
    static HELD: Cell<i64> = const { Cell::new(0) };
}

#[inline]
fn count(bytes: i64) {
    let _ = HELD.try_with(|held| held.set(held.get().wrapping_add(bytes)));
}

/// Bytes that this thread has taken and not given back. What it gave back of others' makes it less than 0.
#[inline]
pub fn held() -> i64 {
    HELD.try_with(Cell::get).unwrap_or_default()
}

// SAFETY: each function is the system allocator's, called as this one is called; counting neither allocates nor panics.
unsafe impl GlobalAlloc for Metered {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let place = unsafe { System.alloc(layout) };
        if !place.is_null() {
            count(layout.size() as i64);
        }
        place
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let place = unsafe { System.alloc_zeroed(layout) };
        if !place.is_null() {
            count(layout.size() as i64);
        }
        place
    }

    #[inline]
    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let moved = unsafe { System.realloc(place, layout, size) };
        if !moved.is_null() {
            count(size as i64 - layout.size() as i64);
        }
        moved
    }

    #[inline]
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        unsafe { System.dealloc(place, layout) };
        count(-(layout.size() as i64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[global_allocator]
    static ALLOCATOR: Metered = Metered;

    #[test]
    fn what_a_thread_holds_is_counted() {
        let before = held();
        let mut all: Vec<u8> = Vec::with_capacity(1000);
        assert_eq!(held() - before, 1000);
        all.reserve_exact(5000);
        assert_eq!(held() - before, 5000);
        let zeros = vec![0u64; 100];
        assert_eq!(held() - before, 5800);
        drop(all);
        assert_eq!(held() - before, 800);
        drop(zeros);
        assert_eq!(held(), before);
    }

    #[test]
    fn threads_count_for_themselves() {
        let before = held();
        let all = std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let before = held();
                let all = vec![1u8; 1 << 20];
                assert_eq!(held() - before, 1 << 20);
                all
            });
            other.join().unwrap()
        });
        let here = held() - before;
        assert!(here.abs() < 1 << 16, "{here}");
        drop(all);
        assert!(held() - before <= here - (1 << 20));
    }
}

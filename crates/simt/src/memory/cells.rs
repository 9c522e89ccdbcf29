//! Cells of memory: their own, or lent by the process that simulates a whole program.

/// Cells that the arena owns and lets grow, or that somebody has lent it.
#[derive(Debug)]
pub(crate) enum Cells<T: 'static> {
    Owned(Vec<T>),
    Lent(&'static [T]),
}

impl<T> Default for Cells<T> {
    fn default() -> Cells<T> {
        Cells::Owned(Vec::new())
    }
}

impl<T> std::ops::Deref for Cells<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        match self {
            Cells::Owned(cells) => cells,
            Cells::Lent(cells) => cells,
        }
    }
}

impl<T: Default> Cells<T> {
    /// Makes room for so many, where they are owned.
    pub(super) fn reserve(&mut self, count: usize) {
        if let Cells::Owned(cells) = self {
            cells.resize_with(count, T::default);
        }
    }
}

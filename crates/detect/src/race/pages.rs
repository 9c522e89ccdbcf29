//! The shadow of global memory: pages that are made when they are first touched.
//!
//! It lives for one launch: what came before on the same stream is ordered before all of it.

use super::cells::Cells;

/// Granules of a page, as a power of two.
const PAGE: u32 = 10;
const SIZE: usize = 1 << PAGE;
/// Pages of a folder: where addresses are a process's, they lie far apart, and launches are many.
const FOLDER: usize = 1 << 10;

/// Where a detector keeps its cells.
pub trait Shadow {
    /// The cells of which `n` adjacent ones from `cell` on are a part, and the place of the first there. `None` if they lie in several, or
    /// nobody has touched them yet.
    fn piece(&mut self, cell: u64, n: usize) -> Option<(&mut Cells, usize)>;

    /// Calls `piece(cells, at, from, n)` for the parts of `n` adjacent cells from `cell` on:
    /// `n` cells from `at` in `cells`, `from` cells after the first.
    fn pieces(&mut self, cell: u64, n: usize, piece: impl FnMut(&mut Cells, usize, usize, usize));
}

impl Shadow for Cells {
    #[inline(always)]
    fn piece(&mut self, cell: u64, _: usize) -> Option<(&mut Cells, usize)> {
        Some((self, cell as usize))
    }

    #[inline(always)]
    fn pieces(
        &mut self,
        cell: u64,
        n: usize,
        mut piece: impl FnMut(&mut Cells, usize, usize, usize),
    ) {
        piece(self, cell as usize, 0, n);
    }
}

/// The shadow of global memory.
#[derive(Debug, Default)]
pub struct Pages {
    /// The folders, each empty until it is needed.
    folders: Vec<Vec<Option<Box<Cells>>>>,
    strong: bool,
}

impl Pages {
    /// An empty one; `strong` if the program can make strong accesses.
    pub fn new(strong: bool) -> Pages {
        Pages {
            folders: Vec::new(),
            strong,
        }
    }

    /// The page of a cell, and the cell's place in it.
    pub fn page(&mut self, cell: u64) -> (&mut Cells, usize) {
        let index = (cell >> PAGE) as usize;
        let (folder, index) = (index / FOLDER, index % FOLDER);
        if folder >= self.folders.len() {
            self.folders.resize_with(folder + 1, Vec::new);
        }
        let folder = &mut self.folders[folder];
        if index >= folder.len() {
            folder.resize_with(index + 1, || None);
        }
        let strong = self.strong;
        let page = folder[index].get_or_insert_with(|| Box::new(Cells::new(SIZE, strong)));
        (page, cell as usize % SIZE)
    }

    /// The pages that were touched, by number.
    pub fn touched(&self) -> impl Iterator<Item = (usize, &Cells)> {
        let folders = self.folders.iter().enumerate();
        folders.flat_map(|(f, pages)| {
            let pages = pages.iter().enumerate();
            pages.filter_map(move |(i, p)| Some((f * FOLDER + i, p.as_deref()?)))
        })
    }
}

impl Shadow for Pages {
    #[inline(always)]
    fn piece(&mut self, cell: u64, n: usize) -> Option<(&mut Cells, usize)> {
        let (index, at) = ((cell >> PAGE) as usize, cell as usize % SIZE);
        let folder = self.folders.get_mut(index / FOLDER)?;
        let page = folder.get_mut(index % FOLDER)?.as_deref_mut()?;
        (at + n <= SIZE).then_some((page, at))
    }

    fn pieces(
        &mut self,
        cell: u64,
        n: usize,
        mut piece: impl FnMut(&mut Cells, usize, usize, usize),
    ) {
        let mut from = 0;
        while from < n {
            let (page, at) = self.page(cell + from as u64);
            let count = (SIZE - at).min(n - from);
            piece(page, at, from, count);
            from += count;
        }
    }
}

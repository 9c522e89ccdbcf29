//! The shadow of global memory: pages that are made when they are first touched.
//!
//! It lives for one launch: what came before on the same stream is ordered before all of it.

use super::cells::Cells;

/// Granules of a page, as a power of two.
const PAGE: u32 = 10;
const SIZE: usize = 1 << PAGE;
/// Pages of a group, which are allocated together, each some 450 bytes until it is touched: one by one they took much of the time of a
/// run that reads much memory once.
const GROUP: usize = 16;
/// Groups of a folder: where addresses are a process's, they lie far apart, and launches are many.
const FOLDER: usize = 64;

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

type Group = Box<[Cells]>;

/// Where a page is: its folder, its group there, and its place in that.
fn place(page: usize) -> (usize, usize, usize) {
    let group = page / GROUP;
    (group / FOLDER, group % FOLDER, page % GROUP)
}

/// The shadow of global memory.
#[derive(Clone, Debug, Default)]
pub struct Pages {
    /// The folders, each empty until it is needed. A page that nobody has touched has no granules.
    folders: Vec<Vec<Option<Group>>>,
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
        let (folder, group, page) = place((cell >> PAGE) as usize);
        if folder >= self.folders.len() {
            self.folders.resize_with(folder + 1, Vec::new);
        }
        let folder = &mut self.folders[folder];
        if group >= folder.len() {
            folder.resize_with(group + 1, || None);
        }
        let empty = || (0..GROUP).map(|_| Cells::default()).collect();
        let page = &mut folder[group].get_or_insert_with(empty)[page];
        if page.granules() == 0 {
            *page = Cells::new(SIZE, self.strong);
        }
        (page, cell as usize % SIZE)
    }

    /// Whether a condition holds for some page that two or more of these shadows have: for what each of them keeps of it.
    pub fn any_in_common(all: &[&Pages], mut condition: impl FnMut(&[&Cells]) -> bool) -> bool {
        let folders = all.iter().map(|pages| pages.folders.len()).max();
        (0..folders.unwrap_or(0)).any(|folder| {
            let folders = all.iter().filter_map(|pages| pages.folders.get(folder));
            let folders: Vec<&[Option<Group>]> = folders.map(Vec::as_slice).collect();
            let groups = folders.iter().map(|folder| folder.len()).max();
            (0..groups.unwrap_or(0)).any(|group| {
                let groups = folders.iter().filter_map(|folder| folder.get(group));
                let groups: Vec<&Group> = groups.flatten().collect();
                groups.len() > 1
                    && (0..GROUP).any(|page| {
                        let pages = groups.iter().map(|group| &group[page]);
                        let touched = pages.filter(|page| page.granules() != 0);
                        let touched: Vec<&Cells> = touched.collect();
                        touched.len() > 1 && condition(&touched)
                    })
            })
        })
    }
}

impl Shadow for Pages {
    #[inline(always)]
    fn piece(&mut self, cell: u64, n: usize) -> Option<(&mut Cells, usize)> {
        let (folder, group, page) = place((cell >> PAGE) as usize);
        let group = self.folders.get_mut(folder)?.get_mut(group)?.as_mut()?;
        let (page, at) = (&mut group[page], cell as usize % SIZE);
        (at + n <= page.granules()).then_some((page, at))
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

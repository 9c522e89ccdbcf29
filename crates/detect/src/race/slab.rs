//! Things that are kept by index, in places that are used again.

/// Things that are kept by index.
#[derive(Clone, Debug)]
pub struct Slab<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab {
            items: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T: Default> Slab<T> {
    /// Adds one.
    pub fn insert(&mut self, item: T) -> u32 {
        if let Some(at) = self.free.pop() {
            self.items[at as usize] = item;
            at
        } else {
            self.items.push(item);
            (self.items.len() - 1) as u32
        }
    }
    /// Removes one.
    pub fn remove(&mut self, at: u32) -> T {
        self.free.push(at);
        std::mem::take(&mut self.items[at as usize])
    }
    /// The one at an index.
    pub fn get(&self, at: u32) -> &T {
        &self.items[at as usize]
    }
    /// The one at an index.
    pub fn get_mut(&mut self, at: u32) -> &mut T {
        &mut self.items[at as usize]
    }
}

//! Words of memory with the bytes of each that were written: what all kinds of memory have in common.

/// Words of memory with the bytes of each that are valid.
pub(crate) trait Words {
    /// Whether this is global memory.
    const GLOBAL: bool = false;
    /// Whether every lane has its own.
    const PRIVATE: bool = false;
    fn get(&self, word: usize, lane: usize) -> u32;
    fn set(&self, word: usize, lane: usize, value: u32);
    fn valid(&self, word: usize, lane: usize) -> u8;
    fn mark(&self, word: usize, lane: usize, bytes: u8);

    /// Reads adjacent words, and the bytes that are valid in all of them: of memory that all lanes share.
    fn load_run<const N: usize>(&self, word: usize, to: &mut [u32; N]) -> u8 {
        let mut valid = 0xf;
        for (i, to) in to.iter_mut().enumerate() {
            *to = self.get(word + i, i);
            valid &= self.valid(word + i, i);
        }
        valid
    }

    /// Writes adjacent words: of memory that all lanes share.
    fn store_run<const N: usize>(&self, word: usize, from: &[u32; N]) {
        for (i, value) in from.iter().enumerate() {
            self.set(word + i, i, *value);
            self.mark(word + i, i, 0xf);
        }
    }

    /// Reads adjacent words of a lane, and the bytes that are valid in all of them.
    #[inline(always)]
    fn lane_words<const N: usize>(&self, word: usize, lane: usize) -> ([u32; N], u8) {
        let (mut to, mut valid) = ([0; N], 0xf);
        for i in 0..N {
            to[i] = self.get(word + i, lane);
            valid &= self.valid(word + i, lane);
        }
        (to, valid)
    }

    /// Writes adjacent words of a lane.
    #[inline(always)]
    fn set_lane_words<const N: usize>(&self, word: usize, lane: usize, from: [u32; N]) {
        for i in 0..N {
            self.set(word + i, lane, from[i]);
            self.mark(word + i, lane, 0xf);
        }
    }

    /// Reads 1, 2, 4 or 8 aligned bytes.
    #[inline(always)]
    fn read(&self, at: u64, bytes: u32, lane: usize) -> u64 {
        let word = (at >> 2) as usize;
        match bytes {
            4 => u64::from(self.get(word, lane)),
            8 => u64::from(self.get(word, lane)) | u64::from(self.get(word + 1, lane)) << 32,
            _ => {
                let shift = (at & 3) * 8;
                u64::from(self.get(word, lane) >> shift) & ((1 << (8 * bytes)) - 1)
            }
        }
    }

    /// Writes 1, 2, 4 or 8 aligned bytes and marks them valid.
    #[inline(always)]
    fn write(&self, at: u64, bytes: u32, lane: usize, value: u64) {
        let word = (at >> 2) as usize;
        match bytes {
            4 => {
                self.set(word, lane, value as u32);
                self.mark(word, lane, 0xf);
            }
            8 => {
                self.set(word, lane, value as u32);
                self.set(word + 1, lane, (value >> 32) as u32);
                self.mark(word, lane, 0xf);
                self.mark(word + 1, lane, 0xf);
            }
            _ => {
                let shift = (at & 3) as u32 * 8;
                let mask = ((1u32 << (8 * bytes)) - 1) << shift;
                self.replace(word, lane, mask, (value as u32) << shift & mask);
                self.mark(word, lane, ((1u8 << bytes) - 1) << (at & 3));
            }
        }
    }

    /// Replaces the bits of a mask.
    fn replace(&self, word: usize, lane: usize, mask: u32, bits: u32) {
        self.set(word, lane, self.get(word, lane) & !mask | bits);
    }

    /// Whether all of 1, 2, 4, 8 or 16 aligned bytes are valid.
    #[inline(always)]
    fn is_valid(&self, at: u64, bytes: u32, lane: usize) -> bool {
        let word = (at >> 2) as usize;
        if bytes < 4 {
            let need = ((1u8 << bytes) - 1) << (at & 3);
            return self.valid(word, lane) & need == need;
        }
        (0..(bytes / 4) as usize).all(|i| self.valid(word + i, lane) == 0xf)
    }
}

//! Turns addresses into names such as `tile[3][5]` or `data[64]`.

use super::source::Sources;
use detect::finding::{Detail, Finding, Place};
use simt::observer::Space;
use toolchain::cuda_text::{CudaText, scalar_bytes};

/// A variable or buffer and its place in its state space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its name in the source.
    pub name: String,
    /// Offset of its first byte.
    pub start: u64,
    /// Its size in bytes; `None` if it extends to the end of the space (dynamic shared memory).
    pub bytes: Option<u64>,
    /// Size of an element in bytes, if known.
    pub element: Option<u32>,
    /// Array dimensions, slowest-varying first; empty if unknown or one-dimensional.
    pub dims: Vec<u64>,
    /// Its declaration as shown to the reader: `float tile[32][33]`, `int[64]`.
    pub declaration: Option<String>,
    /// Whether it is host memory that the device can address.
    pub host: bool,
    /// The function that declares it, without its namespace, with its template arguments, where there is one.
    pub function: Option<String>,
}

impl Region {
    /// Whether it is somebody's: the gaps between buffers are not.
    fn is_named(&self) -> bool {
        !self.name.is_empty() && self.name != simt::memory::GAP_NAME
    }

    /// A region with a name and a place only.
    pub fn new(name: &str, start: u64, bytes: Option<u64>) -> Region {
        Region {
            name: name.to_string(),
            start,
            bytes,
            element: None,
            dims: Vec::new(),
            declaration: None,
            host: false,
            function: None,
        }
    }

    /// Adds element type, dimensions and declaration from the declaration in `text`.
    pub fn declared(mut self, text: &CudaText) -> Region {
        // Another function's array of that name is another one.
        let own = self.function.as_deref();
        let own = own.and_then(|function| text.variable_in(function, &self.name));
        let Some(declared) = own.unwrap_or_else(|| text.variable(&self.name)) else {
            return self;
        };
        self.element = scalar_bytes(&declared.ty);
        let dims: Option<Vec<u64>> = declared
            .dims
            .iter()
            .map(|d| {
                let own = self.function.as_deref();
                let own = own.and_then(|function| text.evaluate_in(function, d));
                u64::try_from(own.or_else(|| text.evaluate(d))?).ok()
            })
            .collect();
        if let (Some(dims), Some(element), Some(bytes)) = (dims, self.element, self.bytes)
            && dims.iter().product::<u64>() * u64::from(element) == bytes
        {
            self.dims = dims;
        }
        let dims: String = declared.dims.iter().map(|d| format!("[{d}]")).collect();
        self.declaration = Some(format!("{} {}{dims}", declared.ty, self.name));
        self
    }

    fn contains(&self, address: u64) -> bool {
        address >= self.start && self.bytes.is_none_or(|b| address < self.start + b)
    }

    /// The element at `address` as the source would write it, for an access of `bytes` bytes.
    pub fn element_at(&self, address: u64, bytes: u32) -> String {
        let offset = address.saturating_sub(self.start);
        let element = u64::from(self.element.unwrap_or(bytes)).max(1);
        if self.bytes == Some(element) && self.dims.is_empty() {
            return self.name.clone();
        }
        if !offset.is_multiple_of(element) && self.element.is_none() {
            return format!("{}+{offset}", self.name);
        }
        let mut index = offset / element;
        if self.dims.len() < 2 {
            return format!("{}[{index}]", self.name);
        }
        let mut parts = Vec::new();
        for dim in self.dims.iter().skip(1).rev() {
            parts.push(format!("[{}]", index % dim));
            index /= dim;
        }
        parts.push(format!("[{index}]"));
        parts.reverse();
        format!("{}{}", self.name, parts.concat())
    }
}

/// Everything that has a name in the state spaces of a kernel.
#[derive(Clone, Debug, Default)]
pub struct MemoryNames {
    /// Shared memory of a block, by offset.
    pub shared: Vec<Region>,
    /// Global memory, by arena offset.
    pub global: Vec<Region>,
    /// The constant bank, by offset.
    pub constant: Vec<Region>,
    /// Kernel parameters, by offset.
    pub param: Vec<Region>,
}

impl MemoryNames {
    /// Completes the regions with the declarations in `sources`.
    pub fn complete(&mut self, sources: &Sources, defines: &[String]) {
        let texts: Vec<CudaText> = sources
            .given()
            .map(|file| CudaText::new(&file.text, defines))
            .collect();
        for region in [&mut self.shared, &mut self.global, &mut self.constant]
            .into_iter()
            .flatten()
        {
            for text in &texts {
                if region.declaration.is_none() {
                    *region = region.clone().declared(text);
                }
            }
        }
    }

    fn of(&self, space: Space) -> &[Region] {
        match space {
            Space::Shared => &self.shared,
            Space::Global => &self.global,
            Space::Const => &self.constant,
            Space::Param => &self.param,
            Space::Local => &[],
        }
    }

    /// The region that contains a place.
    pub fn region(&self, place: &Place) -> Option<&Region> {
        let mapped = place.mapped || place.space != Space::Global;
        let all = self.of(place.space);
        let found = all
            .iter()
            .rev()
            .find(|r| mapped && r.contains(place.address));
        found.filter(|r| r.is_named())
    }

    /// The last region that starts at or before a place: the probable target of an out-of-bounds access.
    pub fn nearest(&self, place: &Place) -> Option<&Region> {
        let before = |r: &&Region| place.mapped && r.start <= place.address && r.is_named();
        let regions = self.of(place.space).iter();
        regions.filter(before).max_by_key(|r| r.start)
    }

    /// The region that an access outside was meant for: that of the pointer which its address was computed from, or else the nearest.
    pub fn meant(&self, finding: &Finding) -> Option<&Region> {
        let place = finding.place?;
        if let Detail::Pointer { to, .. } = finding.detail {
            let of = self.of(place.space).iter();
            let holds = |r: &&Region| {
                let inside = r.bytes.is_none_or(|b| to <= r.start + b);
                to >= r.start && inside && !r.name.is_empty()
            };
            // One past the end of a region may be the start of the next one.
            return of.filter(holds).max_by_key(|r| r.start);
        }
        self.nearest(&place)
    }

    /// The kind of memory of a place: `shared memory`.
    pub fn kind(&self, place: &Place) -> &'static str {
        match self.region(place) {
            Some(region) if region.host => "host memory",
            _ => space_name(place.space),
        }
    }

    /// A place by name, in backticks, or by address if it has no name.
    pub fn describe(&self, place: &Place) -> String {
        match self.region(place) {
            Some(region) => format!("`{}`", region.element_at(place.address, place.bytes)),
            None if place.mapped => {
                format!("{} at byte {:#x}", space_name(place.space), place.address)
            }
            None => format!("address {:#x}", place.address),
        }
    }
}

/// `shared memory`
pub fn space_name(space: Space) -> &'static str {
    match space {
        Space::Global => "global memory",
        Space::Shared => "shared memory",
        Space::Local => "local memory",
        Space::Const => "constant memory",
        Space::Param => "the parameters",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(address: u64, bytes: u32) -> Place {
        Place {
            space: Space::Shared,
            address,
            bytes,
            mapped: true,
        }
    }

    #[test]
    fn elements_are_written_as_in_the_source() {
        let text = CudaText::new(
            "#define N 33\n__shared__ float tile[4][N]; __shared__ short x; extern __shared__ double dyn[];",
            &[],
        );
        let names = MemoryNames {
            shared: vec![
                Region::new("tile", 0, Some(4 * 33 * 4)).declared(&text),
                Region::new("x", 528, Some(2)).declared(&text),
                Region::new("dyn", 536, None).declared(&text),
            ],
            ..MemoryNames::default()
        };
        assert_eq!(names.describe(&place(4 * (33 * 2 + 5), 4)), "`tile[2][5]`");
        assert_eq!(names.describe(&place(528, 2)), "`x`");
        assert_eq!(names.describe(&place(536 + 16, 8)), "`dyn[2]`");
        assert_eq!(
            names.region(&place(0, 4)).unwrap().declaration.as_deref(),
            Some("float tile[4][N]")
        );
    }

    #[test]
    fn without_a_declaration_the_access_gives_the_element() {
        let names = MemoryNames {
            shared: vec![Region::new("s", 16, Some(64))],
            ..MemoryNames::default()
        };
        assert_eq!(names.describe(&place(24, 4)), "`s[2]`");
        assert_eq!(names.describe(&place(25, 1)), "`s[9]`");
        assert_eq!(names.describe(&place(26, 4)), "`s+10`");
        assert_eq!(names.describe(&place(8, 4)), "shared memory at byte 0x8");
    }
}

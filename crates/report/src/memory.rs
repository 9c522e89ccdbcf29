//! Turns addresses into names such as `tile[3][5]` or `data[64]`.

use super::source::Sources;
use detect::finding::{Detail, Finding, Place};
use simt::memory::FAR;
use simt::observer::Space;
use std::sync::Arc;
use toolchain::cuda_text::{CudaText, Field, scalar_bytes};

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
    /// The fields of an element that is a structure or vector.
    pub fields: Vec<Field>,
    /// Which field of a structure or element of an array it is, and of that again, counted from 0, where the compiler has given each of them
    /// a variable of its own.
    pub pieces: Vec<usize>,
    /// The name of the variable that it is a piece of.
    pub whole: Option<String>,
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
            fields: Vec::new(),
            pieces: Vec::new(),
            whole: None,
        }
    }

    /// Adds fields, element type, dimensions and declaration from the declaration in `text`.
    pub fn declared(mut self, text: &CudaText) -> Region {
        // Another function's array of that name is another one.
        let own = self.function.as_deref();
        let own = own.and_then(|function| text.variable_in(function, &self.name));
        let Some(declared) = own.unwrap_or_else(|| text.variable(&self.name)) else {
            return self;
        };
        let fields = text.fields(&declared.ty).unwrap_or_default();
        let dims: String = declared.dims.iter().map(|d| format!("[{d}]")).collect();
        if !self.pieces.is_empty() {
            self.whole = Some(declared.name.clone());
            self.name = declared.name.clone();
            self.element = scalar_bytes(&declared.ty);
            let (mut inside, mut arrays) = (fields.clone(), declared.dims.len());
            for piece in &self.pieces {
                match inside.get(*piece) {
                    _ if arrays > 0 => {
                        self.name += &format!("[{piece}]");
                        arrays -= 1;
                    }
                    Some(field) => {
                        self.name += &format!(".{}", field.name);
                        self.element = u32::try_from(field.bytes / field.count.max(1)).ok();
                        arrays = usize::from(field.count > 1);
                        inside = Vec::new();
                    }
                    None => break,
                }
            }
            self.declaration = Some(format!("{} {}{dims}", declared.ty, declared.name));
            return self;
        }
        self.element = scalar_bytes(&declared.ty).or_else(|| {
            let end = text.bytes(&declared.ty)?;
            u32::try_from(end).ok().filter(|bytes| *bytes > 0)
        });
        self.fields = fields;
        let fits = |element: u32| {
            let element = u64::from(element.max(1));
            self.bytes.is_none_or(|bytes| bytes.is_multiple_of(element))
        };
        if scalar_bytes(&declared.ty).is_none() && !self.element.is_some_and(fits) {
            (self.element, self.fields) = (None, Vec::new());
        }
        let sizes: Option<Vec<u64>> = declared
            .dims
            .iter()
            .map(|d| {
                let own = self.function.as_deref();
                let own = own.and_then(|function| text.evaluate_in(function, d));
                u64::try_from(own.or_else(|| text.evaluate(d))?).ok()
            })
            .collect();
        if let (Some(sizes), Some(element), Some(bytes)) = (sizes, self.element, self.bytes)
            && sizes.iter().product::<u64>() * u64::from(element) == bytes
        {
            self.dims = sizes;
        }
        self.declaration = Some(format!("{} {}{dims}", declared.ty, self.name));
        self
    }

    /// How far before it an access begins, which is no address of the region's: in bytes, and by which index where that is unsigned. An index of 32
    /// bits that is less than 0 leads 2^32 elements further where it counts as an unsigned number, as `threadIdx.x - 1` does, and addresses of
    /// shared memory have 32 bits themselves.
    pub fn before(&self, place: &Place) -> Option<(u64, Option<u64>)> {
        const HALF: u64 = 1 << 31;
        let all = 2 * HALF;
        let element = u64::from(self.element.unwrap_or(place.bytes).max(1));
        match (self.start.checked_sub(place.address), place.space) {
            (Some(before @ 1..), _) => Some((before, None)),
            (Some(_), _) => None,
            (None, Space::Global) => {
                let index = (place.address - self.start) / element;
                (HALF..all)
                    .contains(&index)
                    .then(|| ((all - index) * element, Some(index)))
            }
            (None, _) => {
                let offset = place.address - self.start;
                (HALF..all).contains(&offset).then(|| (all - offset, None))
            }
        }
    }

    fn contains(&self, address: u64) -> bool {
        address >= self.start && self.bytes.is_none_or(|b| address < self.start + b)
    }

    /// The element at `address` as the source would write it, for an access of `bytes` bytes.
    pub fn element_at(&self, address: u64, bytes: u32) -> String {
        let offset = address.saturating_sub(self.start);
        let element = u64::from(self.element.unwrap_or(bytes)).max(1);
        if self.bytes == Some(element) && self.dims.is_empty() && self.fields.is_empty() {
            return self.name.clone();
        }
        if !offset.is_multiple_of(element) && self.element.is_none() {
            return format!("{}+{offset}", self.name);
        }
        let mut index = offset / element;
        let field = self.field_at(offset % element, bytes);
        if self.bytes == Some(element) {
            return format!("{}{field}", self.name);
        }
        if self.dims.len() < 2 {
            return format!("{}[{index}]{field}", self.name);
        }
        let mut parts = Vec::new();
        for dim in self.dims.iter().skip(1).rev() {
            parts.push(format!("[{}]", index % dim));
            index /= dim;
        }
        parts.push(format!("[{index}]"));
        parts.reverse();
        format!("{}{}{field}", self.name, parts.concat())
    }

    /// The field at an offset in an element, for an access of so many bytes: `.pos`, `.v[2]`; nothing where it takes more than one.
    fn field_at(&self, offset: u64, bytes: u32) -> String {
        let (offset, end) = (offset as i64, offset as i64 + i64::from(bytes));
        let inside = |f: &&Field| f.offset <= offset && end <= f.offset + f.bytes;
        let Some(field) = self.fields.iter().find(inside) else {
            return String::new();
        };
        let each = field.bytes / field.count.max(1);
        match (field.count, each) {
            (2.., 1..) => format!(".{}[{}]", field.name, (offset - field.offset) / each),
            _ => format!(".{}", field.name),
        }
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
    /// Whether the kernel asks for the shared memory of other blocks (`mapa`, `getctarank`).
    pub maps_ranks: bool,
}

impl MemoryNames {
    /// Completes the regions with the declarations in `sources`.
    pub fn complete(&mut self, sources: &Sources, defines: &[String]) {
        let texts: Vec<Arc<CudaText>> = sources
            .given()
            .map(|file| file.declarations(defines))
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

    /// The rank and the offset of a place in another block's shared memory. In a kernel that knows no ranks such an address is a wild one.
    pub fn far(&self, place: &Place) -> Option<(u64, u64)> {
        let far = self.maps_ranks && place.space == Space::Shared && place.address >= FAR;
        far.then(|| (place.address / FAR - 1, place.address % FAR))
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
    fn fields_are_named() {
        let text = CudaText::new(
            "struct task { int a, b; double z; short v[4]; };\n\
             __shared__ task all[4]; __shared__ task one; __shared__ float4 sum[2]; __shared__ task s; __shared__ float red[32];
             __shared__ task pair[2];",
            &[],
        );
        let piece = |name: &str, pieces: &[usize], at: u64| Region {
            pieces: pieces.to_vec(),
            ..Region::new(name, at, Some(8))
        };
        let names = MemoryNames {
            shared: vec![
                Region::new("all", 0, Some(96)).declared(&text),
                Region::new("one", 96, Some(24)).declared(&text),
                Region::new("sum", 128, Some(32)).declared(&text),
                piece("s", &[2], 300).declared(&text),
                piece("red", &[5], 308).declared(&text),
                piece("pair", &[1, 0], 316).declared(&text),
            ],
            ..MemoryNames::default()
        };
        assert_eq!(names.describe(&place(24 + 4, 4)), "`all[1].b`");
        assert_eq!(names.describe(&place(24 + 18, 2)), "`all[1].v[1]`");
        assert_eq!(names.describe(&place(96 + 8, 8)), "`one.z`");
        assert_eq!(names.describe(&place(96, 8)), "`one`");
        assert_eq!(names.describe(&place(128 + 16 + 8, 4)), "`sum[1].z`");
        assert_eq!(names.describe(&place(128 + 16, 16)), "`sum[1]`");
        assert_eq!(names.describe(&place(300, 8)), "`s.z`");
        let declared = names.region(&place(300, 8)).unwrap();
        assert_eq!(declared.declaration.as_deref(), Some("task s"));
        assert_eq!(names.describe(&place(316, 4)), "`pair[1].a[0]`");
        let element = names.region(&place(308, 8)).unwrap();
        assert_eq!(
            (&*element.name, element.declaration.as_deref()),
            ("red[5]", Some("float red[32]"))
        );
    }

    #[test]
    fn indices_may_be_negative() {
        let region = Region {
            element: Some(4),
            ..Region::new("a", 64, Some(128))
        };
        let at = |space, address| Place {
            space,
            address,
            bytes: 4,
            mapped: true,
        };
        assert_eq!(region.before(&at(Space::Global, 60)), Some((4, None)));
        assert_eq!(region.before(&at(Space::Global, 64)), None);
        assert_eq!(region.before(&at(Space::Global, 64 + (1 << 20))), None);
        let wrapped = 64 + 4 * 4_294_967_280;
        assert_eq!(
            region.before(&at(Space::Global, wrapped)),
            Some((64, Some(4_294_967_280)))
        );
        assert_eq!(
            region.before(&at(Space::Shared, 0xffff_fffc)),
            Some((68, None))
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

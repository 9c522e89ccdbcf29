//! Copies and memsets are accesses: kernels of our own, with checks and without the accesses themselves, stand for them on their streams.
//!
//! As long as a program uses one stream they are ordered with everything, and only noted. What is noted is checked when work comes on
//! another stream that does not follow it.

use crate::launches::current_device;
use crate::order::StreamName;
use crate::real_driver::real;
use crate::state::{Copies, Kernel, Launched, Loaded, Noted, Range, State};
use instrument::layout::Launch;
use ptx::ast::{Item, Stmt};
use report::SourceFile;
use std::ffi::{CStr, CString, c_void};
use std::sync::{Arc, Mutex};

/// Threads that go through rows of memory, word by word: `words` in all, `row` a row, one row every `pitch` bytes.
fn kernel(name: &str, access: &str) -> String {
    format!(
        ".visible .entry {name}(.param .u64 at, .param .u64 words, .param .u64 row, .param .u64 pitch)
{{
.reg .b64 %rd<12>; .reg .b32 %r<6>; .reg .pred %p<2>;
ld.param.u64 %rd1, [at];
ld.param.u64 %rd2, [words];
ld.param.u64 %rd7, [row];
ld.param.u64 %rd8, [pitch];
cvta.to.global.u64 %rd1, %rd1;
mov.u32 %r1, %ctaid.x;
mov.u32 %r2, %ntid.x;
mov.u32 %r3, %tid.x;
mul.wide.u32 %rd3, %r1, %r2;
cvt.u64.u32 %rd4, %r3;
add.s64 %rd3, %rd3, %rd4;
mov.u32 %r4, %nctaid.x;
mul.wide.u32 %rd5, %r4, %r2;
mov.b32 %r5, 0;
NEXT:
setp.ge.u64 %p1, %rd3, %rd2;
@%p1 bra DONE;
div.u64 %rd9, %rd3, %rd7;
mul.lo.u64 %rd10, %rd9, %rd7;
sub.u64 %rd10, %rd3, %rd10;
shl.b64 %rd6, %rd10, 2;
mad.lo.u64 %rd6, %rd9, %rd8, %rd6;
add.s64 %rd6, %rd1, %rd6;
{access};
add.s64 %rd3, %rd3, %rd5;
bra NEXT;
DONE:
ret;
}}
"
    )
}

/// The most that are noted: the oldest is checked before another one is.
const NOTED: usize = 256;
const GRID: [u32; 3] = [128, 1, 1];
const BLOCK: [u32; 3] = [256, 1, 1];

impl State {
    /// A copy or memset is about to be issued. `handle`: its stream, as the program names it.
    pub fn copies(&mut self, name: &'static str, handle: usize, stream: StreamName, all: &[Range]) {
        let Some(shadow) = &self.shadow else {
            return;
        };
        if current_device() != Some(shadow.device) {
            return;
        }
        // Whole words of memory that has a shadow.
        let mut odd = false;
        let mut words = |range: &Range| {
            let (at, bytes) = (range.at, range.bytes);
            let (first, end) = (at.checked_next_multiple_of(4)?, at.checked_add(bytes)? & !3);
            // Rows that lie on one another are refused.
            if range.rows > 1 && range.pitch < bytes {
                return None;
            }
            let last = range.rows.checked_sub(1)?.checked_mul(range.pitch)?;
            let known = first < end
                && shadow.is_covered(first)
                && shadow.is_covered(end.checked_add(last)? - 1);
            let aligned = range.rows == 1 || range.pitch.is_multiple_of(4);
            odd |= known && !aligned;
            (known && aligned).then_some(Range {
                at: first,
                bytes: end - first,
                ..*range
            })
        };
        let ranges: Vec<Range> = all.iter().filter_map(&mut words).collect();
        if odd {
            self.doubt("copies of rows that do not begin at words were not watched".to_owned());
        }
        if ranges.is_empty() {
            return;
        }
        self.follow_copies(stream);
        if self.order.is_alone(stream) {
            let stamp = self.order.operation(stream);
            if self.noted.len() == NOTED {
                let order = &self.order;
                self.noted.retain(|noted| !order.is_done(&noted.stamp));
            }
            if self.noted.len() == NOTED {
                let oldest = self.noted.remove(0);
                self.check_noted(oldest);
            }
            let noted = Noted {
                stamp,
                name,
                ranges,
            };
            self.noted.push(noted);
            return;
        }
        if let Some(number) = self.next_number() {
            let changed = self.order.launch(number, stream);
            self.tell_concurrent(changed.as_deref());
            self.check_copy(name, number, handle, &ranges);
        }
    }

    /// Work comes on a stream: copies that it does not follow are checked now, as of before it.
    pub fn follow_copies(&mut self, stream: StreamName) {
        if self.noted.is_empty() {
            return;
        }
        let order = &mut self.order;
        self.noted.retain(|noted| !order.is_done(&noted.stamp));
        let unordered = self
            .noted
            .extract_if(.., |n| !order.follows(stream, &n.stamp));
        for noted in unordered.collect::<Vec<_>>() {
            self.check_noted(noted);
        }
    }

    /// Checks a copy that was noted, as of when it was issued.
    fn check_noted(&mut self, noted: Noted) {
        let Some(own) = self.shadow.as_ref().map(|s| s.stream) else {
            return;
        };
        let Some(number) = self.next_number() else {
            return;
        };
        let changed = self.order.launch_at(number, noted.stamp);
        self.tell_concurrent(changed.as_deref());
        self.check_copy(noted.name, number, own, &noted.ranges);
        if let Some(shadow) = &self.shadow {
            shadow.wait();
        }
    }

    fn check_copy(&mut self, name: &'static str, number: u32, handle: usize, ranges: &[Range]) {
        if self.copies.is_none() {
            self.copies = self.load_copies();
        }
        let (Some(copies), Some(shadow)) = (&self.copies, &self.shadow) else {
            self.doubt("copies and memsets were not watched".to_owned());
            return;
        };
        for range in ranges {
            let kernel = match range.writes {
                true => &copies.writes,
                false => &copies.reads,
            };
            let loaded = kernel
                .module
                .as_ref()
                .map(|(_, loaded)| &loaded.checked.kernels);
            let known = loaded.and_then(|all| all.iter().find(|k| k.name == kernel.name));
            let Some(known) = known else {
                continue;
            };
            let mut config = Launch {
                config: shadow.config,
                number,
                concurrent: true,
                shared_shift: 2,
                module: copies.module as u32,
                floor: self.order.floor(number),
                plain_pages: match shadow.shift == 2 {
                    true => shadow.pages,
                    false => 0,
                },
                ..Launch::default()
            }
            .bytes(&known.read_only);
            let (mut at, mut row, mut pitch) = (range.at, range.bytes / 4, range.pitch);
            let mut words = row * range.rows;
            let mut params: [*mut c_void; 5] = [
                (&raw mut at).cast(),
                (&raw mut words).cast(),
                (&raw mut row).cast(),
                (&raw mut pitch).cast(),
                config.as_mut_ptr().cast(),
            ];
            let function = copies.handles[usize::from(range.writes)];
            let nothing = std::ptr::null_mut::<*mut c_void>();
            real!(cuLaunchKernel(function => usize, GRID[0] => u32, 1 => u32, 1 => u32, BLOCK[0] => u32, 1 => u32, 1 => u32, 0 => u32, handle => usize, params.as_mut_ptr() => *mut *mut c_void, nothing => *mut *mut c_void));
            self.launched[number as usize] = Some(Launched {
                kernel: kernel.clone(),
                grid: GRID,
                block: BLOCK,
                number: 0,
                call: Some(name),
            });
        }
    }

    fn load_copies(&mut self) -> Option<Copies> {
        let header = ".version 7.0\n.target sm_75\n.address_size 64\n";
        let text = header.to_owned()
            + &kernel("reads", "ld.global.b32 %r5, [%rd6]")
            + &kernel("writes", "st.global.b32 [%rd6], %r5");
        let tree = ptx::parse(&text).ok()?;
        let mut checked = instrument::instrument(&tree).ok()?;
        for item in &mut checked.module.items {
            if let Item::Function(function) = item
                && ["reads", "writes"].contains(&function.name.as_str())
                && let Some(body) = &mut function.body
            {
                // The checks stay: they are blocks.
                body.retain(|s| !matches!(s, Stmt::Instruction(i) if i.has("global") && ["ld", "st"].contains(&i.opcode.as_str())));
            }
        }
        let printed = CString::new(ptx::print(&checked.module)).ok()?;
        let mut module = 0usize;
        if real!(cuModuleLoadData(&mut module => *mut usize, printed.as_ptr() => *const libc::c_char))
            != 0
        {
            return None;
        }
        let number = self.loaded.len();
        let loaded = Arc::new(Loaded {
            tree,
            text: Arc::new(SourceFile::new("kernels.ptx".to_owned(), text)),
            checked,
            programs: Mutex::default(),
        });
        self.loaded.push(loaded.clone());
        let mut handles = [0usize; 2];
        let names: [&CStr; 2] = [c"reads", c"writes"];
        for (handle, name) in handles.iter_mut().zip(names) {
            real!(cuModuleGetFunction(handle => *mut usize, module => usize, name.as_ptr() => *const libc::c_char));
        }
        let kernel = |name: &str| {
            Arc::new(Kernel {
                name: name.to_owned(),
                module: Some((number, loaded.clone())),
                of_library: false,
            })
        };
        Some(Copies {
            module: number,
            reads: kernel("reads"),
            writes: kernel("writes"),
            handles,
        })
    }
}

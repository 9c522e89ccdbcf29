//! Messages between blocks of two threads: barriers of the block between flag and data, flags that are read-modify-writes, fences of too
//! narrow a scope. The expected outcomes are what the axioms allow: `detect`'s enumeration, for the same shapes, has them as racy or not.

use super::program::run_ptx;
use std::collections::BTreeSet;

/// What the reader of a message got, over many weak schedules: 0 is old, 1 is new. 7 where it did not see the flag.
///
/// Each block has two warps. Of the first block one thread writes the data and the flag; of the second one thread reads the flag, and
/// after the barrier one reads the data.
fn read(writer: &str, flag: &str, reader: &str, between: &str, by_the_same: bool) -> BTreeSet<u32> {
    let others = if by_the_same { "!p2" } else { "p2" };
    let ptx = format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n\
         .visible .entry message(.param .u64 memory) {{\n\
         .reg .b32 %r<8>; .reg .b64 %x; .reg .pred p1, p2, p3; .shared .b32 seen;\n\
         ld.param.u64 %x, [memory]; cvta.to.global.u64 %x, %x;\n\
         mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r5, 7;\n\
         setp.eq.u32 p1, %r1, 0; setp.eq.u32 p2, %r2, 0;\n\
         @!p1 bra READS;\n\
         @!p2 bra END;\n\
         st.volatile.global.u32 [%x], 1;\n{writer}\n{flag}\n\
         bra END;\n\
         READS:\n\
         @!p2 bra MEET;\n\
         atom.relaxed.gpu.global.add.u32 %r3, [%x+64], 0;\n{reader}\n\
         st.shared.u32 [seen], %r3;\n\
         MEET:\n\
         bar.sync 0;\n\
         @{others} bra END;\n\
         ld.shared.u32 %r3, [seen];\n\
         setp.eq.u32 p3, %r3, 0; @p3 bra END;\n{between}\n\
         ld.volatile.global.u32 %r5, [%x];\n\
         st.global.u32 [%x+128], %r5;\n\
         END:\n\
         ret;\n}}\n"
    );
    (0..200)
        .map(|seed| run_ptx(&ptx, (2, 64), seed, 128))
        .collect()
}

const RMW: &str = "atom.relaxed.gpu.global.add.u32 %r4, [%x+64], 1;";
const STORE: &str = "st.relaxed.gpu.global.u32 [%x+64], 1;";

#[test]
fn a_flag_that_is_a_relaxed_read_modify_write_hides_no_old_data_behind_a_barrier() {
    for flag in [RMW, STORE] {
        for by_the_same in [true, false] {
            let got = read("", flag, "", "", by_the_same);
            assert!(got.contains(&0) && got.contains(&1), "{flag} {got:?}");
            // A fence on the reader's side alone.
            let got = read("", flag, "fence.acq_rel.gpu;", "", by_the_same);
            assert!(got.contains(&0), "{flag} {got:?}");
            // A scope that is too narrow.
            let got = read(
                "fence.acq_rel.cta;",
                flag,
                "fence.acq_rel.gpu;",
                "",
                by_the_same,
            );
            assert!(got.contains(&0), "{flag} {got:?}");
            // Not shown, because the programming guide's last block is so: a fence on the writer's side alone.
            let got = read("fence.acq_rel.gpu;", flag, "", "", by_the_same);
            assert!(!got.contains(&0), "{flag} {got:?}");
        }
    }
}

#[test]
fn fences_on_both_sides_hide_old_data() {
    for flag in [RMW, STORE] {
        for by_the_same in [true, false] {
            let got = read(
                "fence.acq_rel.gpu;",
                flag,
                "fence.acq_rel.gpu;",
                "",
                by_the_same,
            );
            assert!(!got.contains(&0) && got.contains(&1), "{flag} {got:?}");
            // `fence.sc` orders through the barrier, and from behind it.
            let got = read("fence.sc.gpu;", flag, "", "fence.sc.gpu;", by_the_same);
            assert!(!got.contains(&0) && got.contains(&1), "{flag} {got:?}");
        }
    }
}

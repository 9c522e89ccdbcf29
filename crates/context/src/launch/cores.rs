//! How many cores a launch is worth, and whether its blocks may run side by side.

use crate::context::Context;
use crate::operation::{Request, volume};
use detect::finding::Finding;
use detect::rules::Rule;

/// Whether what was found in a launch shows that the order of its blocks changes nothing.
///
/// Where no result of a strong operation on global memory is used ([`blocks_commute`](simt::program::Facts::blocks_commute)), nothing orders threads of different blocks: whatever two
/// of them do to each other is a finding. Equal values are equal in any order, and an access that is wrong by itself is so in any order.
pub(super) fn independent(program: &simt::Program, findings: &[Finding]) -> bool {
    let harmless = |f: &Finding| {
        matches!(
            f.rule,
            Rule::SameValueWrite
                | Rule::UninitializedRead
                | Rule::OutOfBounds
                | Rule::MisalignedAccess
        )
    };
    program.facts.blocks_commute && findings.iter().all(harmless)
}

/// Warp-instructions that a launch of so many warps is guessed to take, after `earlier` launches of the kernel that took `steps` together, with
/// so many bytes in use.
fn guessed_steps(warps: u64, steps: u64, earlier: u64, loops: bool, in_use: u64) -> u64 {
    /// Of a warp, as long as there is no better guess.
    const SHORT: u64 = 16;
    /// The same where there are loops.
    const LONG: u64 = 1 << 10;
    /// Bytes that a warp reads in so many instructions as it takes to read a word and to do something with it.
    const READ: u64 = 32;
    if earlier == 0 && loops {
        // A few blocks may go over all of the data.
        return warps.saturating_mul(LONG).max(in_use / READ);
    }
    (steps / earlier.max(1)).max(warps.saturating_mul(SHORT))
}

impl Context {
    /// Cores that a launch is dealt out to. Threads are started, and mostly a copy of the memory is made first, so that it has to be worth it.
    /// What nobody watches runs on several cores only where all watched launches of the kernel showed that its blocks are independent.
    pub(super) fn cores(&mut self, request: &Request, watched: bool) -> usize {
        /// Warp-instructions that take as long as starting the threads, with room to spare.
        const WORTH: u64 = 1 << 15;
        /// Those of a core, for which it is worth starting a thread.
        const SHARE: u64 = 1 << 13;
        if self.options.jobs < 2
            || !watched && !self.launches.independent.contains(&request.kernel.id)
        {
            return 1;
        }
        let [blocks, threads] = [request.grid, request.block].map(volume);
        let warps = blocks.saturating_mul(threads.div_ceil(32));
        let totals = self.findings.totals_of(&request.kernel);
        let (before, earlier) = (totals.steps, totals.launches - 1);
        let loops = request.kernel.program.has_loops();
        let steps = guessed_steps(warps, before, earlier, loops, self.memory.device.in_use());
        // Who watches may find that the launch has to run again; so may who takes turns. See `simt::launch`.
        let copied = match watched || request.kernel.program.facts.order_sources {
            true => self.memory.device.in_use() / 4,
            false => 0,
        };
        let copying = copied / 4 / self.options.jobs.min(4) as u64;
        match steps >= WORTH && copying <= steps {
            true => self.options.jobs.min((steps / SHARE) as usize),
            false => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_launch_is_guessed_by_its_loops_and_the_next_ones_by_the_first() {
        // 132 blocks of 8 warps that go over 1.5 GB, and one that adds two rows of numbers.
        assert!(guessed_steps(1056, 0, 0, true, 1_500 << 20) > 10_000_000);
        assert!(guessed_steps(1056, 0, 0, true, 4096) > 1 << 20);
        assert_eq!(guessed_steps(1056, 0, 0, false, 1_500 << 20), 16 * 1056);
        assert_eq!(guessed_steps(1056, 50_000, 2, true, 1_500 << 20), 25_000);
        assert_eq!(guessed_steps(1056, 10, 1, true, 1_500 << 20), 16 * 1056);
        assert!(program("L:\nst.volatile.global.b32 [%rd1], %r1;\nbra L;").has_loops());
        assert!(!program("bra L;\nst.volatile.global.b32 [%rd1], %r1;\nL:").has_loops());
    }

    fn program(body: &str) -> simt::Program {
        let text = format!(
            ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n.reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n\
             ld.param.u64 %rd1, [p];\n{body}\nret;\n}}\n"
        );
        let tree = ptx::parse(&text).unwrap();
        simt::Program::lower(&tree, &text, "k").unwrap()
    }

    fn finding(rule: Rule) -> Finding {
        Finding {
            rule,
            ends: Vec::new(),
            place: None,
            detail: detect::finding::Detail::None,
            count: 1,
            stale_loads: Vec::new(),
        }
    }

    #[test]
    fn a_launch_on_one_core_shows_that_its_blocks_are_independent() {
        let plain = program("st.global.u32 [%rd1], 1;");
        assert!(independent(&plain, &[]));
        let harmless = [Rule::SameValueWrite, Rule::UninitializedRead].map(finding);
        assert!(independent(&plain, &harmless));
        assert!(!independent(&plain, &[finding(Rule::DataRace)]));
        // One block may see what another one has done, and be ordered behind it.
        let reads = program("ld.acquire.gpu.global.u32 %r1, [%rd1];");
        assert!(!independent(&reads, &[]));
        let counts = program("atom.global.add.u32 %r1, [%rd1], 1; st.global.u32 [%rd1+4], %r1;");
        assert!(!independent(&counts, &[]));
    }
}

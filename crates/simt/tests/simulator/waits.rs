//! Launches that wait for memory which somebody else writes.

use ptx::parser::parse;
use simt::observer::NullObserver;
use simt::*;

/// Polls a word until it is not zero, with what comes after each look, and stores it behind.
fn polling(after: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n
        .visible .entry k(.param .u64 p) {{
            .reg .u64 %rd<4>; .reg .u32 %r<6>; .reg .pred %p<3>;
            ld.param.u64 %rd1, [p];
            mov.u32 %r2, 0;
        $L:
            {after}
            ld.volatile.global.u32 %r1, [%rd1];
            setp.eq.u32 %p1, %r1, 0;
            @%p1 bra $L;
            mov.u32 %r4, %ctaid.x;
            mul.wide.u32 %rd2, %r4, 4;
            add.u64 %rd3, %rd1, %rd2;
            st.global.u32 [%rd3+4], %r1;
            ret;
        }}"
    )
}

/// A launch of two warps a block, with a buffer of zeros.
pub struct Waiter {
    device: Device,
    program: Program,
    how: Launch,
    at: u64,
}

const LIMITS: Limits = Limits {
    steps: 20_000_000,
    memory: 2 << 30,
    wall: None,
    others: Others::InTurn,
    pause: simt::Pause::Nowhere,
    engine: Engine::Fast,
    live: None,
};

pub type Ended = Result<Stats, (Stop, Option<Box<Waiting>>)>;

impl Waiter {
    pub fn new(ptx: &str, blocks: u32) -> Waiter {
        let module = parse(ptx).unwrap_or_else(|e| panic!("{e}"));
        let program = Program::lower(&module, ptx, "k").unwrap_or_else(|e| panic!("{e}"));
        let mut device = Device::new(1 << 28);
        let at = device.alloc(4096, "buffer").unwrap();
        device.write(at, &[0; 4096]).unwrap();
        let how = Launch {
            cluster: None,
            grid: Dim3::linear(blocks),
            block: Dim3::linear(64),
            dynamic_shared: 0,
            params: at.to_le_bytes().to_vec(),
            cooperative: false,
            number: 0,
        };
        Waiter {
            device,
            program,
            how,
            at,
        }
    }

    pub fn launch(&mut self, limits: &Limits) -> Ended {
        let schedule = ScheduleSpec::Lockstep;
        let (device, nobody) = (&mut self.device, &mut NullObserver);
        launch_or_wait(
            device,
            &self.program,
            &self.how,
            &schedule,
            limits,
            1,
            nobody,
        )
    }

    fn resume(&mut self, waiting: Box<Waiting>, prove: bool) -> Ended {
        let (device, nobody) = (&mut self.device, &mut NullObserver);
        waiting.resume(device, &self.program, &self.how, &LIMITS, prove, nobody)
    }
}

fn aside(ended: Ended) -> Box<Waiting> {
    ended.expect_err("it waits").1.expect("and was put aside")
}

#[test]
fn a_launch_that_polls_is_put_aside_and_goes_on() {
    for blocks in [1, 5] {
        let mut waiter = Waiter::new(&polling(""), blocks);
        let waiting = aside(waiter.launch(&LIMITS));
        assert_eq!(waiting.polled().count(), 1);
        assert!(!waiting.may_go_on(&waiter.device));
        waiter.device.write(waiter.at, &7u32.to_le_bytes()).unwrap();
        assert!(waiting.may_go_on(&waiter.device));
        assert!(waiter.resume(waiting, false).is_ok());
        let stored = waiter.device.read(waiter.at + 4 * u64::from(blocks), 4);
        assert_eq!(stored.unwrap(), 7u32.to_le_bytes(), "{blocks} blocks");
    }
}

#[test]
fn that_it_waits_for_ever_is_known_from_its_state() {
    let mut waiter = Waiter::new(&polling(""), 2);
    let waiting = aside(waiter.launch(&LIMITS));
    assert!(!waiting.is_for_ever(), "nobody has asked");
    let waiting = aside(waiter.resume(waiting, true));
    assert!(waiting.is_for_ever());
    waiter.device.write(waiter.at, &1u32.to_le_bytes()).unwrap();
    assert!(waiter.resume(waiting, true).is_ok());
}

#[test]
fn a_launch_that_counts_while_it_polls_may_end_by_itself() {
    let counts = "add.u32 %r2, %r2, 1; setp.gt.u32 %p2, %r2, 100000; @%p2 ret;";
    let mut waiter = Waiter::new(&polling(counts), 1);
    let mut ended = waiter.launch(&LIMITS);
    for _ in 0..1000 {
        ended = match ended {
            Err((_, Some(waiting))) => {
                assert!(!waiting.is_for_ever());
                waiter.resume(waiting, true)
            }
            other => other,
        };
    }
    assert!(ended.is_ok());
}

#[test]
fn nothing_is_put_aside_where_it_may_not_be() {
    let mut waiter = Waiter::new(&polling(""), 1);
    let limits = Limits {
        others: Others::AnyTime,
        ..LIMITS
    };
    let (stop, waiting) = waiter.launch(&limits).unwrap_err();
    assert!(matches!(stop, Stop::NoProgress { .. }));
    assert!(waiting.is_none());
}

#[test]
fn a_launch_that_reads_on_and_on_is_not_put_aside() {
    // It sums up so much memory that a pass over its warps does not come to the end.
    let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n
        .visible .entry k(.param .u64 p) {
            .reg .u64 %rd<6>; .reg .u32 %r<6>; .reg .pred %p<3>;
            ld.param.u64 %rd1, [p];
            mov.u32 %r2, 0; mov.u32 %r3, 0;
        $L:
            and.b32 %r4, %r2, 1048575;
            mul.wide.u32 %rd2, %r4, 4;
            add.u64 %rd3, %rd1, %rd2;
            ld.global.u32 %r1, [%rd3+4096];
            add.u32 %r3, %r3, %r1;
            add.u32 %r2, %r2, 1;
            setp.lt.u32 %p1, %r2, 200000;
            @%p1 bra $L;
            st.global.u32 [%rd1+4], %r3;
            ret;
        }";
    let mut waiter = Waiter::new(ptx, 1);
    let more = waiter.device.alloc(8 << 20, "more").unwrap();
    waiter.device.write(more, &vec![1; 8 << 20]).unwrap();
    waiter.how.params = more.to_le_bytes().to_vec();
    assert!(waiter.launch(&LIMITS).is_ok());
}

/// Each block waits for the next one, looking once between two barriers: none ever uses up a turn. The last block has to come to run all the
/// same, and soon.
#[test]
fn blocks_that_wait_from_barrier_to_barrier_get_what_they_wait_for() {
    let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n
        .visible .entry k(.param .u64 p) {
            .reg .u64 %rd<4>; .reg .u32 %r<6>; .reg .pred %p<3>; .shared .align 4 .b8 s[4];
            ld.param.u64 %rd1, [p];
            mov.u32 %r1, %ctaid.x;
            mul.wide.u32 %rd2, %r1, 4;
            add.u64 %rd3, %rd1, %rd2;
            mov.u32 %r2, %tid.x;
            setp.ne.u32 %p1, %r2, 0;
            setp.eq.u32 %p2, %r1, 39;
            @%p2 bra $DONE;
        $L:
            @%p1 bra $NEXT;
            ld.volatile.global.u32 %r3, [%rd3+4];
            st.shared.u32 [s], %r3;
        $NEXT:
            bar.sync 0;
            ld.shared.u32 %r4, [s];
            bar.sync 0;
            setp.eq.u32 %p2, %r4, 0;
            @%p2 bra $L;
        $DONE:
            @%p1 bra $END;
            st.volatile.global.u32 [%rd3], 1;
        $END:
            ret;
        }";
    let mut waiter = Waiter::new(ptx, 40);
    let stats = launch_unwatched(
        &mut waiter.device,
        &waiter.program,
        &waiter.how,
        &ScheduleSpec::Lockstep,
        &Limits {
            others: Others::AnyTime,
            ..LIMITS
        },
        1,
    );
    let steps = stats.expect("it ends").steps;
    assert!(steps < 1_000_000, "{steps} steps");
}

//! Launches on both engines: that both run, that memory is what one run leaves, and that a difference ends the launch.

use crate::run::Run;
use simt::observer::{Events, Joined, Observer, WarpRef};
use simt::*;

/// Each thread counts itself in one word.
const COUNT: &str = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 out) {\n\
    .reg .b64 %x; ld.param.u64 %x, [out]; red.global.add.u32 [%x], 1; ret; }\n";

/// Counts threads that exit; its twin says that it has seen one more, where that is asked for.
struct Exits {
    seen: u32,
    wrongly: bool,
}

impl Events for Exits {
    fn exits(&mut self, _: WarpRef, mask: u32, _: ids::Site) {
        self.seen += mask.count_ones();
    }
}

impl Observer for Exits {
    fn fork(&self) -> Exits {
        Exits { ..*self }
    }
    fn join(&mut self, _: Vec<Exits>) -> Joined {
        Joined::Conflict
    }
    fn twin(&self) -> Option<Exits> {
        let seen = self.seen + u32::from(self.wrongly);
        Some(Exits { seen, ..*self })
    }
    fn difference(&mut self, twin: Exits) -> Option<String> {
        (self.seen != twin.seen).then(|| format!("{} and {}", self.seen, twin.seen))
    }
}

fn launched(wrongly: bool) -> (Result<Stats, Stop>, u32, u32) {
    let mut run = Run::of(COUNT);
    let out = run.buffer(&[0]);
    let how = Launch {
        cluster: None,
        grid: Dim3::linear(3),
        block: Dim3::linear(50),
        dynamic_shared: 0,
        params: out.to_le_bytes().to_vec(),
        cooperative: false,
        number: 0,
    };
    let limits = Limits {
        engine: Engine::Both,
        ..Limits::default()
    };
    let mut observer = Exits { seen: 0, wrongly };
    let schedule = ScheduleSpec::Lockstep;
    let Run {
        device, program, ..
    } = &mut run;
    let ended = launch(device, program, &how, &schedule, &limits, 1, &mut observer);
    let count = run.words(out, 1)[0];
    (ended, observer.seen, count)
}

#[test]
fn memory_is_what_one_of_two_equal_runs_leaves() {
    let (ended, seen, count) = launched(false);
    assert!(ended.is_ok(), "{ended:?}");
    assert_eq!([seen, count], [150, 150]);
}

#[test]
fn a_difference_ends_the_launch() {
    let (ended, ..) = launched(true);
    assert_eq!(ended, Err(Stop::EnginesDiffer("150 and 151".into())));
}

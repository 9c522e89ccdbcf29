//! Three kernels on the simulator, with race detection and without, kernel time alone.
//!
//! `cargo bench --bench kernels` prints, for each kernel, the time of one launch on one core and
//! on all cores. The same kernels in OpenCL run under Oclgrind with
//! `benches/oclgrind.sh`, which prints the ratios side by side.

mod setup;

use divan::Bencher;
use racetrap_detect::Detectors;
use setup::Setup;
use simt::observer::{NullObserver, Observer};
use simt::*;

fn histogram() -> Setup {
    let ptx = include_str!("../../../benches/kernels/histogram.sm_75.ptx");
    Setup::new(
        ptx,
        Dim3::linear(32),
        Dim3::linear(256),
        &[1 << 20, 0, 256],
        &[(1, 1 << 20)],
    )
}

fn scan() -> Setup {
    let ptx = include_str!("../../../benches/kernels/scan.sm_75.ptx");
    Setup::new(
        ptx,
        Dim3::linear(64),
        Dim3::linear(1024),
        &[1 << 16, 1 << 16],
        &[],
    )
}

fn matmul() -> Setup {
    let ptx = include_str!("../../../benches/kernels/matmul.sm_75.ptx");
    let square = 128 * 128;
    let (grid, block) = (Dim3 { x: 8, y: 8, z: 1 }, Dim3 { x: 16, y: 16, z: 1 });
    Setup::new(ptx, grid, block, &[square, square, square, 0], &[(3, 128)])
}

fn run<O: Observer>(bencher: Bencher, setup: fn() -> Setup, jobs: usize, observer: fn() -> O) {
    let mut s = setup();
    bencher.bench_local(|| {
        let limits = Limits {
            steps: u64::MAX,
            ..Limits::default()
        };
        let schedule = ScheduleSpec::Lockstep;
        let mut o = observer();
        launch(
            &mut s.device,
            &s.program,
            &s.launch,
            &schedule,
            &limits,
            jobs,
            &mut o,
        )
        .expect("it ends")
    });
}

macro_rules! kernel {
    ($name:ident, $setup:ident) => {
        mod $name {
            use super::*;

            #[divan::bench(args = [1, 2])]
            fn plain(bencher: Bencher, cores: usize) {
                run(bencher, $setup, cores, || NullObserver);
            }

            #[divan::bench(args = [1, 2])]
            fn races(bencher: Bencher, cores: usize) {
                run(bencher, $setup, cores, || Detectors::new(false));
            }
        }
    };
}

kernel!(histogram_1mi_elements_32x256, histogram);
kernel!(hillis_steele_64x1024_10_steps, scan);
kernel!(matmul_tiled_n_128, matmul);

fn main() {
    divan::main();
}

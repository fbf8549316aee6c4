# Two images: the webhook, which is also the command, and what rides along in pods.
# Nothing in them depends on the processor: build for linux/amd64 and linux/arm64.
#   docker buildx build --platform linux/amd64,linux/arm64 --target webhook .

# Base images are pinned by the digest of their multi-architecture index, as the Docker official
# images record it (github.com/docker-library/repo-info, repos/*/remote). Dependabot renews them.
FROM node:24-bookworm-slim@sha256:235600a8101ab264e117b1768e925532262668dc9b581ef1dd7d96ced463b8e7 AS node

FROM node AS build
WORKDIR /app
COPY package.json package-lock.json ./
# No package needs a script of its own to be installed; the image brings Node itself.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY certs certs
COPY src src
COPY webhook webhook
RUN npm run build && npm prune --omit=dev --ignore-scripts --no-audit --no-fund

FROM node AS webhook
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
# A number, so that a kubelet can tell that it is not root.
USER 65532:65532
ENV NODE_ENV=production
ENTRYPOINT ["node", "/app/dist/src/cli/main.js"]
CMD ["--help"]

# What runs in a pod, as whatever user its target is, on a read-only root: gawk and sysstat are Debian's, and
# nothing is fetched when it runs.
FROM debian:bookworm-slim@sha256:abd67ffcfa541b485a3dff59865ab629aa048a6c613e639d36e7456b0b229241 AS observer
RUN apt-get update \
  && apt-get install -y --no-install-recommends gawk sysstat \
  && rm -rf /var/lib/apt/lists/*
COPY observers/ /usr/local/lib/ridealong/
RUN ln -s /usr/local/lib/ridealong/perf-sysstat /usr/local/lib/ridealong/io-sysstat /usr/local/bin/
USER 65532:65532
CMD ["perf-sysstat"]

# Two images: the webhook, which is also the command, and what rides along in pods. Both are built
# for linux/amd64 and linux/arm64:
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

# The observers' program, compiled on the builder's own processor for the image's, with nothing to
# load when it starts.
FROM --platform=$BUILDPLATFORM rust:1-bookworm@sha256:593db038d36ea0d2e5b22a2e095eb95dbec607d88d658c2f35f65ee880b4f93a AS program
ARG TARGETARCH
WORKDIR /app
COPY observer/build.sh ./
RUN ./build.sh prepare "$TARGETARCH"
COPY observer/ ./
RUN ./build.sh install "$TARGETARCH" /image/usr/local/bin

# What runs in a pod: the program under each of its names, and no other file. It has no user, so
# that an observer is the same user as a target of which the pod names none.
FROM scratch AS observer
COPY --from=program /image/ /
ENV PATH=/usr/local/bin
CMD ["perf-sysstat"]

# The observers' image: what runs in a pod, as whatever user its target is, on a read-only root. gawk and
# sysstat are Debian's, for amd64 and arm64 alike; nothing is fetched when it runs.
FROM debian:bookworm-slim AS observer
RUN apt-get update \
  && apt-get install -y --no-install-recommends gawk sysstat \
  && rm -rf /var/lib/apt/lists/*
COPY observers/ /usr/local/lib/ridealong/
RUN ln -s /usr/local/lib/ridealong/perf-sysstat /usr/local/lib/ridealong/io-sysstat /usr/local/bin/
USER 65532:65532
CMD ["perf-sysstat"]

# The header of a log, in the Metrics Operator's keys (pkg/metadata/metadata.go) and the observer's own.

function print_metadata(description, more,    place) {
  place = member("pod", ENVIRON["POD_NAME"]) member("namespace", ENVIRON["POD_NAMESPACE"]) \
    member("node", ENVIRON["NODE_NAME"]) member("owner", ENVIRON["RIDEALONG_OWNER"]) \
    member("completionIndex", ENVIRON["JOB_COMPLETION_INDEX"]) member("container", TARGET_CONTAINER) \
    member("targetCommand", TARGET_COMMAND) member("mode", ENVIRON["RIDEALONG_MODE"]) \
    member("catalog", ENVIRON["RIDEALONG_CATALOG"]) member("started", strftime("%Y-%m-%dT%H:%M:%SZ", systime(), 1))
  emit("METADATA START {\"pods\":1,\"metricName\":\"" METRIC "\",\"metricDescription\":" quote(description) \
    ",\"metricOptions\":{" options_json() "}" place more "}")
  emit("METADATA END")
}

function options_json() {
  return "\"rate\":" RATE ",\"completions\":" COMPLETIONS ",\"max-log\":" BUDGET / 1048576 \
    (METRIC == "perf-sysstat" ? ",\"timeout\":" TIMEOUT ",\"threads\":" (HAS_THREADS ? "true" : "false") : "")
}

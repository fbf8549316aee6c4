# What the observer is asked: the environment that the webhook gives it, checked again, since
# anybody can write a container that runs this program.

function read_options(metric) {
  METRIC = metric
  HERTZ = ENVIRON["RIDEALONG_HERTZ"] + 0
  if (HERTZ == 0) HERTZ = 100
  PROBLEM = metric == "perf-sysstat" ? ENVIRON["RIDEALONG_PROBLEM"] : ""
  TARGET_CONTAINER = ENVIRON["RIDEALONG_TARGET_CONTAINER"]
  TARGET_COMMAND = ENVIRON["RIDEALONG_TARGET_COMMAND"]
  if (PROBLEM != "") PROBLEM = "target-command is no regular expression: " PROBLEM
  RATE = option("rate", 10, 0.1)
  COMPLETIONS = option("completions", 0, 0)
  TIMEOUT = option("timeout", 0, 0)
  HAS_THREADS = ENVIRON["RIDEALONG_OPTION_THREADS"] == "true"
  # It ends by itself where nobody would start it again.
  ENDS_ITSELF = ENVIRON["RIDEALONG_MODE"] == "container" && ENVIRON["RIDEALONG_RESTART_POLICY"] ~ /^(Never|OnFailure)$/
  set_budget(option("max-log", 8, 0.05))
  if (TARGET_CONTAINER == "") PROBLEM = "RIDEALONG_TARGET_CONTAINER must name a container of the pod"
}

# A number from the environment, or its default; PROBLEM has a sentence when it is none.
function option(name, otherwise, least,    text) {
  text = ENVIRON[variable_of(name)]
  if (text == "") return otherwise
  if (text ~ /^[0-9]{1,9}(\.[0-9]{1,3})?$/ && text >= least) return text + 0
  PROBLEM = name " is " quote(text) "; it must be a number, at least " least
  return otherwise
}

function variable_of(name) {
  name = toupper(name)
  gsub(/-/, "_", name)
  return "RIDEALONG_OPTION_" name
}

# Which container of the pod a process is in.

# The kubelet mounts /var/lib/kubelet/pods/UID/containers/NAME/ID at the path of the termination message
# (kubernetes pkg/kubelet/kuberuntime/kuberuntime_container.go, makeMounts), and /proc/PID/mountinfo is
# open to every user. "" where there is no such mount.
function container_of(pid,    text, parts) {
  text = slurp("/proc/" pid "/mountinfo")
  if (!match(text, /\/pods\/[^\/ ]+\/containers\/[^\/ ]+\/[^\/ ]+ /)) return ""
  split(substr(text, RSTART, RLENGTH), parts, "/")
  return parts[5]
}

# Where the kubelet's mount is missing, containers can be told apart by cgroup, without their names.
function cgroup_of(pid,    text) {
  text = slurp("/proc/" pid "/cgroup")
  gsub(/[ \n]+/, " ", text)
  return text
}

# What tells the containers of this pod apart, of a process: its name, or its cgroup.
function place_of(pid) {
  return HAS_NAMES ? container_of(pid) : cgroup_of(pid)
}

# Finds out where the observer itself is, and the others of the pod.
function read_own_place(    names, i) {
  HAS_NAMES = container_of("self") != ""
  # In the process namespace of one container, its process 1 is the application; in a shared one, the pod's own.
  IS_POD = HAS_NAMES && container_of(1) == ""
  OWN_PLACE = place_of("self")
  # Observers are told apart by their containers, whose names no process can change. The built-in ones may have
  # been attached later.
  for (i = split("perf-sysstat io-sysstat " ENVIRON["RIDEALONG_OBSERVERS"], names, " "); i > 0; i--) IS_OBSERVER[names[i]] = 1
  delete IS_OBSERVER[TARGET_CONTAINER]
  IS_OBSERVER[OWN_PLACE] = 1
  if (!HAS_NAMES) IS_OBSERVER[cgroup_of(1)] = 1
}

# Marks the container of an observer where names are missing: its first process has no parent in the pod.
function mark_observer(place, program, parent) {
  if (!HAS_NAMES && parent == 0 && program ~ /^(perf|io)-sysstat$/) IS_OBSERVER[place] = 1
}

# Whether this place is the one whose end is the observer's: the target container, or, where names
# are missing, any place but the observers' and the pod's own.
function is_target_place(place) {
  if (place == "" || place in IS_OBSERVER) return 0
  return !HAS_NAMES || place == TARGET_CONTAINER
}

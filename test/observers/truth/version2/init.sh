#!/bin/busybox sh
# Process 1 of the guest. It runs the pods of /pods, and writes what they left to the second disk.
/bin/busybox --install -s /bin
export PATH=/bin
root=/sys/fs/cgroup/kubepods

if [ ! -e /on-tmpfs ]; then
  # runc cannot change the root directory of the first file system of a kernel.
  mount -t tmpfs -o size=75% none /new
  cp -a /bin /lib /lib64 /modules /pods /init /new
  mkdir /new/proc /new/sys /new/dev /new/tmp /new/run
  : >/new/on-tmpfs
  exec switch_root /new /init
fi
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t cgroup2 cgroup /sys/fs/cgroup
while read -r module; do insmod "/modules/$module"; done </modules/order
echo '+cpu +io +memory +pids' >/sys/fs/cgroup/cgroup.subtree_control
mkdir "$root"
echo '+cpu +io +memory +pids' >"$root/cgroup.subtree_control"

# Starts a container as the kubelet does: with a file for its termination message.
start() {
  mkdir -p "/var/lib/kubelet/pods/$1/containers/$2" "/results/$1"
  : >"/var/lib/kubelet/pods/$1/containers/$2/0"
  runc run --detach --bundle "/pods/$1/$2" "$1-$2" </dev/null >"/results/$1/$2.log" 2>&1
}

# Waits until the application of a pod is ready, and keeps its accounts and the logs.
finish() {
  tries=0
  until grep -q ready "/results/$1/app.log" || [ "$tries" = 150 ]; do
    tries=$((tries + 1))
    sleep 1
  done
  # Several more rows of each observer.
  sleep 4
  for file in cpu.stat cpu.max cpu.pressure memory.stat memory.max memory.current memory.peak \
    memory.events memory.pressure io.stat io.pressure pids.current pids.max; do
    cp "$root/$1/app/$file" "/results/$1/$file"
  done
  for container in vitals pressure; do
    runc kill "$1-$container" TERM
    until [ -z "$(cat "$root/$1/$container/cgroup.procs")" ]; do sleep 1; done
    cp "/var/lib/kubelet/pods/$1/containers/$container/0" "/results/$1/$container.message"
  done
}

for pod in $(ls /pods); do
  mkdir "$root/$pod"
  for file in $(ls "/pods/$pod/cgroup"); do
    cat "/pods/$pod/cgroup/$file" >"$root/$pod/$file"
  done
  start "$pod" pause
  pause=$(runc state "$pod-pause" | sed -n 's/.*"pid": \([0-9]*\),/\1/p')
  for container in vitals pressure app; do
    sed -i "s|/proc/PAUSE/|/proc/$pause/|" "/pods/$pod/$container/config.json"
    start "$pod" "$container"
  done
  finish "$pod" &
done
wait
tar cf /dev/vdb -C /results .
poweroff -f

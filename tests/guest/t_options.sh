#!/bin/sh
# SPDX-License-Identifier: MIT
# The verifier of this kernel accepts the BPF programs of all events with the options that change
# their instructions: without any (t_bpf, t_probes and t_net have that), with stacks (t_stacks,
# t_net), a rate limit or conditions (t_probes, t_net), here all of them together, and each form
# of condition. A condition changes the programs of the events that have its field only, so
# one start has a condition for each of these.
# guest-test: timeout=400 needs=btf
# guest-test: files=build/tools/trace-ctl,build/examples/jobs,tests/guest/lib.sh
set -eu
. /tests/guest/lib.sh
cd "$(mktemp -d)"

load() {
	trace-ctl record -q -a --rate-limit=1000/s --stack "$@" -o rec -- true >out 2>&1 ||
		fail "record $*: $(cat out)"
	rm -r rec
}
probes='-e kprobe:do_exit -e uprobe:/usr/bin/jobs:main -e task:task_newtask'

load -e sched -e syscalls -e net $probes
load -e sched -e syscalls -e net -e task:task_newtask \
	--where 'prev_comm == "a*" || prev_comm == "b*"' --where 'filename == "/a*"' \
	--where 'bytes > 100' --where 'comm == "a*" && pid > 3'
load -e syscalls -e net --where 'ret == -ENOENT || ret == -EACCES' \
	--where 'remote == "10.*" && net_*:protocol == "udp"'
load -e syscalls --where 'flags & O_CREAT'
load -e syscalls --where 'flags & O_CREAT && ret < 0'
TSCTRACE_PROVIDER=embedded load -e sched -e syscalls -e net $probes --where 'ret < 0'

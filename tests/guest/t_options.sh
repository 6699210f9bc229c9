#!/bin/sh
# SPDX-License-Identifier: MIT
# The verifier of this kernel accepts the BPF programs of all events with the options that change
# their instructions: rate limit and stacks in each combination, and each condition with both
# (t_probes has conditions without them). The verifier of a PREEMPT_RT kernel is that of the
# other kernel of its version: there, the programs are loaded without options, and with all.
# guest-test: timeout=400 needs=btf
# guest-test: files=build/tools/trace-ctl,build/examples/jobs
set -eu
cd "$(mktemp -d)"

n=0
load() {
	n=$((n + 1))
	if ! trace-ctl record -q -a -e sched -e syscalls -e net -e kprobe:do_exit \
		-e uprobe:/usr/bin/jobs:main -e task:task_newtask "$@" -o rec -- true \
		>out 2>&1; then
		echo "record $*: $(cat out)"
		exit 1
	fi
	rm -r rec
}

load_all_kinds() {
	load --rate-limit=1000/s
	load --stack
	for where in 'ret == -ENOENT || ret == -EACCES' 'filename == "/a*"' 'flags & O_CREAT' \
		'flags & O_CREAT && ret < 0' 'bytes > 100' \
		'remote == "10.*" && net_*:protocol == "udp"' \
		'prev_comm == "a*" || prev_comm == "b*"' 'comm == "a*" && pid > 3'; do
		load --rate-limit=1000/s --stack --where "$where"
	done
}

load
load --rate-limit=1000/s --stack
case "$(uname -v)" in
*PREEMPT_RT*) ;;
*) load_all_kinds ;;
esac
TSCTRACE_PROVIDER=embedded load --rate-limit=1000/s --stack --where 'ret < 0'
echo "$n combinations"

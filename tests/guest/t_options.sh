#!/bin/sh
# SPDX-License-Identifier: MIT
# The verifier of this kernel accepts the BPF programs of all events with each combination of
# options that changes their instructions. The verifier of a PREEMPT_RT kernel is that of
# the other kernel of its version: there, each condition is tested with all options only.
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

for rate in "" --rate-limit=1000/s; do
	for stack in "" --stack; do
		load $rate $stack
		case "$(uname -v)$rate$stack" in
		*PREEMPT_RT*/s--stack) ;;
		*PREEMPT_RT*) continue ;;
		esac
		for where in 'ret == -ENOENT || ret == -EACCES' 'filename == "/a*"' \
			'flags & O_CREAT' 'flags & O_CREAT && ret < 0' 'bytes > 100' \
			'remote == "10.*" && net_*:protocol == "udp"' \
			'prev_comm == "a*" || prev_comm == "b*"' 'comm == "a*" && pid > 3'; do
			load $rate $stack --where "$where"
		done
	done
done
TSCTRACE_PROVIDER=embedded load --rate-limit=1000/s --stack --where 'ret < 0'
echo "$n combinations"

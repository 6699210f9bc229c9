#!/bin/sh
# SPDX-License-Identifier: MIT
# The same as t_bpf.sh with ring buffers of BPF, which need no module
# guest-test: timeout=180 needs=btf rt=yes
# guest-test: files=build/tools/trace-ctl,build/examples/jobs,tests/guest/lib.sh,tests/guest/t_bpf.sh
set -eu
export TSCTRACE_PROVIDER=embedded
. /tests/guest/t_bpf.sh

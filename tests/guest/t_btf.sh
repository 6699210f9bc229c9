#!/bin/sh
# SPDX-License-Identifier: MIT
# The kernel accepts the module's BTF, which has the kfunc.
# guest-test: needs=btf
set -eu
btf=/sys/kernel/btf/tsctrace

[ -s $btf ] || { echo "$btf: not found"; exit 1; }
grep -q tsct_bpf_emit $btf || { echo "no tsct_bpf_emit in $btf"; exit 1; }

#!/bin/sh
# SPDX-License-Identifier: MIT
# The kernel takes the module's BTF, and it names the kfunc.
# guest-test: needs=btf
set -eu
btf=/sys/kernel/btf/tsctrace

[ -s $btf ] || { echo "$btf is not there"; exit 1; }
grep -q tsct_bpf_emit $btf || { echo "no tsct_bpf_emit in $btf"; exit 1; }

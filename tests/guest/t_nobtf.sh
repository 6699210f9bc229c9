#!/bin/sh
# SPDX-License-Identifier: MIT
# Where the module has no BTF, it loads all the same; only BPF lacks.
# guest-test: module=no
set -eu

insmod /lib/modules/tsctrace-nobtf.ko
[ -c /dev/tsctrace ] || { echo "no /dev/tsctrace"; exit 1; }
[ ! -e /sys/kernel/btf/tsctrace ] || { echo "it does have BTF"; exit 1; }
rmmod tsctrace

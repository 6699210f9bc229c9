#!/bin/sh
# SPDX-License-Identifier: MIT
# Without BTF the module loads; only BPF programs cannot use it.
# guest-test: module=no
set -eu

insmod /lib/modules/tsctrace-nobtf.ko
[ -c /dev/tsctrace ] || { echo "no /dev/tsctrace"; exit 1; }
[ ! -e /sys/kernel/btf/tsctrace ] || { echo "the module has BTF"; exit 1; }
rmmod tsctrace

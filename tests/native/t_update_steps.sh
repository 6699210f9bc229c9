#!/bin/bash
# SPDX-License-Identifier: MIT
# A publisher of the clock may be killed at any instruction of an update.
# test-parallel: yes
# test-seconds: 14
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# -O2 as in the build of the daemon: the test depends on the order of the stores.
${CC:-cc} -O2 -g -std=gnu11 -D_GNU_SOURCE -I"$top/kmod/uapi" \
	-I"$top/lib/include" -I"$top" -o "$work/stepper" \
	"$top/tests/native/stepper.c" "$top"/lib/core/{latch,clock_segments,clock_params}.c
"$work/stepper" 3

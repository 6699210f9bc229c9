#!/bin/bash
# SPDX-License-Identifier: MIT
# The latch's unit test under the thread sanitizer: no data race by the C11 model, also
# where x86 orders more. -Wno-tsan: the sanitizer does not model fences, which is no
# loss, as every racing access is atomic.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# shellcheck disable=SC2046
${CC:-cc} -O1 -g -std=gnu11 -D_GNU_SOURCE -fsanitize=thread -Wno-tsan -pthread \
	-include "$top/tests/unit/marks.h" -I"$top/kmod/uapi" -I"$top/lib/include" -I"$top" \
	-o "$work/check" "$top"/tests/unit/{main,check_latch}.c \
	"$top"/lib/core/{latch,clock_segments,clock_params}.c $(pkg-config --cflags --libs check) -lm
CK_FORK=no TSAN_OPTIONS="halt_on_error=1 exitcode=66" "$work/check"

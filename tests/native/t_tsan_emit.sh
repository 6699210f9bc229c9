#!/bin/bash
# SPDX-License-Identifier: MIT
# Writers, the reader and the memfd server under the thread sanitizer. It does not
# instrument the assembly of the critical sections, but all code around it.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
lib=$top/lib
mapfile -t sources < <(make -s -C "$lib" program-sources)

# shellcheck disable=SC2046
${CC:-cc} -O1 -g -std=gnu11 -D_GNU_SOURCE -fsanitize=thread -Wno-tsan -pthread \
	-include "$top/tests/unit/marks.h" -I"$top/kmod/uapi" \
	-I"$lib/include" -I"$top" -o "$work/check" \
	"$top"/tests/unit/{main,check_stress}.c "${sources[@]}" \
	$(pkg-config --cflags --libs check) -lm
TSAN_OPTIONS="halt_on_error=1 exitcode=66" CK_VERBOSITY=normal "$work/check"

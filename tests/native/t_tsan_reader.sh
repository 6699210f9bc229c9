#!/bin/bash
# SPDX-License-Identifier: MIT
# Tests readers under the thread sanitizer: several readers of one ring, and a reader of
# all CPUs' events in order. Writers are in C, which the sanitizer can check.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
lib=$top/lib
mapfile -t sources < <(make -s -C "$lib" program-sources)

mkdir "$work/lib"
(cd "$work/lib" && ${CC:-cc} -O1 -g -std=gnu11 -D_GNU_SOURCE \
	-fsanitize=thread -Wno-tsan -pthread -I"$top/kmod/uapi" \
	-I"$lib/include" -I"$top" -c "${sources[@]}")
for check in reader_account reader_ordered; do
	# shellcheck disable=SC2046
	${CC:-cc} -O1 -g -std=gnu11 -D_GNU_SOURCE -fsanitize=thread -Wno-tsan \
		-pthread -include "$top/tests/unit/marks.h" \
		-I"$top/kmod/uapi" -I"$lib/include" -I"$top" \
		-o "$work/$check" "$top"/tests/unit/{main,"check_$check"}.c \
		"$work"/lib/*.o $(pkg-config --cflags --libs check) -lm
	TSAN_OPTIONS="halt_on_error=1 exitcode=66" CK_VERBOSITY=normal \
		CK_INCLUDE_TAGS=live "$work/$check" | tee "$work/out"
	grep -q '^100%: Checks: [1-9]' "$work/out"
done

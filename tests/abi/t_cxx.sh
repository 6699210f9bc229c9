#!/bin/sh
# SPDX-License-Identifier: MIT
# Every public header compiles by itself, as C++ and as C, without a warning.
set -eu
cd "$(dirname "$0")/../.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

n=0
for header in kmod/uapi/tsctrace/*.h lib/include/tsctrace/*.h; do
	printf '#include <tsctrace/%s>\n' "${header##*/}" >"$tmp/x.cc"
	cp "$tmp/x.cc" "$tmp/x.c"
	g++ -std=c++11 -Wall -Wextra -Werror -Ikmod/uapi -Ilib/include \
		-fsyntax-only "$tmp/x.cc"
	gcc -std=c99 -Wall -Wextra -Werror -Ikmod/uapi -Ilib/include \
		-fsyntax-only "$tmp/x.c"
	n=$((n + 1))
done
echo "$n headers"
[ $n -gt 0 ]

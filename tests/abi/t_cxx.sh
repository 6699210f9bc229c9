#!/bin/sh
# SPDX-License-Identifier: MIT
# Every public header compiles by itself, as C++ and as C, without a warning;
# and the C++ clocks work with every compiler and standard.
# test-parallel: yes
# test-seconds: 7
set -eu
cd "$(dirname "$0")/../.."
O=${O:-build}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
flags='-Wall -Wextra -Werror -Ikmod/uapi -Ilib/include'

n=0
for header in kmod/uapi/tsctrace/*.h lib/include/tsctrace/*.h \
		lib/include/tsctrace/*.hpp; do
	printf '#include <tsctrace/%s>\n' "${header##*/}" >"$tmp/x.cc"
	cp "$tmp/x.cc" "$tmp/x.c"
	for compiler in g++ clang++; do
		$compiler -std=c++11 $flags -fsyntax-only "$tmp/x.cc"
	done
	case $header in
	*.h) gcc -std=c99 $flags -fsyntax-only "$tmp/x.c" ;;
	esac
	n=$((n + 1))
done
echo "$n headers"
[ $n -gt 0 ]

for compiler in g++ clang++; do
	for std in c++11 c++17 c++20; do
		$compiler -std=$std -O2 $flags -o "$tmp/clock" \
			tests/abi/clock.cc -L"$O/lib" -ltsctrace -pthread
		LD_LIBRARY_PATH=$O/lib "$tmp/clock" ||
			{ echo "FAILED: $compiler -std=$std"; exit 1; }
		echo "$compiler -std=$std: passed"
	done
done

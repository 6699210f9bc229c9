#!/bin/sh
# SPDX-License-Identifier: MIT
# Every public header compiles by itself, and all together, as C++ and as C, without a
# warning in the strict modes of two compilers; the headers of the binary interface bring
# nothing with them that is not in it; and the C++ clocks work with every compiler and
# standard.
set -eu
cd "$(dirname "$0")/../.."
O=${O:-build}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
flags='-Wall -Wextra -Werror -Ikmod/uapi -Ilib/include'

strict() {	# FILE COMPILER...: compiles a list of headers without a warning
	for compiler in "$@"; do
		[ "$compiler" != "$1" ] || continue
		$compiler $flags -Wpedantic -fsyntax-only "$1" ||
			{ echo "FAILED: $compiler:"; cat "$1"; exit 1; }
	done
}
strict_cxx() {
	strict "$1" 'g++ -std=c++11' 'g++ -std=c++17' 'clang++ -std=c++11' \
		'clang++ -std=c++17'
}
strict_c() {
	strict "$1" 'gcc -std=c99' 'gcc -std=c11' 'clang -std=c99' 'clang -std=c11'
}

n=0
for header in kmod/uapi/tsctrace/*.h lib/include/tsctrace/*.h \
		lib/include/tsctrace/*.hpp; do
	# A header of macros alone is no translation unit.
	printf '#include <tsctrace/%s>\nextern int nothing;\n' "${header##*/}" \
		>"$tmp/x.cc"
	strict_cxx "$tmp/x.cc"
	cat "$tmp/x.cc" >>"$tmp/all.cc"
	case $header in
	*.h)
		cp "$tmp/x.cc" "$tmp/x.c"
		strict_c "$tmp/x.c"
		cat "$tmp/x.c" >>"$tmp/all.c"
		;;
	esac
	n=$((n + 1))
done
strict_cxx "$tmp/all.cc"
strict_c "$tmp/all.c"
echo "$n headers"
[ $n -gt 0 ]

for header in kmod/uapi/tsctrace/*.h; do
	name=tsctrace/${header##*/}
	! gcc -E -Ikmod/uapi -include "$name" -dM -xc /dev/null |
		grep -E '#define (offsetof|NULL|static_assert|TSCT_ASSERT|TSCT_[A-Z]+_NR)\b' ||
		{ echo "FAILED: $name defines more than the interface"; exit 1; }
done

for compiler in g++ clang++; do
	for std in c++11 c++17 c++20; do
		$compiler -std=$std -O2 $flags -o "$tmp/clock" \
			tests/abi/clock.cc -L"$O/lib" -ltsctrace -pthread
		LD_LIBRARY_PATH=$O/lib "$tmp/clock" ||
			{ echo "FAILED: $compiler -std=$std"; exit 1; }
		$compiler -std=$std -O2 $flags -Wpedantic -o "$tmp/scope" \
			tests/abi/scope.cc -L"$O/lib" -ltsctrace -pthread
		LD_LIBRARY_PATH=$O/lib "$tmp/scope" >"$tmp/emitted" ||
			{ echo "FAILED: $compiler -std=$std:"; cat "$tmp/emitted"; exit 1; }
		echo "$compiler -std=$std: passed"
	done
done

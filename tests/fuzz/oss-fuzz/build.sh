#!/bin/bash -eu
# SPDX-License-Identifier: MIT
# Builds the fuzz targets as OSS-Fuzz has it, with its CC, CFLAGS, LIB_FUZZING_ENGINE, SRC
# and OUT: fuzz_packet and fuzz_recording, each with its seed corpus, options, and a
# dictionary. $SRC/tsctrace is this repository.
cd "$SRC/tsctrace"
flags="-std=gnu11 -D_GNU_SOURCE -Ikmod/uapi -Ilib/include -I."
libraries="-Wl,-Bstatic -lnettle -ljansson -Wl,-Bdynamic -lm -lpthread"
objects=$(mktemp -d)

for room in core syscalls ntp sync fit ctf query merge; do
	for source in lib/$room/*.c; do
		# shellcheck disable=SC2086
		$CC $CFLAGS $flags -c -o "$objects/$room-$(basename "$source" .c).o" "$source"
	done
done
ar rcs "$objects/libcore.a" "$objects"/*.o

build() {	# TARGET MAX-LENGTH MORE-SOURCE...
	local target=$1 length=$2 source parts=()
	shift 2
	for source in "tests/fuzz/fuzz_$target.c" "$@"; do
		# shellcheck disable=SC2086
		$CC $CFLAGS $flags -c -o "$objects/${source##*/}.o" "$source"
		parts+=("$objects/${source##*/}.o")
	done
	# shellcheck disable=SC2086
	$CXX $CXXFLAGS -o "$OUT/fuzz_$target" "${parts[@]}" "$objects/libcore.a" \
		$LIB_FUZZING_ENGINE $libraries
	printf '[libfuzzer]\nmax_len = %s\n' "$length" >"$OUT/fuzz_$target.options"
	cp "tests/fuzz/$target.dict" "$OUT/fuzz_$target.dict"
	zip -q -j -r "$OUT/fuzz_${target}_seed_corpus.zip" "tests/fuzz/corpus/$target"
}

build packet 4096
build recording 16384 tests/fuzz/recording_mutate.c

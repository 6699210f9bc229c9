#!/bin/bash -eu
# SPDX-License-Identifier: MIT
# Builds the fuzz targets as OSS-Fuzz has it, with its CC, CFLAGS, LIB_FUZZING_ENGINE, SRC
# and OUT: fuzz_packet and fuzz_recording, each with its seed corpus, options, and a
# dictionary. $SRC/tsctrace is this repository.
cd "$SRC/tsctrace"
objects=$(mktemp -d)
make -j"$(nproc)" -C tests/fuzz O="$objects" CC="$CC" LINK="$CXX $CXXFLAGS" SAN="$CFLAGS" \
	INSTRUMENT= ENGINE="$LIB_FUZZING_ENGINE" \
	LIBS="-u tsct_syscall_of -Wl,-Bstatic -lnettle -ljansson -Wl,-Bdynamic -lm -lpthread" \
	"$objects"/fuzz/fuzz_{packet,recording}

install_target() {	# TARGET MAX-LENGTH
	cp "$objects/fuzz/fuzz_$1" "$OUT"
	printf '[libfuzzer]\nmax_len = %s\n' "$2" >"$OUT/fuzz_$1.options"
	cp "tests/fuzz/$1.dict" "$OUT/fuzz_$1.dict"
	zip -q -j -r "$OUT/fuzz_$1_seed_corpus.zip" "tests/fuzz/corpus/$1"
}

install_target packet 4096
install_target recording 16384

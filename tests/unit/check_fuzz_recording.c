// SPDX-License-Identifier: MIT
#include "../fuzz/fuzz_recording.c"

#define INPUT_SIZE	16384
#define CHANGED		1000
#include "corpus.h"

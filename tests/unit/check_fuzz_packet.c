// SPDX-License-Identifier: MIT
#include "../fuzz/fuzz_packet.c"

#define INPUT_SIZE	4096
#define CHANGED		20000
#include "corpus.h"

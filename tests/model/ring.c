// SPDX-License-Identifier: MIT
/* Compiles lib/core/ring.c unchanged, with loads that are instructions of the model */

#include "../../lib/core/port.h"
#include "model.h"

static __u64 load_at(const __u64 *at)
{
	return load(at - now()->words);
}

/* x86 does not reorder loads: barriers between them only restrict the compiler. */
#undef READ_ONCE
#undef smp_load_acquire
#define READ_ONCE(word)		load_at(&(word))
#define smp_load_acquire(word)	load_at(word)

#include "../../lib/core/ring.c"

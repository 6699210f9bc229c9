// SPDX-License-Identifier: MIT
/*
 * The default clock of a process. In a file of its own, so that only programs
 * that use it get the constructor out of the archive.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "clock_private.h"

static struct tsct_clock_full default_clock = { .forever = true };
static pthread_once_t once = PTHREAD_ONCE_INIT;
static __u32 ready;

static void init_default(void)
{
	tsct_clock_init(&default_clock);
	/* Pairs with the acquire in tsct_clock_default(): the clock is complete. */
	__atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
}

/*
 * An in-process clock calibrates for 15 ms. TSCTRACE_CALIBRATE=lazy delays that to the
 * first use, for short programs that rarely use the clock.
 */
__attribute__((constructor)) static void init_at_start(void)
{
	const char *when = getenv("TSCTRACE_CALIBRATE");

	if (!when || strcmp(when, "lazy"))
		pthread_once(&once, init_default);
}

struct tsct_clock *tsct_clock_default(void)
{
	/* Pairs with the release in init_default(). */
	if (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
		pthread_once(&once, init_default);
	return &default_clock.head;
}

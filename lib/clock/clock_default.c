// SPDX-License-Identifier: MIT
/*
 * The process's own clock. In a file of its own: only programs that use it get
 * the constructor out of the archive.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "clock_private.h"

static struct tsct_clock_full the_clock = { .forever = true };
static pthread_once_t once = PTHREAD_ONCE_INIT;
static __u32 ready;

static void init(void)
{
	tsct_clock_init(&the_clock);
	/* Pairs with the acquire below: the clock is whole. */
	__atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
}

/*
 * The first figures take 15 ms where nobody publishes any; a program that is
 * started a thousand times a second and never asks may put that off.
 */
__attribute__((constructor)) static void init_at_start(void)
{
	const char *when = getenv("TSCTRACE_CALIBRATE");

	if (!when || strcmp(when, "lazy"))
		pthread_once(&once, init);
}

struct tsct_clock *tsct_clock_default(void)
{
	if (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
		pthread_once(&once, init);
	return &the_clock.head;
}

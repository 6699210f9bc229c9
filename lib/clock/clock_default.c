// SPDX-License-Identifier: MIT
/*
 * The default clock of a process. It is in a separate file, so that only programs that
 * use the default clock link the constructor from the archive.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "clock_private.h"

static struct tsct_clock_full default_clock = { .forever = true };
static pthread_once_t init_once = PTHREAD_ONCE_INIT;
static __u32 default_ready;

static void init_default(void)
{
	tsct_clock_init(&default_clock);
	/* Release store: a thread that sees `default_ready` set sees the initialized clock.
	 * Pairs with the acquire load in tsct_clock_default(). */
	__atomic_store_n(&default_ready, 1, __ATOMIC_RELEASE);
}

/*
 * The calibration of an in-process clock takes 15 ms. TSCTRACE_CALIBRATE=lazy delays
 * the calibration to the first use, for short programs that rarely use the clock.
 */
__attribute__((constructor)) static void init_at_start(void)
{
	const char *when = getenv("TSCTRACE_CALIBRATE");

	if (!when || strcmp(when, "lazy"))
		pthread_once(&init_once, init_default);
}

struct tsct_clock *tsct_clock_default(void)
{
	/* Acquire load: pairs with the release store in init_default(). */
	if (!__atomic_load_n(&default_ready, __ATOMIC_ACQUIRE))
		pthread_once(&init_once, init_default);
	return &default_clock.head;
}

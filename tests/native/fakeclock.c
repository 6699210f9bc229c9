// SPDX-License-Identifier: MIT
/*
 * A preloaded library that fakes the clocks of one process: CLOCK_REALTIME is FAKE_CLOCK_S
 * seconds ahead, CLOCK_MONOTONIC_RAW is FAKE_COUNTER_S seconds ahead, and adjtimex(2)
 * reports an error of FAKE_MAXERROR_US us, or STA_UNSYNC if that variable is not set. While the
 * file FAKE_SLEW exists, adjtimex(2) reports a slew of 10 %. While the file FAKE_STEP exists,
 * CLOCK_REALTIME is another 100 s ahead.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

static int (*real_gettime)(clockid_t clock, struct timespec *ts);
static long ahead_s, counter_s;

__attribute__((constructor))
static void begin(void)
{
	const char *text = getenv("FAKE_CLOCK_S"), *counter = getenv("FAKE_COUNTER_S");

	*(void **)&real_gettime = dlsym(RTLD_NEXT, "clock_gettime");
	ahead_s = text ? strtol(text, NULL, 10) : 0;
	counter_s = counter ? strtol(counter, NULL, 10) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	const char *step = getenv("FAKE_STEP");
	int ret;

	if (!real_gettime)
		begin();
	ret = real_gettime(clock, ts);
	if (!ret && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		ts->tv_sec += ahead_s + (step && !access(step, F_OK) ? 100 : 0);
	if (!ret && clock == CLOCK_MONOTONIC_RAW)
		ts->tv_sec += counter_s;
	return ret;
}

int adjtimex(struct timex *timex)
{
	const char *text = getenv("FAKE_MAXERROR_US"), *slew = getenv("FAKE_SLEW");

	memset(timex, 0, sizeof(*timex));
	timex->tick = slew && !access(slew, F_OK) ? 11000 : 10000;
	timex->status = text ? STA_PLL : STA_UNSYNC;
	timex->maxerror = timex->esterror = text ? strtol(text, NULL, 10) : 16000000;
	return text ? TIME_OK : TIME_ERROR;
}

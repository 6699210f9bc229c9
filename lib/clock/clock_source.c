// SPDX-License-Identifier: MIT
/* Choice of the clock source, and the names of sources, states and causes. */
#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/client/gettime.h"
#include "lib/core/tsc_trust.h"
#include "clock_source.h"
#include "lib/base/sysfs_read.h"
#include "lib/base/text.h"

#define CLOCKSOURCE	"/sys/devices/system/clocksource/clocksource0/"

static const char *const source_names[TSCT_SOURCE_NR] = {
	[TSCT_SOURCE_TSC] = "tsc",
	[TSCT_SOURCE_MONOTONIC_RAW] = "monotonic_raw",
	[TSCT_SOURCE_MONOTONIC] = "monotonic",
	[TSCT_SOURCE_REALTIME] = "realtime",
};

static const char *const status_names[TSCT_STATUS_NR] = {
	[TSCT_STATUS_UNKNOWN] = "unknown",
	[TSCT_STATUS_CALIBRATING] = "calibrating",
	[TSCT_STATUS_SYNCHRONIZED] = "synchronized",
	[TSCT_STATUS_HOLDOVER] = "holdover",
	[TSCT_STATUS_DISRUPTED] = "disrupted",
};

static const char *const cause_names[TSCT_CAUSE_NR] = {
	[TSCT_CAUSE_NONE] = "none",
	[TSCT_CAUSE_STEP] = "step",
	[TSCT_CAUSE_SUSPEND] = "suspend",
	[TSCT_CAUSE_CLOCKSOURCE] = "clocksource",
	[TSCT_CAUSE_UNSTABLE] = "unstable",
	[TSCT_CAUSE_JUMP] = "jump",
	[TSCT_CAUSE_MIGRATION] = "migration",
	[TSCT_CAUSE_HOTPLUG] = "hotplug",
	[TSCT_CAUSE_RESTART] = "restart",
	[TSCT_CAUSE_FAKE] = "fake",
};

const char *tsct_source_name(unsigned int source)
{
	return source < TSCT_SOURCE_NR ? source_names[source] : "?";
}

const char *tsct_status_name(unsigned int status)
{
	return status < TSCT_STATUS_NR ? status_names[status] : "?";
}

const char *tsct_cause_name(unsigned int cause)
{
	return cause < TSCT_CAUSE_NR ? cause_names[cause] : "?";
}

/* Returns the TSCT_SOURCE_* of the best kernel clock that can be read. */
static int kernel_clock_source(void)
{
	struct timespec ts;

	if (!tsct_gettime(CLOCK_MONOTONIC_RAW, &ts))
		return TSCT_SOURCE_MONOTONIC_RAW;
	if (!tsct_gettime(CLOCK_MONOTONIC, &ts))
		return TSCT_SOURCE_MONOTONIC;
	return TSCT_SOURCE_REALTIME;
}

/* ---- the TSC's properties ----------------------------------------------- */

bool tsct_tsc_readable(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(0x80000001, &a, &b, &c, &d) && d & 1u << 27 &&
		!tsct_tsc_forbidden();
}

void tsct_source_clocksource(struct tsct_check *check)
{
	char text[256];

	memset(check->clocksource, 0, sizeof(check->clocksource));
	if (tsct_sysfs_read_line(CLOCKSOURCE "current_clocksource", text,
			   sizeof(text)) > 0)
		memcpy(check->clocksource, text,
		       strnlen(text, sizeof(check->clocksource) - 1));
}

void tsct_source_features(struct tsct_check *check)
{
	char text[8192], *flags;
	unsigned int a, b, c, d;

	check->flags = 0;
	if (tsct_tsc_readable())
		check->flags |= TSCT_CHECK_RDTSCP;
	if (__get_cpuid(0x80000007, &a, &b, &c, &d) && d & 1u << 8)
		check->flags |= TSCT_CHECK_INVARIANT;
	/* Reads the flags that /proc/cpuinfo has for the first CPU. */
	if (tsct_sysfs_read("/proc/cpuinfo", text, sizeof(text)) > 0 &&
	    (flags = strstr(text, "\nflags"))) {
		flags[1 + strcspn(flags + 1, "\n")] = '\0';
		if (tsct_has_word(flags, "nonstop_tsc"))
			check->flags |= TSCT_CHECK_NONSTOP;
	}
	tsct_source_clocksource(check);
	if (!strcmp(check->clocksource, "tsc"))
		check->flags |= TSCT_CHECK_CLOCKSOURCE;
	/* The kernel removes an unstable clocksource from available_clocksource. */
	if (tsct_sysfs_read_line(CLOCKSOURCE "available_clocksource", text,
		      sizeof(text)) > 0 && !tsct_has_word(text, "tsc"))
		check->flags |= TSCT_CHECK_UNSTABLE;
}

/* ---- choice ------------------------------------------------------------- */

/* Set in main(), before there are other threads; NULL: the CPUs are not compared */
static tsct_tsc_check_fn check_all_cpus;

void tsct_source_check_cpus(tsct_tsc_check_fn check_cpus)
{
	check_all_cpus = check_cpus;
}

static const char *clocksource_name(const struct tsct_check *check)
{
	return *check->clocksource ? check->clocksource : "unknown";
}

int tsct_source_choose_local(char *why, size_t size)
{
	struct tsct_check check = { .nr = 0 };
	int source;

	tsct_source_features(&check);
	/*
	 * Compares the CPUs' counters only if the result decides whether the TSC is used:
	 * only for an invariant TSC that the kernel neither uses nor has marked unstable.
	 */
	if (tsct_tsc_trusted(check.flags, false))
		check.flags |= TSCT_CHECK_USABLE;
	else if (check_all_cpus && tsct_tsc_trusted(check.flags, true))
		check_all_cpus(&check);
	source = check.flags & TSCT_CHECK_USABLE ? TSCT_SOURCE_TSC :
		kernel_clock_source();
	snprintf(why, size, "%s: %s (the kernel's clocksource: %s)",
		 tsct_source_name((unsigned int)source),
		 tsct_tsc_trust_reason(check.flags), clocksource_name(&check));
	return source;
}

int tsct_source_choose(char *why, size_t size)
{
	struct tsct_check check = { .nr = 0 };
	struct tsct_info info = { .source = TSCT_SOURCE_NR };
	int fd = open(TSCT_DEVICE_PATH, O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && ioctl(fd, TSCT_IOC_INFO, &info))
		info.source = TSCT_SOURCE_NR;
	if (fd >= 0)
		close(fd);
	/* The module is not loaded, or this process may not read the TSC. */
	if (info.source >= TSCT_SOURCE_NR ||
	    (info.source == TSCT_SOURCE_TSC && !tsct_tsc_readable()))
		return tsct_source_choose_local(why, size);
	tsct_source_clocksource(&check);
	snprintf(why, size, "%s: chosen by the module, see trace-ctl check (the"
		 " kernel's clocksource: %s)", tsct_source_name(info.source),
		 clocksource_name(&check));
	return (int)info.source;
}

/* ---- comparison of clocks ----------------------------------------------- */

#define COMPARE_TRIES	8	/* maximum number of tries of tsct_source_compare() */
/* tsct_source_compare() stops after a try whose two readings of CLOCK_MONOTONIC are at
 * most this far apart, ns. */
#define COMPARE_GOOD_NS	200

void tsct_source_compare(clockid_t clock, __s64 *ret_min_ns, __s64 *ret_max_ns)
{
	__s64 best = INT64_MAX;
	int i;

	for (i = 0; i < COMPARE_TRIES && best > COMPARE_GOOD_NS; i++) {
		__s64 before = tsct_gettime_ns(CLOCK_MONOTONIC);
		__s64 ns = tsct_gettime_ns(clock);
		__s64 after = tsct_gettime_ns(CLOCK_MONOTONIC);

		if (after - before >= best)
			continue;
		best = after - before;
		*ret_min_ns = ns - after;
		*ret_max_ns = ns - before;
	}
}

/* ---- boot id ------------------------------------------------------------ */

int tsct_boot_id(__u8 ret_id[16])
{
	char text[64];
	ssize_t len = tsct_sysfs_read_line("/proc/sys/kernel/random/boot_id", text,
					   sizeof(text));

	if (len < 0)
		return (int)len;
	return tsct_uuid_read(text, ret_id) ? 0 : -EIO;
}

// SPDX-License-Identifier: MIT
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "align.h"
#include "lib/core/port.h"
#include "tools/common/error.h"

const char *const align_kind_names[] = {
	"a Perfetto trace", "text of perf script", "text of ftrace", "a trace in JSON",
	"a Fuchsia trace", "the output of journalctl",
};

const char *const align_clock_names[] = {
	"CLOCK_REALTIME", "CLOCK_MONOTONIC", "CLOCK_MONOTONIC_RAW", "CLOCK_BOOTTIME", "TSC",
};

const char *const align_timelines[] = { "realtime", "utc", "cluster", "auto", NULL };

int align_refuse(const struct align_input *in, const char *format, ...)
{
	FILE *to = ctl_error_start();
	va_list args;

	if (!to)
		return -EINVAL;
	fprintf(to, "%s: ", in->path);
	va_start(args, format);
	vfprintf(to, format, args);
	va_end(args);
	ctl_error_finish();
	return -EINVAL;
}

int align_open(const struct align_input *in)
{
	int fd = open(in->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return align_refuse(in, "%s", strerror(errno));
	if (!fstat(fd, &st) && (__u64)st.st_size == in->size && st.st_dev == in->dev &&
	    st.st_ino == in->ino && !memcmp(&st.st_mtim, &in->mtim, sizeof(in->mtim)))
		return fd;
	close(fd);
	return align_refuse(in, "changed while it was read; align it when it is complete");
}

int align_add_time(struct align_input *in, __s64 ns)
{
	if (ns < 0 || ns > ALIGN_TIME_MAX)
		return align_refuse(in, "the time %lld ns cannot be a clock's value; the file is "
				    "damaged, or its times are relative", (long long)ns);
	if (align_ranges_add(&in->ranges, ns, ns))
		return align_refuse(in, "out of memory");
	return 0;
}

void align_widen(struct align_input *in, __u64 error_ns)
{
	__u32 i;

	for (i = 0; i < in->ranges.nr; i++) {
		in->ranges.all[i].lo -= min(in->ranges.all[i].lo, (__s64)error_ns);
		in->ranges.all[i].hi += (__s64)error_ns;
	}
}

void align_take_timeline(struct align_input *in, const char *text)
{
	in->on_cluster = sscanf(text, "%u of master %llu", &in->timeline, &in->master) == 2;
}

char *align_parse_decimal(const char *at, __s64 unit_ns, __s64 *ret_ns, int *ret_digits)
{
	__u64 whole = 0, unit = (__u64)unit_ns;
	bool point = false;

	*ret_digits = 0;
	if (!isdigit((unsigned char)*at))
		return NULL;
	for (; isdigit((unsigned char)*at) || (*at == '.' && !point); at++) {
		point |= *at == '.';
		if (*at == '.')
			continue;
		*ret_digits += point;
		if (point && unit == 1)
			continue;
		unit /= point ? 10 : 1;
		if (__builtin_mul_overflow(whole, 10, &whole) ||
		    __builtin_add_overflow(whole, (__u64)(*at - '0'), &whole))
			return NULL;
	}
	if (__builtin_mul_overflow(whole, unit, &whole) || whole > ALIGN_TIME_MAX)
		return NULL;
	*ret_ns = (__s64)whole;
	return (char *)at;
}

char *align_find_time(char *line, bool need_cpu, bool cycles, __s64 *ret, int *ret_digits,
		      char **ret_end)
{
	bool cpu = !need_cpu;
	char *at;

	for (at = line; *at; at += strcspn(at, " \t")) {
		at += strspn(at, " \t");
		if (*at == '[' && isdigit((unsigned char)at[1]))
			cpu = true;
		*ret_end = cpu && at > line ?
			align_parse_decimal(at, cycles ? 1 : NS_PER_S, ret, ret_digits) : NULL;
		if (*ret_end && **ret_end == ':' && (cycles ? !*ret_digits : *ret_digits >= 3) &&
		    ((*ret_end)[1] == ' ' || (*ret_end)[1] == '\t'))
			return at;
	}
	return NULL;
}

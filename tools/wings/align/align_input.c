// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdarg.h>

#include "align.h"
#include "tools/common/error.h"

const char *const align_kind_names[] = {
	"a Perfetto trace", "text of perf script", "text of ftrace", "a trace in JSON",
	"a Fuchsia trace",
};

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

int align_add_time(struct align_input *in, __s64 ns)
{
	if (ns < 0 || ns > ALIGN_TIME_MAX)
		return align_refuse(in, "the time %lld ns is not one of a clock; the file is "
				    "damaged, or its times are relative", (long long)ns);
	if (align_ranges_add(&in->ranges, ns, ns))
		return align_refuse(in, "out of memory");
	return 0;
}

void align_take_timeline(struct align_input *in, const char *text)
{
	in->on_cluster = sscanf(text, "%u of master %llu", &in->timeline, &in->master) == 2;
}

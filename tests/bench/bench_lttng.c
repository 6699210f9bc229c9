// SPDX-License-Identifier: MIT
/* The same event through LTTng-UST; run.sh makes the session for it. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "bench_lttng_tp.h"

#include "bench.h"

static void emit(unsigned int turns)
{
	unsigned long value;

	for (value = 0; value < turns; value++)
		lttng_ust_tracepoint(tsct_bench, event, value);
}

static struct bench benches[] = {
	{ .name = "lttng_ust_ns", .run = emit },
};

int main(void)
{
	bench_pin();
	if (!lttng_ust_tracepoint_enabled(tsct_bench, event)) {
		fputs("# lttng_ust_ns: not measured; the session did not "
		      "start\n", stdout);
		return 0;
	}
	bench_all(benches, 1);
	return 0;
}

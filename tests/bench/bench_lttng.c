// SPDX-License-Identifier: MIT
/*
 * Emits the events of bench_emit through LTTng-UST, for comparison. bench_emit runs
 * this program as a child process. run.sh creates the LTTng session.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "bench_lttng_tp.h"

#include <unistd.h>

#include "bench.h"

static const unsigned char bytes[256];

static void emit(unsigned int turns)
{
	for (unsigned long value = 0; value < turns; value++)
		lttng_ust_tracepoint(tsct_bench, event, value);
}

static void emit_64_bytes(unsigned int turns)
{
	while (turns--)
		lttng_ust_tracepoint(tsct_bench, bytes_64, bytes);
}

static void emit_256_bytes(unsigned int turns)
{
	while (turns--)
		lttng_ust_tracepoint(tsct_bench, bytes_256, bytes);
}

static void (*const runs[BENCH_OTHER_NR])(unsigned int) = {
	emit, emit_64_bytes, emit_256_bytes,
};

int main(void)
{
	double ns[BENCH_OTHER_NR];
	char turn = lttng_ust_tracepoint_enabled(tsct_bench, event) &&
		lttng_ust_tracepoint_enabled(tsct_bench, bytes_64) &&
		lttng_ust_tracepoint_enabled(tsct_bench, bytes_256);

	if (write(1, &turn, 1) != 1 || !turn)
		return 1;
	while (read(0, &turn, 1) == 1) {
		for (unsigned int i = 0; i < BENCH_OTHER_NR; i++) {
			runs[i](100);	/* loads the code into the caches */
			ns[i] = bench_time(runs[i]);
		}
		if (write(1, ns, sizeof(ns)) != sizeof(ns))
			return 1;
	}
	return 0;
}

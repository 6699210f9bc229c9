// SPDX-License-Identifier: MIT
/*
 * faults DIR SEED NR [STRIDE]: writes NR cases of faulty clocks, with the seeds SEED,
 * SEED + STRIDE (1) and so on: recordings DIR/I/a, DIR/I/b and perhaps DIR/I/c, the
 * true times DIR/I/truth, and the same events as LTTng would record them,
 * DIR/lttng/I-NODE; I counts from 0. A stride of FAULT_NR makes all cases have the
 * fault number SEED % FAULT_NR.
 */
#include "helper.h"
#include "faults.h"

int main(int argc, char **argv)
{
	struct fault_case *c = malloc(sizeof(*c));
	uint64_t i, seed, nr, stride;
	char path[4096];

	if (argc < 4 || !c)
		return 2;
	seed = strtoull(argv[2], NULL, 10);
	nr = strtoull(argv[3], NULL, 10);
	stride = argc > 4 ? strtoull(argv[4], NULL, 10) : 1;
	snprintf(path, sizeof(path), "%s/lttng", argv[1]);
	if (mkdir(path, 0777))
		return 2;
	for (i = 0; i < nr; i++) {
		fault_draw(c, seed + i * stride);
		snprintf(path, sizeof(path), "%s/%lu", argv[1], i);
		fault_write(c, path);
		snprintf(path, sizeof(path), "%s/lttng", argv[1]);
		fault_write_lttng(c, path, i);
	}
	free(c);
	return 0;
}

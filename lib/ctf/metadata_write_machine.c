// SPDX-License-Identifier: MIT
/* What a recording says of the machine: its CPUs, and its clock over time. */
#include <inttypes.h>

#include "metadata_write.h"

static void put_cpu(FILE *to, const char *of, const struct tsct_recorded_cpu *cpu)
{
	fprintf(to, "\t%scpu_%u = \"online=%u", of, cpu->cpu, cpu->online);
	if (cpu->online)
		fprintf(to, " memory_node=%u package=%u core=%u",
			cpu->memory_node, cpu->package, cpu->core);
	fputs("\";\n", to);
}

void tsct_meta_put_machine(FILE *to, const char *of,
			   const struct tsct_recorded_node *node)
{
	__u32 i;

	if (node->cpu_model)
		tsct_meta_put_text(to, of, "cpu_model", node->cpu_model);
	for (i = 0; i < node->nr_cpus; i++)
		put_cpu(to, of, &node->cpus[i]);
}

void tsct_meta_put_lines(FILE *to, const struct tsct_recording *rec)
{
	const struct tsct_clock_segment *line;
	__u32 i;

	for (i = 0; i < rec->nr_lines; i++) {
		line = &rec->lines[i];
		fprintf(to, "\tclock_line_%u = \"base_ns=%" PRId64 " base_tsc=%"
			PRIu64 " until_tsc=%" PRIu64 " mult=%" PRIu64
			" error_ps=%" PRIu64 " epoch=%u status=%u cause=%u\";\n",
			i, (int64_t)line->base_ns, (uint64_t)line->base_cycles,
			(uint64_t)line->until_cycles, (uint64_t)line->mult,
			(uint64_t)line->error_ps, line->epoch, line->status,
			line->cause);
	}
}

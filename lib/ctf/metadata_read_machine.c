// SPDX-License-Identifier: MIT
/* What the keys of CPUs and of the clock's lines mean; see record_meta_machine.c. */
#include "tsdl_parser.h"

int tsct_tsdl_parse_cpu(struct tsct_tsdl_parser *p, const char *key, const char *at)
{
	struct tsct_recorded_cpu cpu = { 0 };
	__u64 number;

	if (!tsct_tsdl_parse_whole(key, TSCT_CPUS_MAX - 1, &number))
		return tsct_tsdl_parse_bad(p, "cpu_%.20s: there is no such", key);
	cpu.cpu = number;
	if (!tsct_tsdl_parse_item_u32(&at, "online", 1, &cpu.online))
		return tsct_tsdl_parse_bad(p, "cpu_%s: malformed", key);
	if (cpu.online &&
	    (!tsct_tsdl_parse_item_u32(&at, "memory_node", UINT32_MAX,
				 &cpu.memory_node) ||
	     !tsct_tsdl_parse_item_u32(&at, "package", UINT32_MAX, &cpu.package) ||
	     !tsct_tsdl_parse_item_u32(&at, "core", UINT32_MAX, &cpu.core)))
		return tsct_tsdl_parse_bad(p, "cpu_%s: malformed", key);
	if (*at)
		return tsct_tsdl_parse_bad(p, "cpu_%s: malformed", key);
	switch (tsct_recording_add_cpu(&p->rec->nodes[p->node], &cpu)) {
	case 0: return 0;
	case -ENOMEM: return -ENOMEM;
	default: return tsct_tsdl_parse_bad(p, "cpu_%s: out of order", key);
	}
}

int tsct_tsdl_parse_line(struct tsct_tsdl_parser *p, const char *key, const char *at)
{
	struct tsct_clock_segment line = { 0 };
	__u64 number;

	if (!tsct_tsdl_parse_whole(key, UINT32_MAX, &number) ||
	    number != p->rec->nr_lines)
		return tsct_tsdl_parse_bad(p, "clock_line_%.20s: out of order", key);
	if (!tsct_tsdl_parse_item_s64(&at, "base_ns", &line.base_ns) ||
	    !tsct_tsdl_parse_item(&at, "base_tsc", UINT64_MAX, &line.base_cycles) ||
	    !tsct_tsdl_parse_item(&at, "until_tsc", UINT64_MAX, &line.until_cycles) ||
	    !tsct_tsdl_parse_item(&at, "mult", UINT64_MAX, &line.mult) ||
	    !tsct_tsdl_parse_item(&at, "error_ps", UINT64_MAX, &line.error_ps) ||
	    !tsct_tsdl_parse_item_u32(&at, "epoch", UINT32_MAX, &line.epoch) ||
	    !tsct_tsdl_parse_item_u32(&at, "status", TSCT_STATUS_NR - 1,
				&line.status) ||
	    !tsct_tsdl_parse_item_u32(&at, "cause", UINT32_MAX, &line.cause) || *at)
		return tsct_tsdl_parse_bad(p, "clock_line_%s: malformed", key);
	switch (tsct_recording_add_line(p->rec, &line)) {
	case 0: return 0;
	case -ENOMEM: return -ENOMEM;
	default: return tsct_tsdl_parse_bad(p, "clock_line_%s: too many", key);
	}
}

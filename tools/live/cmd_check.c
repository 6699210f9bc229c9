// SPDX-License-Identifier: MIT
/* trace-ctl check: checks that the TSC is usable and synchronized between CPUs */
#include <argp.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include "lib/clock/clock_source.h"
#include "tools/common/cmd.h"
#include "tools/common/error.h"
#include "tools/common/json.h"
#include "tools/common/channels.h"
#include "lib/core/tsc_trust.h"
#include "lib/clock/tsc_check.h"
#include "tools/common/options.h"

struct check_report {
	bool json;
	bool run;			/* option --run: compare the CPUs' counters now */
	const char *by;			/* place of the comparison: "module" or "user space" */
	const char *why;		/* reason for a comparison in user space, or "" */
	struct tsct_check result;
	struct tsct_cpu_check table[TSCT_CPUS_MAX];
	double cycles_per_ns;		/* TSC cycles per ns; 0: unknown */
};

/* ---- measurement ------------------------------------------------------- */

/* Returns TSC cycles per ns, measured for 10 ms: accurate enough to show a skew in ns. */
static double measure_rate(void)
{
	struct timespec a, b;
	__u64 begin, end;

	clock_gettime(CLOCK_MONOTONIC_RAW, &a);
	begin = __rdtsc();
	usleep(10000);
	clock_gettime(CLOCK_MONOTONIC_RAW, &b);
	end = __rdtsc();
	return (end - begin) /
		((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec));
}

static int run_check(struct check_report *c, struct provider_connection *module)
{
	struct tsct_check *result = &c->result, quick = { 0 };
	int err;

	result->table = (uintptr_t)c->table;
	result->nr = TSCT_CPUS_MAX;
	if (module->answers) {
		c->by = "module";
		c->why = "";
		err = provider_request(module, c->run ? TSCT_IOC_CHECK_RUN :
				       TSCT_IOC_CHECK, result);
	} else {
		c->by = "user space";
		c->why = provider_error(module);
		err = tsct_tsc_check_run(result);
	}
	if (err)
		return ctl_fail(err, "comparing the CPUs' counters (%s) failed: %s",
			c->by, strerror(-err));
	if (result->nr > TSCT_CPUS_MAX)
		result->nr = TSCT_CPUS_MAX;
	if (module->answers && tsct_tsc_check_read_aux(result))
		ctl_error("TSC_AUX cannot be read from user mode: "
			"no thread could be started; showing the module's readings");
	result->clocksource[sizeof(result->clocksource) - 1] = '\0';
	/* The module reports the clocksource only if it is the TSC. Else read it from sysfs. */
	if (!*result->clocksource) {
		tsct_source_features(&quick);
		memcpy(result->clocksource, quick.clocksource,
		       sizeof(result->clocksource));
	}
	if (result->tsc_khz)
		c->cycles_per_ns = result->tsc_khz / 1e6;
	else if (result->flags & TSCT_CHECK_RDTSCP)
		c->cycles_per_ns = measure_rate();
	return 0;
}

/* ---- conclusion -------------------------------------------------------- */

static bool has_flag(const struct check_report *c, __u32 flag)
{
	return c->result.flags & flag;
}

static bool is_good(const struct check_report *c)
{
	return has_flag(c, TSCT_CHECK_USABLE) &&
		has_flag(c, TSCT_CHECK_AUX_MATCH);
}

static void format_conclusion(const struct check_report *c, char *text, size_t size)
{
	const char *reason = tsct_tsc_trust_reason(c->result.flags);

	if (is_good(c))
		snprintf(text, size, "time stamps are TSC cycles: TSC_AUX has the "
			 "CPU number on all CPUs, and %s", reason);
	else if (has_flag(c, TSCT_CHECK_USABLE))
		snprintf(text, size, "time stamps are TSC cycles, because %s, but "
			 "TSC_AUX does not have the CPU number on all CPUs; check "
			 "which program changes it", reason);
	else
		snprintf(text, size, "time stamps fall back to %s because %s",
			 tsct_source_name(c->result.source), reason);
}

/* ---- output ------------------------------------------------------------ */

static void print_cpu(const struct check_report *c, const struct tsct_cpu_check *cpu)
{
	char aux[16], cycles[48], ns[48] = "-";

	printf("%5u ", cpu->cpu);
	if (!has_flag(c, TSCT_CHECK_RDTSCP) || cpu->flags & TSCT_CPU_ISOLATED) {
		printf("%4u %10s %5s %22s\n", cpu->node, "-", "-",
		       cpu->flags & TSCT_CPU_ISOLATED ? "isolated" : "-");
		return;
	}
	snprintf(aux, sizeof(aux), "0x%03x", cpu->tsc_aux);
	printf("%4u %10s %5s", cpu->node, aux,
	       cpu->flags & TSCT_CPU_AUX_MATCH ? "yes" :
	       cpu->flags & TSCT_CPU_HYPERVISOR ? "?" : "NO");
	if (cpu->flags & TSCT_CPU_REFERENCE || !(cpu->flags & TSCT_CPU_SKEW_KNOWN)) {
		printf(" %22s\n", cpu->flags & TSCT_CPU_REFERENCE ? "reference" :
		       "unknown");
		return;
	}
	snprintf(cycles, sizeof(cycles), "%lld .. %lld",
		 (long long)cpu->skew_min_cycles, (long long)cpu->skew_max_cycles);
	if (c->cycles_per_ns > 0)
		snprintf(ns, sizeof(ns), "%.1f .. %.1f",
			 cpu->skew_min_cycles / c->cycles_per_ns,
			 cpu->skew_max_cycles / c->cycles_per_ns);
	printf(" %22s %22s %7u\n", cycles, ns, cpu->rounds);
}

static void print_text(const struct check_report *c)
{
	char head[40], text[256];
	unsigned int i, reference = 0, offline = 0;

	for (i = c->result.nr; i-- > 0; )
		if (c->table[i].flags & TSCT_CPU_REFERENCE)
			reference = c->table[i].cpu;
	snprintf(head, sizeof(head), "skew to CPU %u, cycles", reference);
	printf("%5s %4s %10s %5s %22s %22s %7s\n", "CPU", "node", "TSC_AUX",
	       "match", head, "ns", "rounds");
	for (i = 0; i < c->result.nr; i++) {
		if (c->table[i].flags & TSCT_CPU_ONLINE)
			print_cpu(c, &c->table[i]);
		else
			offline++;
	}
	if (offline)
		printf("CPUs offline: %u\n", offline);
	printf("\nrdtscp %s, invariant %s, nonstop %s, unstable %s, "
	       "clocksource %s\n",
	       has_flag(c, TSCT_CHECK_RDTSCP) ? "yes" : "NO",
	       has_flag(c, TSCT_CHECK_INVARIANT) ? "yes" : "no",
	       has_flag(c, TSCT_CHECK_NONSTOP) ? "yes" : "no",
	       has_flag(c, TSCT_CHECK_UNSTABLE) ? "YES" : "no",
	       *c->result.clocksource ? c->result.clocksource : "unknown");
	if (*c->why)
		printf("checked from user space, on the CPUs in this process's "
		       "affinity mask (%s)\n", c->why);
	else
		printf("checked by the module\n");
	format_conclusion(c, text, sizeof(text));
	printf("result: %s\n", text);
}

static json_t *json_cpu(const struct check_report *c, const struct tsct_cpu_check *cpu)
{
	json_t *json = json_pack("{s:I, s:I, s:I, s:b, s:b, s:b, s:b, s:b, s:I}",
		"cpu", (json_int_t)cpu->cpu,
		"node", (json_int_t)cpu->node,
		"tsc_aux", (json_int_t)cpu->tsc_aux,
		"online", !!(cpu->flags & TSCT_CPU_ONLINE),
		"match", !!(cpu->flags & TSCT_CPU_AUX_MATCH),
		"reference", !!(cpu->flags & TSCT_CPU_REFERENCE),
		"isolated", !!(cpu->flags & TSCT_CPU_ISOLATED),
		"hypervisor", !!(cpu->flags & TSCT_CPU_HYPERVISOR),
		"rounds", (json_int_t)cpu->rounds);

	if (!(cpu->flags & TSCT_CPU_SKEW_KNOWN))
		return json;
	json_object_update_new(json, json_pack("{s:I, s:I}",
		"skew_min_ticks", (json_int_t)cpu->skew_min_cycles,
		"skew_max_ticks", (json_int_t)cpu->skew_max_cycles));
	if (c->cycles_per_ns > 0)
		json_object_update_new(json, json_pack("{s:f, s:f}",
			"skew_min_ns", cpu->skew_min_cycles / c->cycles_per_ns,
			"skew_max_ns", cpu->skew_max_cycles / c->cycles_per_ns));
	return json;
}

static int print_json(const struct check_report *c)
{
	json_t *cpus = json_array();
	char text[256];
	unsigned int i;

	format_conclusion(c, text, sizeof(text));
	for (i = 0; i < c->result.nr; i++)
		json_array_append_new(cpus, json_cpu(c, &c->table[i]));
	return ctl_json_print(json_pack(
		"{s:s, s:s, s:b, s:b, s:b, s:b, s:b, s:b, s:b,"
		" s:o, s:s, s:o, s:I, s:s, s:o}",
		"checked_by", c->by, "why", c->why,
		"usable", has_flag(c, TSCT_CHECK_USABLE),
		"aux_match", has_flag(c, TSCT_CHECK_AUX_MATCH),
		"rdtscp", has_flag(c, TSCT_CHECK_RDTSCP),
		"invariant", has_flag(c, TSCT_CHECK_INVARIANT),
		"nonstop", has_flag(c, TSCT_CHECK_NONSTOP),
		"unstable", has_flag(c, TSCT_CHECK_UNSTABLE),
		"kernel_uses_tsc", has_flag(c, TSCT_CHECK_CLOCKSOURCE),
		"clocksource", ctl_json_text(c->result.clocksource),
		"source", tsct_source_name(c->result.source),
		"tsc_khz", c->cycles_per_ns > 0 ?
			json_integer((json_int_t)(c->cycles_per_ns * 1e6 + .5)) :
			json_null(),
		"when_tsc", (json_int_t)c->result.when_cycles,
		"verdict", text, "cpus", cpus));
}

/* ---- command line ------------------------------------------------------ */

static const struct argp_option options[] = {
	{ "json", OPTION_FLAG(struct check_report, json), NULL, 0, "print JSON", 0 },
	{ "run", OPTION_FLAG(struct check_report, run), NULL, 0,
	  "measure now (default: show the module's last measurement)", 0 },
	{ 0 }
};

static const struct argp argp = {
	.options = options,
	.doc = "Check that TSC_AUX has the CPU number on each CPU, and that the "
	"CPUs' counters are synchronized."
	"\vExit status: 0: time stamps are TSC cycles, and TSC_AUX has the CPU number "
	"on all CPUs; 1: not both, or the check failed; 2: usage error.",
};

static int cmd_check(int argc, char **argv)
{
	struct provider_connection module;
	static struct check_report c;
	int ret = EXIT_FAILED;

	options_parse(&argp, argc, argv, 0, &c);
	provider_connect(&module, CHANNEL_PROVIDER_MODULE);
	if (!run_check(&c, &module)) {
		ret = is_good(&c) ? EXIT_DONE : EXIT_FAILED;
		if (!c.json)
			print_text(&c);
		else if (print_json(&c))
			ret = EXIT_FAILED;
	}
	tsct_channel_close(module.channel);
	return ret;
}

COMMAND(70, check, "check TSC_AUX and the skew between the CPUs' counters");

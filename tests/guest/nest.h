/* SPDX-License-Identifier: MIT */
/*
 * tsct-nest.ko writes one kernel channel from all contexts at once: each event that
 * was written is read once and in order; each event that was not is counted as lost. The
 * event of an NMI or a debug exception that interrupts a writer is kept for that writer: it is
 * written, or lost because the ring is full then. Only further ones are lost as nested.
 */
#ifndef TSCT_TEST_NEST_H
#define TSCT_TEST_NEST_H

#include "modules.h"
#include "ring.h"

#define MODULE	"/lib/modules/tsct-nest.ko"
#define CPUS	2

/* Number of events of each context */
T_FN const char *nest_events(void)
{
	static char text[16];

	sprintf(text, "%u", t_repeats("TSCT_NEST", 10000, 20000));
	return text;
}

static const char *const names[MOD_CONTEXTS] = {
	"task", "softirq", "hard irq", "NMI", "debug exception",
};

struct payload {
	uint64_t nr;
	uint32_t cpu, context;
};

/* Counts reported by the module, and counts of the records read */
static struct mod_nest reported[CPUS][MOD_CONTEXTS], sums[CPUS];
static unsigned long found[CPUS][MOD_CONTEXTS];
/* lower limit of the next event's number: number of the last event read, plus 1 */
static uint64_t expected[CPUS][MOD_CONTEXTS];

static void count_record(struct ring_reader *r, const struct tsct_record *rec)
{
	struct payload payload;

	memcpy(&payload, rec->payload, sizeof(payload));
	if (rec->len != 16 + sizeof(payload) || payload.cpu != r->cpu ||
	    payload.context >= MOD_CONTEXTS) {
		ring_wrong(r, "not a payload");
		return;
	}
	if (payload.nr < expected[r->cpu][payload.context])
		ring_wrong(r, "out of order or duplicate");
	expected[r->cpu][payload.context] = payload.nr + 1;
	found[r->cpu][payload.context]++;
}

static void drain(struct ring_reader *r)
{
	ring_drain_each(r, count_record);
}

static int attach(struct dev_maps *m)
{
	int fd = dev_open();

	t_check(!dev_attach_name(fd, "nest", TSCT_ROLE_READ), "%m");
	*m = dev_map_rings(fd, PROT_READ);
	memset(found, 0, sizeof(found));
	memset(expected, 0, sizeof(expected));
	return fd;
}

/* Returns true if the context can interrupt a writer: NMI, debug exception. */
static bool interrupts(unsigned int context)
{
	return context >= MOD_CONTEXTS - 2;
}

/* The ring's statistics are the sums of its writers' results. */
static struct tsct_channel_cpu check_cpu(int fd, const struct dev_maps *m,
					 unsigned int cpu)
{
	struct tsct_channel_cpu arg = dev_cpu(fd, m->header->id, cpu);
	const struct mod_nest *sum = &sums[cpu];

	for (unsigned int i = 0; i < MOD_CONTEXTS; i++) {
		const struct mod_nest *c = &reported[cpu][i];

		printf("cpu %u, %s: %lu tried, %lu written, %lu full, %lu nested\n",
		       cpu, names[i], c->tried, c->written, c->full, c->nested);
		t_check(c->written > 0 || i == MOD_CONTEXTS - 1);
		t_check(c->tried == c->written + c->full + c->nested + c->other);
	}
	t_check(reported[cpu][0].nested == 0 && reported[cpu][1].nested == 0 &&
		reported[cpu][2].nested == 0, "a context that cannot interrupt a writer was nested");
	t_check(sum->other == 0, "%lu", sum->other);
	t_check(arg.events + arg.lost[TSCT_LOST_FULL] == sum->written + sum->full,
		"%llu %llu, %lu %lu", arg.events, arg.lost[TSCT_LOST_FULL], sum->written,
		sum->full);
	t_check(arg.lost[TSCT_LOST_FULL] >= sum->full, "%llu", arg.lost[0]);
	t_check(arg.lost[TSCT_LOST_NESTED] == sum->nested, "%llu", arg.lost[2]);
	t_check(arg.lost[TSCT_LOST_TOO_BIG] + arg.lost[TSCT_LOST_ABORTED] == 0);
	return arg;
}

/* Lets the module write a discard channel, which is read meanwhile. @parameters: the
 * module's parameters except the policy */
T_FN void nest_discard(const char *parameters)
{
	struct ring_reader r[CPUS];
	struct tsct_channel_cpu arg;
	char text[64];
	struct dev_maps m;
	int fd, status;
	pid_t pid;

	snprintf(text, sizeof(text), "policy=0 %s", parameters);
	mod_load(MODULE, text);
	/* tsctrace.ko cannot be unloaded while a dependent module is loaded. */
	t_errno(mod_unload("tsctrace"), EAGAIN);
	fd = attach(&m);
	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		r[cpu] = (struct ring_reader){
			.maps = &m, .cpu = cpu, .kernel = true,
		};
	pid = mod_set_apart(MOD_NEST "run", nest_events());
	while (!waitpid(pid, &status, WNOHANG)) {
		for (unsigned int cpu = 0; cpu < CPUS; cpu++)
			drain(&r[cpu]);
		usleep(1000);
	}
	t_check(status == 0, "%#x", status);
	mod_nest_results(sums, reported, CPUS);
	for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
		drain(&r[cpu]);
		arg = check_cpu(fd, &m, cpu);
		t_check(r[cpu].wrong == 0 && r[cpu].blocks > 2);
		t_check(arg.events == r[cpu].records, "%llu %lu", arg.events,
			r[cpu].records);
		for (unsigned int i = 0; i < MOD_CONTEXTS; i++)
			t_check(found[cpu][i] == reported[cpu][i].written ||
				(interrupts(i) && found[cpu][i] < reported[cpu][i].written),
				"%s: %lu, not %lu", names[i], found[cpu][i],
				reported[cpu][i].written);
	}
	/* While a channel has a reader, the channel's memory stays, even when the
	 * module that opened the channel is unloaded. */
	t_check(!mod_unload("tsct_nest"), "%m");
	drain(&r[0]);
	t_check(r[0].wrong == 0);
	dev_close(fd, &m);
	t_check(dev_info(dev_open()).channels == 0);
}

/* Lets the module write an overwrite channel, which is read afterwards. @parameters:
 * the module's parameters except the policy */
T_FN void nest_overwrite(const char *parameters)
{
	struct tsct_channel_cpu arg;
	const uint64_t blocks = 2;
	char text[64];
	struct ring_reader r;
	struct dev_maps m;
	uint64_t head;
	int fd;

	snprintf(text, sizeof(text), "policy=1 %s", parameters);
	mod_load(MODULE, text);
	fd = attach(&m);
	t_check(mod_set(MOD_NEST "run", nest_events()) > 0, "%m");
	mod_nest_results(sums, reported, CPUS);
	for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
		arg = check_cpu(fd, &m, cpu);
		head = arg.written;
		t_check(arg.lost[TSCT_LOST_FULL] == 0);
		t_check(arg.overwritten > 0 && arg.unread == 0);
		r = (struct ring_reader){
			.maps = &m, .cpu = cpu, .kernel = true,
			.records = arg.overwritten,
			.pos = (head / 4096 + blocks) * 4096 - m.header->data_size,
		};
		while (r.pos < head) {
			const struct tsct_record *rec = ring_step(&r, head);

			if (rec)
				count_record(&r, rec);
		}
		t_check(r.wrong == 0);
		t_check(r.records == arg.events, "%lu %llu", r.records,
			arg.events);
	}
	dev_close(fd, &m);
	t_check(!mod_unload("tsct_nest"), "%m");
}

#endif

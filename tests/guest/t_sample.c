// SPDX-License-Identifier: MIT
/*
 * The example module of Documentation/examples/kernel: a reader finds the events
 * that it defines and emits, in an interrupt and in process context, and modules
 * can only be unloaded in the order of their dependencies. Then a module that emits an
 * event with an invalid payload.
 * guest-test: rt=yes
 */
#include "modules.h"
#include "ring.h"

#define PARAMS	"/sys/module/tsctrace_sample/parameters/"

struct tick {
	int64_t late_ns;
	uint64_t nr;
};

struct work_done {
	uint32_t item;
	uint64_t sum;
} __attribute__((packed));

static struct dev_maps m;
static unsigned int id_tick, id_begin, id_end;
static unsigned long ticks, begins, ends;
static uint64_t first_tick = ~0ULL, last_tick;

static unsigned int find_event(const char *name, unsigned int kind)
{
	const char *defs = (const char *)m.header + m.header->defs_offset;
	const struct tsct_event_def *def;

	for (uint64_t at = 0; at < m.header->defs_used; at += def->size) {
		def = (const void *)(defs + at);
		if (!strcmp(def->name, name)) {
			t_check(def->kind == kind, "%s: %u", name, def->kind);
			return def->id;
		}
	}
	t_check(false, "no event %s", name);
	return 0;
}

static void count_record(struct ring_reader *r, const struct tsct_record *rec)
{
	struct work_done done;
	struct tick tick;

	if (rec->id == id_tick && rec->len == 16 + sizeof(tick)) {
		memcpy(&tick, rec->payload, sizeof(tick));
		t_check(tick.late_ns >= 0, "%ld ns early", -tick.late_ns);
		if (tick.nr < first_tick)
			first_tick = tick.nr;
		if (tick.nr > last_tick)
			last_tick = tick.nr;
		ticks++;
	} else if (rec->id == id_begin && rec->len == 16 + 4) {
		begins++;
	} else if (rec->id == id_end && rec->len == 16 + sizeof(done)) {
		memcpy(&done, rec->payload, sizeof(done));
		t_check(done.item < 20 && done.sum > 0, "%u", done.item);
		t_check(rec->tid == (uint32_t)getpid(), "%u", rec->tid);
		ends++;
	} else {
		t_check(false, "id %u of %u bytes", rec->id, rec->len);
	}
}

static void read_all(void)
{
	for (unsigned int cpu = 0; cpu < m.header->nr_cpus; cpu++) {
		struct ring_reader r = { .maps = &m, .cpu = cpu, .kernel = true };

		ring_drain_each(&r, count_record);
		t_check(r.wrong == 0);
	}
}

static uint32_t set_switch(int fd, uint32_t id, uint32_t state)
{
	struct tsct_event_switch arg = { .id = id, .state = state };

	t_check(!ioctl(fd, TSCT_IOC_EVENT_SWITCH, &arg), "%m");
	return arg.state;
}

static uint64_t count_events(int fd)
{
	return dev_next(fd, 0).events;
}

/* Shows the channel, and the roles of this descriptor, in its file of /proc. */
static void try_fdinfo(int fd)
{
	char path[64], text[1024] = "";
	FILE *file;
	size_t len;

	sprintf(path, "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "r");
	len = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	t_check(len && strstr(text, "name:\tsample\n") && strstr(text, "roles:\t0x0\n"),
		"%s", text);
	fclose(file);
}

/* The tick's switch stops and starts it; the other events have no switch. */
static void try_switch(int other)
{
	struct tsct_event_switch arg = { .id = id_begin, .state = TSCT_EVENT_QUERY };
	int fd = dev_open();
	uint64_t events;

	mod_load("/lib/modules/tsctrace-sample.ko", "");
	t_errno(ioctl(fd, TSCT_IOC_EVENT_SWITCH, &arg), ENOTCONN);
	t_check(!dev_attach_name(fd, "sample", 0), "%m");
	try_fdinfo(fd);
	t_errno(ioctl(fd, TSCT_IOC_EVENT_SWITCH, &arg), ENOENT);
	arg = (struct tsct_event_switch){ .id = id_tick, .state = 3 };
	t_errno(ioctl(fd, TSCT_IOC_EVENT_SWITCH, &arg), EINVAL);
	t_check(set_switch(fd, id_tick, TSCT_EVENT_QUERY) == TSCT_EVENT_ENABLED);
	t_check(set_switch(fd, id_tick, TSCT_EVENT_DISABLED) == TSCT_EVENT_DISABLED);
	t_check(set_switch(fd, id_tick, TSCT_EVENT_DISABLED) == TSCT_EVENT_DISABLED);
	events = count_events(other);
	usleep(100000);
	t_check(count_events(other) == events, "%lu", events);
	t_check(set_switch(fd, id_tick, TSCT_EVENT_QUERY) == TSCT_EVENT_DISABLED);
	t_check(set_switch(fd, id_tick, TSCT_EVENT_ENABLED) == TSCT_EVENT_ENABLED);
	t_until(count_events(other) >= events + 5);
	/* Without its module, the event has no switch, and its key is not touched. */
	t_check(!mod_unload("tsctrace_sample"), "%m");
	arg = (struct tsct_event_switch){ .id = id_tick, .state = TSCT_EVENT_ENABLED };
	t_errno(ioctl(fd, TSCT_IOC_EVENT_SWITCH, &arg), ENOENT);
	close(fd);
}

/*
 * An event with an invalid payload ends the module's thread in the middle of tsct_emit():
 * the ring of that CPU stays usable.
 */
static void try_invalid(const char *parameters)
{
	const char *results;

	mod_load("/lib/modules/tsct-fault.ko", parameters);
	results = mod_get("/sys/module/tsct_fault/parameters/results");
	t_check(!strcmp(results, "0,0,0\n"), "%s: results %s", parameters, results);
	t_check(!mod_unload("tsct_fault"), "%m");
}

int main(void)
{
	struct tsct_channel_info info;
	int fd, other = dev_open();

	mod_load("/lib/modules/tsctrace-sample.ko", "");
	t_check(dev_info(other).channels == 1);
	t_errno(mod_unload("tsctrace"), EAGAIN);
	info = dev_next(other, 0);
	t_check(!strcmp(info.name, "sample") && info.uid == 0);
	t_check(info.flags == TSCT_CHANNEL_KERNEL && info.holders == 1);
	t_check(info.policy == TSCT_POLICY_OVERWRITE);
	/* the name is taken by a channel of root */
	struct tsct_channel_create again = dev_request("sample");
	t_errno(ioctl(other, TSCT_IOC_CHANNEL_CREATE, &again), EEXIST);

	fd = dev_open();
	t_errno(dev_attach_name(fd, "sample", TSCT_ROLE_WRITE), EACCES);
	t_check(!dev_attach_name(fd, "sample", TSCT_ROLE_READ), "%m");
	m = dev_map_rings(fd, PROT_READ);
	id_tick = find_event("tick", TSCT_KIND_COUNTER);
	id_begin = find_event("work_begin", TSCT_KIND_BEGIN);
	id_end = find_event("work_end", TSCT_KIND_END);
	t_check(mod_set(PARAMS "work", "20") > 0, "%m");
	t_errno(mod_set(PARAMS "work", "-1"), EINVAL);
	t_until(count_events(other) >= 40 + 15);
	/* After the sample module, the channel's only writer, is unloaded, a reader
	 * still finds the module's events in the rings. */
	t_check(!mod_unload("tsctrace_sample"), "%m");
	read_all();
	t_check(begins == 20 && ends == 20, "%lu %lu", begins, ends);
	t_check(ticks > 10 && ticks == last_tick - first_tick + 1 &&
		first_tick == 0, "%lu ticks, %lu to %lu", ticks, first_tick,
		last_tick);
	printf("%lu ticks\n", ticks);
	dev_close(fd, &m);
	t_check(dev_info(other).channels == 0);
	try_switch(other);
	t_check(dev_info(other).channels == 0);
	dev_pin(0);
	try_invalid("size=8");
	try_invalid("size=24");
	try_invalid("size=2000");
	return t_status();
}

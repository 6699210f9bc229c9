// SPDX-License-Identifier: MIT
/*
 * Rings that outlive a panic: programs, a kernel module and a flight recorder of the
 * system write events on all CPUs; the first two count them in memory of the host. The
 * kernel panics and reboots, and trace-ctl of the next boot finds all events that were
 * counted and are still in a ring, with times within the clock's bounds. $TSCT_PANICS
 * times (2), by $SEED, every second time without the daemon. After the last time: rights,
 * another load of the module, damaged memory, and freeing it.
 *
 * Kernels before 6.12 cannot reserve memory by name: channels lie elsewhere there.
 *
 * guest-test: boot=panic timeout=150 module=no rt=yes
 * guest-test: files=build/tools/trace-ctl,build/daemon/tsctraced
 */
#include <sys/uio.h>

#include <tsctrace/trace.h>

#include "ivshmem.h"
#include "lib.h"
#include "modules.h"

#define CPUS	2
#define KO	"/lib/modules/tsctrace.ko"
#define SAMPLE	"/lib/modules/tsctrace-sample.ko"
#define FLIP	"/lib/modules/tsct-flip.ko"
#define WORK	"/sys/module/tsctrace_sample/parameters/work"
#define MAGIC	0x63696e6170ULL
#define BLOCK	4096
#define BLOCKS	64
#define RECORD	40		/* bytes of a record of struct payload */

/* Memory of the host, which outlives a reset */
struct shared {
	uint64_t magic;
	uint32_t round, rounds, seed;
	uint64_t checked;	/* events of programs that were compared, in all rounds */
	uint8_t boot_id[16];
	/* events published so far */
	struct {
		uint64_t user, kernel;
	} cpu[CPUS];
};

/* Payload of a program's event */
struct payload {
	uint64_t nr;		/* number of the event on its CPU, from 1 */
	int64_t real_ns;	/* CLOCK_REALTIME before the event */
	uint64_t sum;
};

static volatile struct shared *shared;

static uint64_t sum_of(uint32_t cpu, uint64_t nr, int64_t real_ns)
{
	return (nr * 0x9e3779b97f4a7c15ULL) ^ (uint64_t)real_ns ^ cpu;
}

static void map_shared(void)
{
	int fd = ivshmem_open();

	shared = mmap(NULL, 4096, RW, MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED)
		t_die("ivshmem");
	close(fd);
}

/* ---- until the panic ------------------------------------------------------- */

static bool is_synchronized(void)
{
	struct tsct_clock *clock = NULL;
	bool done = lib_open_clock(&clock) && !tsct_clock_wait_synced(clock, 1000, 0);

	tsct_clock_close(clock);
	return done;
}

static void start_daemon(void)
{
	lib_start_daemon("200");
	t_until(is_synchronized());
}

static void write_user(uint32_t cpu)
{
	struct tsct_channel_options options = {
		.name = "box", .flags = TSCT_OPEN_ATTACH, .roles = TSCT_ROLE_WRITE,
	};
	struct tsct_channel *channel = lib_open(&options);
	int id = tsct_event_define(channel, "step", TSCT_KIND_INSTANT,
				   "nr:u64, real_ns:s64, sum:u64/x");
	struct payload payload = { .nr = 0 };

	dev_pin(cpu);
	for (;;) {
		payload.nr++;
		payload.real_ns = t_ns(CLOCK_REALTIME);
		payload.sum = sum_of(cpu, payload.nr, payload.real_ns);
		if (tsct_emit(channel, id, &payload, sizeof(payload)))
			_exit(1);
		shared->cpu[cpu].user = payload.nr;
		/* A pause now and then: the other writers of this CPU run, too. */
		if (payload.nr % 512 == 0)
			sched_yield();
	}
}

static void write_kernel(uint32_t cpu)
{
	dev_pin(cpu);
	for (;;) {
		if (mod_set(WORK, "1") < 0)
			_exit(1);
		shared->cpu[cpu].kernel += 2;	/* work_begin, work_end */
		usleep(500);
	}
}

static void check_reserved(const char *name, bool want)
{
	struct tsct_channel_info info = { .id = 0 };
	int fd = dev_open();

	while (!ioctl(fd, TSCT_IOC_CHANNEL_NEXT, &info))
		if (!strcmp(info.name, name))
			break;
	t_check(!strcmp(info.name, name) &&
		!!(info.flags & TSCT_CHANNEL_RESERVED) == want, "%s: %#x", info.name,
		info.flags);
	close(fd);
}

/* BPF programs need BTF of the module. */
static bool can_record_kernel(void)
{
	return !access("/sys/kernel/btf/tsctrace", F_OK);
}

static bool has_flight_recorder(int fd)
{
	const uint32_t flags = TSCT_CHANNEL_KERNEL | TSCT_CHANNEL_RESERVED;
	struct tsct_channel_info info = { .id = 0 };

	while (!ioctl(fd, TSCT_IOC_CHANNEL_NEXT, &info))
		if (info.flags == flags && info.events > 100)
			return true;
	return false;
}

/* Records the scheduling of the system, as a user would. */
static void start_flight_recorder(void)
{
	int fd = dev_open();

	if (!t_fork()) {
		execl("/usr/bin/trace-ctl", "trace-ctl", "record", "-f", "-q", "-a", "-e",
		      "sched", "--block-size", "4096", "--blocks", "16", "-o",
		      "/tmp/flight", NULL);
		t_die("trace-ctl");
	}
	t_until(has_flight_recorder(fd));
	close(fd);
}

/* Maps of reserved memory can be used, but not pinned. */
static void check_no_pin(void)
{
	struct iovec to, from;
	struct dev_maps maps;
	char text[64];
	int fd = dev_open();

	t_check(!dev_attach_name(fd, "box", BOTH), "%m");
	maps = dev_map(fd);
	t_check(dev_pos(&maps, 0) > 0);
	to = (struct iovec) { text, sizeof(text) };
	from = (struct iovec) { dev_data(&maps, 0), sizeof(text) };
	t_errno(process_vm_readv(getpid(), &to, 1, &from, 1, 0), EFAULT);
	dev_unmap(&maps);
	close(fd);
}

static void make_box(void)
{
	struct tsct_channel_create arg = dev_request("box");

	arg.policy = TSCT_POLICY_OVERWRITE;
	arg.flags = TSCT_CHANNEL_KEEP;
	arg.block_size = BLOCK;
	arg.blocks = BLOCKS;
	close(dev_create(&arg));
}

static bool all_have_written(void)
{
	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		if (!shared->cpu[cpu].user || !shared->cpu[cpu].kernel)
			return false;
	return true;
}

static _Noreturn void run_and_panic(void)
{
	uint32_t cpu, wait_us;

	/* The daemon stores the boot id, with the clock. */
	if (shared->round % 2 == 0)
		start_daemon();
	else
		memset((void *)shared->boot_id, 0, sizeof(shared->boot_id));
	make_box();
	check_reserved("box", true);
	check_no_pin();
	if (can_record_kernel())
		start_flight_recorder();
	mod_load(SAMPLE, "");
	check_reserved("sample", true);
	if (t_failures)
		exit(t_status());
	for (cpu = 0; cpu < CPUS; cpu++) {
		shared->cpu[cpu].user = shared->cpu[cpu].kernel = 0;
		if (!t_fork())
			write_user(cpu);
		if (!t_fork())
			write_kernel(cpu);
	}
	t_until(all_have_written());
	srandom(shared->seed + shared->round);
	wait_us = 200000 + random() % 1500000;
	shared->round++;
	usleep(wait_us);
	mod_load("/lib/modules/tsct-panic.ko", "");
	puts("no panic");
	exit(1);
}

/* ---- the next boot --------------------------------------------------------- */

/* Runs a command. Returns its exit status; a signal fails the test. */
static int run(const char *command)
{
	int status = system(command);

	t_check(WIFEXITED(status), "%s: status %#x", command, status);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Results of reading one ring of "box" */
struct read_ring {
	uint64_t first, last, wrong, late;
	int64_t error_ns;	/* largest error bound of an event */
	int64_t last_ns;	/* earliest time of the last event */
	uint64_t kernel;
	uint64_t last_tick, ticks, switches;
};

/* An event is after its program's reading of the clock, and before the next reading. */
static void read_step(struct read_ring *r, const struct tsct_trace *trace,
		      const struct tsct_trace_event *event)
{
	const int64_t ns = tsct_trace_ns(trace, event->tick);
	const int64_t error = (int64_t)tsct_trace_error_ns(trace, 0, event->tick);
	struct payload p;

	if (error > r->error_ns)
		r->error_ns = error;
	memcpy(&p, event->payload, sizeof(p));
	if (p.sum != sum_of(event->cpu, p.nr, p.real_ns) ||
	    (r->last && p.nr != r->last + 1))
		r->wrong++;
	if (ns + error < p.real_ns || (r->last && r->last_ns > p.real_ns))
		r->late++;
	r->last_ns = ns - error;
	if (!r->first)
		r->first = p.nr;
	r->last = p.nr;
}

static void read_trace(const char *dir, struct read_ring *rings)
{
	struct tsct_trace_event event;
	struct tsct_trace_node node;
	struct tsct_trace *trace;
	struct tsct_value value;
	struct read_ring *r;
	char why[256];
	uint64_t tick;

	memset(rings, 0, CPUS * sizeof(*rings));
	if (!t_check(!tsct_trace_open(dir, NULL, NULL, &trace, why, sizeof(why)), "%s", why))
		return;
	t_check(!tsct_trace_node(trace, 0, &node) &&
		!memcmp(node.boot_id, (const void *)shared->boot_id, 16), "boot id");
	while (tsct_trace_next(trace, &event) == 1) {
		if (!t_check(event.cpu < CPUS, "CPU %u", event.cpu))
			break;
		r = &rings[event.cpu];
		if (!strcmp(event.def->name, "step")) {
			read_step(r, trace, &event);
		} else if (!strcmp(event.def->name, "tick")) {
			tsct_value_find(&event, "nr", &value);
			tick = (uint64_t)tsct_value_integer(&value);
			if (r->ticks && tick != r->last_tick + 1)
				r->wrong++;
			r->last_tick = tick;
			r->ticks++;
		} else if (!strcmp(event.def->name, "sched_switch")) {
			r->switches++;
		} else {
			r->kernel++;
		}
	}
	t_check(!tsct_trace_corrupt_count(trace) && !tsct_trace_lost(trace) &&
		tsct_trace_is_complete(trace), "%lu corrupt, %lu lost",
		(unsigned long)tsct_trace_corrupt_count(trace),
		(unsigned long)tsct_trace_lost(trace));
	tsct_trace_close(trace);
}

/* Gets a number of channel @name from the JSON summary in /tmp/out. */
static uint64_t summary(const char *name, const char *key)
{
	char command[256], text[32] = "";
	FILE *from;

	snprintf(command, sizeof(command), "awk -F'[:,]' '/\"name\": \"%s\"/ { on = 1 }"
		 " on && /\"%s\":/ { print $2 + 0; exit }' /tmp/out", name, key);
	from = popen(command, "r");
	if (!fgets(text, sizeof(text), from))
		text[0] = '\0';
	pclose(from);
	return strtoull(text, NULL, 10);
}

/* A block has 101 records; the head's block and the next one are never readable, and the
 * oldest may lack records. */
static const uint64_t fit_min = (uint64_t)(BLOCKS - 3) * ((BLOCK - 40) / RECORD);

static void compare(void)
{
	struct read_ring rings[CPUS];
	uint64_t published = 0, user, kernel = 0;
	int status;

	run("rm -rf /tmp/prev");
	status = run("trace-ctl snapshot --previous-boot --json -o /tmp/prev"
		     " >/tmp/out 2>/tmp/err");
	if (!t_check(status == 0, "snapshot: status %d", status)) {
		run("cat /tmp/out /tmp/err");
		return;
	}
	read_trace("/tmp/prev", rings);
	for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
		struct read_ring *r = &rings[cpu];

		user = shared->cpu[cpu].user;
		t_check(user > 0 && r->last >= user && r->last <= user + 1,
			"CPU %u: the last event is %lu, %lu were published", cpu,
			r->last, user);
		t_check(r->first && (r->first == 1 || r->last - r->first + 1 >= fit_min),
			"CPU %u: events %lu to %lu", cpu, r->first, r->last);
		t_check(!r->wrong, "CPU %u: %lu events are wrong", cpu, r->wrong);
		t_check(!r->late, "CPU %u: %lu times are wrong", cpu, r->late);
		published += r->last;
		shared->checked += r->last - r->first + 1;
		kernel += shared->cpu[cpu].kernel;
		t_check(r->switches > 0 || !can_record_kernel(), "CPU %u: no flight recorder", cpu);
		printf("round %u, CPU %u: events %lu to %lu within %ld ns; kernel: %lu, %lu"
		       " ticks, %lu switches\n", shared->round, cpu, r->first, r->last,
		       r->error_ns, r->kernel, r->ticks, r->switches);
	}
	t_check(summary("box", "events") + summary("box", "overwritten") == published,
		"%lu + %lu are not %lu", summary("box", "events"),
		summary("box", "overwritten"), published);
	t_check(summary("sample", "events") + summary("sample", "overwritten") >= kernel,
		"%lu + %lu are fewer than %lu", summary("sample", "events"),
		summary("sample", "overwritten"), kernel);
	t_check(rings[0].kernel + rings[1].kernel > 0 &&
		rings[0].ticks + rings[1].ticks > 0, "no events of the kernel");
}

/* ---- after the last panic -------------------------------------------------- */

static void as_user(void *unused)
{
	struct tsct_previous_read part = { .len = 0 };
	struct tsct_previous previous = { .flags = 0 };
	int fd = dev_open();

	t_errno(ioctl(fd, TSCT_IOC_PREVIOUS, &previous), EPERM);
	t_errno(ioctl(fd, TSCT_IOC_PREVIOUS_READ, &part), EPERM);
	previous.flags = TSCT_PREVIOUS_DISCARD;
	t_errno(ioctl(fd, TSCT_IOC_PREVIOUS, &previous), EPERM);
	close(fd);
}

static void check_requests(void)
{
	struct tsct_previous_read part;
	struct tsct_previous previous = { .flags = 0 };
	static char text[8192];
	int fd = dev_open();

	chmod(TSCT_DEVICE_PATH, 0666);
	dev_as_user(1000, as_user, NULL);
	t_check(!ioctl(fd, TSCT_IOC_PREVIOUS, &previous), "%m");
	t_check(memcmp(previous.id, (const uint8_t[16]) { 0 }, 16));
	part = (struct tsct_previous_read) {
		.offset = previous.size - 100, .data = (uintptr_t)text, .len = 8192,
	};
	t_check(!ioctl(fd, TSCT_IOC_PREVIOUS_READ, &part) && part.len == 100, "%m");
	part.offset = previous.size;
	t_check(!ioctl(fd, TSCT_IOC_PREVIOUS_READ, &part) && !part.len, "%m");
	part.offset = ~0ULL;
	part.len = ~0U;
	t_check(!ioctl(fd, TSCT_IOC_PREVIOUS_READ, &part) && !part.len, "%m");
	part.reserved0 = 1;
	t_errno(ioctl(fd, TSCT_IOC_PREVIOUS_READ, &part), EINVAL);
	part = (struct tsct_previous_read) { .data = 4096, .len = 16 };
	t_errno(ioctl(fd, TSCT_IOC_PREVIOUS_READ, &part), EFAULT);
	close(fd);
}

/* Neither the module nor trace-ctl trusts the memory: no result but a crash is wrong. */
static void damage(void)
{
	/* bytes of: the first channel; all channels; clock and first channel; header */
	static const unsigned int ranges[][2] = {
		{ 28672, 32768 + 65536 }, { 28672, 1 << 20 }, { 4096, 65536 }, { 0, 4096 },
	};
	unsigned int i, with_channels = 0;
	const unsigned int *range;
	char options[96];
	int fd, status;

	for (i = 0; i < 12; i++) {
		range = ranges[i / 3];
		t_check(!mod_unload("tsctrace"), "%m");
		/* The first page, whose loss frees the memory, comes last. */
		snprintf(options, sizeof(options), "flips=%u first=%u last=%u seed=%u",
			 1U << 2 * (i % 3), range[0], range[1], shared->seed + i);
		fd = open(FLIP, O_RDONLY);
		t_errno(syscall(SYS_finit_module, fd, options, 0), ECANCELED);
		close(fd);
		mod_load(KO, "");
		run("rm -rf /tmp/damaged");
		status = run("trace-ctl snapshot --previous-boot -o /tmp/damaged"
			     " >/dev/null 2>/tmp/err");
		t_check(status == 0 || status == 1 || status == 3, "%d", status);
		with_channels += status != 1;
	}
	printf("%u of %u damaged memories had a channel that could be copied\n",
	       with_channels, i);
}

static void finish(void)
{
	const uint64_t checked = shared->checked;
	struct tsct_previous previous = { .flags = 0 };
	int fd, status;

	check_requests();
	/* Until the memory is freed, new channels are elsewhere; the channels in it stay
	 * when the module is loaded again. */
	make_box();
	check_reserved("box", false);
	t_check(!mod_unload("tsctrace"), "%m");
	mod_load(KO, "");
	compare();
	damage();
	run("trace-ctl snapshot --previous-boot --discard >/dev/null 2>&1");
	fd = dev_open();
	t_errno(ioctl(fd, TSCT_IOC_PREVIOUS, &previous), ENOENT);
	close(fd);
	status = run("trace-ctl snapshot --previous-boot -o /tmp/none 2>/tmp/err");
	t_check(status == 1 && !run("grep -q 'no channel of a previous' /tmp/err"));
	make_box();
	check_reserved("box", true);
	t_check(!mod_unload("tsctrace"), "%m");
	printf("%u panics, seed %u: %lu events of programs compared\n", shared->rounds,
	       shared->seed, checked);
}

static void get_boot_id(uint8_t *id)
{
	char text[64] = "", *at = text;
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");

	t_check(file && fgets(text, sizeof(text), file), "%m");
	if (file)
		fclose(file);
	for (int i = 0; i < 16; i++, at += 2) {
		at += *at == '-';
		t_check(sscanf(at, "%2hhx", &id[i]) == 1, "%s", text);
	}
}

int main(void)
{
	mod_load(KO, "");
	if (!mod_can_reserve()) {
		make_box();
		check_reserved("box", false);
		t_check(!mod_unload("tsctrace"), "%m");
		return t_status();
	}
	map_shared();
	if (shared->magic != MAGIC) {
		shared->seed = (uint32_t)atoi(getenv("SEED") ?: "0") ?:
			(uint32_t)t_ns(CLOCK_REALTIME);
		shared->rounds = (uint32_t)atoi(getenv("TSCT_PANICS") ?: "2");
		shared->round = 0;
		shared->magic = MAGIC;
	} else {
		compare();
	}
	if (t_failures) {
		printf("seed %u, round %u of %u\n", shared->seed, shared->round,
		       shared->rounds);
		return t_status();
	}
	if (shared->round == shared->rounds) {
		finish();
		return t_status();
	}
	if (shared->round)
		t_check(!run("trace-ctl snapshot --previous-boot --discard"));
	get_boot_id((uint8_t *)shared->boot_id);
	run_and_panic();
}

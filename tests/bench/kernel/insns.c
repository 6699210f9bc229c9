// SPDX-License-Identifier: MIT
/*
 * insns - instructions per event, in a guest whose TSC counts instructions
 *
 * Prints "name value unit" lines. Each cost is a difference: of a loop with the event
 * and one without, or of 512 and 256 iterations of a loop. It is the median of several
 * runs, and is measured three times: if the three results differ, all are printed in a
 * comment. The program fails if events were not written.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#include <tsctrace/tsctrace.h>

#include "../bench.h"
#include "tools/bpf/progs/events.h"
#include "insns.skel.h"

#define RUNS		15
#define REPEATS		3
#define TURNS		512
#define MARKER		"/sys/kernel/tracing/trace_marker"
#define RESULTS		"/sys/module/tsct_bench/parameters/results"

static int failures;

static void fail(const char *what)
{
	printf("# failed: %s\n", what);
	failures++;
}

static double median(const double *values, unsigned int nr)
{
	return bench_quantile(values, nr, 0.5);
}

/* ---- the three repetitions of a measurement ----------------------------------- */

struct figure {
	const char *name;
	double values[REPEATS];
};

static double print(const struct figure *figure)
{
	const double *v = figure->values, middle = median(v, REPEATS);

	printf("%s %.1f instructions\n", figure->name, middle);
	if (v[0] != v[1] || v[0] != v[2])
		printf("# %s: %.3f %.3f %.3f\n", figure->name, v[0], v[1], v[2]);
	return middle;
}

/* ---- the module -------------------------------------------------------------- */

static double value_of(const char *text, const char *name)
{
	const size_t len = strlen(name);
	const char *line;

	for (line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, len) && line[len] == ' ')
			return strtod(line + len, NULL);
	}
	fail(name);
	return 0;
}

static void measure_module(struct figure *emit, struct figure *disabled,
			   struct figure *ftrace, struct figure *loop,
			   unsigned int repeat)
{
	int fd = open(RESULTS, O_RDONLY);
	char text[4096];
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	double turns, empty;

	if (len < 0) {
		perror(RESULTS);
		exit(1);
	}
	text[len] = '\0';
	close(fd);
	turns = value_of(text, "turns");
	empty = value_of(text, "loop");
	/* Expected: two instructions per iteration of run_two(), plus the overhead of
	 * reading the counter before and after the loop */
	if (value_of(text, "two") / turns > 2.1)
		fail("the counter does not count instructions");
	if (value_of(text, "ftrace_written") != 2 * turns)
		fail("ring_buffer_write() did not write every event");
	loop->values[repeat] = empty / turns;
	emit->values[repeat] = (value_of(text, "emit") - empty) / turns;
	disabled->values[repeat] = (value_of(text, "disabled") - empty) / turns;
	ftrace->values[repeat] = (value_of(text, "ftrace") - empty) / turns;
}

/* ---- BPF --------------------------------------------------------------------- */

static unsigned long long consumed;

static int consume(void *, void *, size_t size)
{
	/* An event of 8 bytes, alone or after its header of 16 bytes */
	consumed += size == 8 || size == 24;
	return 0;
}

static double run_once(struct insns *skel, unsigned int turns)
{
	unsigned long long start;

	skel->bss->turns = turns;
	start = __rdtsc();
	syscall(SYS_getppid);
	return __rdtsc() - start;
}

/* Returns the number of instructions per iteration of the program's loop. */
static double run_program(struct insns *skel, struct bpf_program *program,
			  struct ring_buffer *ring)
{
	struct bpf_link *link = bpf_program__attach(program);
	double half[RUNS], whole[RUNS];

	if (!link) {
		fail(bpf_program__name(program));
		return 0;
	}
	run_once(skel, TURNS);
	for (unsigned int i = 0; i < RUNS; i++) {
		half[i] = run_once(skel, TURNS / 2);
		whole[i] = run_once(skel, TURNS);
		ring_buffer__consume(ring);
	}
	bpf_link__destroy(link);
	return (median(whole, RUNS) - median(half, RUNS)) / (TURNS / 2);
}

static const unsigned long long per_program = TURNS + RUNS * (TURNS / 2 + TURNS);

static double run_ring(struct insns *skel, struct bpf_program *program,
		       struct ring_buffer *ring, double loop)
{
	consumed = 0;
	loop = run_program(skel, program, ring) - loop;
	ring_buffer__consume(ring);
	if (consumed != per_program)
		fail("the BPF ring buffer did not get every event");
	return loop;
}

/* Makes the ring buffer of the only CPU for programs as the recorder's. */
static struct ring_buffer *open_stock(struct insns *skel)
{
	const __u32 zero = 0;
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "stock", 0, 0, 1 << 20, NULL);

	if (fd < 0 || bpf_map_update_elem(bpf_map__fd(skel->maps.rings), &zero, &fd, BPF_ANY))
		return NULL;
	return ring_buffer__new(fd, consume, NULL, NULL);
}

/* ---- trace_marker -------------------------------------------------------------- */

static double run_marker(int fd)
{
	unsigned long long start, value = 0x3132333435363738;
	double cycles[RUNS], loop[RUNS];

	for (unsigned int i = 0; i < RUNS; i++) {
		start = __rdtsc();
		for (unsigned int turn = 0; turn < 100; turn++)
			__asm__ __volatile__("" : : : "memory");
		loop[i] = (__rdtsc() - start) / 100.0;
		start = __rdtsc();
		for (unsigned int turn = 0; turn < 100; turn++)
			if (write(fd, &value, sizeof(value)) != sizeof(value))
				fail("write to trace_marker");
		cycles[i] = (__rdtsc() - start) / 100.0;
	}
	return median(cycles, RUNS) - median(loop, RUNS);
}

/* ---- main ------------------------------------------------------------------------ */

static int open_channel(__u64 *ret_handle)
{
	const struct tsct_channel_options options = {
		.name = "insns", .policy = TSCT_POLICY_OVERWRITE,
		.block_size = 4096, .blocks = 256,
		.roles = TSCT_ROLE_READ, .channel_flags = TSCT_CHANNEL_KERNEL,
	};
	struct tsct_channel *bench;

	if (tsct_channel_open(&options, &bench)) {
		printf("# %s\n", tsct_channel_error(bench));
		return -1;
	}
	*ret_handle = tsct_channel_info(bench)->bpf_handle;
	return tsct_event_define(bench, "turn", TSCT_KIND_INSTANT, "turn:u64");
}

int main(void)
{
	static struct figure loop = { .name = "kernel_loop_insns" },
		emit = { .name = "kernel_emit_insns" },
		disabled = { .name = "kernel_disabled_insns" },
		ftrace = { .name = "ftrace_ring_buffer_write_insns" },
		bpf_loop = { .name = "bpf_loop_insns" },
		kfunc = { .name = "kfunc_emit_insns" },
		submit = { .name = "bpf_ringbuf_insns" },
		output = { .name = "bpf_ringbuf_output_insns" },
		stock = { .name = "stock_emit_insns" },
		stamped = { .name = "bpf_ringbuf_stamped_insns" },
		marker = { .name = "trace_marker_insns" };
	double ours, theirs, ours_bpf;
	struct ring_buffer *ring, *ring_stock;
	__u64 channel;
	struct insns *skel;
	int event, fd;

	event = open_channel(&channel);
	if (event < 0)
		return fail("cannot open the channel"), 1;
	skel = insns__open();
	if (skel) {
		skel->rodata->channel_handle = channel;
		skel->rodata->event_id = event;
		skel->rodata->tgid = getpid();
	}
	if (!skel || insns__load(skel))
		return fail("cannot load the BPF programs"), 1;
	ring = ring_buffer__new(bpf_map__fd(skel->maps.events), consume, NULL, NULL);
	fd = open(MARKER, O_WRONLY);
	ring_stock = open_stock(skel);
	if (!ring || !ring_stock || fd < 0)
		return fail("cannot open the BPF ring buffer or trace_marker"), 1;

	for (unsigned int i = 0; i < REPEATS; i++) {
		measure_module(&emit, &disabled, &ftrace, &loop, i);
		bpf_loop.values[i] = run_program(skel, skel->progs.run_loop, ring);
		kfunc.values[i] = run_program(skel, skel->progs.run_emit, ring) -
			bpf_loop.values[i];
		submit.values[i] = run_ring(skel, skel->progs.run_submit, ring,
					    bpf_loop.values[i]);
		output.values[i] = run_ring(skel, skel->progs.run_output, ring,
					    bpf_loop.values[i]);
		stamped.values[i] = run_ring(skel, skel->progs.run_stamped, ring,
					     bpf_loop.values[i]);
		stock.values[i] = run_ring(skel, skel->progs.run_stock, ring_stock,
					   bpf_loop.values[i]);
		marker.values[i] = run_marker(fd);
	}
	if (skel->bss->failed)
		fail("BPF programs could not write every event");

	print(&loop);
	ours = print(&emit);
	print(&disabled);
	theirs = print(&ftrace);
	printf("kernel_emit_vs_ftrace %.3f ratio\n", ours / theirs);
	print(&bpf_loop);
	ours_bpf = print(&kfunc);
	theirs = print(&submit);
	printf("kfunc_emit_vs_bpf_ringbuf %.3f ratio\n", ours_bpf / theirs);
	print(&output);
	ours_bpf = print(&stock);
	theirs = print(&stamped);
	printf("stock_emit_vs_bpf_ringbuf_stamped %.3f ratio\n", ours_bpf / theirs);
	theirs = print(&marker);
	printf("kernel_emit_vs_trace_marker %.3f ratio\n", ours / theirs);
	return failures != 0;
}

// SPDX-License-Identifier: MIT
/* Merging recordings in which the counter jumped, and a new epoch began. */
#include "merge_world.h"

CASE("epochs", begin_world, drop_root);

/* The counter jumps by 1 s in the middle of a recording, and a new epoch begins, as
 * after a suspend. */
TEST(test_two_epochs)
{
	struct node n = nodes[1], later = nodes[1];
	struct tsct_recording rec;
	struct tsct_recording_writer *writer;
	struct tsct_merge *m;
	int fd = make_dir("d");

	n.end = LENGTH / 2;
	later.begin = LENGTH / 2;
	later.base += 3 * S;
	later.clock_epoch = 2;
	describe(&rec, &nodes[1]);
	rec.end = count_at(&later, LENGTH);
	define(&rec, 0, 18, "now", TSCT_KIND_INSTANT, "t:u64");
	join_cluster(&rec, &n);
	ck_assert_int_eq(tsct_recording_writer_open(fd, &rec, &writer), 0);
	write_samples(&rec, writer, &n);
	write_samples(&rec, writer, &later);
	n.nr_cpus = later.nr_cpus = 1;
	write_events(writer, &n, 18);
	write_events(writer, &later, 18);
	end_node(&rec, writer, fd, false);
	m = merge_to("ad", "o");
	ck_assert_int_eq(tsct_merge_how(m, 1), TSCT_MERGE_AS_CHILD);
	tsct_merge_free(m);
	check_result("o", 4 * EVENTS, 1);
}

static void add_line(struct tsct_recording *rec, __u64 base, __u64 until, __u32 epoch)
{
	const struct tsct_clock_segment line = {
		.base_cycles = base, .until_cycles = until, .mult = rec->real.mult,
		.base_ns = EPOCH, .epoch = epoch, .status = TSCT_STATUS_SYNCHRONIZED,
	};

	ck_assert_int_eq(tsct_recording_add_segment(rec, &line), 0);
}

/* A recording with two epochs. All sync samples of the first epoch are from before the
 * recording's begin. The node's clock segments state when that epoch ends, and so until
 * when these samples are valid. */
TEST(test_epoch_without_samples)
{
	struct node n = nodes[1], later = nodes[1];
	struct tsct_recording rec;
	struct tsct_recording_writer *writer;
	struct tsct_merge *m;
	int fd = make_dir("d");

	later.base += 3 * S;
	later.clock_epoch = 2;
	describe(&rec, &nodes[1]);
	rec.begin = count_at(&n, LENGTH / 8);
	rec.end = count_at(&later, LENGTH);
	rec.epoch = 2;
	add_line(&rec, count_at(&n, 0), count_at(&n, LENGTH / 2), 1);
	add_line(&rec, count_at(&later, LENGTH / 2), count_at(&later, LENGTH), 2);
	define(&rec, 0, 18, "now", TSCT_KIND_INSTANT, "t:u64");
	join_cluster(&rec, &n);
	ck_assert_int_eq(tsct_recording_writer_open(fd, &rec, &writer), 0);
	n.end = LENGTH / 16;
	write_samples(&rec, writer, &n);
	later.begin = LENGTH / 2;
	later.end = LENGTH;
	write_samples(&rec, writer, &later);
	n.nr_cpus = later.nr_cpus = 1;
	n.begin = LENGTH / 8;
	n.end = LENGTH / 2;
	write_events(writer, &n, 18);
	write_events(writer, &later, 18);
	end_node(&rec, writer, fd, false);
	m = merge_to("ad", "o");
	ck_assert(strstr(notes, "/d: the clock was disrupted"));
	ck_assert(tsct_merge_result(m)->nodes[1].disrupted);
	ck_assert(!tsct_merge_result(m)->nodes[0].disrupted);
	tsct_merge_free(m);
	check_result("o", 4 * EVENTS, 1);
	m = merge_to("o", "p");
	ck_assert(tsct_merge_result(m)->nodes[1].disrupted);
	tsct_merge_free(m);
}

/* Writes a recording of node b, whose counter jumps by 3 10^9 at 5 / 8 of its length. The
 * clock and the samples of the first epoch end at 1 / 2; those of the second epoch, if
 * @sampled, begin at 3 / 4. */
static void write_jump(bool sampled)
{
	struct node n = nodes[1], later = nodes[1];
	struct tsct_recording rec;
	struct tsct_recording_writer *writer;
	int fd = make_dir("d");

	later.base += 3 * S;
	later.clock_epoch = 2;
	describe(&rec, &nodes[1]);
	rec.end = count_at(&later, LENGTH);
	rec.epoch = 2;
	add_line(&rec, count_at(&n, 0), count_at(&n, LENGTH / 2), 1);
	add_line(&rec, count_at(&later, LENGTH / 4 * 3), count_at(&later, LENGTH), 2);
	define(&rec, 0, 18, "now", TSCT_KIND_INSTANT, "t:u64");
	join_cluster(&rec, &n);
	ck_assert_int_eq(tsct_recording_writer_open(fd, &rec, &writer), 0);
	n.end = LENGTH / 2;
	write_samples(&rec, writer, &n);
	later.begin = LENGTH / 4 * 3;
	later.no_samples = !sampled;
	write_samples(&rec, writer, &later);
	n.nr_cpus = later.nr_cpus = 1;
	n.end = later.begin = LENGTH / 8 * 5;
	write_events(writer, &n, 18);
	write_events(writer, &later, 18);
	end_node(&rec, writer, fd, false);
}

/* Events between two epochs belong to one of the two, and the bound covers both. In an
 * epoch without samples there is no bound. */
LOOP_TEST(test_time_between_epochs, 0, 2)
{
	const struct tsct_recorded_correction *c;
	struct tsct_trace *trace;

	write_jump(_i);
	tsct_merge_free(merge_to("ad", "o"));
	check_result("o", 4 * EVENTS, 1);
	trace = open_result("o");
	c = &tsct_trace_recording(trace)->nodes[1].correction;
	if (!_i)
		ck_assert_uint_ge(c->bounds[c->nr_bounds - 1].error_ns, INT64_MAX);
	tsct_trace_close(trace);
}

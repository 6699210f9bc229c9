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
	merge_to("ad", "o");
	ck_assert_int_eq(tsct_merge_how(m, 1), TSCT_MERGE_AS_CHILD);
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
	merge_to("ad", "o");
	ck_assert(strstr(notes, "/d: the clock was disrupted"));
	ck_assert(tsct_merge_result(m)->nodes[1].disrupted);
	ck_assert(!tsct_merge_result(m)->nodes[0].disrupted);
	check_result("o", 4 * EVENTS, 1);
	merge_to("o", "p");
	ck_assert(tsct_merge_result(m)->nodes[1].disrupted);
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
	merge_to("ad", "o");
	check_result("o", 4 * EVENTS, 1);
	trace = open_result("o");
	c = &tsct_trace_recording(trace)->nodes[1].correction;
	if (!_i)
		ck_assert_uint_ge(c->bounds[c->nr_bounds - 1].error_ns, INT64_MAX);
	tsct_trace_close(trace);
}

/* ---- recordings of one boot -------------------------------------------- */

/* Merging recordings of one boot, whose clocks may contradict each other. */
/* At @gap_ns after the end of recording d, CLOCK_REALTIME of the same boot was ahead of d's
 * line by @off_ns. If that is more than an NTP daemon slews, it was set. */
static const struct {
	__s64 off_ns;
	__u64 gap_ns;
	bool accepted;
} later_steps[] = {
	{ 3000000000LL, 3600 * S, false }, { -3000000000LL, 3600 * S, false },
	{ 240000000, 3600 * S, false }, { 200000000, 3600 * S, true },
	{ -200000000, 3600 * S, true }, { 3000000, 1 * S, false }, { 1900000, 1 * S, true },
	{ 2000000, 1000, false }, { 900000, 1000, true }, { 0, 3600 * S, true },
};

CASE("one_boot", begin_world, drop_root);

LOOP_TEST(test_one_boot_later, 0, ROWS(later_steps))
{
	struct node n = nodes[1];

	n.alone = true;
	write_node(&n, "d");
	n.uuid = 30;
	n.channel = "other";
	n.own_off_ns += later_steps[_i].off_ns;
	n.begin = LENGTH + later_steps[_i].gap_ns;
	n.end = n.begin + S;
	write_node(&n, "e");
	if (later_steps[_i].accepted) {
		expect_accepted("de", "");
		expect_accepted("ed", "");
		return;
	}
	expect_refused("de", "of the same boot, but their clocks contradict each other");
	expect_refused("ed", "of the same boot, but their clocks contradict each other");
}

/* A recording is compared with the one before it that ends last, although a shorter one is
 * between: there, no time passed in which the clock could be slewed. */
TEST(test_one_boot_overlap)
{
	struct node n = nodes[1];

	n.alone = true;
	n.end = 1000 * S;
	write_node(&n, "d");
	n.begin = S;
	n.end = 2 * S;
	n.uuid = 30;
	n.channel = "other";
	write_node(&n, "e");
	n.begin = 990 * S;
	n.end = 1100 * S;
	n.uuid = 31;
	n.channel = "third";
	n.own_off_ns += 2000000;
	write_node(&n, "f");
	expect_accepted("ef", "");
	expect_refused("def", "of the same boot, but their clocks contradict each other");
	/* Both clocks were read for 100 s: no slew explains that they differ. */
	n.begin = 100 * S;
	n.end = 200 * S;
	n.uuid = 32;
	n.channel = "fourth";
	n.own_off_ns -= 1100000;
	write_node(&n, "g");
	expect_refused("dg", "of the same boot, but their clocks contradict each other");
	/* The lines of two machines cross in the middle. */
	n.begin = 200 * S;
	n.end = 800 * S;
	n.uuid = 33;
	n.channel = "fifth";
	n.own_off_ns = nodes[1].own_off_ns;
	n.own_ppm = 10;
	write_node(&n, "h");
	expect_refused("dh", "of the same boot, but their clocks contradict each other");
}

/* A third machine does not hide the contradiction, whatever bounds to UTC are stated. */
TEST(test_one_boot_among_others)
{
	struct node n = nodes[1], other = nodes[2];

	n.alone = other.alone = true;
	n.utc_ns = other.utc_ns = 1000;
	write_node(&other, "x");
	write_node(&n, "d");
	n.uuid = 30;
	n.channel = "other";
	write_node(&n, "e");
	n.uuid = 31;
	n.own_off_ns += 3000000000LL;
	write_node(&n, "f");
	expect_accepted("xde", "no common timeline");
	expect_refused("xdf", "of the same boot, but their clocks contradict each other");
}

// SPDX-License-Identifier: MIT
/* Merging recordings in which the counter jumped, and a new epoch began. */
#include "merge_world.h"

CASE("epochs", begin_world, drop_root);

/* Begins a recording of node b, @n. Its counter jumps, and a new epoch begins, as after a
 * suspend: the node is @later from then on. */
static void begin_jump(struct recorder *r, struct node *n, struct node *later)
{
	*n = *later = nodes[1];
	later->base += 3 * S;
	later->clock_epoch = 2;
	n->nr_cpus = later->nr_cpus = 1;
	begin_node(r, &nodes[1], "d");
	r->rec.end = count_at(later, LENGTH);
	define_now(r, 18);
}

static void end_jump(struct recorder *r, const struct node *n, const struct node *later)
{
	write_events(r, n, 18);
	write_events(r, later, 18);
	end_node(r, false);
}

TEST(test_two_epochs)
{
	struct node n, later;
	struct recorder r;

	begin_jump(&r, &n, &later);
	open_node(&r, &n);
	n.end = later.begin = LENGTH / 2;
	write_samples(&r, &n);
	write_samples(&r, &later);
	end_jump(&r, &n, &later);
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
	struct node n, later;
	struct recorder r;

	begin_jump(&r, &n, &later);
	r.rec.begin = count_at(&n, LENGTH / 8);
	r.rec.epoch = 2;
	add_line(&r.rec, count_at(&n, 0), count_at(&n, LENGTH / 2), 1);
	add_line(&r.rec, count_at(&later, LENGTH / 2), count_at(&later, LENGTH), 2);
	open_node(&r, &n);
	n.end = LENGTH / 16;
	write_samples(&r, &n);
	later.begin = LENGTH / 2;
	write_samples(&r, &later);
	n.begin = LENGTH / 8;
	n.end = LENGTH / 2;
	end_jump(&r, &n, &later);
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
	struct node n, later;
	struct recorder r;

	begin_jump(&r, &n, &later);
	r.rec.epoch = 2;
	add_line(&r.rec, count_at(&n, 0), count_at(&n, LENGTH / 2), 1);
	add_line(&r.rec, count_at(&later, LENGTH / 4 * 3), count_at(&later, LENGTH), 2);
	open_node(&r, &n);
	n.end = LENGTH / 2;
	write_samples(&r, &n);
	later.begin = LENGTH / 4 * 3;
	later.no_samples = !sampled;
	write_samples(&r, &later);
	n.end = later.begin = LENGTH / 8 * 5;
	end_jump(&r, &n, &later);
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
static const char contradiction[] = "of the same boot, but their clocks contradict each other";

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
	expect_refused("de", contradiction);
	expect_refused("ed", contradiction);
}

/* A recording is compared with the one before it that ends last, although a shorter one is
 * between: there, no time passed in which the clock could be slewed. */
TEST(test_one_boot_overlap)
{
	static const struct {
		const char *name, *channel, *refused;
		__u64 begin_s, end_s;
		__s64 off_ns;
		int ppm;
	} recordings[] = {
		{ "d", "default", NULL, 0, 1000, 0, 0 },
		{ "e", "other", NULL, 1, 2, 0, 0 },
		{ "f", "third", "def", 990, 1100, 2000000, 0 },
		/* Both clocks were read for 100 s: no slew explains that they differ. */
		{ "g", "fourth", "dg", 100, 200, 900000, 0 },
		/* The lines of two machines cross in the middle. */
		{ "h", "fifth", "dh", 200, 800, 0, 10 },
	};
	struct node n;

	for (int i = 0; i < ROWS(recordings); i++) {
		n = nodes[1];
		n.alone = true;
		n.uuid = 30 + i;
		n.channel = recordings[i].channel;
		n.begin = recordings[i].begin_s * S;
		n.end = recordings[i].end_s * S;
		n.own_off_ns += recordings[i].off_ns;
		n.own_ppm = recordings[i].ppm;
		write_node(&n, recordings[i].name);
		if (recordings[i].refused)
			expect_refused(recordings[i].refused, contradiction);
	}
	expect_accepted("ef", "");
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
	expect_refused("xdf", contradiction);
}

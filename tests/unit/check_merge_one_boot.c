// SPDX-License-Identifier: MIT
/* Merging recordings of one boot, whose clocks may contradict each other. */
#include "merge_world.h"

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

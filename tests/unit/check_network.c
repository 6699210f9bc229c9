/* SPDX-License-Identifier: MIT */
/* The simulated network that tests and benchmarks share: queue of a direction, cross
 * traffic, bursts, routes, loss, and directions as text */
#include "seed.h"
#include "suite.h"
#include "tests/world/crystal.c"
#include "tests/world/network.c"
#include "tests/world/paths.c"

#define PACKETS		200000

static struct random generator;

static void set_up(void)
{
	generator = random_stream(first_seed, 1);
}

/* Sends a packet, which must not get lost. Returns its delay in us. */
static double sent_us(struct network_path *path, double s)
{
	double us[NETWORK_COPIES_MAX];

	ck_assert_uint_eq(network_send(path, &generator, s, us), 1);
	return us[0];
}

CASE("network", set_up, NULL);

TEST(test_own_packets_wait)
{
	struct network_path path = { .floor = 50, .service = 10 };

	ck_assert_double_eq_tol(sent_us(&path, 1), 60, 1e-6);
	ck_assert_double_eq_tol(sent_us(&path, 1 + 4e-6), 66, 1e-6);
	ck_assert_double_eq_tol(sent_us(&path, 1 + 4e-6), 76, 1e-6);
	ck_assert_double_eq_tol(sent_us(&path, 2), 60, 1e-6);
}

TEST(test_pause)
{
	struct network_path path = {
		.service = 10, .cold = 20, .pause_s = 1e-3,
	};

	ck_assert_double_eq_tol(sent_us(&path, 1), 30, 1e-6);
	ck_assert_double_eq_tol(sent_us(&path, 1 + 10e-6), 30, 1e-6);
	ck_assert_double_eq_tol(sent_us(&path, 1.0009), 10, 1e-6);
	ck_assert_double_eq_tol(sent_us(&path, 1.01), 30, 1e-6);
}

/*
 * Compares the waiting times of packets @every_s apart with those of an M/M/1 queue: none
 * with probability 1 - load, else exponential with mean cross / (1 - load). @independent:
 * number of packets that is as good as all of them if they did not depend on each other.
 */
static void compare_waits(double every_s, double independent)
{
	struct network_path path = { .load = 0.8, .cross = 12 };
	double sum = 0, none = 0, sd, us;

	for (unsigned int i = 0; i < PACKETS; i++) {
		us = sent_us(&path, 1 + i * every_s);
		sum += us;
		none += us == 0;
	}
	sd = path.cross * sqrt(path.load * (2 - path.load)) / (1 - path.load);
	ck_assert_double_eq_tol(sum / PACKETS, path.load * path.cross / (1 - path.load),
				6 * sd / sqrt(independent));
	ck_assert_double_eq_tol(none / PACKETS, 0.2, 6 * 0.4 / sqrt(independent));
}

/* After a pause, the queue's state is drawn from the stationary distribution. */
TEST(test_load_after_pauses)
{
	compare_waits(0.1, PACKETS);
}

/* In shorter steps, each packet of cross traffic is simulated. The queue forgets within
 * twice its relaxation time, 2.2 ms. */
TEST(test_load_in_steps)
{
	compare_waits(100e-6, PACKETS / 22);
}

/* Between bursts nothing waits; bursts and the times between have the mean lengths. */
TEST(test_bursts)
{
	struct network_path path = {
		.cross = 12, .burst_load = 0.9, .burst_s = 0.2, .quiet_s = 0.8,
	};
	unsigned int i, in_bursts = 0, waited = 0;

	for (i = 0; i < PACKETS; i++) {
		double us = sent_us(&path, 1 + i * 0.05);

		in_bursts += path.queue.bursts;
		waited += path.queue.bursts && us > 0;
	}
	/* 10000 s have 10000 bursts, whose total length has a standard deviation of
	 * 0.2 s * sqrt(10000); the same for the times between. */
	ck_assert_double_eq_tol((double)in_bursts / PACKETS, 0.2, 0.02);
	ck_assert_uint_gt(waited, in_bursts * 0.8);
}

TEST(test_routes)
{
	struct network_path once = { .floor = 50, .shift = 200, .shift_at_s = 10 };
	struct network_path often = once;

	often.shift_every_s = 5;
	ck_assert_double_eq_tol(sent_us(&once, 9), 50, 1e-6);
	ck_assert_double_eq_tol(sent_us(&once, 11), 250, 1e-6);
	ck_assert_double_eq_tol(sent_us(&once, 99), 250, 1e-6);
	ck_assert_double_eq_tol(sent_us(&often, 9), 50, 1e-6);
	ck_assert_double_eq_tol(sent_us(&often, 11), 250, 1e-6);
	ck_assert_double_eq_tol(sent_us(&often, 16), 50, 1e-6);
	ck_assert_double_eq_tol(sent_us(&often, 21), 250, 1e-6);
}

TEST(test_loss)
{
	struct network_path path = named_paths[PATH_LOSS].request;
	unsigned int i, lost = 0;
	double us[NETWORK_COPIES_MAX];

	for (i = 0; i < PACKETS; i++)
		lost += !network_send(&path, &generator, i, us);
	ck_assert_double_eq_tol((double)lost / PACKETS, 0.05,
				6 * sqrt(0.05 * 0.95 / PACKETS));
}

TEST(test_text)
{
	struct network_path path = { .floor = 1, .exp = 2 };

	ck_assert_ptr_null(paths_parse("floor=50,load=0.5,cross=12", &path));
	ck_assert(path.floor == 50 && path.exp == 2 && path.load == 0.5 &&
		  path.cross == 12);
	ck_assert_ptr_null(paths_parse("", &path));
	ck_assert_ptr_eq(paths_find("exp"), &named_paths[PATH_EXP]);
	ck_assert_ptr_null(paths_find("ex"));
}

static const struct {
	const char *text, *wrong;
} texts[] = {
	{ "flor=5", "flor=5" }, { "floor", "floor" }, { "floor=x", "floor=x" },
	{ "floor=5us", "floor=5us" }, { "exp=1,floor=-1", "floor=-1" },
	{ "floor=nan", "floor=nan" }, { "load=1,cross=1", "load=1,cross=1" },
	/* cross traffic without packets, a burst without an end */
	{ "load=0.5", "load=0.5" }, { "burst_s=1", "burst_s=1" },
};

LOOP_TEST(test_wrong_text, 0, ROWS(texts))
{
	struct network_path path = { 0 };

	ck_assert_str_eq(paths_parse(texts[_i].text, &path), texts[_i].wrong);
}

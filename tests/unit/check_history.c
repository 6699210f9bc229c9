/* SPDX-License-Identifier: MIT */
/*
 * The history of the clocks, written by the real timekeeper in a world where the true times are
 * known: drift, slews, steps, suspends, killed daemons, a lost run-time directory.
 * test-wing: time
 */
#include "timekeeper_world.h"

#include "daemon/clock/disruption.c"
#include "daemon/clock/timekeeper.c"
#include "daemon/history/history.c"
#include "lib/base/array.h"

/* ---- a history in memory -------------------------------------------------- */

static struct {
	char *bytes;
	size_t len;
} files[64];
static unsigned int nr_files;
static struct tsct_history_writer writer;

static void keep(void *ctx, const struct tsct_history_record *record)
{
	(void)ctx;
	files[nr_files - 1].bytes = realloc(files[nr_files - 1].bytes,
					    files[nr_files - 1].len + sizeof(*record));
	memcpy(files[nr_files - 1].bytes + files[nr_files - 1].len, record, sizeof(*record));
	files[nr_files - 1].len += sizeof(*record);
}

static void new_file(void)
{
	struct tsct_history_record header = {
		.header = {
			.magic = TSCT_HISTORY_MAGIC, .version = TSCT_HISTORY_VERSION,
			.record_size = sizeof(header), .source = TSCT_SOURCE_TSC,
		},
	};

	ck_assert_uint_lt(nr_files, 64);
	nr_files++;
	tsct_history_seal(&header, TSCT_HISTORY_HEADER, 0);
	keep(NULL, &header);
	tsct_history_writer_init(&writer, keep, NULL);
}

/* The cluster's time is CLOCK_REALTIME here. */
static struct tsct_clock_copy published(void)
{
	struct tsct_clock_copy copy = world.file;

	copy.state.cluster = copy.state.real;
	copy.state.cluster_prev.error_ps = copy.state.closing_error_ps;
	copy.state.cluster_status = copy.state.status;
	copy.state.cluster_epoch = copy.state.epoch;
	copy.state.cluster_master = 77;
	return copy;
}

static void feed(void)
{
	struct tsct_clock_copy copy = published();
	struct tsct_history_input input = { .copy = &copy, .tie = measure(&timekeeper) };

	if (!tsct_history_feed(&writer, &input))
		new_file();
}

static struct tsct_history *load(void)
{
	struct tsct_history *h = tsct_history_new();
	unsigned int damaged = 0, i;

	for (i = 0; i < nr_files; i++)
		ck_assert_int_eq(tsct_history_add(h, files[i].bytes, files[i].len, NULL, &damaged),
				 0);
	ck_assert_uint_eq(damaged, 0);
	return h;
}

/* ---- the truth ------------------------------------------------------------ */

struct truth {
	__u64 cycles;
	__s64 value[TSCT_HISTORY_CLOCKS];
	unsigned int life;	/* number of disruptions and lost files before */
};
static struct truth *truths;
static __u32 nr_truths;
static unsigned int life;
static __s64 real_off, boot_off;	/* REALTIME - MONOTONIC, BOOTTIME - MONOTONIC */

static struct {
	unsigned int asked, known, wrong, several;
	__s64 width;
} sums[TSCT_HISTORY_CLOCKS];

static void set_offsets(void)
{
	world.disruption.realtime_min_ns = real_off - 1 - any(30);
	world.disruption.realtime_max_ns = real_off + 1 + any(30);
	world.disruption.suspended_min_ns = boot_off - 1 - any(30);
	world.disruption.suspended_max_ns = boot_off + 1 + any(30);
}

static void note_truth(void)
{
	const __s64 real = sim_real(&sim);
	struct truth t = {
		.cycles = sim_counter(&sim), .life = life,
		.value = {
			[TSCT_HISTORY_REALTIME] = real,
			[TSCT_HISTORY_MONOTONIC] = real - real_off,
			[TSCT_HISTORY_MONOTONIC_RAW] = sim_raw(&sim),
			[TSCT_HISTORY_BOOTTIME] = real - real_off + boot_off,
			[TSCT_HISTORY_CLUSTER_TIME] = real,
		},
	};

	t.value[TSCT_HISTORY_TSC] = (__s64)t.cycles;
	ck_assert_int_eq(tsct_array_add(&truths, &nr_truths, &t, sizeof(t)), 0);
}

/* The time from one tick to the next, seen at some moments */
static void wait_tick(void)
{
	__u64 ns = (__u64)timekeeper_wait_ms(&timekeeper, 1000) * 1000000, part = any(4), i;

	for (i = 0; i < part; i++) {
		sim_advance(&sim, ns / (part + 1));
		note_truth();
	}
	sim_advance(&sim, ns - ns / (part + 1) * part);
	set_offsets();
	timekeeper_tick(&timekeeper);
	feed();
}

static void step(__s64 ns)
{
	sim_step(&sim, ns);
	real_off += ns;
	life++;
}

static void doze(__u64 ns)
{
	sim.raw_lost_ps += (int64_t)ns * 1000;
	sim_advance(&sim, ns);
	real_off += (__s64)ns;
	boot_off += (__s64)ns;
	life++;
}

/* The daemon is killed, and starts @ns later. */
static void restart(__u64 ns, bool lost)
{
	sim_advance(&sim, ns);
	note_truth();
	sim_advance(&sim, any(1000000000));
	if (lost) {
		memset(&world.file, 0, sizeof(world.file));
		life++;
	}
	set_offsets();
	new_file();
	ck_assert_int_eq(timekeeper_start(&timekeeper, &world_ops), 0);
	feed();
}

static void begin(int i)
{
	new_world();
	while (nr_files)
		free(files[--nr_files].bytes);
	memset(files, 0, sizeof(files));
	memset(sums, 0, sizeof(sums));
	nr_truths = life = 0;
	boot_off = 0;
	seed_with((unsigned int)i + 1);
	sim.clocksource = "tsc";
	sim.hz = 2.4e9;
	real_off = 1600000000000000000LL;
	set_offsets();
	ck_assert_int_eq(timekeeper_start(&timekeeper, &world_ops), 0);
	new_file();
	feed();
}

static void event(void)
{
	static const int64_t ppb[] = { 0, 20, -300, 5000, -40000, 400000, -500000 };

	switch (any(12)) {
	case 0:
		step(any(2) ? 3600000000000 : -1800000000000);
		break;
	case 1:
		step(any(2) ? 2000000 : -2000000);
		break;
	case 2:
		doze(1000000000ULL * (1 + any(100)));
		break;
	case 3:
		restart(any(2) ? 300000000 : 100000000000, false);
		break;
	case 4:
		restart(2000000000, true);
		break;
	case 5:
		timekeeper_disrupt(&timekeeper, TSCT_CAUSE_FAKE, "asked");
		feed();
		life++;
		break;
	default:
		sim_steer(&sim, ppb[any(ROWS(ppb))]);
		break;
	}
}

static const char *const clock_names[TSCT_HISTORY_CLOCKS] = {
	"realtime", "monotonic", "raw", "boottime", "tsc", "cluster",
};

/* Converts each true value, and counts results that are not true. */
static void check_truths(struct tsct_history *h)
{
	struct tsct_history_time found[TSCT_HISTORY_TIMES];
	unsigned int nr, clock, i, n;
	int err;

	for (clock = 0; clock < TSCT_HISTORY_CLOCKS; clock++)
		for (i = 0; i < nr_truths; i++) {
			const struct truth *t = &truths[i];
			const __s64 real = t->value[TSCT_HISTORY_REALTIME];
			bool right = false, open = false;

			err = tsct_history_convert(h, (enum tsct_history_clock)clock,
						   (__u64)t->value[clock],
						   (__u64)t->value[clock], found, &nr);
			ck_assert(!err == !!nr);
			ck_assert(err != -ENOENT && err != -ENOMEM);
			sums[clock].asked++;
			sums[clock].several += nr > 1;
			for (n = 0; n < nr; n++) {
				const struct tsct_history_time *f = &found[n];

				open |= f->extrapolated;
				right |= f->real_lo_ns <= real && real <= f->real_hi_ns &&
					(__s64)(t->cycles - f->lo_cycles) >= -1 &&
					(__s64)(f->hi_cycles - t->cycles) >= -1 &&
					(!f->has_cluster || (f->cluster_lo_ns <= real &&
							     real <= f->cluster_hi_ns));
				sums[clock].width += f->real_hi_ns - f->real_lo_ns;
			}
			/* An extrapolation is of a timeline that may have ended meanwhile; a value of
			 * CLOCK_REALTIME or of the cluster's time may also be that of another moment. */
			if (nr && !open) {
				sums[clock].known++;
				if (!right && clock != TSCT_HISTORY_REALTIME &&
				    clock != TSCT_HISTORY_CLUSTER_TIME) {
					sums[clock].wrong++;
					printf("%s %lld at %llu (%u): real %lld", clock_names[clock],
					       (long long)t->value[clock],
					       (unsigned long long)t->cycles, i, (long long)real);
					for (n = 0; n < nr; n++)
						printf(" [%lld %lld] cycles [%lld %lld] cluster %d [%lld %lld]",
						       (long long)(found[n].real_lo_ns - real),
						       (long long)(found[n].real_hi_ns - real),
						       (long long)(found[n].lo_cycles - t->cycles),
						       (long long)(found[n].hi_cycles - t->cycles),
						       found[n].has_cluster,
						       (long long)(found[n].cluster_lo_ns - real),
						       (long long)(found[n].cluster_hi_ns - real));
					printf("\n");
				}
			}
		}
}

static void show_sums(void)
{
	unsigned int clock;

	for (clock = 0; clock < TSCT_HISTORY_CLOCKS; clock++)
		printf("%s: %u values, %u known, %u several, %u wrong, mean width %lld ns\n",
		       clock_names[clock], sums[clock].asked, sums[clock].known,
		       sums[clock].several, sums[clock].wrong,
		       (long long)(sums[clock].width / (sums[clock].known + 1)));
}

RANDOM_TEST(test_true_times, 24)
{
	struct tsct_history *h;
	unsigned int i, clock;

	begin(_i);
	for (i = 0; i < 600; i++) {
		if (!any(40))
			event();
		wait_tick();
	}
	tsct_history_flush(&writer, &(struct tsct_clock_copy){ .state.status = 0 });
	h = load();
	check_truths(h);
	show_sums();
	for (clock = 0; clock < TSCT_HISTORY_CLOCKS; clock++) {
		ck_assert_uint_eq(sums[clock].wrong, 0);
		/* The rest is what disruptions, restarts and open ends hide. */
		ck_assert_uint_gt(sums[clock].known, sums[clock].asked / 2);
	}
	tsct_history_free(h);
}

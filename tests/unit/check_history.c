/* SPDX-License-Identifier: MIT */
/*
 * The history of the clocks, written by the real timekeeper in a world where the true times are
 * known: drift, slews, steps, suspends, killed daemons, a lost run-time directory.
 * test-wing: time
 */
#include "timekeeper_world.h"

#include <sys/resource.h>

#include "daemon/clock/disruption.c"
#include "daemon/clock/timekeeper.c"
static bool cannot_truncate;
#define ftruncate(fd, size)	(cannot_truncate ? (errno = EIO, -1) : ftruncate(fd, size))
#include "daemon/history/history.c"
#include "lib/base/array.h"
#include "lib/history/history_read.c"

/* ---- a history in memory -------------------------------------------------- */

static struct {
	char *bytes;
	size_t len;
} files[64];
static unsigned int nr_files;
static struct tsct_history_writer writer;
static __u64 recorded;		/* the counter up to which lines are recorded; 0: none */

static unsigned int refused_kind;	/* records of this kind meet a full disk */

static bool keep(void *, const struct tsct_history_record *record)
{
	if (record->kind == refused_kind)
		return false;
	if (record->kind == TSCT_HISTORY_REAL)
		recorded = record->segment.until_cycles;
	files[nr_files - 1].bytes = realloc(files[nr_files - 1].bytes,
					    files[nr_files - 1].len + sizeof(*record));
	memcpy(files[nr_files - 1].bytes + files[nr_files - 1].len, record, sizeof(*record));
	files[nr_files - 1].len += sizeof(*record);
	return true;
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
	writer.real.done = recorded;
	writer.real.has_done = recorded;
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
	copy.state.cluster_timeline = 5;
	return copy;
}

static __u64 utc_ns;		/* bound of CLOCK_REALTIME's error to UTC; 0: unknown */

static void feed(void)
{
	struct tsct_clock_copy copy = published();
	struct tsct_history_input input = { .copy = &copy, .pairing = measure(&timekeeper) };

	input.pairing.utc_error_ns = utc_ns ?: input.pairing.utc_error_ns;
	ck_assert(tsct_history_feed(&writer, &input));
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
	const __s64 before = sim_real(&sim);

	/* MONOTONIC goes on where it was; what REALTIME, which is slewed, gains is the suspend. */
	sim.raw_lost_ps += (int64_t)ns * 1000;
	sim_advance(&sim, ns);
	real_off += sim_real(&sim) - before;
	boot_off += sim_real(&sim) - before;
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
	recorded = 0;
	seed_with((unsigned int)i + 1);
	sim.clocksource = "tsc";
	sim.hz = 2.4e9;
	real_off = 1600000000000000000LL;
	set_offsets();
	ck_assert_int_eq(timekeeper_start(&timekeeper, &world_ops), 0);
	new_file();
	feed();
}

static bool restarts;	/* a daemon may go on with the epoch of the one before */

static void event(void)
{
	static const int64_t ppb[] = { 0, 20, -300, 5000, -40000, 400000, -500000 };

	switch (any(12)) {
	case 0:
		step(any(2) ? 3600000000000 : -1800000000000);
		break;
	case 1:
		step(any(2) ? 2000000 : -20000000000);
		break;
	case 2:
		doze(1000000000ULL * (1 + any(100)));
		break;
	case 3:
		if (!restarts)
			break;
		/* A suspend while no daemon runs: the next one may go on with the epoch. */
		if (any(2))
			doze(1000000000ULL * (1 + any(100)));
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
			ck_assert_int_ne(err, -ENOMEM);
			sums[clock].asked++;
			sums[clock].several += nr > 1;
			for (n = 0; n < nr; n++) {
				const struct tsct_history_time *f = &found[n];

				open |= f->extrapolated;
				right |= f->real_lo_ns <= real && real <= f->real_hi_ns &&
					(__s64)(t->cycles - f->lo_cycles) >= -1 &&
					(__s64)(f->hi_cycles - t->cycles) >= -1 &&
					(!f->has_cluster || (f->cluster_lo_ns <= real &&
							     real <= f->cluster_hi_ns &&
							     f->cluster_master == 77 &&
							     f->cluster_timeline == 5));
				sums[clock].width += f->real_hi_ns - f->real_lo_ns;
			}
			/* An extrapolation is of a timeline that may have ended meanwhile; a value of
			 * CLOCK_REALTIME or of the cluster's time may also be that of another moment. */
			if (nr && !open) {
				sums[clock].known++;
				if (!right && clock != TSCT_HISTORY_REALTIME &&
				    clock != TSCT_HISTORY_CLUSTER_TIME) {
					sums[clock].wrong++;
					fprintf(stderr, "%s %lld at %llu (%u): real %lld", clock_names[clock],
					       (long long)t->value[clock],
					       (unsigned long long)t->cycles, i, (long long)real);
					for (n = 0; n < nr; n++)
						fprintf(stderr, " [%lld %lld] cycles [%lld %lld] cluster %d [%lld %lld]",
						       (long long)(found[n].real_lo_ns - real),
						       (long long)(found[n].real_hi_ns - real),
						       (long long)(found[n].lo_cycles - t->cycles),
						       (long long)(found[n].hi_cycles - t->cycles),
						       found[n].has_cluster,
						       (long long)(found[n].cluster_lo_ns - real),
						       (long long)(found[n].cluster_hi_ns - real));
					fprintf(stderr, "\n");
				}
			}
		}
}

static void show_sums(void)
{
	for (unsigned int clock = 0; clock < TSCT_HISTORY_CLOCKS; clock++)
		printf("%s: %u values, %u known, %u several, %u wrong, mean width %lld ns\n",
		       clock_names[clock], sums[clock].asked, sums[clock].known,
		       sums[clock].several, sums[clock].wrong,
		       (long long)(sums[clock].width / (sums[clock].known + 1)));
}

/* Runs a daemon, with an event in one of @rare ticks. */
static void run(int i, unsigned int ticks, unsigned int rare)
{
	begin(i);
	while (ticks--) {
		if (!any(rare))
			event();
		wait_tick();
	}
	tsct_history_flush(&writer, &world.file);
}

RANDOM_TEST(test_true_times, 24)
{
	struct tsct_history *h;

	restarts = _i % 2;
	run(_i, 600, 40);
	h = load();
	check_truths(h);
	show_sums();
	fflush(stdout);
	for (unsigned int clock = 0; clock < TSCT_HISTORY_CLOCKS; clock++) {
		ck_assert_uint_eq(sums[clock].wrong, 0);
		/* The rest is what disruptions, restarts and open ends hide. Of the clocks that do
		 * not follow the counter or CLOCK_REALTIME, that may be nearly all. */
		if (clock == TSCT_HISTORY_TSC || clock == TSCT_HISTORY_REALTIME)
			ck_assert_msg(sums[clock].known > sums[clock].asked / 3,
				      "%s: %u of %u known", clock_names[clock], sums[clock].known,
				      sums[clock].asked);
	}
	tsct_history_free(h);
}

/* Files that are cut anywhere, and with bytes that are flipped: what is left is true. */
RANDOM_TEST(test_damage, 60)
{
	struct tsct_history *h = tsct_history_new();
	unsigned int damaged = 0, expected = 0, i;
	size_t len, at, first;

	restarts = _i % 4 < 2;
	run(_i, 200, 50);
	for (i = 0; i < nr_files; i++) {
		const size_t size = sizeof(struct tsct_history_record);

		len = _i % 2 ? any((unsigned int)files[i].len + 1) : files[i].len;
		if (len >= 2 * size && _i % 3) {
			first = size + any((unsigned int)(len - size));
			at = first / size;
			files[i].bytes[first] = (char)(files[i].bytes[first] ^ (1 << any(8)));
			/* A record that is cut is no damage: the daemon may be writing it. */
			expected += (at + 1) * size <= len;
		}
		ck_assert_int_eq(tsct_history_add(h, files[i].bytes, len, NULL, &damaged),
				 len < size ? -EINVAL : 0);
	}
	ck_assert_uint_eq(damaged, expected);
	if (h->nr_real) {
		check_truths(h);
		for (i = 0; i < TSCT_HISTORY_CLOCKS; i++)
			ck_assert_uint_eq(sums[i].wrong, 0);
	}
	tsct_history_free(h);
}

/* The clock is set by too little for a new epoch: what is not known then is unknown. */
RANDOM_TEST(test_small_steps, 24)
{
	struct tsct_history *h;
	unsigned int i, damaged = 0;
	size_t at;

	begin(_i);
	for (i = 0; i < 600; i++) {
		if (!any(25))
			step(any(2) ? 300 : -400);
		wait_tick();
	}
	tsct_history_flush(&writer, &world.file);
	h = tsct_history_new();
	/* A damaged record, which may be that of a void pairing */
	at = sizeof(struct tsct_history_record) * (2 + (size_t)any(20)) + any(100);
	files[0].bytes[at] = (char)(files[0].bytes[at] ^ (_i % 2));
	ck_assert_int_eq(tsct_history_add(h, files[0].bytes, files[0].len, NULL, &damaged), 0);
	ck_assert_uint_eq(damaged, _i % 2);
	check_truths(h);
	for (i = 0; i < TSCT_HISTORY_CLOCKS; i++) {
		ck_assert_uint_eq(sums[i].wrong, 0);
		ck_assert_uint_gt(sums[i].known, sums[i].asked / 8);
	}
	tsct_history_free(h);
}

/* A number that two times fit has both; a number of none has the reason. */
static __u64 extreme(void)
{
	static const __u64 values[] = {
		0, 1, ~0ULL, 1ULL << 63, (1ULL << 63) - 1, 1ULL << 62, 1ULL << 32, 1000000000,
	};

	return any(3) ? values[any(8)] + any(3) - 1 : any64() >> any(64);
}

/* Records with any values, whose checksums are right, lead to no fault. */
RANDOM_TEST(test_hostile, 40)
{
	struct tsct_history *h = tsct_history_new();
	struct tsct_history_time times[TSCT_HISTORY_TIMES];
	struct tsct_history_record record;
	unsigned int damaged = 0, nr, i, k;
	size_t at, field;

	run(_i, 100, 50);
	for (i = 0; i < nr_files; i++) {
		for (k = 0; k < 20 && files[i].len > 2 * sizeof(record); k++) {
			at = sizeof(record) * (1 + any((unsigned int)(files[i].len / sizeof(record)) - 1));
			memcpy(&record, files[i].bytes + at, sizeof(record));
			for (nr = any(4); nr; nr--) {
				field = any(ROWS(record.params));
				record.params[field] = extreme();
			}
			tsct_history_seal(&record, any(8) ? record.kind : any(8), record.epoch);
			memcpy(files[i].bytes + at, &record, sizeof(record));
		}
		tsct_history_add(h, files[i].bytes, files[i].len, NULL, &damaged);
	}
	for (i = 0; i < 300; i++) {
		__u64 lo = extreme(), hi = lo + any(3);

		if (hi < lo)
			continue;
		tsct_history_convert(h, (enum tsct_history_clock)any(TSCT_HISTORY_CLOCKS), lo, hi,
				     times, &nr);
		ck_assert_uint_le(nr, TSCT_HISTORY_TIMES);
	}
	tsct_history_free(h);
}

TEST(test_ambiguous)
{
	struct tsct_history_time found[TSCT_HISTORY_TIMES];
	struct tsct_history *h;
	unsigned int nr, i;
	__s64 real, begin_ns, mono;

	begin(0);
	begin_ns = sim_real(&sim);
	for (i = 0; i < 60; i++)
		wait_tick();
	real = sim_real(&sim) - 25000000000;
	mono = sim_real(&sim) - real_off;
	step(-30000000000);
	for (i = 0; i < 60; i++)
		wait_tick();
	tsct_history_flush(&writer, &world.file);
	h = load();
	ck_assert_int_eq(tsct_history_convert(h, TSCT_HISTORY_REALTIME, (__u64)real, (__u64)real,
					      found, &nr), 0);
	ck_assert_uint_eq(nr, 2);
	ck_assert_uint_eq(found[0].epoch, 1);
	ck_assert_uint_eq(found[1].epoch, 2);
	ck_assert_int_eq(tsct_history_convert(h, TSCT_HISTORY_REALTIME, (__u64)begin_ns - NS_PER_S,
					      (__u64)begin_ns - NS_PER_S, found, &nr), -ERANGE);
	real = sim_real(&sim) + 2000000000000;
	ck_assert_int_eq(tsct_history_convert(h, TSCT_HISTORY_REALTIME, (__u64)real, (__u64)real,
					      found, &nr), -EOVERFLOW);
	/* The disruption itself: from the last sample before it to the first params after it */
	ck_assert_int_eq(tsct_history_convert(h, TSCT_HISTORY_MONOTONIC, (__u64)mono - 3 * NS_PER_S,
					      (__u64)mono - 2 * NS_PER_S, found, &nr), 0);
	ck_assert_int_eq(tsct_history_convert(h, TSCT_HISTORY_MONOTONIC, (__u64)mono - 3 * NS_PER_S,
					      (__u64)mono + 500000, found, &nr), -ENODATA);
	mono += 500000;
	ck_assert_int_eq(tsct_history_convert(h, TSCT_HISTORY_MONOTONIC, (__u64)mono, (__u64)mono,
					      found, &nr), -ENODATA);
	tsct_history_free(h);
}

/* A value that the clock had more often than there is room for: an error, with the first times */
TEST(test_many_times)
{
	struct tsct_history_time found[TSCT_HISTORY_TIMES];
	struct tsct_history *h;
	unsigned int nr, i, sets;
	__s64 real = 0;

	begin(0);
	for (sets = 0; sets <= TSCT_HISTORY_TIMES; sets++) {
		if (sets)
			step(real - 5 * NS_PER_S - sim_real(&sim));
		for (i = 0; i < 60; i++)
			wait_tick();
		real = real ?: sim_real(&sim) - 25 * NS_PER_S;
		tsct_history_flush(&writer, &world.file);
		h = load();
		ck_assert_int_eq(tsct_history_convert(h, TSCT_HISTORY_REALTIME, (__u64)real,
						      (__u64)real, found, &nr),
				 sets == TSCT_HISTORY_TIMES ? -E2BIG : 0);
		ck_assert_uint_eq(nr, sets == TSCT_HISTORY_TIMES ? sets : sets + 1);
		tsct_history_free(h);
	}
}

/* After the last record: the params' bound, which grows, until they are void */
TEST(test_extrapolation)
{
	struct tsct_history_time found[TSCT_HISTORY_TIMES];
	struct tsct_history *h;
	unsigned int nr, i, seconds;
	__s64 before = 0, width;

	begin(0);
	for (i = 0; i < 60; i++)
		wait_tick();
	tsct_history_flush(&writer, &world.file);
	h = load();
	for (seconds = 0; seconds < 900; seconds += 10) {
		__u64 cycles = sim_counter(&sim);

		ck_assert_int_eq(tsct_history_convert(h, TSCT_HISTORY_TSC, cycles, cycles, found,
						      &nr), 0);
		ck_assert_uint_eq(nr, 1);
		ck_assert(found->extrapolated);
		ck_assert_int_le(found->real_lo_ns, sim_real(&sim));
		ck_assert_int_ge(found->real_hi_ns, sim_real(&sim));
		width = found->real_hi_ns - found->real_lo_ns;
		ck_assert_int_gt(width, before);
		before = width;
		sim_advance(&sim, 10000000000);
	}
	tsct_history_free(h);
}

/* After the last pairing, the bound to UTC grows by the 500 ppm of the kernel. */
TEST(test_utc_grows)
{
	struct tsct_history_time found[TSCT_HISTORY_TIMES];
	struct tsct_history *h;
	unsigned int i, nr;
	__u64 cycles;

	utc_ns = 1000000;
	begin(0);
	for (i = 0; i < 60; i++)
		wait_tick();
	utc_ns = 0;
	tsct_history_flush(&writer, &world.file);
	h = load();
	for (i = 0; i < 600; i += 100) {
		cycles = sim_counter(&sim);
		ck_assert_int_eq(tsct_history_convert(h, TSCT_HISTORY_TSC, cycles, cycles, found,
						      &nr), 0);
		ck_assert_uint_ge(found->utc_error_ns, 1000000 + i * 499000);
		ck_assert_uint_le(found->utc_error_ns, 1000000 + (i + 100) * 501000);
		sim_advance(&sim, 100000000000);
	}
	tsct_history_free(h);
}

/* ---- histories made by hand: a counter of 1 GHz ---------------------------- */

#define HAND_MULT	(1ULL << TSCT_CLOCK_SHIFT)
#define HAND_NS		1600000000000000000LL	/* CLOCK_REALTIME at counter 0 */

static void put_hand(struct tsct_history_record record, unsigned int kind)
{
	tsct_history_seal(&record, kind, 1);
	keep(NULL, &record);
}

/* A line of CLOCK_REALTIME, from @begin_s to @until_s of the counter, s, that is late by @late_s */
static void put_hand_line(__u64 begin_s, __u64 until_s, __s64 late_s)
{
	put_hand((struct tsct_history_record) {
		.segment = {
			.base_cycles = begin_s * NS_PER_S, .until_cycles = until_s * NS_PER_S,
			.base_ns = HAND_NS + ((__s64)begin_s + late_s) * NS_PER_S,
			.mult = HAND_MULT, .error_ps = 100000, .epoch = 1,
		},
	}, TSCT_HISTORY_REAL);
}

static void put_hand_pairing(__s64 real_minus_mono_ns)
{
	put_hand((struct tsct_history_record) {
		.pairing = {
			.real_min_ns = real_minus_mono_ns - 20,
			.real_max_ns = real_minus_mono_ns + 20, .utc_error_ns = ~0ULL,
		},
	}, TSCT_HISTORY_PAIRING);
}

static struct tsct_clock_params hand_params(__u64 begin_s, __u64 until_s)
{
	return (struct tsct_clock_params) {
		.base_cycles = begin_s * NS_PER_S, .base_ns = HAND_NS + (__s64)begin_s * NS_PER_S,
		.mult = HAND_MULT, .slew_mult = HAND_MULT, .as_of_cycles = begin_s * NS_PER_S + 1,
		.holdover_after_cycles = until_s * NS_PER_S,
		.void_after_cycles = until_s * NS_PER_S,
		.error_ps = 100000, .past_error_ps = 100000,
	};
}

static void put_hand_live(__u64 begin_s, __u64 until_s)
{
	const struct tsct_clock_params params = hand_params(begin_s, until_s);
	struct tsct_history_record record = { .status = TSCT_STATUS_SYNCHRONIZED };

	memcpy(record.params, &params, sizeof(record.params));
	put_hand(record, TSCT_HISTORY_LIVE);
}

/* A daemon ended; the next one has the same number of an epoch. A suspend in between, which
 * changes REALTIME - MONOTONIC, ends what the first one said of the time after its end. */
TEST(test_open_ends)
{
	static const struct {
		__s64 suspended_s;
		int mono;
	} rows[] = { { 0, 0 }, { 60, -EOVERFLOW } };
	struct tsct_history_time found[TSCT_HISTORY_TIMES];
	struct tsct_history *h;
	const __u64 mono = 1100 * NS_PER_S;
	unsigned int i, nr;

	for (i = 0; i < ROWS(rows); i++) {
		begin(0);
		put_hand_line(1000, 1016, 0);
		put_hand_pairing(HAND_NS);
		put_hand_live(1016, 4000);
		new_file();
		put_hand_line(1200, 1216, 0);
		put_hand_pairing(HAND_NS + rows[i].suspended_s * NS_PER_S);
		h = load();
		ck_assert_int_eq(tsct_history_convert(h, TSCT_HISTORY_MONOTONIC, mono, mono, found,
						      &nr), rows[i].mono);
		ck_assert_int_eq(nr, !rows[i].mono);
		tsct_history_free(h);
	}
}

/* No later daemon: the machine was suspended, or the clock was set, after the last sample. A daemon
 * that ended saw the boot up to that sample, a killed one recorded something in the last 64 s. */
TEST(test_last_open_end)
{
	static const struct {
		bool is_present, ended;
		__s64 suspended_s, set_s;
		int at_1020, at_1100;
	} rows[] = {
		{ true, true, 0, 0, 0, 0 },
		{ true, false, 0, 0, 0, 0 },
		{ true, true, 60, 0, -EOVERFLOW, -EOVERFLOW },
		{ true, false, 60, 0, -EOVERFLOW, -EOVERFLOW },
		{ true, true, 0, 1, -EOVERFLOW, -EOVERFLOW },
		{ false, true, 0, 0, -EOVERFLOW, -EOVERFLOW },
		{ false, false, 0, 0, 0, -EOVERFLOW },
	};
	struct tsct_history_time found[TSCT_HISTORY_TIMES];
	struct tsct_history_pairing now = { 0 };
	struct tsct_history *h;
	unsigned int i, nr;
	__u64 mono;

	for (i = 0; i < ROWS(rows); i++) {
		begin(0);
		put_hand_line(1000, 1016, 0);
		put_hand_pairing(HAND_NS);
		put_hand_live(1016, 4000);
		if (rows[i].ended)
			put_hand((struct tsct_history_record) { 0 }, TSCT_HISTORY_END);
		now.real_min_ns = now.real_max_ns =
			HAND_NS + (rows[i].suspended_s + rows[i].set_s) * NS_PER_S;
		now.boot_min_ns = now.boot_max_ns = rows[i].suspended_s * NS_PER_S;
		h = load();
		ck_assert_int_eq(tsct_history_end(h, rows[i].is_present ? &now : NULL), 0);
		for (mono = 1010; mono <= 1100; mono += mono == 1010 ? 10 : 80) {
			const __u64 ns = mono * NS_PER_S;

			ck_assert_int_eq(tsct_history_convert(h, TSCT_HISTORY_MONOTONIC, ns, ns, found,
							      &nr),
					 mono == 1010 ? 0 : mono == 1020 ? rows[i].at_1020 :
					 rows[i].at_1100);
		}
		tsct_history_free(h);
	}
}

/* Converts a time of CLOCK_REALTIME, s of the counter of a history made by hand. */
static int convert_hand(struct tsct_history *h, __u64 s, __u64 part_ns)
{
	struct tsct_history_time found[TSCT_HISTORY_TIMES];
	const __u64 ns = HAND_NS + s * NS_PER_S + part_ns;
	unsigned int nr;

	return tsct_history_convert(h, TSCT_HISTORY_REALTIME, ns, ns, found, &nr);
}

/* No pairing that holds, as after a full disk: nothing shows whether the clock was set since. The
 * clock area of the daemon that ended may still be there. */
TEST(test_end_unpaired)
{
	const struct tsct_clock_copy copy = {
		.state = {
			.real = hand_params(1016, 4000), .source = TSCT_SOURCE_TSC,
			.status = TSCT_STATUS_SYNCHRONIZED, .epoch = 1,
		},
	};
	struct tsct_history_pairing now = { .real_min_ns = HAND_NS, .real_max_ns = HAND_NS };
	struct tsct_history *h;
	unsigned int i;

	for (i = 0; i < 8; i++) {
		begin(0);
		put_hand_line(1000, 1016, 0);
		if (i & 2)
			put_hand((struct tsct_history_record) { .pairing.changed = 1 },
				 TSCT_HISTORY_PAIRING);
		put_hand_live(1016, 4000);
		if (i % 2)
			put_hand((struct tsct_history_record) { 0 }, TSCT_HISTORY_END);
		h = load();
		ck_assert(i < 4 || !tsct_history_add_copy(h, &copy));
		ck_assert_int_eq(tsct_history_end(h, &now), 0);
		ck_assert_int_eq(convert_hand(h, 1010, 0), 0);
		ck_assert_int_eq(convert_hand(h, 1070, 0), i % 2 ? -EOVERFLOW : 0);
		ck_assert_int_eq(convert_hand(h, 1100, 0), -EOVERFLOW);
		tsct_history_free(h);
	}
}

/* The last sample of a group, at 1018 s, is in its OPEN; the params begin 5 ms after it. */
static void put_hand_end(void)
{
	const struct tsct_clock_params params = {
		.base_cycles = 1018 * NS_PER_S + 5000000,
		.base_ns = HAND_NS + 1018 * NS_PER_S + 5000000,
		.mult = HAND_MULT, .slew_mult = HAND_MULT, .as_of_cycles = 1018 * NS_PER_S,
		.holdover_after_cycles = 4000 * NS_PER_S, .void_after_cycles = 4000 * NS_PER_S,
		.error_ps = 100000, .past_error_ps = 100000,
	};
	struct tsct_history_record record = {
		.segment = {
			.base_cycles = 1016 * NS_PER_S, .base_ns = HAND_NS + 1016 * NS_PER_S,
			.until_cycles = 1018 * NS_PER_S + 5000000, .mult = HAND_MULT,
			.error_ps = 100000, .epoch = 1,
		},
	};

	put_hand_line(1000, 1016, 0);
	put_hand_pairing(HAND_NS);
	put_hand(record, TSCT_HISTORY_OPEN);
	record = (struct tsct_history_record) { .status = TSCT_STATUS_SYNCHRONIZED };
	memcpy(record.params, &params, sizeof(record.params));
	put_hand(record, TSCT_HISTORY_LIVE);
}

/* The times of an OPEN up to the last sample stay known after each kind of end: the end of the
 * boot, of the epoch (a step by 100 s at 1030 s) or of the counter. */
TEST(test_last_sample)
{
	struct tsct_history *h;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		begin(0);
		put_hand_end();
		if (i < 2)
			put_hand((struct tsct_history_record) { 0 }, TSCT_HISTORY_END);
		if (i == 1)
			new_file();
		if (i >= 2) {
			new_file();
			put_hand_line(i == 2 ? 1030 : 1000, 1040, i == 2 ? 100 : 5000);
		}
		h = load();
		ck_assert_int_eq(tsct_history_end(h, NULL), 0);
		ck_assert_int_eq(convert_hand(h, 1017, 0), 0);
		ck_assert_int_eq(convert_hand(h, 1017, 999000000), 0);
		ck_assert_msg(convert_hand(h, 1018, 1000000), "%u", i);
		ck_assert_msg(convert_hand(h, 1020, 0), "%u", i);
		tsct_history_free(h);
	}
}

/* A file after one that was removed: its first pairing may not be that of all its lines. */
TEST(test_continued)
{
	struct tsct_history_time found[TSCT_HISTORY_TIMES];
	struct tsct_history_record header;
	struct tsct_history *h;
	const __u64 mono = 1008 * NS_PER_S;
	__u32 continued;
	unsigned int nr;

	for (continued = 0; continued < 2; continued++) {
		begin(0);
		memcpy(&header, files[0].bytes, sizeof(header));
		header.header.continued = continued;
		tsct_history_seal(&header, TSCT_HISTORY_HEADER, 0);
		memcpy(files[0].bytes, &header, sizeof(header));
		put_hand_line(1000, 1016, 0);
		put_hand_pairing(HAND_NS);
		h = load();
		ck_assert_int_eq(tsct_history_convert(h, TSCT_HISTORY_MONOTONIC, mono, mono, found,
						      &nr), continued ? -ENOENT : 0);
		tsct_history_free(h);
	}
}

/* A restored virtual machine: the counter has each value twice, in epochs of the same number. */
TEST(test_two_counters)
{
	struct tsct_history_time found[TSCT_HISTORY_TIMES];
	const __u64 cycles = 1008 * NS_PER_S, after = 1100 * NS_PER_S;
	struct tsct_history *h;
	unsigned int nr;

	begin(0);
	put_hand_line(1000, 1016, 0);
	put_hand_live(1016, 4000);
	new_file();
	put_hand_line(1004, 1200, 5000);
	h = load();
	ck_assert_int_eq(tsct_history_convert(h, TSCT_HISTORY_TSC, cycles, cycles, found, &nr), 0);
	ck_assert_uint_eq(nr, 2);
	ck_assert_int_lt(found[0].real_hi_ns - found[0].real_lo_ns, 1000);
	ck_assert_int_lt(found[1].real_hi_ns - found[1].real_lo_ns, 1000);
	/* The open end of the first counter has ended. */
	ck_assert_int_eq(tsct_history_convert(h, TSCT_HISTORY_TSC, after, after, found, &nr), 0);
	ck_assert_uint_eq(nr, 1);
	ck_assert_int_gt(found->real_lo_ns, HAND_NS + 6000 * NS_PER_S);
	tsct_history_free(h);
}

/* The published clock's segments reach back over what is recorded, which has its own pairings. */
TEST(test_add_copy)
{
	struct tsct_history_time found[TSCT_HISTORY_TIMES];
	const __u64 cycles = 1008 * NS_PER_S;
	struct tsct_clock_copy copy = { .nr_segments = 1 };
	struct tsct_history *h;
	unsigned int nr;

	begin(0);
	put_hand_line(1000, 1016, 0);
	put_hand_pairing(HAND_NS);
	h = load();
	copy.state.source = TSCT_SOURCE_TSC;
	copy.state.status = TSCT_STATUS_SYNCHRONIZED;
	copy.state.epoch = 1;
	copy.state.real = (struct tsct_clock_params) {
		.base_cycles = 1020 * NS_PER_S, .base_ns = HAND_NS + 1020 * NS_PER_S,
		.mult = HAND_MULT, .slew_mult = HAND_MULT, .as_of_cycles = 1020 * NS_PER_S,
		.holdover_after_cycles = 1100 * NS_PER_S, .void_after_cycles = 1100 * NS_PER_S,
	};
	copy.segments[0] = (struct tsct_clock_segment) {
		.base_cycles = 990 * NS_PER_S, .until_cycles = 1020 * NS_PER_S,
		.base_ns = HAND_NS + 990 * NS_PER_S, .mult = HAND_MULT, .epoch = 1,
		.error_ps = 1000000000,
	};
	ck_assert_int_eq(tsct_history_add_copy(h, &copy), 0);
	ck_assert_int_eq(tsct_history_convert(h, TSCT_HISTORY_TSC, cycles, cycles, found, &nr), 0);
	ck_assert_uint_eq(nr, 1);
	ck_assert_int_lt(found->real_hi_ns - found->real_lo_ns, 1000);
	ck_assert_int_eq(tsct_history_convert(h, TSCT_HISTORY_TSC, cycles + 10 * NS_PER_S,
					      cycles + 10 * NS_PER_S, found, &nr), 0);
	ck_assert_int_gt(found->real_hi_ns - found->real_lo_ns, 1000000);
	tsct_history_free(h);
}

/* Writing a group again at the end, with no sample in between, leaves its bound as it was. */
TEST(test_utc_at_end)
{
	struct tsct_history_time found[TSCT_HISTORY_TIMES];
	struct tsct_history *h;
	unsigned int nr, i;

	begin(0);
	for (i = 0; i < 60; i++)
		wait_tick();
	tsct_history_flush(&writer, &world.file);
	tsct_history_flush(&writer, &world.file);
	h = load();
	ck_assert_int_eq(tsct_history_convert(h, TSCT_HISTORY_TSC, sim_counter(&sim),
					      sim_counter(&sim), found, &nr), 0);
	ck_assert_uint_eq(found->utc_error_ns, ~0ULL);
	tsct_history_free(h);
}

/* A line has the largest bound to UTC of its time, whichever group it is in, and if the pairings of
 * some groups met a full disk. */
RANDOM_TEST(test_utc_of_lines, 12)
{
	struct tsct_history_time found[TSCT_HISTORY_TIMES];
	__u64 cycles[200], utc[200];
	struct tsct_history *h;
	unsigned int nr, i;

	utc_ns = 1000000;
	begin(_i);
	for (i = 0; i < 200; i++) {
		refused_kind = _i >= 8 && i / 40 % 2 ? TSCT_HISTORY_PAIRING : 0;
		if (i == 100 && _i % 2) {
			/* The first pairing after this is void. */
			doze(2000000000);
			restart(300000000, false);
		}
		utc_ns = utc[i] = 1000000 - 1000 * i;
		cycles[i] = sim_counter(&sim);
		wait_tick();
	}
	utc_ns = 0;
	tsct_history_flush(&writer, &world.file);
	h = load();
	for (i = 0; i < 200; i++) {
		if (tsct_history_convert(h, TSCT_HISTORY_TSC, cycles[i], cycles[i], found, &nr))
			continue;
		ck_assert_uint_ge(found->utc_error_ns, utc[i]);
		/* A lost pairing's bound is in the next one. */
		ck_assert_uint_le(found->utc_error_ns,
				  utc[_i < 8 ? (i > 90 ? i - 90 : 0) : i > 130 ? i - 130 : 0]);
	}
	tsct_history_free(h);
}

/* ---- files ---------------------------------------------------------------- */

static char state_dir[64];

static void make_dir(void)
{
	strcpy(state_dir, "/tmp/check_history.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(state_dir));
	logged[0] = '\0';
}

static void remove_dir(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", state_dir);
	ck_assert_int_eq(system(command), 0);
}

static struct tsct_history *load_dir(struct history *h, struct tsct_history_found *found,
				     int expected)
{
	struct tsct_history *history;
	char why[256] = "";
	int err = tsct_history_load(h->dir, h->boot_id, &history, found, why, sizeof(why));

	ck_assert_msg(err == expected, "%d: %s", err, why);
	return history;
}

static unsigned int count_files(const char *path, off_t *ret_bytes)
{
	struct dirent *entry;
	unsigned int nr = 0;
	struct stat st;
	DIR *dir = opendir(path);

	*ret_bytes = 0;
	while (dir && (entry = readdir(dir))) {
		if (*entry->d_name == '.' || fstatat(dirfd(dir), entry->d_name, &st, 0))
			continue;
		nr++;
		*ret_bytes += st.st_size;
	}
	if (dir)
		closedir(dir);
	return nr;
}

CASE("files", make_dir, remove_dir);

/* Each start begins a file, and records nothing twice, also when numbers get another digit. `off`
 * writes nothing. */
TEST(test_starts)
{
	char path[2][sizeof(((struct history *)NULL)->dir) + 64];
	struct tsct_history_found found;
	struct tsct_history *history;
	struct history *h = NULL;
	off_t bytes = 0, before;

	begin(0);
	for (unsigned int life_nr = 1; life_nr <= 3; life_nr++) {
		h = history_open(state_dir);
		ck_assert_ptr_nonnull(h);
		for (unsigned int i = 0; i < 40; i++) {
			wait_tick();
			history_feed(h, &timekeeper, &world.file, 1);
		}
		before = bytes;
		/* Killed */
		if (life_nr == 3)
			break;
		close_file(h);
		if (life_nr == 1) {
			snprintf(path[0], sizeof(path[0]), "%s/%s.000001", h->dir, h->boot);
			snprintf(path[1], sizeof(path[1]), "%s/%s.999999", h->dir, h->boot);
			ck_assert_int_eq(rename(path[0], path[1]), 0);
		}
		free(h);
	}
	ck_assert_uint_eq(count_files(h->dir, &bytes), 3);
	ck_assert_int_gt(bytes, before);
	history = load_dir(h, &found, 0);
	ck_assert_uint_eq(found.files, 3);
	ck_assert_uint_eq(found.damaged_records + found.foreign_files, 0);
	check_truths(history);
	for (unsigned int i = 0; i < TSCT_HISTORY_CLOCKS; i++)
		if (i != TSCT_HISTORY_CLUSTER_TIME) {
			ck_assert_uint_eq(sums[i].wrong, 0);
			ck_assert_uint_gt(sums[i].known, sums[i].asked * 3 / 4);
		}
	tsct_history_free(history);
	history_feed(h, &timekeeper, &world.file, 0);
	ck_assert_int_eq(h->fd, -1);
	history_close(h);
	ck_assert_str_eq(logged + strlen(logged), "");
}

/* A day of four times as many records as are usual: the oldest files go, whatever the clock said
 * when they were written. That another boot's file is of years ago removes nothing. */
TEST(test_size)
{
	static const struct timespec times[2] = { { 1000000000, 0 }, { 1000000000, 0 } };
	struct history *h = history_open(state_dir);
	struct tsct_history_record record = { .status = 1 };
	char path[sizeof(h->dir) + 64];
	unsigned int i, nr;
	off_t bytes;

	begin(0);
	ck_assert_int_eq(mkdir(h->dir, 0755), 0);
	snprintf(path, sizeof(path), "%s/%032x.%06u", h->dir, 1, 41);
	ck_assert_int_ge(open(path, O_WRONLY | O_CREAT, 0600), 0);
	ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
	history_feed(h, &timekeeper, &world.file, 1);
	ck_assert_int_eq(access(path, F_OK), 0);
	for (i = 0; i < 150000; i++) {
		if (h->fd < 0 || h->size >= FILE_BYTES)
			history_feed(h, &timekeeper, &world.file, 1);
		tsct_history_seal(&record, TSCT_HISTORY_LIVE, i);
		put(h, &record);
	}
	ck_assert_int_ne(access(path, F_OK), 0);
	nr = count_files(h->dir, &bytes);
	ck_assert_uint_le(nr, 4);
	ck_assert_uint_ge(nr, 3);
	ck_assert_int_le(bytes, TSCT_HISTORY_DAY_BYTES);
	history_close(h);
}

/* Files that the daemon did not write are not read. Their names are reported. */
TEST(test_foreign_files)
{
	static const char *const reasons[] = {
		"another version", "not a history", "a symbolic link", "writable by other users",
		"not a history",
	};
	struct history *h = history_open(state_dir);
	struct tsct_history_found found;
	struct tsct_history_record header;
	char path[sizeof(h->dir) + 64];
	int fd;

	begin(0);
	for (unsigned int i = 0; i < 20; i++) {
		wait_tick();
		history_feed(h, &timekeeper, &world.file, 1);
	}
	history_close(h);
	h = history_open(state_dir);
	snprintf(path, sizeof(path), "%s/%s.%06u", h->dir, h->boot, 1);
	for (unsigned int i = 0; i < ROWS(reasons); i++) {
		fd = open(path, O_RDWR);
		ck_assert_int_ge(fd, 0);
		ck_assert_int_eq(pread(fd, &header, sizeof(header), 0), sizeof(header));
		if (i == 0) {
			header.header.version++;
			tsct_history_seal(&header, TSCT_HISTORY_HEADER, 0);
			ck_assert_int_eq(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
		} else if (i == 1) {
			header.header.version--;
			header.header.magic ^= 4;
			ck_assert_int_eq(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
		} else if (i == 2) {
			ck_assert_int_eq(rename(path, "/tmp/check_history.moved"), 0);
			ck_assert_int_eq(symlink("/tmp/check_history.moved", path), 0);
		} else if (i == 3) {
			unlink(path);
			ck_assert_int_eq(rename("/tmp/check_history.moved", path), 0);
			fchmod(fd, 0666);
		} else {
			fchmod(fd, 0644);
			ck_assert_int_eq(ftruncate(fd, 50), 0);
		}
		close(fd);
		load_dir(h, &found, -ENODATA);
		ck_assert_uint_eq(found.foreign_files, 1);
		ck_assert_msg(strstr(found.foreign, reasons[i]), "%s", found.foreign);
	}
	history_close(h);
}

/* Of a directory that anyone may have made, a bounded number of bytes is read: the newest ones. */
TEST(test_large_files)
{
	struct history *h = history_open(state_dir);
	struct tsct_history_found found;
	char path[sizeof(h->dir) + 64];
	struct dirent **names;
	unsigned int i;
	int fd, dir, nr;

	begin(0);
	mkdir(h->dir, 0755);
	for (i = 1; i <= 33; i++) {
		snprintf(path, sizeof(path), "%s/%s.%06u", h->dir, h->boot, i);
		fd = open(path, O_WRONLY | O_CREAT, 0644);
		ck_assert_int_ge(fd, 0);
		ck_assert_int_eq(ftruncate(fd, (16 << 20) + (i == 33)), 0);
		close(fd);
	}
	load_dir(h, &found, -ENODATA);
	ck_assert_uint_eq(found.foreign_files, 33);
	ck_assert_msg(strstr(found.foreign, "larger than 16 MiB"), "%s", found.foreign);
	unlink(path);
	for (i = 0; i < 40; i++) {
		wait_tick();
		history_feed(h, &timekeeper, &world.file, 1000);
	}
	history_close(h);
	h = history_open(state_dir);
	tsct_history_free(load_dir(h, &found, 0));
	ck_assert_uint_eq(found.files, 1);
	ck_assert_uint_eq(found.foreign_files, 32);
	dir = open(h->dir, O_RDONLY | O_DIRECTORY);
	nr = scandir(h->dir, &names, is_named, versionsort);
	ck_assert_int_eq(nr, 33);
	ck_assert_int_eq(first_file(dir, names, nr, h->boot), 1);
	ck_assert_int_eq(first_file(dir, names, nr - 1, h->boot), 0);
	while (nr-- > 0)
		free(names[nr]);
	free(names);
	close(dir);
	history_close(h);
}

/* A record of which the disk takes a part, which then cannot be cut off: the next records are
 * readable, all the same. */
TEST(test_short_write)
{
	struct history *h = history_open(state_dir);
	struct tsct_history_found found;
	struct rlimit limit, small;
	off_t size;

	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	signal(SIGXFSZ, SIG_IGN);
	begin(0);
	while (!h->size || h->size < 8 * (off_t)sizeof(struct tsct_history_record)) {
		wait_tick();
		history_feed(h, &timekeeper, &world.file, 1);
	}
	small = limit;
	small.rlim_cur = (rlim_t)h->size + 50;
	setrlimit(RLIMIT_FSIZE, &small);
	cannot_truncate = true;
	for (size = h->size; !was_logged("cannot write the history") && h->size == size; ) {
		wait_tick();
		history_feed(h, &timekeeper, &world.file, 1);
	}
	ck_assert_int_eq(h->size, size);
	setrlimit(RLIMIT_FSIZE, &limit);
	while (h->size < size + 10 * (off_t)sizeof(struct tsct_history_record)) {
		wait_tick();
		history_feed(h, &timekeeper, &world.file, 1);
	}
	cannot_truncate = false;
	history_close(h);
	h = history_open(state_dir);
	tsct_history_free(load_dir(h, &found, 0));
	ck_assert_uint_eq(found.damaged_records, 0);
	history_close(h);
}

/* A directory that cannot be written: logged once, and once when it can be again. */
TEST(test_unwritable)
{
	struct history *h = history_open(state_dir);
	int fd;

	begin(0);
	fd = open(h->dir, O_WRONLY | O_CREAT, 0600);
	ck_assert_int_ge(fd, 0);
	history_feed(h, &timekeeper, &world.file, 1);
	ck_assert(was_logged("cannot begin a file of the history"));
	history_feed(h, &timekeeper, &world.file, 1);
	ck_assert_str_eq(logged, "");
	ck_assert_int_eq(unlink(h->dir), 0);
	history_feed(h, &timekeeper, &world.file, 1);
	ck_assert(was_logged("works again"));
	close(fd);
	history_close(h);
}

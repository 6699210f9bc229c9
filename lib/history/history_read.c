// SPDX-License-Identifier: MIT
/*
 * Reads a history, and converts values of clocks. A value of a clock becomes an interval of the
 * counter, by the lines of CLOCK_REALTIME, and by the pairings (measured differences between
 * clocks) of these lines. Each line that allows the value gives a result. Results of one epoch that
 * touch are merged; a merged interval that is not covered by lines is dropped, because the time
 * outside of lines is unknown.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "history.h"
#include "lib/base/array.h"
#include "lib/base/text.h"
#include "lib/clockpage/clock_params.h"

#define BYTES_MAX	(16ULL << 20)	/* largest size of a file; the daemon's have 1 MB */
#define BOOT_BYTES_MAX	(512ULL << 20)	/* bytes read per boot, at most: about five months */
/* Largest age of a running daemon's last record, ns: it records a pairing every 16 s or so */
#define PAIRING_AGE_NS	64000000000LL
/* Growth of the error bound that the kernel states, ppb; the largest steering of its clock, too */
#define UTC_GROWTH_PPB	500000

/* A line from the counter to a time, or clock params */
struct entry {
	__u64 begin_cycles, until_cycles;	/* valid range of the counter */
	__u64 sampled_cycles;			/* if live: counter at the clock's last sample
						 * while the entry was in force */
	struct tsct_clock_params params;	/* a line has no slew and a constant error */
	__u64 master;
	__u32 epoch, timeline;
	__u32 pairing;		/* index + 1 of the entry's pairing; 0: none */
	bool live;		/* the entry is an open end: from a record OPEN or LIVE */
	bool after_pairing;	/* the pairing was measured before the entry */
	__u64 utc_cycles;	/* if after_pairing: counter from which on the UTC error grows */
};

/* Successive entries of one epoch and timeline. Their pairings have data of the
 * same clocks, so each clock's values are in order, too */
struct history_run {
	__u32 first, nr;
};

struct history_runs {
	struct history_run *all;
	__u32 nr;
};

struct tsct_history {
	struct entry *real, *cluster;
	struct tsct_history_pairing *pairings;
	struct history_runs real_runs, cluster_runs;
	__u32 nr_real, nr_cluster, nr_pairings;
	__u32 unpaired;		/* first entry of `real` whose pairing was not read yet */
	__u32 void_pairing;	/* index + 1 in `pairings` of the last void pairing; 0: none */
	/* counter when void_pairing was measured; if unknown, 1 + the end of the line before it */
	__u64 void_until;
	__u32 last_pairing;	/* index + 1 of this file's last pairing; 0: none yet */
	__u32 last_pairing_epoch;
	__u64 utc_cycles;	/* counter when last_pairing was measured, or shortly before */
	bool ended;		/* an END follows the last line and params */
	bool damaged;		/* a record since the last pairing is damaged, perhaps a pairing */
	struct tsct_history_pairing last;	/* last pairing of all files, as recorded */
	bool has_last;
	bool has_file;		/* a file was added, perhaps a damaged one */
	bool follows;		/* this file is not the first, and had no pairing yet */
	__u32 source;
	bool has_source;
	struct entry *end;	/* open end of the present file; the next line replaces it */
	__u32 nr_end;
	bool sorted;
	/* older records: from before the counter was reset, or of another source */
	struct tsct_history *older;
};

const char *const tsct_history_clock_names[TSCT_HISTORY_CLOCKS + 1] = {
	"realtime", "monotonic", "monotonic_raw", "boottime", "tsc", "cluster", NULL
};

void tsct_history_boot_text(const __u8 id[16], char text[33])
{
	*tsct_digits_bytes(text, id, 16) = '\0';
}

struct tsct_history *tsct_history_new(void)
{
	return calloc(1, sizeof(struct tsct_history));
}

void tsct_history_free(struct tsct_history *h)
{
	if (!h)
		return;
	tsct_history_free(h->older);
	free(h->real);
	free(h->cluster);
	free(h->pairings);
	free(h->real_runs.all);
	free(h->cluster_runs.all);
	free(h->end);
	free(h);
}

/* ---- records -------------------------------------------------------------- */

/* Returns a + b, saturated at -LLONG_MAX and LLONG_MAX, which can be negated. */
static __s64 add_ns(__s64 a, __s64 b)
{
	__s64 sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b > 0 ? LLONG_MAX : -LLONG_MAX;
	return sum;
}

/* Returns a - b, saturated like add_ns(). */
static __s64 sub_ns(__s64 a, __s64 b)
{
	__s64 rest;

	if (__builtin_sub_overflow(a, b, &rest))
		return b < 0 ? LLONG_MAX : -LLONG_MAX;
	return rest;
}

static __u64 magnitude(__s64 ns)
{
	return ns < 0 ? -(__u64)ns : (__u64)ns;
}

static struct entry line_of(const struct tsct_clock_segment *segment)
{
	return (struct entry) {
		.begin_cycles = segment->base_cycles,
		.params = {
			.base_cycles = segment->base_cycles, .base_ns = segment->base_ns,
			.mult = segment->mult, .slew_mult = segment->mult,
			.as_of_cycles = segment->until_cycles,
			.past_error_ps = segment->error_ps,
			/* Also used after the line's end, for values of the next line */
			.error_ps = segment->error_ps,
		},
		.until_cycles = segment->until_cycles,
		.epoch = segment->epoch, .timeline = segment->reserved0,
		.master = segment->reserved,
	};
}

/* Limit of times (the year 2116) and of their differences, ns: the sum of two cannot overflow */
#define NS_LIMIT	(LLONG_MAX / 2)

static bool is_small(__s64 ns)
{
	return ns > -NS_LIMIT && ns < NS_LIMIT;
}

static bool is_credible(const struct tsct_clock_segment *segment)
{
	return (__s64)(segment->until_cycles - segment->base_cycles) > 0 && segment->mult &&
		is_small(segment->base_ns) &&
		tsct_cycles_ns(segment->mult, (__s64)(segment->until_cycles -
			       segment->base_cycles)) < LLONG_MAX / 4;
}

static bool is_credible_pairing(const struct tsct_history_pairing *p)
{
	return is_small(p->real_min_ns) && is_small(p->real_max_ns) &&
		is_small(p->boot_min_ns) && is_small(p->boot_max_ns) &&
		(!p->has_raw || (p->rate_mult && is_small(p->raw_ns) &&
				 p->rate_error_ppt < 1000000000000ULL));
}

static int add_end(struct tsct_history *h, const struct entry *entry)
{
	return tsct_array_add(&h->end, &h->nr_end, entry, sizeof(*entry));
}

/* Returns true if two pairings allow the same differences between the clocks. */
static bool agree(const struct tsct_history_pairing *a, const struct tsct_history_pairing *b)
{
	/* Readings are rounded down. */
	return !a->changed && !b->changed &&
		a->real_min_ns <= b->real_max_ns + 2 && b->real_min_ns <= a->real_max_ns + 2 &&
		a->boot_min_ns <= b->boot_max_ns + 2 && b->boot_min_ns <= a->boot_max_ns + 2;
}

/* Sets @pairing for the lines of @epoch since the last pairing. Lines that began before the void
 * pairing was measured get the void pairing, whose UTC error is raised to that of @pairing. */
static void pair_lines(struct tsct_history *h, __u32 epoch, __u32 pairing)
{
	const __u64 utc_ns = pairing ? h->pairings[pairing - 1].utc_error_ns : ~0ULL;
	struct tsct_history_pairing *p;
	struct entry *e;

	for (; h->unpaired < h->nr_real; h->unpaired++) {
		e = &h->real[h->unpaired];
		if (e->epoch != epoch)
			continue;
		e->pairing = pairing;
		if (!h->void_pairing || (__s64)(e->begin_cycles - h->void_until) >= 0)
			continue;
		e->pairing = h->void_pairing;
		p = &h->pairings[h->void_pairing - 1];
		p->utc_error_ns = max(p->utc_error_ns, utc_ns);
	}
}

static int add_record(struct tsct_history *h, const struct tsct_history_record *record)
{
	struct tsct_history_pairing pairing = record->pairing;
	struct entry entry;
	__u32 i;
	int err;

	if (record->kind == TSCT_HISTORY_REAL || record->kind == TSCT_HISTORY_OPEN ||
	    record->kind == TSCT_HISTORY_LIVE)
		h->ended = false;
	switch (record->kind) {
	case TSCT_HISTORY_REAL:
		if (!is_credible(&record->segment))
			return 0;
		entry = line_of(&record->segment);
		h->nr_end = 0;
		return tsct_array_add(&h->real, &h->nr_real, &entry, sizeof(entry));
	case TSCT_HISTORY_OPEN:
		entry = line_of(&record->segment);
		entry.live = true;
		entry.sampled_cycles = entry.begin_cycles;
		return is_credible(&record->segment) ? add_end(h, &entry) : 0;
	case TSCT_HISTORY_CLUSTER:
		entry = line_of(&record->segment);
		return is_credible(&record->segment) ?
			tsct_array_add(&h->cluster, &h->nr_cluster, &entry, sizeof(entry)) : 0;
	case TSCT_HISTORY_LIVE:
		entry = (struct entry) { .epoch = record->epoch, .live = true };
		memcpy(&entry.params, record->params, sizeof(record->params));
		entry.begin_cycles = entry.params.base_cycles;
		entry.sampled_cycles = entry.params.as_of_cycles;
		entry.until_cycles = entry.params.void_after_cycles;
		if (tsct_clock_params_check(&entry.params, h->source) || !entry.params.mult ||
		    !is_small(entry.params.base_ns))
			return 0;
		/* The last sample is often in the group's OPEN lines, before the params begin. */
		for (i = 0; i < h->nr_end; i++)
			if (h->end[i].epoch == entry.epoch)
				h->end[i].sampled_cycles = entry.sampled_cycles;
		return add_end(h, &entry);
	case TSCT_HISTORY_PAIRING:
		if (!is_credible_pairing(&pairing))
			return 0;
		/* A suspend without a running daemon may have changed the
		 * differences, although the next daemon continued the epoch: lines
		 * of its first and second group cover the time of that suspend. */
		if (h->follows && (!h->has_last || !agree(&h->last, &pairing))) {
			h->void_pairing = h->nr_pairings + 1;
			h->void_until = pairing.has_raw ? pairing.raw_after : h->nr_real ?
				h->real[h->nr_real - 1].until_cycles + 1 : 0;
			pairing.changed = 1;
			pairing.has_raw = 0;
		}
		/* The lines may begin before the previous file's last pairing was measured. */
		if (h->follows && h->has_last)
			pairing.utc_error_ns = max(pairing.utc_error_ns, h->last.utc_error_ns);
		/* The lines may belong to a lost pairing, which may have had a larger UTC error. */
		if (h->damaged)
			pairing.utc_error_ns = ~0ULL;
		h->damaged = false;
		h->utc_cycles = record->pairing.has_raw ? record->pairing.raw_before :
			h->nr_real && !h->real[h->nr_real - 1].live ?
			h->real[h->nr_real - 1].until_cycles : 0;
		h->last = record->pairing;
		h->has_last = true;
		h->follows = false;
		err = tsct_array_add(&h->pairings, &h->nr_pairings, &pairing, sizeof(pairing));
		if (err)
			return err;
		pair_lines(h, record->epoch, h->nr_pairings);
		h->last_pairing_epoch = record->epoch;
		h->last_pairing = h->nr_pairings;
		return 0;
	case TSCT_HISTORY_END:
		h->ended = true;
		return 0;
	default:
		return 0;
	}
}

static void follow_pairing(const struct tsct_history *h, struct entry *e)
{
	e->after_pairing = true;
	e->utc_cycles = h->utc_cycles;
}

/* Appends the open end. Gives the last pairing to it, and to lines whose own pairing is lost. */
static int close_end(struct tsct_history *h)
{
	__u32 i;
	int err = 0;

	for (i = h->unpaired; i < h->nr_real; i++)
		follow_pairing(h, &h->real[i]);
	h->damaged = false;
	pair_lines(h, h->last_pairing_epoch, h->last_pairing);
	for (i = 0; i < h->nr_end && !err; i++) {
		if (h->end[i].epoch == h->last_pairing_epoch)
			h->end[i].pairing = h->last_pairing;
		follow_pairing(h, &h->end[i]);
		err = tsct_array_add(&h->real, &h->nr_real, &h->end[i], sizeof(h->end[i]));
	}
	h->nr_end = 0;
	h->unpaired = h->nr_real;
	return err;
}

/* Returns true if @segment contradicts the recorded lines, or has a later time at a lower
 * counter. A daemon that starts may repeat lines of the previous daemon, which agree. */
static bool contradicts(const struct tsct_history *h, const struct tsct_clock_segment *segment)
{
	const struct tsct_clock_params *p = NULL;
	__s64 off;
	__u32 i;

	for (i = h->nr_real; i-- > 0; ) {
		if (h->real[i].live)
			continue;
		p = p ?: &h->real[i].params;
		if (h->real[i].begin_cycles > segment->base_cycles ||
		    h->real[i].until_cycles < segment->base_cycles)
			continue;
		off = sub_ns(tsct_clock_params_ns(&h->real[i].params, segment->base_cycles),
			     segment->base_ns);
		return magnitude(off) >
			tsct_add_saturating(h->real[i].params.past_error_ps,
					    segment->error_ps) / 1000 + 4;
	}
	return p && segment->base_cycles < p->base_cycles && segment->base_ns > p->base_ns;
}

static bool is_reset(const struct tsct_history *h, const char *bytes, size_t len)
{
	struct tsct_history_record record;
	size_t at;

	for (at = 0; len - at >= sizeof(record); at += sizeof(record)) {
		memcpy(&record, bytes + at, sizeof(record));
		if (record.kind == TSCT_HISTORY_REAL && tsct_history_valid(&record))
			return contradicts(h, &record.segment);
	}
	return false;
}

/* Moves the contents of @h to h->older, because they are of another counter. The open ends now
 * end at their last sample, the last known moment of that counter. */
static int set_aside(struct tsct_history *h)
{
	struct tsct_history *older = malloc(sizeof(*older));
	struct entry *e;

	if (!older)
		return -ENOMEM;
	*older = *h;
	for (e = older->real; e < older->real + older->nr_real; e++)
		if (e->live)
			e->until_cycles = min(e->until_cycles, e->sampled_cycles);
	older->sorted = false;
	*h = (struct tsct_history) { .older = older, .has_file = true, .follows = true };
	return 0;
}

int tsct_history_add(struct tsct_history *h, const void *bytes, size_t len, const __u8 *boot_id,
		     unsigned int *ret_damaged)
{
	struct tsct_history_record record;
	size_t at;
	int err = 0;

	h->follows = h->has_file;
	h->has_file = true;
	if (len < sizeof(record))
		return -EINVAL;
	memcpy(&record, bytes, sizeof(record));
	if (record.header.magic != TSCT_HISTORY_MAGIC)
		return -EINVAL;
	if (record.header.version != TSCT_HISTORY_VERSION)
		return -EPROTO;
	if (!tsct_history_valid(&record) || record.kind != TSCT_HISTORY_HEADER ||
	    record.header.record_size != sizeof(record))
		return -EINVAL;
	if (boot_id && memcmp(record.header.boot_id, boot_id, 16)) {
		h->has_file = h->follows;
		return -ESTALE;
	}
	if (record.header.continued)
		h->follows = true;
	if (h->has_source && (h->source != record.header.source ||
			      is_reset(h, (const char *)bytes, len))) {
		err = set_aside(h);
		if (err)
			return err;
	}
	h->source = record.header.source;
	h->has_source = true;
	/* A daemon that could not continue the previous daemon's epochs restarts their numbers. */
	h->last_pairing = 0;
	h->sorted = false;
	for (at = sizeof(record); len - at >= sizeof(record) && !err; at += sizeof(record)) {
		memcpy(&record, (const char *)bytes + at, sizeof(record));
		if (tsct_history_valid(&record)) {
			err = add_record(h, &record);
		} else {
			h->follows = true;	/* the damaged record may be a void pairing */
			h->damaged = true;
			++*ret_damaged;
		}
	}
	/* Appends this file's open end. If the file has no line at all, its
	 * open end comes right after the open end of the previous file. */
	return err ?: close_end(h);
}

int tsct_history_add_copy(struct tsct_history *h, const struct tsct_clock_copy *copy)
{
	const struct tsct_clock_params *real = &copy->state.real;
	const struct tsct_clock_segment present = {
		.base_cycles = real->base_cycles, .base_ns = real->base_ns,
		.error_ps = tsct_clock_params_error_ps(real, real->base_cycles),
	};
	struct tsct_history_record record = { 0 };
	struct tsct_clock_segment *segment = &record.segment;
	const struct entry *last;
	__u64 done = 0;
	bool ended;
	int err = 0;
	__u32 i;

	if (h->has_source && h->source != copy->state.source)
		return 0;
	/* The counter was reset, and the daemon has recorded no line since. */
	if (real->mult && contradicts(h, &present)) {
		err = set_aside(h);
		if (err)
			return err;
	}
	/* The clock that an ended daemon leaves has no later sample than the daemon's last file. */
	last = h->nr_real ? &h->real[h->nr_real - 1] : NULL;
	ended = h->ended && last && last->live &&
		(__s64)(real->as_of_cycles - last->sampled_cycles) <= 0;
	/* Up to `done`, the recorded lines are used, because they have pairings. */
	for (i = 0; i < h->nr_real; i++)
		if (!h->real[i].live)
			done = max(done, h->real[i].until_cycles);
	h->source = copy->state.source;
	h->has_source = true;
	h->sorted = false;
	/* Drops a pairing from before @copy's epoch: epoch numbers restart if the area is lost. */
	if (!h->last_pairing ||
	    (__s64)(h->pairings[h->last_pairing - 1].raw_before - copy->state.epoch_cycles) < 0)
		h->last_pairing = 0;
	/* Drops an old pairing: a daemon without a history may have continued its epoch after a
	 * suspend. */
	if (real->mult && tsct_cycles_ns(real->mult, (__s64)(real->as_of_cycles - h->utc_cycles)) >
	    PAIRING_AGE_NS)
		h->last_pairing = 0;
	for (i = 0; i < copy->nr_segments && !err; i++) {
		*segment = copy->segments[i];
		if (segment->until_cycles <= done)
			continue;
		if (segment->base_cycles < done) {
			segment->base_ns = tsct_clock_segment_ns(segment, done);
			segment->base_cycles = done;
		}
		record.kind = (__s64)(copy->state.real.as_of_cycles -
				      record.segment.until_cycles) >= 0 ||
			record.segment.epoch != copy->state.epoch ?
			TSCT_HISTORY_REAL : TSCT_HISTORY_OPEN;
		err = add_record(h, &record);
	}
	if (!err && tsct_status_has_time(copy->state.status)) {
		record = (struct tsct_history_record) {
			.kind = TSCT_HISTORY_LIVE, .epoch = copy->state.epoch,
		};
		memcpy(record.params, &copy->state.real, sizeof(record.params));
		err = add_record(h, &record);
	}
	h->ended = ended;
	return err ?: close_end(h);
}

/* ---- runs ----------------------------------------------------------------- */

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return tsct_compare(x->begin_cycles, y->begin_cycles) ?: tsct_compare(x->live, y->live) ?:
		tsct_compare(x->params.as_of_cycles, y->params.as_of_cycles);
}

static bool pairings_differ(const struct tsct_history *h, const struct entry *a,
			    const struct entry *b)
{
	return a->pairing && b->pairing && a->pairing != b->pairing &&
		!agree(&h->pairings[a->pairing - 1], &h->pairings[b->pairing - 1]);
}

/* Cuts the entry @open where @next begins. Cuts it already at its last sample if the clock was
 * disrupted between the two entries, if their times where @next begins differ by more than their
 * errors, or if their pairings differ, as the machine may have been suspended in between. */
static void end_before(const struct tsct_history *h, struct entry *open, const struct entry *next)
{
	__s64 off = sub_ns(tsct_clock_params_ns(&open->params, next->begin_cycles),
			   tsct_clock_params_ns(&next->params, next->begin_cycles));
	__u64 bound_ps = tsct_add_saturating(
		tsct_clock_params_error_ps(&open->params, next->begin_cycles),
		tsct_clock_params_error_ps(&next->params, next->begin_cycles));

	open->until_cycles = min(open->until_cycles, next->begin_cycles);
	if (open->epoch != next->epoch || pairings_differ(h, open, next) ||
	    magnitude(off) > bound_ps / 1000 + 2)
		open->until_cycles = min(open->until_cycles, open->sampled_cycles);
}

/* Cuts entries so that no two overlap: a line replaces an open end, a later open
 * end replaces an earlier one. Returns the number of entries that are left. */
static __u32 cut_overlaps(const struct tsct_history *h, struct entry *e, __u32 nr)
{
	__u32 i, kept = 0;

	for (i = 0; i < nr; i++) {
		struct entry now = e[i];

		while (kept && e[kept - 1].live) {
			if (e[kept - 1].begin_cycles < now.begin_cycles) {
				end_before(h, &e[kept - 1], &now);
				if (e[kept - 1].until_cycles > e[kept - 1].begin_cycles)
					break;
			}
			kept--;
		}
		if (kept)
			now.begin_cycles = max(now.begin_cycles, e[kept - 1].until_cycles);
		if (now.begin_cycles < now.until_cycles)
			e[kept++] = now;
	}
	return kept;
}

static __s64 error_ns(const struct entry *e, __u64 cycles)
{
	__u64 ps = tsct_clock_params_error_ps(&e->params, cycles);

	/* Both the time and readings of the clock are rounded down to 1 ns. */
	return ps / 1000 > LLONG_MAX / 8 ? LLONG_MAX / 8 : (__s64)(ps / 1000 + 2);
}

static __s64 begin_ns(const struct entry *e)
{
	return tsct_clock_params_ns(&e->params, e->begin_cycles);
}

static __s64 end_ns(const struct entry *e)
{
	return tsct_clock_params_ns(&e->params, e->until_cycles);
}

/* Returns a number for the set of clocks of which the entry's pairing has data. */
static int known_clocks(const struct tsct_history *h, const struct entry *e)
{
	const struct tsct_history_pairing *t = e->pairing ? &h->pairings[e->pairing - 1] : NULL;

	return t ? 1 + (t->changed ? 2 : 0) + (t->has_raw ? 4 : 0) : 0;
}

/* Returns true if each clock's values in @next are after its values in @e, apart from errors. */
static bool continues(const struct tsct_history *h, const struct entry *e, const struct entry *next)
{
	return e->epoch == next->epoch && e->master == next->master &&
		e->timeline == next->timeline && known_clocks(h, e) == known_clocks(h, next) &&
		begin_ns(next) >= begin_ns(e) && end_ns(next) >= end_ns(e) &&
		add_ns(begin_ns(next), error_ns(next, next->begin_cycles)) >=
		sub_ns(end_ns(e), error_ns(e, e->until_cycles));
}

/* Sorts entries, cuts overlaps, and groups the entries into runs. */
static int sort_entries(const struct tsct_history *h, struct entry *e, __u32 *nr,
			struct history_runs *runs)
{
	struct history_run *run = NULL;
	__u32 i;

	if (*nr)
		qsort(e, *nr, sizeof(*e), compare_entries);
	*nr = cut_overlaps(h, e, *nr);
	runs->nr = 0;
	for (i = 0; i < *nr; i++) {
		if (run && continues(h, &e[i - 1], &e[i])) {
			run->nr++;
			continue;
		}
		run = tsct_array_next(&runs->all, runs->nr, sizeof(*run));
		if (!run)
			return -ENOMEM;
		*run = (struct history_run) { i, 1 };
		runs->nr++;
	}
	return 0;
}

static int make_runs(struct tsct_history *h)
{
	int err = 0;

	if (!h->sorted)
		err = sort_entries(h, h->real, &h->nr_real, &h->real_runs) ?:
			sort_entries(h, h->cluster, &h->nr_cluster, &h->cluster_runs);
	h->unpaired = h->nr_real;
	h->sorted = !err;
	return err;
}

int tsct_history_end(struct tsct_history *h, const struct tsct_history_pairing *now)
{
	const int err = make_runs(h);
	const __u32 pairing = !err && h->nr_real ? h->real[h->nr_real - 1].pairing : 0;
	const struct tsct_history_pairing *t = pairing ? &h->pairings[pairing - 1] : NULL;
	/* Without @now and a valid pairing, nothing shows whether the clock was set meanwhile. */
	const bool is_shown = now && t && !t->changed;
	const __s64 ns = is_shown || h->ended ? 0 : PAIRING_AGE_NS;
	__u64 sampled = 0;
	struct entry *e;
	__u32 i;

	if (err || (is_shown && agree(t, now)))
		return err;
	/* Earlier open ends were cut where later entries begin. */
	for (i = h->nr_real; i && h->real[i - 1].live && h->real[i - 1].pairing == pairing; i--)
		sampled = max(sampled, h->real[i - 1].sampled_cycles);
	for (e = h->real + i; e < h->real + h->nr_real; e++)
		e->until_cycles = min(e->until_cycles, sampled +
				      (__u64)tsct_ns_cycles(e->params.mult, ns));
	h->sorted = false;
	return 0;
}

/* ---- one entry ------------------------------------------------------------ */

struct clock_values {
	__s64 lo, hi;
};

static __s64 cycles_of_ns(__u64 mult, __s64 ns)
{
	tsct_s128 cycles = (tsct_s128)ns * (1LL << TSCT_CLOCK_SHIFT) / (tsct_s128)mult;

	return cycles > LLONG_MAX / 2 ? LLONG_MAX / 2 :
		cycles < LLONG_MIN / 2 ? LLONG_MIN / 2 : (__s64)cycles;
}

/* Returns the counter value at which the entry's time is @ns, to within 2 cycles. */
static __u64 cycles_at(const struct entry *e, __s64 ns)
{
	const struct tsct_clock_params *p = &e->params;
	__u64 cycles = p->base_cycles;
	__s64 more = 1;
	int i;

	/* A slew changes the rate by up to 1/10: each pass leaves up to 1/10 of the error. */
	for (i = 0; i < 6 && more; i++) {
		more = cycles_of_ns(p->mult, sub_ns(ns, tsct_clock_params_ns(p, cycles)));
		cycles += (__u64)more;
	}
	return cycles;
}

/* Converts an interval of CLOCK_REALTIME to an interval of the counter, by an entry. */
static void cycles_of_real(const struct entry *e, struct clock_values real, __u64 *ret_lo,
			   __u64 *ret_hi)
{
	*ret_lo = cycles_at(e, add_ns(real.lo, -error_ns(e, cycles_at(e, real.lo)))) - 2;
	*ret_hi = cycles_at(e, add_ns(real.hi, 1 + error_ns(e, cycles_at(e, real.hi)))) + 2;
}

static struct clock_values time_of_cycles(const struct entry *e, __u64 lo, __u64 hi)
{
	return (struct clock_values) {
		add_ns(tsct_clock_params_ns(&e->params, lo), -error_ns(e, lo)),
		add_ns(tsct_clock_params_ns(&e->params, hi), error_ns(e, hi)),
	};
}

/* Converts an interval of CLOCK_MONOTONIC_RAW to an interval of the counter. */
static void cycles_of_raw(const struct tsct_history_pairing *t, struct clock_values raw,
			  __u64 *ret_lo, __u64 *ret_hi)
{
	__s64 lo = cycles_of_ns(t->rate_mult, add_ns(raw.lo, -t->raw_ns - 1));
	__s64 hi = cycles_of_ns(t->rate_mult, add_ns(raw.hi, -t->raw_ns + 1));
	double part = (double)t->rate_error_ppt * 1e-12;

	/* A rate that is lower by a part p takes 1 / (1 - p) times the cycles, p / (1 - p) more.
	 * |lo| and |hi| are at most 2^62; the limit of part is for damaged files. */
	part = part < 0.5 ? part / (1 - part) : 1;
	*ret_lo = t->raw_before + (__u64)(lo - 2) - (__u64)(part * (double)llabs(lo));
	*ret_hi = t->raw_after + (__u64)(hi + 2) + (__u64)(part * (double)llabs(hi));
}

static bool is_of_counter(enum tsct_history_clock clock)
{
	return clock == TSCT_HISTORY_TSC || clock == TSCT_HISTORY_MONOTONIC_RAW;
}

/*
 * Converts @value of @clock by the pairing of an entry: to an interval of the counter
 * if @clock is TSC or MONOTONIC_RAW, else to an interval of CLOCK_REALTIME, which may
 * lie outside of the entry. Returns false if the pairing has no data of @clock.
 */
static bool interval_of(const struct tsct_history *h, const struct entry *e,
			enum tsct_history_clock clock, struct clock_values value,
			struct clock_values *ret)
{
	const struct tsct_history_pairing *t = e->pairing ? &h->pairings[e->pairing - 1] : NULL;
	__u64 lo, hi;

	*ret = value;
	switch (clock) {
	case TSCT_HISTORY_MONOTONIC_RAW:
		if (!t || !t->has_raw)
			return false;
		cycles_of_raw(t, value, &lo, &hi);
		*ret = (struct clock_values) { (__s64)lo, (__s64)hi };
		return true;
	case TSCT_HISTORY_MONOTONIC:
	case TSCT_HISTORY_BOOTTIME:
		if (!t || t->changed)
			return false;
		ret->lo = add_ns(value.lo, t->real_min_ns - 2);
		ret->hi = add_ns(value.hi, t->real_max_ns + 2);
		if (clock == TSCT_HISTORY_BOOTTIME) {
			ret->lo = add_ns(ret->lo, -t->boot_max_ns - 1);
			ret->hi = add_ns(ret->hi, -t->boot_min_ns + 1);
		}
		return true;
	default:
		return true;
	}
}

/* Returns the bound of CLOCK_REALTIME's error relative to UTC up to @cycles; U64_MAX: unknown */
static __u64 utc_error_ns(const struct tsct_history *h, const struct entry *e, __u64 cycles)
{
	const struct tsct_history_pairing *t = e->pairing ? &h->pairings[e->pairing - 1] : NULL;
	tsct_u128 growth_ns;
	__s64 ns;

	if (!t)
		return ~0ULL;
	ns = e->after_pairing ? tsct_cycles_ns(e->params.mult, (__s64)(cycles - e->utc_cycles)) : 0;
	if (ns <= 0)
		return t->utc_error_ns;
	growth_ns = (tsct_u128)(__u64)ns * (t->utc_growth_ppb ?: UTC_GROWTH_PPB) / NS_PER_S + 1;
	return tsct_add_saturating(t->utc_error_ns,
				   growth_ns >> 64 ? ~0ULL : (__u64)growth_ns);
}

/* Gets the time at which @clock had @value, by an entry. Returns false as interval_of() does. */
static bool time_of(const struct tsct_history *h, const struct entry *e,
		    enum tsct_history_clock clock, struct clock_values value,
		    struct tsct_history_time *ret)
{
	struct clock_values real;

	if (!interval_of(h, e, clock, value, &real))
		return false;
	if (is_of_counter(clock)) {
		ret->lo_cycles = (__u64)real.lo;
		ret->hi_cycles = (__u64)real.hi;
		real = time_of_cycles(e, ret->lo_cycles, ret->hi_cycles);
	} else {
		cycles_of_real(e, real, &ret->lo_cycles, &ret->hi_cycles);
	}
	ret->real_lo_ns = real.lo;
	ret->real_hi_ns = real.hi;
	ret->utc_error_ns = utc_error_ns(h, e, ret->hi_cycles);
	ret->epoch = e->epoch;
	ret->extrapolated = e->live && (__s64)(ret->hi_cycles - e->sampled_cycles) > 0;
	return true;
}

/* ---- all entries ---------------------------------------------------------- */

/* Returns -1, 0 or 1 if the value of a clock is before, in or after the range of an entry. */
static int compare_value(const struct tsct_history *h, const struct entry *e,
			 enum tsct_history_clock clock, struct clock_values value)
{
	struct clock_values at;

	interval_of(h, e, clock, value, &at);
	if (is_of_counter(clock))
		return (__s64)((__u64)at.hi - e->begin_cycles) < 0 ? -1 :
			(__s64)((__u64)at.lo - e->until_cycles) > 0;
	if (add_ns(at.hi, error_ns(e, e->begin_cycles)) < begin_ns(e))
		return -1;
	return add_ns(at.lo, -error_ns(e, e->until_cycles)) >
		tsct_clock_params_ns(&e->params, e->until_cycles);
}

/* Merges @t with a result of the same epoch that it touches, or else appends @t
 * to the results. Results before number @first are of another counter.
 * Returns false if there is no room. */
static bool add_time(const struct tsct_history_time *t, struct tsct_history_time *ret,
		     unsigned int first, unsigned int *nr)
{
	struct tsct_history_time *last = NULL;
	unsigned int i;

	for (i = first; i < *nr && !last; i++)
		if (ret[i].epoch == t->epoch && (__s64)(t->lo_cycles - ret[i].hi_cycles) <= 0 &&
		    (__s64)(ret[i].lo_cycles - t->hi_cycles) <= 0)
			last = &ret[i];
	if (last) {
		last->real_lo_ns = min(last->real_lo_ns, t->real_lo_ns);
		last->real_hi_ns = max(last->real_hi_ns, t->real_hi_ns);
		last->lo_cycles = min(last->lo_cycles, t->lo_cycles);
		last->hi_cycles = max(last->hi_cycles, t->hi_cycles);
		last->utc_error_ns = max(last->utc_error_ns, t->utc_error_ns);
		last->extrapolated |= t->extrapolated;
		return true;
	}
	if (*nr == TSCT_HISTORY_TIMES)
		return false;
	ret[(*nr)++] = *t;
	return true;
}

/* Returns true if entry @at, its predecessor and its successors cover an
 * interval of the counter. @jumps: true if the entries may be of several
 * epochs, because CLOCK_REALTIME does not jump where the cluster's time does */
static bool covers(const struct entry *e, __u32 nr, __u32 at, bool jumps, __u64 lo, __u64 hi)
{
	__u32 first = at - (at && (jumps || e[at - 1].epoch == e[at].epoch));

	for (; first < nr && (jumps || e[first].epoch == e[at].epoch); first++) {
		/* The interval [lo, hi] was widened by 2 cycles at each end. */
		if ((__s64)(e[first].begin_cycles - lo) > 2)
			return false;
		if ((__s64)(hi - e[first].until_cycles) <= 2)
			return true;
		if ((__s64)(e[first].until_cycles - lo) > 0)
			lo = e[first].until_cycles;
	}
	return false;
}

struct search {
	bool before, after, inside, any;
	bool full;		/* there were more than TSCT_HISTORY_TIMES times */
	unsigned int first;	/* number of the first result of this counter */
};

/* Adds the time at which @clock had @value, by the entries of a run. @all: entries of all runs */
static void search_run(const struct tsct_history *h, const struct entry *all,
		       const struct history_run *run,
		       enum tsct_history_clock clock, struct clock_values value,
		       struct tsct_history_time *ret, unsigned int *nr, struct search *search)
{
	__u32 first = run->first, end = first + run->nr, lo = first, hi = end, i;
	struct tsct_history_time t = { 0 }, mine[TSCT_HISTORY_TIMES];
	unsigned int found = 0;

	if (!time_of(h, &all[lo], clock, value, &t))
		return;
	search->any = true;
	/* Finds the first entry that does not end before the value. */
	while (lo < hi) {
		i = lo + (hi - lo) / 2;
		if (compare_value(h, &all[i], clock, value) > 0)
			lo = i + 1;
		else
			hi = i;
	}
	if (lo == end) {
		search->after = true;
		return;
	}
	i = lo;
	if (compare_value(h, &all[i], clock, value) < 0) {
		if (i == first)
			search->before = true;
		else
			search->inside = true;
		return;
	}
	for (; i < end && !compare_value(h, &all[i], clock, value); i++)
		if (time_of(h, &all[i], clock, value, &t))
			add_time(&t, mine, 0, &found);
	/* Values of a run are in order, so results that do not touch cannot both be right. The
	 * counter's interval may reach into a neighbouring entry that does not allow the value. */
	if (found == 1 && covers(all, all == h->real ? h->nr_real : h->nr_cluster, lo,
				 all != h->real, mine->lo_cycles, mine->hi_cycles))
		search->full |= !add_time(mine, ret, search->first, nr);
	else
		search->inside = true;
}

static void convert_any(const struct tsct_history *h, enum tsct_history_clock clock,
		       struct clock_values value, struct tsct_history_time *ret, unsigned int *nr,
		       struct search *search)
{
	__u32 i;

	for (i = 0; i < h->real_runs.nr; i++)
		search_run(h, h->real, &h->real_runs.all[i], clock, value, ret, nr, search);
}

/* Returns the entry whose range includes @cycles, or NULL. */
static const struct entry *find_entry(const struct entry *e, __u32 nr, __u64 cycles)
{
	__u32 lo = 0, hi = nr, i;

	while (lo < hi) {
		i = lo + (hi - lo) / 2;
		if ((__s64)(cycles - e[i].until_cycles) > 0)
			lo = i + 1;
		else
			hi = i;
	}
	return lo < nr && (__s64)(cycles - e[lo].begin_cycles) >= 0 ? &e[lo] : NULL;
}

static void add_cluster(const struct tsct_history *h, struct tsct_history_time *t)
{
	const struct entry *lo = find_entry(h->cluster, h->nr_cluster, t->lo_cycles);
	const struct entry *hi = find_entry(h->cluster, h->nr_cluster, t->hi_cycles);

	if (!lo || !hi || lo->epoch != hi->epoch || lo->master != hi->master ||
	    lo->timeline != hi->timeline)
		return;
	t->cluster_lo_ns = time_of_cycles(lo, t->lo_cycles, t->lo_cycles).lo;
	t->cluster_hi_ns = time_of_cycles(hi, t->hi_cycles, t->hi_cycles).hi;
	/* Epoch numbers restart in each file: the time may have jumped between both entries. */
	t->has_cluster = t->cluster_lo_ns <= t->cluster_hi_ns;
	t->cluster_master = lo->master;
	t->cluster_timeline = lo->timeline;
}

/* Converts a value of the cluster's time, which several timelines may contain. */
static void convert_cluster(const struct tsct_history *h, struct clock_values value,
			    struct tsct_history_time *ret, unsigned int *nr, struct search *search)
{
	struct tsct_history_time times[TSCT_HISTORY_TIMES];
	unsigned int found = 0, i;
	const unsigned int first = search->first;
	__u32 run;

	search->first = 0;
	for (run = 0; run < h->cluster_runs.nr; run++)
		search_run(h, h->cluster, &h->cluster_runs.all[run], TSCT_HISTORY_REALTIME, value,
			   times, &found, search);
	search->first = first;
	for (i = 0; i < found; i++)
		convert_any(h, TSCT_HISTORY_TSC, (struct clock_values) {
				(__s64)times[i].lo_cycles, (__s64)times[i].hi_cycles,
			    }, ret, nr, search);
}

int tsct_history_convert(struct tsct_history *h, enum tsct_history_clock clock, __u64 lo, __u64 hi,
			 struct tsct_history_time ret[TSCT_HISTORY_TIMES], unsigned int *ret_nr)
{
	const struct clock_values value = { (__s64)lo, (__s64)hi };
	struct search search = { 0 };
	unsigned int i;
	int err;

	*ret_nr = 0;
	for (; h; h = h->older) {
		err = make_runs(h);
		if (err)
			return err;
		i = *ret_nr;
		search.first = i;
		if (clock == TSCT_HISTORY_CLUSTER_TIME)
			convert_cluster(h, value, ret, ret_nr, &search);
		else
			convert_any(h, clock, value, ret, ret_nr, &search);
		for (; i < *ret_nr; i++)
			add_cluster(h, &ret[i]);
	}
	if (*ret_nr)
		return search.full ? -E2BIG : 0;
	if (!search.any)
		return -ENOENT;
	if (search.inside || (search.before && search.after))
		return -ENODATA;
	return search.before ? -ERANGE : -EOVERFLOW;
}

/* ---- bends ---------------------------------------------------------------- */

/* Gets the value of @clock at @cycles by an entry. Returns false if that value is unknown. */
static bool value_at(const struct tsct_history *h, const struct entry *e,
		     enum tsct_history_clock clock, __u64 cycles, __s64 *ret)
{
	const struct tsct_history_pairing *t = e->pairing ? &h->pairings[e->pairing - 1] : NULL;

	*ret = clock == TSCT_HISTORY_TSC ? (__s64)cycles : tsct_clock_params_ns(&e->params, cycles);
	if (clock == TSCT_HISTORY_TSC || clock == TSCT_HISTORY_REALTIME)
		return true;
	if (!t || (clock == TSCT_HISTORY_MONOTONIC_RAW ? !t->has_raw : t->changed))
		return false;
	if (clock == TSCT_HISTORY_MONOTONIC_RAW)
		*ret = add_ns(t->raw_ns, tsct_cycles_ns(t->rate_mult,
							(__s64)(cycles - t->raw_before)));
	else
		*ret = sub_ns(*ret, t->real_min_ns + (t->real_max_ns - t->real_min_ns) / 2);
	if (clock == TSCT_HISTORY_BOOTTIME)
		*ret = add_ns(*ret, t->boot_min_ns + (t->boot_max_ns - t->boot_min_ns) / 2);
	return true;
}

/* Values are signed: tsct_array_sort() would put times before 1970 last. */
static int compare_bends(const void *a, const void *b)
{
	return tsct_compare(*(const __s64 *)a, *(const __s64 *)b);
}

int tsct_history_bends(struct tsct_history *h, enum tsct_history_clock clock, __s64 lo, __s64 hi,
		       __s64 **ret, __u32 *ret_nr)
{
	__u32 i, k;
	__s64 value;
	int err = 0;

	*ret = NULL;
	*ret_nr = 0;
	for (; h && !err; h = h->older) {
		err = make_runs(h);
		for (i = 0; i < h->nr_real + h->nr_cluster && !err; i++) {
			const struct entry *e = i < h->nr_real ? &h->real[i] :
				&h->cluster[i - h->nr_real];
			const __u64 at[] = {
				e->begin_cycles, e->until_cycles,
				e->params.base_cycles + e->params.slew_cycles,
			};

			for (k = 0; k < 3 && !err; k++) {
				const struct entry *real = i < h->nr_real ? e :
					find_entry(h->real, h->nr_real, at[k]);

				if (real && value_at(h, real, clock, at[k], &value) &&
				    value >= lo && value <= hi)
					err = tsct_array_add(ret, ret_nr, &value, sizeof(value));
			}
		}
	}
	if (*ret_nr)
		qsort(*ret, *ret_nr, sizeof(**ret), compare_bends);
	return err;
}

/* ---- files ---------------------------------------------------------------- */

static int read_file(int dir, const char *name, uid_t owner, char **ret_bytes, size_t *ret_len)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	struct stat st;
	int err = 0;

	*ret_bytes = NULL;
	if (!file || fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_mode & 022 ||
		 (st.st_uid && st.st_uid != geteuid() && st.st_uid != owner))
		err = -EACCES;
	else if ((__u64)st.st_size > BYTES_MAX)
		err = -EFBIG;
	else if (!(*ret_bytes = malloc((size_t)st.st_size + 1)))
		err = -ENOMEM;
	else
		*ret_len = fread(*ret_bytes, 1, (size_t)st.st_size, file);
	if (!err && ferror(file))
		err = -EIO;
	if (file)
		fclose(file);
	else if (fd >= 0)
		close(fd);
	return err;
}

/* Returns the reason why a file was not read, for a message. */
static const char *refusal(int err)
{
	switch (err) {
	case -EPROTO:
		return "written by another version of tsctraced";
	case -EACCES:
		return "not readable, owned by another user, or writable by other users";
	case -ELOOP:
		return "a symbolic link";
	case -EFBIG:
		return "larger than 16 MiB, so it is not a file of tsctraced";
	case -E2BIG:
		return "older than the newest 512 MiB of this boot; older files are not read";
	case -EINVAL:
		return "not a history, or its beginning is damaged";
	default:
		return strerror(-err);
	}
}

static int is_named(const struct dirent *entry)
{
	return strspn(entry->d_name, "0123456789abcdef") == 32 && entry->d_name[32] == '.';
}

/* Returns the index of the first file to read, so that a boot's files have BOOT_BYTES_MAX at most:
 * older files, which are earlier in @names, are left out. */
static int first_file(int dir, struct dirent *const *names, int nr, const char *boot)
{
	__u64 bytes = 0;
	struct stat st;
	int i;

	for (i = nr; i > 0 && bytes <= BOOT_BYTES_MAX; i--)
		if (!strncmp(names[i - 1]->d_name, boot, 32) &&
		    !fstatat(dir, names[i - 1]->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    (__u64)st.st_size <= BYTES_MAX)
			bytes += (__u64)st.st_size;
	return bytes > BOOT_BYTES_MAX ? i + 1 : 0;
}

int tsct_history_load(const char *path, const __u8 boot_id[16], struct tsct_history **ret_history,
		      struct tsct_history_found *found, char *why, size_t size)
{
	struct tsct_history *h = tsct_history_new();
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), nr = -1, i, err = 0, first;
	struct dirent **names = NULL;
	struct stat st = { 0 };
	char hex[33];

	tsct_history_boot_text(boot_id, hex);
	memset(found, 0, sizeof(*found));
	*ret_history = NULL;
	if (dir < 0 || fstat(dir, &st))
		err = -errno;
	else if (!h)
		err = -ENOMEM;
	else if ((nr = scandir(path, &names, is_named, versionsort)) < 0)
		err = -errno;
	if (err)
		snprintf(why, size, "%s", strerror(-err));
	first = err ? 0 : first_file(dir, names, nr, hex);
	for (i = 0; i < nr && !err; i++) {
		char *bytes = NULL;
		size_t len = 0;

		if (strncmp(names[i]->d_name, hex, 32))
			continue;
		h->has_file |= i < first;
		err = i < first ? -E2BIG :
			read_file(dir, names[i]->d_name, st.st_uid, &bytes, &len);
		if (!err)
			err = tsct_history_add(h, bytes, len, boot_id, &found->damaged_records);
		free(bytes);
		if (err == -ENOMEM) {
			snprintf(why, size, "%s: %s", names[i]->d_name, strerror(ENOMEM));
			break;
		}
		found->files += !err;
		if (err) {
			found->foreign_files++;
			snprintf(found->foreign, sizeof(found->foreign), "%.80s: %s",
				 names[i]->d_name, refusal(err));
		}
		err = 0;
	}
	for (i = 0; i < nr; i++)
		free(names[i]);
	free(names);
	if (dir >= 0)
		close(dir);
	if (!err && !found->files) {
		err = -ENODATA;
		snprintf(why, size, "%s", *found->foreign ? found->foreign :
			 "it has no file of this boot");
	}
	if (err)
		tsct_history_free(h);
	else
		*ret_history = h;
	return err;
}

int tsct_history_boots(const char *path, void (*boot)(void *ctx, const __u8 boot_id[16]),
		       void *ctx)
{
	struct dirent **names;
	__u8 id[16], last[16] = { 0 };
	int nr = scandir(path, &names, is_named, versionsort), i, b;

	if (nr < 0)
		return -errno;
	for (i = 0; i < nr; i++) {
		for (b = 0; b < 16; b++) {
			unsigned int byte = 0;

			sscanf(names[i]->d_name + 2 * b, "%2x", &byte);
			id[b] = (__u8)byte;
		}
		if (memcmp(id, last, 16))
			boot(ctx, id);
		memcpy(last, id, 16);
		free(names[i]);
	}
	free(names);
	return 0;
}

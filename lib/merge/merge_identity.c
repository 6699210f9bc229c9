// SPDX-License-Identifier: MIT
/*
 * Refuses duplicate inputs, and inputs that were made days apart according to their clocks.
 * Several recordings of a node are accepted if they do not overlap in time, or have different
 * channels. Finds recordings of one machine, and recordings of one boot whose clocks
 * contradict each other.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "lib/base/array.h"
#include "lib/base/hash.h"
#include "lib/ctf/ticks.h"
#include "merge_private.h"

/* Longest accepted time, ns, in which no input was recorded: from the latest end of all
 * earlier recordings to the start of the next recording */
#define APART_NS	(24 * 3600 * 1000000000ULL)

/* The directory of an input, and the start and end of its recording by its own clock, ns */
struct recorded_dir {
	dev_t dev;
	ino_t ino;
	__s64 begin, end;
	__u32 input;
};

/* A node of an input. Nodes of the same merged input are not compared with each other: the
 * merge that made the input refused duplicates. */
struct holder {
	__u8 uuid[16], boot_id[16];
	__u64 host;		/* hash of the host's name */
	__u64 number;		/* id of the node by tsctraced; valid if has_number */
	__s64 begin, end;	/* start and end of the node's recording, ns */
	__u32 has_number;
	__u32 input;
	/* counter of the node's ticks, TSCT_SOURCE_*; or one of: */
#define SOURCE_SYSTEM	(~1U)	/* record --timestamps system */
#define SOURCE_UNKNOWN	(~0U)	/* the input is merged */
	__u32 source;
	__u32 same;		/* tsct_recorded_node.same in the input */
};

/* A channel of an input */
struct held_channel {
	char name[TSCT_NAME_MAX];
	__u32 kernel, input;
};

/* Nodes and channels of all inputs */
struct identities {
	const struct holder *holder;
	const struct held_channel *channel;
	size_t nr_holders, nr_channels;
};

/* A recorded channel of a node */
struct claim {
	const struct holder *by;
	const struct held_channel *channel;
};

/* Returns true if a UUID is set: older recordings may have none. */
static bool is_known(const __u8 *uuid)
{
	static const __u8 zero[16];

	return memcmp(uuid, zero, sizeof(zero));
}

static const char *path_of(const struct tsct_merge *m, __u32 input)
{
	return m->options.name[input];
}

/* ---- what is compared ------------------------------------------------------------- */

static int list_nodes(struct tsct_merge *m, struct merge_in *in)
{
	const struct tsct_recorded_node *node;
	const struct tsct_recorded_bound *b;
	struct holder h;
	int err = 0;

	for (node = in->rec->nodes; node < in->rec->nodes + in->rec->nr_nodes && !err; node++) {
		h = (struct holder) {
			.host = tsct_hash(0, node->host, strlen(node->host)),
			.number = node->sync.on ? node->sync.node : 0,
			.has_number = node->sync.on,
			.begin = merge_own_ns(in, in->begin),
			.end = merge_own_ns(in, in->end), .input = in->index,
			.source = in->merged ? SOURCE_UNKNOWN :
				in->rec->counter.mult ? SOURCE_SYSTEM : in->rec->source,
			.same = node->same,
		};
		memcpy(h.uuid, node->uuid, sizeof(h.uuid));
		memcpy(h.boot_id, node->boot_id, sizeof(h.boot_id));
		b = node->correction.bounds;
		/* A node of a merged input was recorded from the tick of the node's first error
		 * bound to the tick of its last error bound. */
		if (in->merged && node->correction.nr_bounds) {
			h.begin = merge_own_ns(in, b->tick);
			b += node->correction.nr_bounds - 1;
			h.end = merge_own_ns(in, b->tick);
		}
		err = merge_list_add(m, MERGE_HOLDERS, &h, sizeof(h));
	}
	return err;
}

/* ---- the same directory ---------------------------------------------------------- */

static int by_inode(const void *a, const void *b)
{
	const struct recorded_dir *x = a, *y = b;

	return tsct_compare(x->dev, y->dev) ?: tsct_compare(x->ino, y->ino) ?:
		tsct_compare(x->input, y->input);
}

static int check_inodes(struct tsct_merge *m, struct recorded_dir *all, size_t nr)
{
	size_t i;

	qsort(all, nr, sizeof(*all), by_inode);
	for (i = 1; i < nr; i++)
		if (all[i].ino && all[i].ino == all[i - 1].ino &&
		    all[i].dev == all[i - 1].dev)
			return merge_fail(m, -EINVAL, "%s: given twice; remove one or use"
					  " --force", path_of(m, all[i].input));
	return 0;
}

/* ---- the same recording ------------------------------------------------------------ */

static int by_uuid(const void *a, const void *b)
{
	const struct holder *x = *(const struct holder *const *)a;
	const struct holder *y = *(const struct holder *const *)b;

	return memcmp(x->uuid, y->uuid, 16) ?: tsct_compare(x->input, y->input);
}

static int check_uuids(struct tsct_merge *m, const struct identities *of)
{
	const struct holder **all = calloc(of->nr_holders + 1, sizeof(*all));
	size_t i, nr = 0;
	int err = 0;

	if (!all)
		return merge_fail_errno(m, -ENOMEM);
	for (i = 0; i < of->nr_holders; i++)
		if (is_known(of->holder[i].uuid))
			all[nr++] = &of->holder[i];
	qsort(all, nr, sizeof(*all), by_uuid);
	for (i = 1; i < nr && !err; i++)
		if (all[i]->input != all[i - 1]->input &&
		    !memcmp(all[i]->uuid, all[i - 1]->uuid, 16))
			err = merge_fail(m, -EINVAL, "%s: holds the same recording"
					 " as %s; remove one or use"
					 " --force", path_of(m, all[i]->input),
					 path_of(m, all[i - 1]->input));
	free(all);
	return err;
}

/* ---- the same node, channel and time ------------------------------------------------ */

/* A node is identified by its id from the daemon (@by_number); if one of two nodes has no
 * id, by the boot and the host's name. */
static int compare_nodes(bool by_number, const struct holder *a, const struct holder *b)
{
	if (by_number)
		return tsct_compare(a->number, b->number);
	return memcmp(a->boot_id, b->boot_id, 16) ?: tsct_compare(a->host, b->host);
}

/* Compares two recorded channels by node, then by kernel flag, then by name. */
static int compare_channels(bool by_number, const struct claim *a,
			    const struct claim *b)
{
	const struct held_channel *x = a->channel, *y = b->channel;

	return compare_nodes(by_number, a->by, b->by) ?: tsct_compare(x->kernel, y->kernel) ?:
		strcmp(x->name, y->name);
}

/* Orders recorded channels by node, name and start of the recording. A recording of length
 * 0 comes before recordings with the same start, as it does not overlap them. */
static int by_claim(const void *a, const void *b, void *by_number)
{
	const struct claim *x = a, *y = b;

	return compare_channels(*(bool *)by_number, x, y) ?:
		tsct_compare(x->by->begin, y->by->begin) ?:
		tsct_compare(x->by->end, y->by->end) ?: tsct_compare(x->by->input, y->by->input);
}

/* Recorded channels that were compared so far: `any` has the recording that ends last; `other`
 * has the recording that ends last among those from other inputs than `any` */
struct latest {
	const struct claim *any, *other;
};

static void note_claim(struct latest *l, const struct claim *c)
{
	const __u32 input = c->by->input;

	if (!l->any || c->by->end > l->any->by->end) {
		if (l->any && l->any->by->input != input)
			l->other = l->any;
		l->any = c;
	} else if (input != l->any->by->input &&
		   (!l->other || c->by->end > l->other->by->end)) {
		l->other = c;
	}
}

/* Returns a channel of another input that was still recorded when the recording of @c
 * began, or NULL. */
static const struct claim *find_twin(const struct latest *l, const struct claim *c)
{
	const struct claim *twin = l->any && l->any->by->input != c->by->input ? l->any :
		l->other;

	return twin && twin->by->end > c->by->begin ? twin : NULL;
}

/* Reports two inputs that recorded the same channel of a node at the same time. Two boots of a
 * machine cannot do so: then one machine has a copy of the other's node id. */
static int refuse_twins(struct tsct_merge *m, const struct claim *c, const struct claim *twin)
{
	const struct claim *early = twin->by->input < c->by->input ? twin : c;
	const struct claim *late = early == c ? twin : c;

	if (is_known(c->by->boot_id) && is_known(twin->by->boot_id) &&
	    memcmp(c->by->boot_id, twin->by->boot_id, sizeof(c->by->boot_id)))
		return merge_fail(m, -EINVAL, "%s: has the node id of %s and was recorded at the"
				  " same time, but in another boot: the machine is a copy of the"
				  " other, or a clock was wrong; use --force to merge them",
				  path_of(m, late->by->input), path_of(m, early->by->input));
	return merge_fail(m, -EINVAL, "%s: was recorded on the same node as %s and"
			  " at the same time, and both have channel '%s': events"
			  " would appear twice; remove one or use --force",
			  path_of(m, late->by->input), path_of(m, early->by->input),
			  c->channel->name);
}

/* Returns 0, or -EINVAL after merge_fail() if two inputs recorded the same channel of a
 * node at the same time. @all: all recorded channels, sorted by node, name and start */
static int compare_inputs(struct tsct_merge *m, bool by_number,
			  const struct claim *all, size_t nr)
{
	/* This channel's recordings that were compared so far and end last. latest[0]: of nodes
	 * without a node id from tsctraced; latest[1]: of nodes with a node id */
	struct latest latest[2];
	const struct claim *c, *twin;
	bool numbered;

	for (c = all; c < all + nr; c++) {
		if (c == all || compare_channels(by_number, c - 1, c))
			memset(latest, 0, sizeof(latest));
		numbered = c->by->has_number;
		twin = find_twin(&latest[0], c);
		if (!twin && (!numbered || by_number))
			twin = find_twin(&latest[1], c);
		if (twin)
			return refuse_twins(m, c, twin);
		note_claim(&latest[numbered], c);
	}
	return 0;
}

/* Lists the recorded channels of each node in @all; NULL: only counts the channels.
 * Returns their number. Holders and channels are in the order of inputs. */
static size_t claim_all(const struct identities *of, bool by_number, struct claim *all)
{
	const struct held_channel *c, *first = of->channel, *end = of->channel + of->nr_channels;
	const struct holder *h;
	size_t nr = 0;

	for (h = of->holder; h < of->holder + of->nr_holders; h++) {
		while (first < end && first->input < h->input)
			first++;
		if (by_number ? !h->has_number : !is_known(h->boot_id))
			continue;
		for (c = first; c < end && c->input == h->input; c++, nr++)
			if (all)
				all[nr] = (struct claim) { h, c };
	}
	return nr;
}

static int check_identities(struct tsct_merge *m, const struct identities *of)
{
	static const bool by_number[] = { true, false };
	struct claim *all;
	size_t i, nr;
	int err = 0;

	for (i = 0; i < 2 && !err; i++) {
		all = calloc(claim_all(of, by_number[i], NULL) + 1, sizeof(*all));
		if (!all)
			return merge_fail_errno(m, -ENOMEM);
		nr = claim_all(of, by_number[i], all);
		qsort_r(all, nr, sizeof(*all), by_claim, (void *)&by_number[i]);
		err = compare_inputs(m, by_number[i], all, nr);
		free(all);
	}
	return err;
}

/* ---- wrong clocks -------------------------------------------------------- */

static int by_begin(const void *a, const void *b)
{
	const struct recorded_dir *x = a, *y = b;

	return tsct_compare(x->begin, y->begin) ?: tsct_compare(x->input, y->input);
}

static int check_gaps(struct tsct_merge *m, struct recorded_dir *all, size_t nr)
{
	const struct recorded_dir *last = all;
	__u64 apart;
	size_t i;

	qsort(all, nr, sizeof(*all), by_begin);
	for (i = 1; i < nr; i++) {
		/* Times of hostile inputs may be more than 2^63 ns apart. */
		apart = (__u64)all[i].begin - (__u64)last->end;
		if (all[i].begin >= last->end && apart > APART_NS)
			return merge_fail(m, -EINVAL, "%s: begins %" PRIu64
					 " days after %s ended; one of the two"
					 " clocks is wrong, or these recordings do not"
					 " belong together; use --force to merge them",
					 path_of(m, all[i].input),
					 (uint64_t)(apart / APART_NS),
					 path_of(m, last->input));
		if (all[i].end > last->end)
			last = &all[i];
	}
	return 0;
}

/* ---- the clocks of recordings of one boot ----------------------------------------- */

/* Least growth assumed for a clock's error bound while the clock is not read, ppb:
 * PHI of RFC 5905; a recording may state more growth */
#define DRIFT_PPB	15000
/*
 * Between two recordings, an NTP daemon may have removed an offset of CLOCK_REALTIME, by a
 * slew of at most 500 ppm. The slew may start after the first recording or end before the
 * second one, so each recording's straight clock may be off by 500 ppm, both together by
 * 1000 ppm. An offset above 128 ms is removed by a step (STEPT of RFC 5905).
 */
#define SLEW_PPB	1000000
#define SLEW_MAX_NS	128e6
/* Time before the end of a recording in which its clock may not have been read, ns */
#define UNREAD_NS	1e9

/* The straight clock of a recording */
struct straight_clock {
	__u8 boot_id[16];
	__u32 source;		/* counter of the clock, TSCT_SOURCE_* */
	__u32 input;
	__u64 begin;		/* first tick of the recording's last epoch */
	__u64 end;
	double hz;
	double error_ns;	/* error bound of the clock from `begin` to `end`, ns */
	double growth_ppb;	/* growth of error_ns while the clock is not read, ppb */
	/* index + 1 of an input whose clock contradicts this clock; 0: none */
	__u32 against;
	__u32 pad;
	struct tsct_clock_params real;
};

static __u64 line_begin(const struct merge_in *in)
{
	const __u64 base = in->rec->real.base_cycles;

	return in->was_disrupted && base > in->begin && base < in->end ?
		base : in->begin;
}

static int list_line(struct tsct_merge *m, struct merge_in *in)
{
	const struct tsct_clock_params *real = &in->rec->real;
	struct straight_clock line = {
		.source = in->rec->source, .input = in->index, .begin = line_begin(in),
		.end = in->end, .hz = in->hz, .real = *real,
		.growth_ppb = fmax((double)tsct_growth_ppb(real->mult, real->holdover_growth),
				   DRIFT_PPB),
	};

	if (in->rec->merged || in->rec->counter.mult)
		return 0;
	memcpy(line.boot_id, in->rec->nodes[0].boot_id, sizeof(line.boot_id));
	line.error_ns = fmax((double)tsct_clock_params_error_ps(real, line.begin),
			     (double)tsct_clock_params_error_ps(real, line.end)) * 1e-3 + 1 +
		(double)tsct_recording_uncertainty_ns(in->rec);
	return merge_list_add(m, MERGE_LINES, &line, sizeof(line));
}

/* Returns the time by @b minus the time by @a at a tick of their common counter, ns. */
static double apart_ns(const struct straight_clock *a, const struct straight_clock *b, __u64 tick)
{
	return (double)((tsct_s128)tsct_clock_params_ns(&b->real, tick) -
			tsct_clock_params_ns(&a->real, tick));
}

/*
 * Returns true if the clocks of two recordings of one boot contradict each other. @a starts
 * first. At a tick of both recordings, the clocks may differ by the sum of their bounds. In
 * the last second of @a, in which its clock may not have been read, a slew may add to this
 * difference. If the recordings do not overlap, CLOCK_REALTIME went from one clock to the
 * other during the gap, while both bounds grew.
 */
static bool clocks_contradict(const struct straight_clock *a, const struct straight_clock *b)
{
	const __u64 begin = b->begin, end = a->end < b->end ? a->end : b->end;
	const double first = apart_ns(a, b, begin), last = apart_ns(a, b, end);
	const double gap_ns = (double)(__s64)(begin - end) / fmin(a->hz, b->hz) * 1e9;
	const double unread_ns = UNREAD_NS + fmax(gap_ns, 0);
	const double error_ns = a->error_ns + b->error_ns;
	const double slewed_ns = error_ns +
		unread_ns * (a->growth_ppb + b->growth_ppb) * 1e-9 +
		fmin(unread_ns * SLEW_PPB * 1e-9, SLEW_MAX_NS);

	if (gap_ns > 0)
		return first * last > 0 && fmin(fabs(first), fabs(last)) > slewed_ns;
	return fabs(first) > (gap_ns < -UNREAD_NS ? error_ns : slewed_ns) ||
		fabs(last) > slewed_ns;
}

/* Orders recordings by their counter, that is by boot, then by source. Returns 0 if both
 * have the same counter. */
static int compare_counters(const struct straight_clock *x, const struct straight_clock *y)
{
	return memcmp(x->boot_id, y->boot_id, 16) ?: tsct_compare(x->source, y->source);
}

static int by_counter_and_begin(const void *a, const void *b)
{
	const struct straight_clock *x = a, *y = b;

	return compare_counters(x, y) ?: tsct_compare(x->begin, y->begin) ?:
		tsct_compare(x->input, y->input);
}

/*
 * Finds recordings of one boot whose clocks contradict each other: sorts MERGE_LINES, and sets
 * `against` of these recordings. Either CLOCK_REALTIME was set between the recordings, or a
 * virtual machine's snapshot was restored, so that two machines have the same boot id. Merged
 * inputs are not examined, as their counters are unknown, and neither are recordings with
 * --timestamps system. Recordings of different sources of cycles are not compared.
 */
static void mark_contradictions(struct tsct_merge *m)
{
	struct straight_clock *line = (struct straight_clock *)m->list[MERGE_LINES].data, *l;
	const size_t nr = m->list[MERGE_LINES].size / sizeof(*line);
	struct straight_clock *last = line;

	if (nr)
		qsort(line, nr, sizeof(*line), by_counter_and_begin);
	/* Compares each recording with one of the same counter that starts earlier: with
	 * the one that ends last, as bounds have grown least since that end. */
	for (l = line; l < line + nr; l++) {
		if (compare_counters(last, l))
			last = l;
		else if (l != last && clocks_contradict(last, l))
			l->against = last->input + 1;
		else if (l->end > last->end)
			last = l;
	}
}

/* Sets @why to the reason if recordings of one boot contradict each other; else keeps @why. */
void merge_check_boots(const struct tsct_merge *m, char *why, size_t size)
{
	const struct tsct_blob *list = &m->list[MERGE_LINES];
	const struct straight_clock *l = (const struct straight_clock *)list->data;
	const struct straight_clock *end = l + list->size / sizeof(*l);

	while (l < end && !l->against)
		l++;
	if (l < end)
		snprintf(why, size, "%s and %s are of the same boot, but their clocks"
			 " contradict each other: CLOCK_REALTIME was set between them, or slewed"
			 " by more than 500 ppm, or they are of two machines that were"
			 " restored from one snapshot",
			 path_of(m, l->against - 1), path_of(m, l->input));
}

/* ---- recordings of one machine ---------------------------------------------------------- */

/* Nodes of all inputs, sorted by machine */
struct machines {
	const struct holder *holder;
	__u32 *order;		/* indices of holders */
	const struct straight_clock *line, *end_of_lines;
};

/* Orders nodes by boot and host, then by id and source, which distinguish nodes of one boot. */
static int by_machine(const void *a, const void *b, void *holders)
{
	const __u32 i = *(const __u32 *)a, k = *(const __u32 *)b;
	const struct holder *x = (const struct holder *)holders + i;
	const struct holder *y = (const struct holder *)holders + k;

	return compare_nodes(false, x, y) ?: tsct_compare(x->has_number, y->has_number) ?:
		compare_nodes(true, x, y) ?: tsct_compare(x->source, y->source) ?:
		tsct_compare(i, k);
}

/* Returns true if the clocks of recordings of a boot contradict each other. Calls must pass
 * boots in rising order. */
static bool is_contradictory(struct machines *of, const __u8 *boot)
{
	const struct straight_clock *l;

	while (of->line < of->end_of_lines && memcmp(of->line->boot_id, boot, 16) < 0)
		of->line++;
	for (l = of->line; l < of->end_of_lines && !memcmp(l->boot_id, boot, 16); l++)
		if (l->against)
			return true;
	return false;
}

/* Returns true if @at, nodes of one boot and host in the order of by_machine(), may be of several
 * nodes: their daemons have different ids, or their ticks are of different counters. */
static bool are_several(const struct machines *of, const __u32 *at, __u32 nr)
{
	const struct holder *h, *numbered = NULL, *counted = NULL;
	__u32 i;

	for (i = 0; i < nr; i++) {
		h = &of->holder[at[i]];
		if ((h->has_number && numbered && h->number != numbered->number) ||
		    (h->source != SOURCE_UNKNOWN && counted && h->source != counted->source))
			return true;
		numbered = h->has_number ? h : numbered;
		counted = h->source != SOURCE_UNKNOWN ? h : counted;
	}
	return false;
}

/* Sets same[] of @at, nodes of one boot and host, to the first recording of the same machine. */
static void join_nodes(struct machines *of, const __u32 *at, __u32 nr, __u32 *same)
{
	const struct holder *h = &of->holder[at[0]], *last;
	const bool several = are_several(of, at, nr);
	__u32 i, first = at[0];

	if (nr == 1 || !is_known(h->boot_id) || is_contradictory(of, h->boot_id))
		return;
	for (i = 1; i < nr && !several; i++)
		first = at[i] < first ? at[i] : first;
	for (i = 0; i < nr; i++) {
		last = h;
		h = &of->holder[at[i]];
		if (several && (h->has_number != last->has_number || h->number != last->number ||
				h->source != last->source))
			first = at[i];
		same[at[i]] = first;
	}
}

/*
 * Sets m->same. Recordings are of one machine if they have the boot, the name of the host and the
 * source of the ticks in common, unless their daemons have different ids, or their clocks
 * contradict each other. If some nodes of a boot differ in id or source, nodes of this boot
 * without id or source are separate nodes. Nodes that an earlier merge joined stay joined.
 */
int merge_find_same(struct tsct_merge *m)
{
	const struct tsct_blob *list = &m->list[MERGE_HOLDERS], *lines = &m->list[MERGE_LINES];
	struct machines of = {
		.holder = (const struct holder *)list->data,
		.line = (const struct straight_clock *)lines->data,
		.end_of_lines = (const struct straight_clock *)(lines->data + lines->size),
	};
	const __u32 nr = (__u32)(list->size / sizeof(*of.holder));
	__u32 i, from, of_input = 0;

	m->same = calloc((size_t)nr + 1, sizeof(*m->same));
	of.order = calloc((size_t)nr + 1, sizeof(*of.order));
	for (i = 0; m->same && of.order && i < nr; i++)
		m->same[i] = of.order[i] = i;
	if (!m->same || !of.order) {
		free(of.order);
		return merge_fail_errno(m, -ENOMEM);
	}
	if (nr)
		qsort_r(of.order, nr, sizeof(*of.order), by_machine, list->data);
	for (from = 0, i = 1; i <= nr; i++) {
		if (i < nr && !compare_nodes(false, &of.holder[of.order[from]],
					     &of.holder[of.order[i]]))
			continue;
		join_nodes(&of, of.order + from, i - from, m->same);
		from = i;
	}
	for (i = 0; i < nr; i++) {
		of_input = i && of.holder[i].input == of.holder[i - 1].input ? of_input : i;
		if (of.holder[i].same)
			m->same[i] = of_input + of.holder[i].same - 1;
		m->same[i] = m->same[m->same[i]];
	}
	free(of.order);
	tsct_blob_free(&m->list[MERGE_HOLDERS]);
	return 0;
}

/* ---- all inputs ---------------------------------------------------------------------- */

int merge_list_identity(struct tsct_merge *m, struct merge_in *in)
{
	struct recorded_dir dir = {
		.begin = merge_own_ns(in, in->begin), .end = merge_own_ns(in, in->end),
		.input = in->index,
	};
	struct held_channel c = { .input = in->index };
	struct stat st;
	__u32 i;
	int err = list_nodes(m, in) ?: list_line(m, in);

	if (m->options.force || err)
		return err;
	if (!fstat(in->dirfd, &st)) {
		dir.dev = st.st_dev;
		dir.ino = st.st_ino;
	}
	err = merge_list_add(m, MERGE_DIRS, &dir, sizeof(dir));
	for (i = 0; i < in->rec->nr_streams && !err; i++) {
		memcpy(c.name, in->rec->streams[i].name, sizeof(c.name));
		c.kernel = in->rec->streams[i].kernel;
		err = merge_list_add(m, MERGE_HELD, &c, sizeof(c));
	}
	return err;
}

/* Refuses duplicate inputs and inputs made days apart, unless options.force is set. Nodes and
 * channels are sorted before they are compared: inputs may have too many nodes to compare each
 * node with each other node. */
int merge_identify(struct tsct_merge *m)
{
	struct tsct_blob *list = m->list;
	struct recorded_dir *dirs = (struct recorded_dir *)list[MERGE_DIRS].data;
	const size_t nr = list[MERGE_DIRS].size / sizeof(*dirs);
	const struct identities of = {
		.holder = (const struct holder *)list[MERGE_HOLDERS].data,
		.nr_holders = list[MERGE_HOLDERS].size / sizeof(struct holder),
		.channel = (const struct held_channel *)list[MERGE_HELD].data,
		.nr_channels = list[MERGE_HELD].size / sizeof(struct held_channel),
	};
	int err;

	mark_contradictions(m);
	if (!nr)
		return 0;
	err = check_inodes(m, dirs, nr) ?: check_uuids(m, &of) ?:
		check_identities(m, &of) ?: check_gaps(m, dirs, nr);
	tsct_blob_free(&list[MERGE_DIRS]);
	tsct_blob_free(&list[MERGE_HELD]);
	return err;
}

// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>

#include "lib/base/array.h"
#include "lib/ctf/stream.h"
#include "loss_times.h"

/* Largest number of full packets that a recorder writes for one ring in one turn */
#define TURN_PACKETS	4

struct loss_times {
	struct tsct_loss_time *all;
	__u32 nr;
	__u64 *ends;		/* by node: end of its recorder; NULL: the ends are not needed */
};

/* Returns true if events may be missing after the last packet of a file: the file is cut
 * off or damaged, or its recorder did not finish. @packets: number of readable packets */
static bool lacks_end(const struct tsct_recording *rec, const struct tsct_stream_reader *s,
		      __u64 packets)
{
	const __u32 node = rec->locations[s->location].node;

	return s->spoiled || !rec->complete || rec->nodes[node].cut_off ||
		rec->streams[s->class].counts[s->location].packets > packets;
}

/* Adds the times of losses in one file. @s: reader of the file, before its first packet */
static int add_loss_times(int dirfd, const struct tsct_recording *rec,
			  struct tsct_stream_reader *s, struct loss_times *to)
{
	struct tsct_stream_reader_dir dir = { .dirfd = dirfd, .rec = rec };
	const struct tsct_loss *loss = &rec->streams[s->class].loss[s->location];
	const __u32 node = rec->locations[s->location].node;
	struct tsct_loss_time time = { .stream = s->class, .location = s->location };
	__u64 count = 0, last = rec->begin, since = last, packets = 0, written = 0, rest;
	unsigned int full = 0;
	bool open = false;
	int err = 0;

	while (!err && tsct_stream_reader_skip(&dir, s)) {
		/* The previous packet was the last of the recorder's turn. */
		if (!full && open) {
			time.until = s->head.begin << s->up >> s->down;
			err = tsct_array_add(&to->all, &to->nr, &time, sizeof(*to->all));
			open = false;
		}
		if (!full || full > TURN_PACKETS)
			since = last;
		if (s->head.discarded > count) {
			time.from = open ? time.from : since;
			time.events = (open ? time.events : 0) + s->head.discarded - count;
			open = true;
		}
		count = s->head.discarded;
		last = s->head.end << s->up >> s->down;
		full = s->head.content_bits / 8 < TSCT_PACKET_FULL ? 0 : full + 1;
		packets++;
	}
	/* Losses that no packet states: the end of the file is missing, or the whole file */
	rest = tsct_loss_total(loss) > count ? tsct_loss_total(loss) - count : 0;
	time.events = (open ? time.events : 0) + rest;
	if (!open) {
		if (!rec->complete && !time.events)
			tsct_trace_progress(dirfd, &written);
		time.from = max(written, last);
	}
	time.until = UINT64_MAX;
	if (!err && to->ends && packets) {
		to->ends[node] = max(to->ends[node], last);
		err = tsct_array_add(&to->all, &to->nr, &(struct tsct_loss_time) {
			.stream = s->class, .location = s->location, .until = UINT64_MAX,
			.over = true,
		}, sizeof(*to->all));
	}
	if (err || (!time.events && !lacks_end(rec, s, packets)))
		return err;
	return tsct_array_add(&to->all, &to->nr, &time, sizeof(*to->all));
}

static int by_from(const void *a, const void *b)
{
	const struct tsct_loss_time *x = a, *y = b;

	return tsct_compare(x->from, y->from) ?: tsct_compare(x->until, y->until);
}

/* Allocates to->ends, and sets each to the end of the node's error bounds for now. */
static int find_ends(const struct tsct_recording *rec, struct loss_times *to)
{
	const struct tsct_recorded_correction *c;
	__u32 i;

	to->ends = calloc(rec->nr_nodes + 1, sizeof(*to->ends));
	for (i = 0; to->ends && i < rec->nr_nodes; i++) {
		c = &rec->nodes[i].correction;
		if (c->nr_bounds)
			to->ends[i] = c->bounds[c->nr_bounds - 1].tick;
	}
	return to->ends ? 0 : -ENOMEM;
}

int tsct_loss_times(const struct tsct_trace *trace, bool ends, struct tsct_loss_time **ret_times,
		    __u32 *ret_nr)
{
	const struct tsct_recording *rec = tsct_trace_recording(trace);
	struct tsct_stream_reader_kind *kinds;
	struct loss_times to = { .nr = 0 };
	struct tsct_stream_reader s;
	__u32 class, at;
	int err = ends ? find_ends(rec, &to) : 0;

	for (class = 0; class < rec->nr_streams && !err; class++) {
		kinds = tsct_stream_reader_kinds(&rec->streams[class]);
		err = kinds ? 0 : -ENOMEM;
		for (at = 0; at < rec->nr_locations && !err; at++) {
			tsct_stream_reader_init(&s, rec, kinds, class, at);
			err = add_loss_times(tsct_trace_dirfd(trace), rec, &s, &to);
		}
		free(kinds);
	}
	for (at = 0; at < to.nr; at++)
		if (to.all[at].over)
			to.all[at].from = to.ends[rec->locations[to.all[at].location].node];
	free(to.ends);
	if (to.nr)
		qsort(to.all, to.nr, sizeof(*to.all), by_from);
	if (err)
		free(to.all);
	*ret_times = err ? NULL : to.all;
	*ret_nr = err ? 0 : to.nr;
	return err;
}

// SPDX-License-Identifier: MIT
/* Events into pens: what can be in a recording, and its tick there. */
#include <stdlib.h>

#include "lib/core/event_def.h"
#include "recording_writer_private.h"

/* ---- definitions ------------------------------------------------------- */

/* One that is new. Those between are found when they are there. */
static const struct tsct_stream_reader_kind *learn(struct tsct_writer *w, __u32 stream,
					    __u32 id)
{
	const struct tsct_event_def *def = tsct_recording_def(w->rec, stream, id);
	const __u32 at = id - TSCT_ID_FIRST;
	struct tsct_stream_reader_kind *kinds = w->kinds[stream];
	__u32 i;

	if (!def)
		return NULL;
	if (at >= w->nr_kinds[stream]) {
		kinds = realloc(kinds, ((size_t)at + 1) * sizeof(*kinds));
		if (!kinds)
			return NULL;
		for (i = w->nr_kinds[stream]; i <= at; i++)
			kinds[i] = tsct_stream_reader_kind_of(NULL);
		w->kinds[stream] = kinds;
		w->nr_kinds[stream] = at + 1;
	}
	kinds[at] = tsct_stream_reader_kind_of(def);
	return &kinds[at];
}

static inline const struct tsct_stream_reader_kind *
kind_of(struct tsct_writer *w, __u32 stream, __u32 id)
{
	const __u32 at = id - TSCT_ID_FIRST;

	if (likely(at < w->nr_kinds[stream] && w->kinds[stream][at].def))
		return &w->kinds[stream][at];
	return learn(w, stream, id);
}

/* ---- events ------------------------------------------------------------ */

static int refuse(struct tsct_loss *loss, enum tsct_loss_cause cause)
{
	loss->cause[cause]++;
	return 0;
}

static bool is_malformed(const struct tsct_stream_reader_kind *kind,
			 const struct tsct_event *event)
{
	if (likely(kind->size == (__s32)event->len))
		return false;
	return event->len > TSCT_CTF_PAYLOAD_MAX ||
		tsct_event_def_check_payload(kind->def, event->payload, event->len);
}

/* Samples may be older than the recording. */
static __u64 begin_of(const struct tsct_writer *w, __u32 stream, __u64 stamp)
{
	return is_counted(w, stream) || stamp > w->rec->begin ?
		w->rec->begin : stamp;
}

/* Without times all have their packet's, which must not last too long. */
static int put_untimed(struct tsct_writer *w, __u32 stream,
		       const struct tsct_event *event, __u64 stamp)
{
	struct tsct_stream_writer *pen = &place_of(w, stream, event->cpu)->pen;
	int err;

	if (pen->delta.events && stamp - pen->begin >= w->span) {
		err = tsct_writer_end_packet(w, stream, event->cpu, tsct_stream_writer_seal);
		if (err)
			return err;
	}
	err = tsct_stream_writer_put(pen, event->id, pen->delta.events ? pen->begin : stamp,
			   event->tid, event->payload, event->len);
	tsct_stream_writer_lasts(pen, stamp);
	return err;
}

static int put_event(struct tsct_writer *w, __u32 stream,
		     const struct tsct_event *event, __u64 stamp)
{
	struct place *p = place_of(w, stream, event->cpu);
	__u64 tick;

	if (w->untimed)
		return put_untimed(w, stream, event, stamp);
	if (tsct_tick_encoder_event(&w->ticker, &p->grain, tsct_stream_writer_last(&p->pen),
			      stamp, &tick))
		return -EINVAL;
	return tsct_stream_writer_put(&p->pen, event->id, tick, event->tid,
			    event->payload, event->len);
}

static void count_event(struct tsct_writer *w, __u32 stream, struct place *p,
			__u64 stamp)
{
	if (tsct_stream_writer_events(&p->pen) == 1)
		p->first = stamp;
	p->last = stamp;
	w->written.events += is_counted(w, stream);
}

int tsct_writer_event(struct tsct_writer *w, __u32 stream,
		      const struct tsct_event *event)
{
	struct tsct_loss *loss = loss_of(w, stream, event->cpu);
	struct place *p = place_of(w, stream, event->cpu);
	const struct tsct_stream_reader_kind *kind;
	__u64 stamp = event->cycles, least;
	int ret = 0;

	if (unlikely(w->error)) {
		loss->cause[TSCT_LOSS_UNWRITTEN]++;
		return w->error;
	}
	kind = kind_of(w, stream, event->id);
	if (unlikely(!kind))
		return refuse(loss, TSCT_LOSS_UNDEFINED);
	if (unlikely(is_malformed(kind, event)))
		return refuse(loss, TSCT_LOSS_MALFORMED);
	least = tsct_stream_writer_started(&p->pen) ? p->last :
		begin_of(w, stream, stamp);
	if (unlikely(stamp < least)) {
		if (least - stamp >= w->raise)
			return refuse(loss, TSCT_LOSS_DISORDER);
		stamp = least;
	}
	if (unlikely(!tsct_stream_writer_started(&p->pen)))
		ret = tsct_writer_start(w, stream, event->cpu, least);
	if (unlikely(ret)) {
		loss->cause[TSCT_LOSS_UNWRITTEN]++;
		return w->error = ret;
	}
	ret = put_event(w, stream, event, stamp);
	if (unlikely(ret < 0))
		return w->error ? refuse(loss, TSCT_LOSS_UNWRITTEN), w->error :
			refuse(loss, TSCT_LOSS_DISORDER);
	count_event(w, stream, p, stamp);
	return ret ? tsct_writer_end_packet(w, stream, event->cpu,
					    tsct_stream_writer_seal) : 0;
}

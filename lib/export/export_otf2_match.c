// SPDX-License-Identifier: MIT
/*
 * A send must name its receiver, which comes later: the recording is read
 * twice. The first pass writes to a file the peer of each message end, in the
 * order in which the second pass meets them.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "export_otf2.h"

/* Sends that may wait for their receive at the same time */
#define UNDER_WAY_MAX	(1U << 18)

static int put_peer(struct otf2 *o, __u64 number, __u32 location, __u64 bytes)
{
	const struct otf2_peer peer = {
		.location = location + 1, .bytes = bytes,
	};
	ssize_t n = pwrite(fileno(o->peers), &peer, sizeof(peer),
			   number * sizeof(peer));

	return n == sizeof(peer) ? 0 : n < 0 ? -errno : -EIO;
}

static int note_receive(struct otf2 *o, const struct tsct_export_event *ev,
			__u64 number, __u32 here)
{
	const struct tsct_message_send *sent;
	int err;

	sent = tsct_message_match_receive(o->messages, ev->message);
	if (!sent)
		return 0;
	err = put_peer(o, sent->number, here, sent->bytes);
	return err ? err : put_peer(o, number, sent->from, sent->bytes);
}

static int note(struct tsct_export *x, const struct tsct_export_event *ev)
{
	struct otf2 *o = x->own;
	__u32 here;
	__u64 number;

	if (!ev->thread->own)
		ev->thread->own = ++o->nr_locations;
	here = ev->thread->own - 1;
	if (!ev->message)
		return 0;
	number = o->nr_messages++;
	if (ev->act == TSCT_ACT_RECEIVE)
		return note_receive(o, ev, number, here);
	tsct_message_match_send(o->messages, ev->message, number, here,
			   tsct_otf2_bytes(ev->e));
	return 0;
}

static int look_ahead(struct tsct_export *x)
{
	struct tsct_threads threads = { 0 };
	struct tsct_trace *trace;
	struct otf2 *o = x->own;
	char why[256];
	int err;

	err = tsct_trace_open(x->recording, NULL, NULL, &trace, why, sizeof(why));
	if (err)
		return tsct_export_fail(x, err, "%.255s", why);
	err = tsct_export_walk(x, trace, &threads, note);
	tsct_trace_close(trace);
	tsct_threads_free(&threads);
	/* The second pass counts these again. */
	x->orphans = x->cuts = 0;
	o->nr_expected = o->nr_locations;
	o->nr_locations = 0;
	return err;
}

int tsct_otf2_match(struct tsct_export *x)
{
	struct tsct_message_match messages;
	struct otf2 *o = x->own;
	int err;

	x->all_bytes *= 2;
	o->peers = tsct_otf2_spool(x);
	if (!o->peers)
		return errno ? -errno : -ENOMEM;
	err = tsct_message_match_init(&messages, UNDER_WAY_MAX);
	if (err)
		return err;
	o->messages = &messages;
	err = look_ahead(x);
	tsct_message_match_free(&messages);
	/* Sends without a receive at the end of the file were not written. */
	if (!err && ftruncate(fileno(o->peers),
			      o->nr_messages * sizeof(struct otf2_peer)))
		err = -errno;
	return err;
}

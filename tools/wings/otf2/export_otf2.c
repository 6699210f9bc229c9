// SPDX-License-Identifier: MIT
/*
 * Exports an OTF2 archive. A thread becomes a location, a slice becomes an enter and a leave of
 * a region, a counter becomes a metric, and a message becomes an MPI message, for which viewers
 * draw an arrow. Any other event becomes a region without duration. Fields become attributes.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/ctf/recording.h"
#include "export_otf2.h"

/* Maximum number of locations that are written at the same time: libotf2 needs
 * 64 MiB of memory for 256 locations */
#define AT_ONCE_MAX	256

/* ---- fields ------------------------------------------------------------ */

static int text_of(const struct tsct_recording *rec, struct otf2_strings *strings,
		   const struct tsct_trace_event *e, const struct tsct_value *v, __u32 *ret_ref)
{
	const char *call = tsct_value_is_integer(v) ? tsct_value_syscall(v) :
		tsct_syscall_no_text(rec, e, v);
	char *text;
	int err;

	if (call)
		return tsct_otf2_string(strings, call, strlen(call), ret_ref);
	if (tsct_value_is_text(v))
		return tsct_otf2_string(strings, (const char *)v->at,
					tsct_value_text_len(v), ret_ref);
	/* A byte array, or a number that is not shown as a system call's name, becomes text. */
	text = malloc(TSCT_VALUE_ROOM + TSCT_TEXT_ESCAPED(v->size));
	err = text ? tsct_otf2_string(strings, text, (size_t)(tsct_value_format(text, v) - text),
				      ret_ref) : -ENOMEM;
	free(text);
	return err;
}

static void add_attribute(struct otf2 *o, __u32 ref, OTF2_Type type, OTF2_AttributeValue value)
{
	o->attributes[o->nr_attributes++] = (struct otf2_attribute) { ref, type, value };
}

/* Makes the attributes of the next OTF2 event: the CPU and the fields of an event. */
static int add_fields(struct tsct_export *x, const struct tsct_export_event *ev)
{
	struct otf2 *o = x->own;
	const __u32 first = o->numbers[ev->def].attribute;
	const char *kind = tsct_kind_names[ev->e->def->kind];
	OTF2_AttributeValue value = { .uint32 = ev->e->cpu };
	struct tsct_value v;
	unsigned int nr = 0;
	OTF2_Type type;
	size_t pos = 0;
	int err = 0;

	o->nr_attributes = 0;
	add_attribute(o, TSCT_ATTRIBUTE_CPU, OTF2_TYPE_UINT32, value);
	/* A BEGIN or END event without its counterpart becomes a region without duration,
	 * with an attribute that states whether the event was a BEGIN or an END. */
	if (ev->act == TSCT_ACT_ORPHAN) {
		err = tsct_otf2_string(&o->strings, kind, strlen(kind), &value.stringRef);
		add_attribute(o, TSCT_ATTRIBUTE_KIND, OTF2_TYPE_STRING, value);
	}
	while (!err && tsct_value_next(ev->e, &nr, &pos, &v)) {
		if (ev->act == TSCT_ACT_COUNT && tsct_otf2_is_metric(v.field))
			continue;
		type = tsct_otf2_type(v.field);
		value.uint64 = 0;
		/* All numeric members of the union `value` begin at its first byte. */
		if (type == OTF2_TYPE_STRING)
			err = text_of(x->rec, &o->strings, ev->e, &v, &value.stringRef);
		else
			memcpy(&value, v.at, v.size);
		add_attribute(o, first + nr - 1, type, value);
	}
	return err;
}

/* ---- events ------------------------------------------------------------ */

/* Writes the begin (ENTER) or the end (LEAVE) of a slice. */
static int put_slice(struct tsct_export *x, struct otf2_location *to, __u8 kind,
		     __u8 nr_attributes, __u64 ns, __u32 slice)
{
	return tsct_otf2_put(x, to, &(struct otf2_op) {
		.kind = kind, .ref = slice, .ns = ns, .nr_attributes = nr_attributes,
	});
}

/* Writes the begin or the end of the collective call that is open at a location. */
static int put_collective(struct tsct_export *x, struct otf2_location *to, __u8 kind,
			  __u64 ns)
{
	const struct otf2_collective *c = &to->collective;

	if (!c->comm)
		return 0;
	return tsct_otf2_put(x, to, &(struct otf2_op) {
		.kind = kind, .ns = ns, .comm = c->comm, .ref = c->root, .tag = c->op,
		.bytes = c->sent, .received = c->received,
	});
}

static int write_cut(struct tsct_export *x, const struct tsct_export_event *ev, __u32 slice,
		     bool begins)
{
	const struct otf2 *o = x->own;

	return put_slice(x, &o->locations[ev->thread->own - 1],
			 begins ? TSCT_OP_ENTER : TSCT_OP_LEAVE, 0, ev->ns, slice);
}

static int write_end(struct tsct_export *x, const struct tsct_export_event *ev)
{
	const struct otf2 *o = x->own;
	struct otf2_location *to = &o->locations[ev->thread->own - 1];
	int err = 0;

	if (o->numbers[ev->def].role > TSCT_MPI_ROLE_CALL) {
		err = put_collective(x, to, TSCT_OP_COLLECTIVE_END, ev->ns);
		to->collective.comm = 0;
	}
	return err ?: add_fields(x, ev) ?:
		put_slice(x, to, TSCT_OP_LEAVE, o->nr_attributes, ev->ns,
			  tsct_export_open_slice(x, ev->thread, ev->frame));
}

static int write_counts(struct tsct_export *x,
			const struct tsct_export_event *ev,
			struct otf2_location *to)
{
	struct otf2 *o = x->own;
	struct tsct_value v;
	unsigned int nr = 0;
	size_t pos = 0;
	__u8 n = 0;

	while (tsct_value_next(ev->e, &nr, &pos, &v)) {
		if (!tsct_otf2_is_metric(v.field))
			continue;
		o->types[n] = tsct_otf2_metric_type(v.field);
		if (tsct_value_is_float(&v))
			o->values[n].floating_point = tsct_value_double(&v);
		else
			o->values[n].signed_int = tsct_value_integer(&v);
		n++;
	}
	return tsct_otf2_put(x, to, &(struct otf2_op) {
		.kind = TSCT_OP_METRIC, .ref = o->numbers[ev->def].metric,
		.ns = ev->ns, .nr_attributes = o->nr_attributes, .nr_values = n,
	});
}

static __u64 message_bytes(const struct tsct_trace_event *e)
{
	static const char *const names[] = { "bytes", "size", "len", "length" };
	__s64 bytes;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (tsct_value_find_integer(e, names[i], &bytes))
			return bytes;
	return 0;
}

/* Returns the request of a nonblocking send or receive; 0 if the call was blocking, or
 * if the exported events do not state when sends complete or receives are posted. */
static __u64 request_of(const struct otf2 *o, const struct tsct_export_event *ev)
{
	return o->has_requests || (ev->act == TSCT_ACT_SEND && o->has_completions) ?
		(__u64)tsct_value_integer_of(ev->e, "request") : 0;
}

/* Returns a number for a thread's process: requests are numbered per process. */
static __u64 process_of(const struct tsct_export_event *ev)
{
	return (ev->thread->process ? ev->thread->process : ev->thread)->index;
}

/* Writes a send or a receive. Adds a nonblocking send to o->sent. */
static int put_message(struct tsct_export *x, const struct tsct_export_event *ev,
		       struct otf2_location *to, const struct otf2_op *op)
{
	struct otf2 *o = x->own;

	if (op->kind == TSCT_OP_SEND && op->received &&
	    !tsct_index_put(&o->sent, op->received, process_of(ev), 1))
		return -ENOMEM;
	return tsct_otf2_put(x, to, op);
}

/* Returns true if @ev is the completion of a nonblocking send that is in the archive. */
static bool ends_send(struct otf2 *o, const struct tsct_export_event *ev)
{
	return tsct_index_remove(&o->sent, tsct_value_integer_of(ev->e, "request"),
				 process_of(ev));
}

/* Writes a send or receive between the enter and the leave of its region, if the first pass
 * found the matching event. */
static int write_message(struct tsct_export *x,
			 const struct tsct_export_event *ev,
			 struct otf2_location *to)
{
	/* Viewers use the tag to distinguish messages between the same two locations. */
	const __u32 tag = ev->message ^ ev->message >> 32;
	const struct otf2 *o = x->own;
	struct otf2_peer peer;

	if (!ev->message || !o->peers)
		return 0;
	if (fread(&peer, sizeof(peer), 1, o->peers) != 1 || !peer.location) {
		x->unmatched++;
		return 0;
	}
	return put_message(x, ev, to, &(struct otf2_op) {
		.kind = ev->act == TSCT_ACT_SEND ? TSCT_OP_SEND : TSCT_OP_RECEIVE,
		.ref = peer.location - 1, .ns = ev->ns, .tag = tag,
		.bytes = peer.bytes, .received = request_of(o, ev),
	});
}

/* Writes the send or the receive of an MPI message. The region of the MPI call is open then. */
static int write_mpi_message(struct tsct_export *x, const struct tsct_export_event *ev,
			     struct otf2_location *to, __u32 comm)
{
	const bool is_send = ev->act == TSCT_ACT_SEND;
	struct otf2 *o = x->own;
	struct otf2_peer peer = { 0 };
	const bool has_peer = fread(&peer, sizeof(peer), 1, o->peers) == 1 && peer.location;

	if (is_send && tsct_otf2_mpi_failed(&o->mpi, ev->e))
		return 0;
	x->unmatched += !has_peer;
	return put_message(x, ev, to, &(struct otf2_op) {
		.kind = is_send ? TSCT_OP_SEND : TSCT_OP_RECEIVE, .ns = ev->ns,
		.nr_attributes = o->nr_attributes, .comm = comm,
		.ref = tsct_value_integer_of(ev->e, is_send ? "dest" : "source"),
		.tag = tsct_value_integer_of(ev->e, "tag"),
		.bytes = tsct_value_integer_of(ev->e, "bytes"), .received = request_of(o, ev),
	});
}

static bool has_metric(const struct tsct_event_def *def)
{
	__u32 f;

	for (f = 0; f < def->nr_fields; f++)
		if (tsct_otf2_is_metric(&def->fields[f]))
			return true;
	return false;
}

static int write_event(struct tsct_export *x, const struct tsct_export_event *ev,
		       struct otf2_location *to)
{
	const __u32 slice = x->defs[ev->def].slice;
	const struct otf2 *o = x->own;
	const enum tsct_mpi_role role = o->numbers[ev->def].role;
	__u32 comm;
	int err;

	if (ev->act == TSCT_ACT_CLOSE)
		return tsct_export_close(x, ev, write_end);
	err = add_fields(x, ev);
	if (err)
		return err;
	if (ev->act == TSCT_ACT_COUNT && has_metric(ev->e->def))
		return write_counts(x, ev, to);
	if (role == TSCT_MPI_ROLE_REQUEST ||
	    (role == TSCT_MPI_ROLE_COMPLETE && ends_send(x->own, ev)))
		return tsct_otf2_put(x, to, &(struct otf2_op) {
			.kind = role == TSCT_MPI_ROLE_REQUEST ? TSCT_OP_REQUEST : TSCT_OP_COMPLETE,
			.ns = ev->ns, .nr_attributes = o->nr_attributes,
			.received = tsct_value_integer_of(ev->e, "request"),
		});
	if (role == TSCT_MPI_ROLE_MESSAGE && ev->message && o->peers) {
		comm = tsct_otf2_mpi_ref(&o->mpi, ev->e);
		if (comm)
			return write_mpi_message(x, ev, to, comm);
	}
	err = put_slice(x, to, TSCT_OP_ENTER, o->nr_attributes, ev->ns, slice);
	if (!err && role > TSCT_MPI_ROLE_CALL && ev->act == TSCT_ACT_OPEN) {
		tsct_otf2_mpi_collective(&o->mpi, ev->e, &to->collective);
		err = put_collective(x, to, TSCT_OP_COLLECTIVE_BEGIN, ev->ns);
	}
	if (!err && (ev->act == TSCT_ACT_SEND || ev->act == TSCT_ACT_RECEIVE))
		err = write_message(x, ev, to);
	if (!err && ev->act != TSCT_ACT_OPEN)
		err = put_slice(x, to, TSCT_OP_LEAVE, 0, ev->ns, slice);
	return err;
}

/* ---- messages ---------------------------------------------------------- */

/*
 * In OTF2, a send names the receiver, but the receive comes later in the recording. So the
 * recording is read twice. For each send and receive, the first pass writes the location of the
 * matching event to a file, in the order in which the second pass reads these locations.
 */

/* Largest number of sends that wait for their receive at the same time */
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

/* First pass: matches sends and receives. Writes the location of each of two
 * matching events to the other event's entry in the file of peers. */
static int note_message(struct tsct_export *x, const struct tsct_export_event *ev)
{
	struct tsct_message_end end = { .tick = ev->e->tick };
	const struct tsct_message_end *sent;
	struct otf2 *o = x->own;
	__u64 number;
	int err;

	if (!ev->thread->own)
		ev->thread->own = ++o->nr_locations;
	err = tsct_otf2_mpi_collect(&o->mpi, o->numbers[ev->def].role, ev,
				    ev->thread->own - 1);
	if (err || !ev->message)
		return err;
	number = o->nr_messages++;
	if (ev->act == TSCT_ACT_RECEIVE) {
		sent = tsct_message_received(o->messages, ev->message, &end);
		if (!sent)
			return 0;
		err = put_peer(o, sent->number, ev->thread->own - 1, sent->bytes);
		return err ? err : put_peer(o, number, sent->row, sent->bytes);
	}
	end.row = ev->thread->own - 1;
	end.number = number;
	end.bytes = message_bytes(ev->e);
	tsct_message_sent(o->messages, ev->message, &end);
	return 0;
}

static int match_messages(struct tsct_export *x)
{
	const struct tsct_messages_options options = {
		.room = UNDER_WAY_MAX, .sends_only = true,
	};
	struct tsct_threads threads = { 0 };
	struct tsct_trace *trace;
	struct otf2 *o = x->own;
	char why[256];
	int err;

	x->all_bytes *= 2;
	o->peers = tsct_otf2_spool(x);
	if (!o->peers)
		return errno ? -errno : -ENOMEM;
	err = tsct_message_matcher_new(&options, &o->messages);
	if (err)
		return err;
	err = tsct_trace_open(x->recording, NULL, NULL, &trace, why, sizeof(why));
	if (!err) {
		err = tsct_export_walk(x, trace, &threads, note_message);
		tsct_trace_close(trace);
		tsct_threads_free(&threads);
		if (!err)
			tsct_otf2_mpi_settle(&o->mpi);
		/* The second pass counts unpaired BEGIN and END events,
		 * interrupted slices and locations anew. */
		x->orphans = x->cuts = x->ambiguous = 0;
		o->nr_expected = o->nr_locations;
		o->nr_locations = 0;
	} else {
		tsct_export_fail(x, err, "%.255s", why);
	}
	tsct_message_matcher_free(o->messages);
	/* The file of peers ends with the last matched event. Extends the file
	 * with zeros to one entry for each send and receive. */
	if (!err && ftruncate(fileno(o->peers),
			      o->nr_messages * sizeof(struct otf2_peer)))
		err = -errno;
	return err;
}

/* ---- locations --------------------------------------------------------- */

static int add_location(struct tsct_export *x, struct tsct_thread *thread)
{
	struct otf2 *o = x->own;
	struct otf2_location *more;
	int err = 0;

	more = tsct_array_next(&o->locations, o->nr_locations, sizeof(*more));
	if (!more)
		return -ENOMEM;
	*more = (struct otf2_location) { .thread = thread };
	if (o->nr_locations < AT_ONCE_MAX)
		err = tsct_otf2_location_begin(o->writer, o->nr_locations,
					       &more->events);
	if (err)
		return tsct_otf2_export_fail(x, err);
	thread->own = ++o->nr_locations;
	return 0;
}

static int write_otf2_event(struct tsct_export *x, const struct tsct_export_event *ev)
{
	struct otf2 *o = x->own;
	int err = 0;

	if (ev->ns < 0)
		return tsct_export_fail(x, -ERANGE, "an event is before 1970,"
					" which this format cannot represent");
	if (!ev->thread->own)
		err = add_location(x, ev->thread);
	if (err)
		return err;
	if (o->first_ns > (__u64)ev->ns)
		o->first_ns = ev->ns;
	o->last_ns = ev->ns;
	if (!ev->thread->process || ev->thread->renamed)
		tsct_export_process(x, ev->thread);
	ev->thread->renamed = false;
	return write_event(x, ev, &o->locations[ev->thread->own - 1]);
}

/* Completes a location. Ends open slices at the time of the last written event, or at the
 * end of the exported time range if that is later. */
static int close_location(struct tsct_export *x, struct otf2_location *l)
{
	struct otf2 *o = x->own;
	int err = 0;
	__u32 i;

	if (!l->events) {
		err = tsct_otf2_location_begin(o->writer, l - o->locations,
					       &l->events);
		err = err ? tsct_otf2_export_fail(x, err) : tsct_otf2_replay(x, l);
	}
	for (i = tsct_spans_open(&x->slices, l->thread->index); i > 0 && !err; i--)
		if (!tsct_export_is_hidden(x, l->thread, i - 1))
			err = put_slice(x, l, TSCT_OP_LEAVE, 0, o->last_ns,
					tsct_export_open_slice(x, l->thread, i - 1));
	if (err)
		return err;
	err = tsct_otf2_location_end(o->writer, l->events, &l->nr_events);
	return err ? tsct_otf2_export_fail(x, err) : 0;
}

/* ---- the archive ------------------------------------------------------- */

static int number_defs(struct tsct_export *x, struct otf2 *o)
{
	__u32 attribute = TSCT_ATTRIBUTE_FIELDS, member = 0, metric = 0, i, f;
	const struct tsct_event_def *def;

	o->numbers = calloc(x->nr_defs + 1, sizeof(*o->numbers));
	if (!o->numbers)
		return -ENOMEM;
	for (i = 0; i < x->nr_defs; i++) {
		o->numbers[i] = (struct otf2_numbers) {
			.attribute = attribute, .member = member, .metric = metric,
		};
		def = x->defs[i].wanted ? x->defs[i].def : NULL;
		if (!def)
			continue;
		o->numbers[i].role = tsct_otf2_mpi_role(def);
		o->has_requests |= o->numbers[i].role == TSCT_MPI_ROLE_REQUEST;
		o->has_completions |= o->numbers[i].role == TSCT_MPI_ROLE_COMPLETE;
		attribute += def->nr_fields;
		if (def->kind != TSCT_KIND_COUNTER)
			continue;
		for (f = 0; f < def->nr_fields; f++)
			member += tsct_otf2_is_metric(&def->fields[f]);
		metric += has_metric(def);
	}
	return 0;
}

static bool has_mpi(const struct tsct_export *x)
{
	const struct otf2 *o = x->own;
	__u32 i;

	for (i = 0; i < x->nr_defs; i++)
		if (o->numbers[i].role == TSCT_MPI_ROLE_COMM)
			return true;
	return false;
}

static int begin_otf2(struct tsct_export *x)
{
	struct otf2 *o = x->own = calloc(1, sizeof(*o));
	__u64 chunk;
	int err;

	if (!o)
		return -ENOMEM;
	o->first_ns = UINT64_MAX;
	if (x->begin_ns < 0)
		return tsct_export_fail(x, -ERANGE, "the recording begins before 1970,"
					" which this format cannot represent");
	errno = 0;
	o->strings.spool = tsct_otf2_spool(x);
	o->list = OTF2_AttributeList_New();
	if (!o->strings.spool || !o->list)
		return errno ? -errno : -ENOMEM;
	err = number_defs(x, o);
	if (!err && (has_mpi(x) || (tsct_export_has(x, TSCT_KIND_SEND) &&
				    tsct_export_has(x, TSCT_KIND_RECEIVE))))
		err = match_messages(x);
	if (err)
		return err;
	/*
	 * libotf2 fills a whole chunk with zeros for each location. So a chunk is only as large
	 * as the longest definition: the group of locations that take part in messages.
	 */
	chunk = 65536 + (__u64)o->nr_expected * 10;
	if (chunk < OTF2_CHUNK_SIZE_MIN)
		chunk = OTF2_CHUNK_SIZE_MIN;
	if (chunk > OTF2_CHUNK_SIZE_MAX)
		chunk = OTF2_CHUNK_SIZE_MAX;
	tsct_otf2_error_capture();
	err = tsct_otf2_writer_create(x->dir, OTF2_CHUNK_SIZE_MIN, chunk, &o->writer);
	return err ? tsct_otf2_export_fail(x, err) : 0;
}

static int end_otf2(struct tsct_export *x)
{
	const __s64 begin_ns = x->begin_ns > x->from_ns ? x->begin_ns : x->from_ns;
	const __s64 end_ns = x->end_ns < x->to_ns ? x->end_ns : x->to_ns;
	struct otf2 *o = x->own;
	struct tsct_thread *idle;
	__u32 i;
	int err = 0;

	/* Readers reject an archive without locations, so an idle one is added. */
	if (!o->nr_locations) {
		idle = tsct_threads_get(&x->threads, 0, 0, 0);
		err = idle ? add_location(x, idle) : -ENOMEM;
	}
	if (begin_ns >= 0 && (__u64)begin_ns < o->first_ns)
		o->first_ns = begin_ns;
	if (end_ns >= 0 && (__u64)end_ns > o->last_ns)
		o->last_ns = end_ns;
	if (o->last_ns < o->first_ns)
		o->last_ns = o->first_ns;
	for (i = 0; i < o->nr_locations && !err; i++)
		err = close_location(x, &o->locations[i]) ?: tsct_otf2_poll(x);
	if (!err)
		err = tsct_otf2_events_end(o->writer) ?: tsct_otf2_define(x);
	if (!err) {
		err = tsct_otf2_writer_finish(o->writer);
		o->writer = NULL;
	}
	if (err == -EINTR)
		return err;
	return err && !*x->why ? tsct_otf2_export_fail(x, err) : err;
}

static void free_otf2(struct tsct_export *x)
{
	struct otf2 *o = x->own;
	__u32 i;

	if (!o)
		return;
	tsct_otf2_writer_abandon(o->writer);
	for (i = 0; i < o->nr_locations && o->locations; i++)
		tsct_otf2_wait_free(&o->locations[i].wait);
	if (o->waiting)
		fclose(o->waiting);
	tsct_otf2_strings_free(&o->strings);
	if (o->peers)
		fclose(o->peers);
	tsct_otf2_mpi_free(&o->mpi);
	tsct_index_free(&o->sent);
	if (o->list)
		OTF2_AttributeList_Delete(o->list);
	free(o->locations);
	free(o->numbers);
	free(o);
}

const struct tsct_export_format tsct_export_otf2 = {
	.name = "otf2", .suffix = ".otf2", .nests = true, .directory = true,
	.begin = begin_otf2, .event = write_otf2_event, .cut = write_cut, .end = end_otf2,
	.free = free_otf2,
};

// SPDX-License-Identifier: MIT
/*
 * Passes events of a location to libotf2. libotf2 has a chunk of memory for each location
 * that is being written, and searches all chunks when a location is begun or ended. So only
 * AT_ONCE_MAX locations are written at a time. The events of all other locations are stored
 * in a file, and are written at the end, one location after another.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/hash.h"
#include "export_otf2.h"
#include "lib/ctf/whole_io.h"
#include "lib/query/value_text.h"

/* Memory for events of locations that have no libotf2 writer yet, bytes: limit for all
 * locations together, and the smallest and largest limit for one location */
#define WAITING_MAX	(16U << 20)
#define WAIT_MIN	1024U
#define WAIT_MAX	65536U

_Static_assert(sizeof(struct otf2_op) +
	       OTF2_ATTRIBUTES_MAX * sizeof(struct otf2_attribute) +
	       TSCT_FIELDS_MAX * (sizeof(OTF2_Type) + sizeof(OTF2_MetricValue)) <= WAIT_MIN,
	       "WAIT_MIN bytes must hold the largest event");

int tsct_otf2_export_fail(struct tsct_export *x, int err)
{
	const int place = tsct_otf2_error_of_place(err);

	return place ? tsct_export_fail(x, place, "%s", "") :
		tsct_export_fail(x, err, "%s", tsct_otf2_error_text());
}

/* ---- events that are passed to libotf2 at once ---------------------------- */

static int write_now(struct tsct_export *x, OTF2_EvtWriter *to,
		     const struct otf2_op *op)
{
	const struct otf2 *o = x->own;
	OTF2_AttributeList *list = op->nr_attributes ? o->list : NULL;
	const struct otf2_attribute *a = o->attributes;
	OTF2_ErrorCode code = OTF2_SUCCESS;

	for (; a < o->attributes + op->nr_attributes && !code; a++)
		code = OTF2_AttributeList_AddAttribute(list, a->ref, a->type, a->value);
	if (code)
		return tsct_otf2_export_fail(x, tsct_otf2_errno(code));
	/* Writing the event empties the attribute list. */
	switch (op->kind) {
	case TSCT_OP_ENTER:
		code = OTF2_EvtWriter_Enter(to, list, op->ns, op->ref);
		break;
	case TSCT_OP_LEAVE:
		code = OTF2_EvtWriter_Leave(to, list, op->ns, op->ref);
		break;
	case TSCT_OP_METRIC:
		code = OTF2_EvtWriter_Metric(to, list, op->ns, op->ref,
					     op->nr_values, o->types, o->values);
		break;
	case TSCT_OP_SEND:
		code = op->received ?
			OTF2_EvtWriter_MpiIsend(to, list, op->ns, op->ref, op->comm, op->tag,
						op->bytes, op->received) :
			OTF2_EvtWriter_MpiSend(to, list, op->ns, op->ref, op->comm, op->tag,
					       op->bytes);
		break;
	case TSCT_OP_RECEIVE:
		code = op->received ?
			OTF2_EvtWriter_MpiIrecv(to, list, op->ns, op->ref, op->comm, op->tag,
						op->bytes, op->received) :
			OTF2_EvtWriter_MpiRecv(to, list, op->ns, op->ref, op->comm, op->tag,
					       op->bytes);
		break;
	case TSCT_OP_REQUEST:
		code = OTF2_EvtWriter_MpiIrecvRequest(to, list, op->ns, op->received);
		break;
	case TSCT_OP_COMPLETE:
		code = OTF2_EvtWriter_MpiIsendComplete(to, list, op->ns, op->received);
		break;
	case TSCT_OP_COLLECTIVE_BEGIN:
		code = OTF2_EvtWriter_MpiCollectiveBegin(to, list, op->ns);
		break;
	default:
		code = OTF2_EvtWriter_MpiCollectiveEnd(to, list, op->ns, op->tag, op->comm,
						       op->ref, op->bytes, op->received);
	}
	return code ? tsct_otf2_export_fail(x, tsct_otf2_errno(code)) : 0;
}

/* ---- writing of events into the file of waiting events -------------------- */

static int put_away(struct tsct_export *x, struct otf2_wait *w)
{
	struct otf2 *o = x->own;

	if (!o->waiting)
		o->waiting = tsct_otf2_spool(x);
	if (!o->waiting)
		return errno ? -errno : -ENOMEM;
	if (tsct_array_add(&w->extents, &w->nr_extents,
			   &(struct otf2_extent) { o->waiting_end, w->len },
			   sizeof(*w->extents)))
		return -ENOMEM;
	errno = 0;
	if (fwrite(w->text, 1, w->len, o->waiting) != w->len || fflush(o->waiting))
		return errno ? -errno : -EIO;
	o->waiting_end += w->len;
	w->len = 0;
	return 0;
}

static int append_waiting(struct tsct_export *x, struct otf2_wait *w, const void *from,
			  __u32 len)
{
	const struct otf2 *o = x->own;
	__u32 most = WAITING_MAX / o->nr_locations;
	int err;

	/* Limit of memory for a location's waiting events, bytes: an equal share of
	 * WAITING_MAX, between WAIT_MIN and WAIT_MAX */
	most = most < WAIT_MIN ? WAIT_MIN : most > WAIT_MAX ? WAIT_MAX : most;
	if (w->len + len > most) {
		err = put_away(x, w);
		if (err)
			return err;
	}
	if (tsct_array_reserve(&w->text, &w->room, (size_t)w->len + len, 1))
		return -ENOMEM;
	memcpy(w->text + w->len, from, len);
	w->len += len;
	return 0;
}

/* A waiting event as stored: struct otf2_op, attributes, metric types, metric values */
static int write_later(struct tsct_export *x, struct otf2_wait *w,
		       const struct otf2_op *op)
{
	const struct otf2 *o = x->own;
	__u8 text[WAIT_MIN], *end = mempcpy(text, op, sizeof(*op));

	end = mempcpy(end, o->attributes, op->nr_attributes * sizeof(*o->attributes));
	end = mempcpy(end, o->types, op->nr_values * sizeof(*o->types));
	end = mempcpy(end, o->values, op->nr_values * sizeof(*o->values));
	return append_waiting(x, w, text, (__u32)(end - text));
}

int tsct_otf2_put(struct tsct_export *x, struct otf2_location *l,
		  const struct otf2_op *op)
{
	return l->events ? write_now(x, l->events, op) :
		write_later(x, &l->wait, op);
}

/* ---- reading of events from the file of waiting events -------------------- */

static const __u8 *take(void *to, const __u8 *from, size_t size)
{
	memcpy(to, from, size);
	return from + size;
}

static int replay_events(struct tsct_export *x, OTF2_EvtWriter *to, const __u8 *text,
			 __u32 len)
{
	const __u8 *at = text;
	struct otf2 *o = x->own;
	struct otf2_op op;
	int err = 0;

	while (!err && at < text + len) {
		at = take(&op, at, sizeof(op));
		at = take(o->attributes, at, op.nr_attributes * sizeof(*o->attributes));
		at = take(o->types, at, op.nr_values * sizeof(*o->types));
		at = take(o->values, at, op.nr_values * sizeof(*o->values));
		err = write_now(x, to, &op);
	}
	return err;
}

int tsct_otf2_replay(struct tsct_export *x, struct otf2_location *l)
{
	const struct otf2 *o = x->own;
	struct otf2_wait *w = &l->wait;
	const struct otf2_extent *e;
	__u8 text[WAIT_MAX];
	ssize_t n;
	int err = 0;

	for (e = w->extents; e < w->extents + w->nr_extents && !err; e++) {
		n = tsct_pread_all(fileno(o->waiting), text, e->len, e->at);
		if (n < (ssize_t)e->len)
			err = n < 0 ? (int)n : -EIO;
		if (!err)
			err = replay_events(x, l->events, text, e->len) ?:
				tsct_otf2_poll(x);
	}
	if (!err)
		err = replay_events(x, l->events, w->text, w->len);
	tsct_otf2_wait_free(w);
	return err;
}

void tsct_otf2_wait_free(struct otf2_wait *w)
{
	free(w->text);
	free(w->extents);
	memset(w, 0, sizeof(*w));
}

/* ---- strings ------------------------------------------------------------- */

/* Limits of the strings in memory, which are defined only once: number, bytes */
#define STRINGS_MAX	32768
#define BYTES_MAX	(8U << 20)

/* A string of the archive that is kept in memory */
struct otf2_string {
	__u32 ref;
	char text[];
};

FILE *tsct_otf2_spool(const struct tsct_export *x)
{
	int fd = open(x->dir, O_RDWR | O_TMPFILE | O_EXCL | O_CLOEXEC, 0600);
	char name[4096];
	FILE *file;

	/* O_TMPFILE may fail, because not all file systems support it. */
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
		snprintf(name, sizeof(name), "%s/.spool-XXXXXX", x->dir);
		fd = mkostemp(name, O_CLOEXEC);
		if (fd >= 0)
			unlink(name);
	}
	if (fd < 0)
		return NULL;
	file = fdopen(fd, "w+");
	if (!file)
		close(fd);
	return file;
}

void tsct_otf2_strings_free(struct otf2_strings *s)
{
	tsct_index_free_all(&s->recent);
	if (s->spool)
		fclose(s->spool);
}

/* Returns the string in memory with the text @text; NULL: none. Sets @ret_key to the key of
 * the string. */
static const struct otf2_string *look_up(const struct otf2_strings *s, const char *text,
					 size_t len, __u64 ret_key[2])
{
	const struct otf2_string *string;

	ret_key[0] = tsct_hash(0, text, len);
	ret_key[1] = 0;
	while ((string = tsct_index_pointer(&s->recent, ret_key[0], ret_key[1])) &&
	       strcmp(string->text, text))
		ret_key[1]++;
	return string;
}

int tsct_otf2_string(struct otf2_strings *s, const char *text, size_t len,
		     __u32 *ret_ref)
{
	struct otf2_string *new = malloc(sizeof(*new) + 3 * len + 1);
	const struct otf2_string *known;
	__u64 key[2];

	if (!new || s->nr == UINT32_MAX) {
		free(new);
		return -ENOMEM;
	}
	len = tsct_utf8_clean(new->text, text, len);
	known = look_up(s, new->text, len, key);
	if (known) {
		free(new);
		*ret_ref = known->ref;
		return 0;
	}
	if (s->recent.nr >= STRINGS_MAX || s->bytes > BYTES_MAX) {
		tsct_index_free_all(&s->recent);
		s->bytes = 0;
		key[1] = 0;
	}
	if (!tsct_index_put(&s->recent, key[0], key[1], (uintptr_t)new)) {
		free(new);
		return -ENOMEM;
	}
	new->ref = *ret_ref = s->nr++;
	s->last = new->text;
	s->bytes += len + 1;
	if (fwrite(new->text, 1, len + 1, s->spool) == len + 1)
		return 0;
	return errno ? -errno : -EIO;
}

// SPDX-License-Identifier: MIT
/* Queues of bytes, and messages in them */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "message.h"

/* ---- queues -------------------------------------------------------------- */

int byte_queue_add(struct byte_queue *q, const void *data, size_t len)
{
	if (!len)
		return 0;
	if (q->begin && q->end + len > q->room) {
		memmove(q->at, q->at + q->begin, q->end - q->begin);
		q->end -= q->begin;
		q->begin = 0;
	}
	if (tsct_array_reserve(&q->at, &q->room, q->end + len, 1))
		return -ENOMEM;
	memcpy(q->at + q->end, data, len);
	q->end += len;
	return 0;
}

void byte_queue_remove(struct byte_queue *q, size_t len)
{
	q->begin += len;
	if (q->begin == q->end)
		q->begin = q->end = 0;
}

void byte_queue_free(struct byte_queue *q)
{
	free(q->at);
	memset(q, 0, sizeof(*q));
}

bool byte_queue_write(struct byte_queue *q, int fd)
{
	const size_t len = byte_queue_len(q);
	const ssize_t n = len ? write(fd, q->at + q->begin, len) : 0;

	if (n > 0)
		byte_queue_remove(q, (size_t)n);
	return n >= 0 || errno == EAGAIN || errno == EINTR;
}

/* ---- parsing --------------------------------------------------------------- */

int message_reader_add(struct message_reader *r, const void *data, size_t len)
{
	byte_queue_remove(&r->in, r->taken);
	r->taken = 0;
	return byte_queue_add(&r->in, data, len);
}

/* Appends a line to r->banner. If the text gets too long, keeps only its end. */
static void keep_banner(struct message_reader *r, const char *line, size_t len)
{
	size_t have = strlen(r->banner), max = sizeof(r->banner) - 1;

	if (len + 1 > max) {
		line += len + 1 - max;
		len = max - 1;
	}
	if (have + len + 1 > max) {
		memmove(r->banner, r->banner + have + len + 1 - max, max - len - 1);
		have = max - len - 1;
	}
	memcpy(r->banner + have, line, len);
	r->banner[have + len] = '\n';
	r->banner[have + len + 1] = '\0';
}

/* Returns the message in a line of JSON, or NULL if the line is no message. */
static json_t *parse_line(const char *line, size_t len)
{
	json_t *json = len && *line == '{' ? json_loadb(line, len, 0, NULL) : NULL;

	if (json && json_is_string(json_object_get(json, "type")))
		return json;
	json_decref(json);
	return NULL;
}

/* Stores the next line that is a message in r->pending. Returns 1, 0 or -errno like
 * message_next(). */
static int next_line(struct message_reader *r)
{
	const char *line, *end;
	size_t len;

	for (;;) {
		line = r->in.at + r->in.begin;
		len = byte_queue_len(&r->in);
		end = len > r->scanned ?
			memchr(line + r->scanned, '\n', len - r->scanned) : NULL;
		if (!end) {
			r->scanned = len;
			return len > MESSAGE_LINE_MAX ? -EMSGSIZE : 0;
		}
		len = (size_t)(end - line);
		r->scanned = 0;
		if (len > MESSAGE_LINE_MAX)
			return -EMSGSIZE;
		if (len)
			r->pending = parse_line(line, len);
		if (len && !r->pending && r->begun)
			return -EPROTO;
		if (len && !r->pending)
			keep_banner(r, line, len);
		byte_queue_remove(&r->in, len + 1);
		if (r->pending) {
			r->begun = true;
			return 1;
		}
	}
}

int message_next(struct message_reader *r, struct control_message *ret)
{
	json_t *bytes;
	json_int_t len;
	int err;

	byte_queue_remove(&r->in, r->taken);
	r->taken = 0;
	if (!r->pending) {
		err = next_line(r);
		if (err <= 0)
			return err;
	}
	bytes = json_object_get(r->pending, "data");
	len = bytes ? json_integer_value(bytes) : 0;
	if (bytes && (!json_is_integer(bytes) || len < 0))
		return -EPROTO;
	if (len > MESSAGE_DATA_MAX)
		return -EMSGSIZE;
	if ((size_t)len > byte_queue_len(&r->in))
		return 0;
	ret->json = r->pending;
	ret->type = json_string_value(json_object_get(ret->json, "type"));
	ret->len = (size_t)len;
	ret->data = len ? r->in.at + r->in.begin : "";
	r->taken = (size_t)len;
	r->pending = NULL;
	return 1;
}

void message_reader_free(struct message_reader *r)
{
	json_decref(r->pending);
	byte_queue_free(&r->in);
	memset(r, 0, sizeof(*r));
}

/* ---- composing -------------------------------------------------------------- */

int message_add(struct byte_queue *q, json_t *json, const void *data, size_t len)
{
	int err = json ? 0 : -ENOMEM;
	char *line = NULL;

	if (!err && len)
		err = json_object_set_new(json, "data", json_integer((json_int_t)len)) ?
			-ENOMEM : 0;
	if (!err) {
		line = json_dumps(json, JSON_COMPACT);
		err = line ? byte_queue_add(q, line, strlen(line)) : -ENOMEM;
	}
	if (!err)
		err = byte_queue_add(q, "\n", 1);
	if (!err && len)
		err = byte_queue_add(q, data, len);
	free(line);
	json_decref(json);
	return err;
}

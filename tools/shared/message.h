/* SPDX-License-Identifier: MIT */
/*
 * Messages between the processes that record a cluster. A message is one line with a JSON object
 * that has the member "type". Its member "data", if any, is the number of raw bytes after the line.
 *
 * Only byte_queue_write() does I/O; all other functions compute on buffers. A peer is not
 * trusted: lengths have limits, and a line that is no message is an error.
 */
#ifndef TSCT_TOOLS_MESSAGE_H
#define TSCT_TOOLS_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define MESSAGE_LINE_MAX	(8 << 20)	/* longest line, bytes */
#define MESSAGE_DATA_MAX	(256 << 10)	/* longest data after a line, bytes */
#define MESSAGE_BANNER_MAX	512		/* text before the first message, bytes */

/* Bytes that wait to be written or parsed. A queue of all zeros is empty. */
struct byte_queue {
	char *at;		/* malloc'ed */
	size_t begin, end;	/* the bytes are at[begin] to at[end - 1] */
	size_t room;		/* size of `at` */
};

/* Appends bytes to the queue. Returns 0 or -ENOMEM. */
int byte_queue_add(struct byte_queue *q, const void *data, size_t len);
void byte_queue_remove(struct byte_queue *q, size_t len);
void byte_queue_free(struct byte_queue *q);

/* Writes bytes of the queue to the non-blocking descriptor @fd, and removes the written
 * bytes from the queue. Returns false if no more bytes can ever be written to @fd. */
bool byte_queue_write(struct byte_queue *q, int fd);

static inline size_t byte_queue_len(const struct byte_queue *q)
{
	return q->end - q->begin;
}

struct control_message {
	json_t *json;		/* the line; the receiver releases it */
	const char *type;	/* member "type" of json */
	const char *data;	/* bytes after the line, valid until message_reader_add() */
	size_t len;		/* number of bytes in `data` */
};

struct message_reader {
	struct byte_queue in;
	size_t scanned;		/* number of bytes of `in` already searched for an end of line */
	size_t taken;		/* number of data bytes of the last message, still in `in` */
	json_t *pending;	/* a message whose data are incomplete */
	bool begun;		/* a message was received */
	/* text before the first message, such as a login's greeting; only the end of a long text */
	char banner[MESSAGE_BANNER_MAX];
};

/* Appends bytes that were received. Returns 0 or -ENOMEM. */
int message_reader_add(struct message_reader *r, const void *data, size_t len);

/*
 * message_next - get the next message
 *
 * Lines that are no messages go to @r->banner if they come before the first message. Empty
 * lines are skipped. Returns 1; 0: more bytes are needed; -EMSGSIZE: the message is too long;
 * -EPROTO: a line is no message. After an error, the rest of the input cannot be parsed.
 */
int message_next(struct message_reader *r, struct control_message *ret);
void message_reader_free(struct message_reader *r);

/*
 * message_add - append a message to a queue
 * @json: the line; it is released, even after an error. NULL: out of memory
 * @len: number of bytes of @data, up to MESSAGE_DATA_MAX; 0: no data, and "data" is not
 *	added
 *
 * Returns 0 or -ENOMEM.
 */
int message_add(struct byte_queue *q, json_t *json, const void *data, size_t len);

#endif /* TSCT_TOOLS_MESSAGE_H */

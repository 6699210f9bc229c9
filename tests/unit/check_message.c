// SPDX-License-Identifier: MIT
/* test-wing: cluster */
/* Messages between trace-ctl and the processes that it starts: read in pieces of any size,
 * damaged ones, and composed ones */
#include "tools/shared/message.c"
#include "seed.h"
#include "suite.h"

/* Adds @len bytes in pieces of up to @piece; returns a text of all that came. */
static int read_all(const char *bytes, size_t len, size_t piece, char *got, size_t size)
{
	struct message_reader r = { 0 };
	struct control_message m;
	size_t at, n;
	int ret = 0;

	*got = '\0';
	for (at = 0; ret >= 0 && at < len; at += n) {
		n = len - at < piece ? len - at : piece;
		ck_assert_int_eq(message_reader_add(&r, bytes + at, n), 0);
		while ((ret = message_next(&r, &m)) > 0) {
			snprintf(got + strlen(got), size - strlen(got), "%s:%zu:%.*s;", m.type,
				 m.len, (int)m.len, m.data);
			json_decref(m.json);
		}
	}
	snprintf(got + strlen(got), size - strlen(got), "|%s", r.banner);
	message_reader_free(&r);
	return ret;
}

TEST(pieces)
{
	static const char bytes[] = "Welcome\n{ \"type\": 5 }\n\n{\"type\":\"a\"}\n\n"
		"{\"type\":\"b\",\"data\":6,\"bytes\":3}\n12\n{}\n{\"data\":0,\"type\":\"c\"}\n";
	char got[256];

	for (size_t piece = 1; piece <= sizeof(bytes); piece++) {
		ck_assert_int_eq(read_all(bytes, strlen(bytes), piece, got, sizeof(got)), 0);
		ck_assert_str_eq(got, "a:0:;b:6:12\n{}\n;c:0:;|Welcome\n{ \"type\": 5 }\n");
	}
}

static const struct {
	const char *bytes;
	int ret;
} bad_bytes[] = {
	{ "{\"type\":\"a\"}\nno message\n", -EPROTO },
	{ "{\"type\":\"a\"}\n{\"typ\":\"a\"}\n", -EPROTO },
	{ "{\"type\":\"a\"}\n[\"type\"]\n", -EPROTO },
	{ "{\"type\":\"a\",\"data\":-1}\n", -EPROTO },
	{ "{\"type\":\"a\",\"data\":\"5\"}\n", -EPROTO },
	{ "{\"type\":\"a\",\"data\":1.5}\n", -EPROTO },
	{ "{\"type\":\"a\",\"data\":262145}\n", -EMSGSIZE },
	{ "{\"type\":\"a\",\"data\":9223372036854775807}\n", -EMSGSIZE },
	{ "{\"type\":\"a\",\"data\":5}\n1234", 0 },
};

LOOP_TEST(bad_messages, 0, ROWS(bad_bytes))
{
	char got[256];

	ck_assert_msg(read_all(bad_bytes[_i].bytes, strlen(bad_bytes[_i].bytes), 3, got,
			       sizeof(got)) == bad_bytes[_i].ret, "%s", bad_bytes[_i].bytes);
}

TEST(long_line)
{
	struct message_reader r = { 0 };
	char part[65536];
	struct control_message m;
	size_t len = 0;
	int ret = 0;

	memset(part, 'x', sizeof(part));
	while (!ret) {
		ck_assert_int_eq(message_reader_add(&r, part, sizeof(part)), 0);
		len += sizeof(part);
		ret = message_next(&r, &m);
	}
	ck_assert_int_eq(ret, -EMSGSIZE);
	ck_assert_uint_le(len, MESSAGE_LINE_MAX + sizeof(part));
	message_reader_free(&r);
}

TEST(long_banner)
{
	char bytes[4096], got[1024];

	memset(bytes, 'y', sizeof(bytes));
	bytes[1000] = bytes[2000] = bytes[2010] = '\n';
	ck_assert_int_eq(read_all(bytes, 2011, 7, got, sizeof(got)), 0);
	ck_assert_uint_le(strlen(got), MESSAGE_BANNER_MAX);
	ck_assert_str_eq(got + strlen(got) - 11, "\nyyyyyyyyy\n");
}

/* Mutations of valid messages: each result is right or an error, and no read is out of
 * bounds. */
TEST(mutations)
{
	static const char bytes[] = "{\"type\":\"file\",\"name\":\"metadata\",\"size\":5}\n"
		"{\"type\":\"data\",\"data\":5}\nabcde{\"type\":\"gathered\"}\n";
	char copy[sizeof(bytes)], got[1024];

	for (unsigned int i = 0; i < 20000; i++) {
		memcpy(copy, bytes, sizeof(bytes));
		for (unsigned int k = any(4); k < 4; k++)
			copy[any(sizeof(bytes) - 1)] = (char)any(256);
		read_all(copy, sizeof(bytes) - 1, 1 + any(40), got, sizeof(got));
	}
}

TEST(composed)
{
	struct byte_queue q = { 0 };
	char got[256];

	ck_assert_int_eq(message_add(&q, json_pack("{ss}", "type", "x"), "a\nb", 3), 0);
	ck_assert_int_eq(message_add(&q, json_pack("{ss}", "type", "y"), NULL, 0), 0);
	ck_assert_int_eq(read_all(q.at, byte_queue_len(&q), 4, got, sizeof(got)), 0);
	ck_assert_str_eq(got, "x:3:a\nb;y:0:;|");
	byte_queue_free(&q);
}

// SPDX-License-Identifier: MIT
/* test-wing: cluster */
/* The feed of a live view: messages of nodes, also hostile ones; lines for readers; and
 * the addresses of the page */
#include "tools/wings/cluster/live/feed.c"
#include "tools/wings/cluster/live/http.c"
#include "tools/wings/cluster/live/window.c"
#include "seed.h"
#include "suite.h"

static char *const names[] = { "n1", "n2", NULL };
static struct live_feed f;
static struct live_reader reader;
static struct live_record records[LIVE_RECORDS_MAX + 1];

static void begin(void)
{
	ck_assert_int_eq(live_feed_init(&f, names, 2), 0);
	memset(&reader, 0, sizeof(reader));
	memset(records, 0, sizeof(records));
}

static void end(void)
{
	live_feed_free(&f);
}

/* Node @node sends a line, and the first @nr records. */
static int gets_bytes(__u32 node, const char *line, size_t len)
{
	json_t *json = json_loads(line, 0, NULL);
	int err;

	ck_assert_msg(json != NULL, "%s", line);
	err = live_feed_receive(&f, node, json, records, len, 0);
	json_decref(json);
	return err;
}

static int gets(__u32 node, const char *line, size_t nr)
{
	return gets_bytes(node, line, nr * sizeof(records[0]));
}

/* Returns the reader's next line, parsed. */
static json_t *line_for(struct live_reader *r)
{
	char *text;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	json_error_t error;
	json_t *json;

	live_feed_write(&f, r, to);
	fclose(to);
	json = json_loads(text, 0, &error);
	ck_assert_msg(json != NULL, "%s: %s", error.text, text);
	ck_assert(!strchr(text, '\n'));
	free(text);
	return json;
}

static size_t size_of(const json_t *line, const char *key)
{
	return json_array_size(json_object_get(line, key));
}

static json_int_t in_event(const json_t *line, size_t event, size_t at)
{
	return json_integer_value(json_array_get(json_array_get(json_object_get(line, "events"),
								event), at));
}

CASE("live_feed", begin, end);

TEST(lines_of_reader)
{
	json_t *line;

	ck_assert(live_feed_has(&f, &reader));
	records[0] = (struct live_record){ .ns = 5000, .error_ns = 7, .cpu = 1, .tid = 42,
					   .kind = TSCT_KIND_BEGIN };
	records[1] = (struct live_record){ .ns = 5400, .error_ns = UINT64_MAX, .name = 1 };
	ck_assert_int_eq(gets(0, "{\"names\":[\"a\",\"b\\u0001\\\"\"],\"threads\":[[42,\"x\"]],"
			      "\"passed_ns\":6000,\"now_ns\":5900,\"read\":9}", 2), 0);
	ck_assert_int_eq(gets(1, "{\"passed_ns\":5001}", 0), 0);
	line = line_for(&reader);
	ck_assert_uint_eq(size_of(line, "nodes"), 2);
	ck_assert_uint_eq(size_of(line, "names"), 3);	/* with "other" */
	ck_assert_uint_eq(size_of(line, "threads"), 1);
	ck_assert_uint_eq(size_of(line, "events"), 1);	/* the other one waits for n2 */
	ck_assert_int_eq(in_event(line, 0, 2), 0);	/* times are relative to the first */
	ck_assert_int_eq(in_event(line, 0, 5), 42);
	ck_assert_int_eq(in_event(line, 0, 6), TSCT_KIND_BEGIN);
	ck_assert_int_eq(in_event(line, 0, 7), 1);
	json_decref(line);
	ck_assert(!live_feed_has(&f, &reader));
	ck_assert_uint_eq(live_feed_dropped(&f.nodes[0]), 7);
	ck_assert_int_eq(f.nodes[0].behind_ns, 900);
	ck_assert_int_eq(live_feed_set_status(&f, json_pack("[{ss}]", "state", "x")), 0);
	ck_assert(live_feed_has(&f, &reader));
	live_feed_step(&f, LIVE_HOLD_NS - 1);
	ck_assert_uint_eq(f.window.released, 1);
	live_feed_step(&f, LIVE_HOLD_NS);
	ck_assert_uint_eq(f.window.released, 2);
	line = line_for(&reader);
	ck_assert_uint_eq(size_of(line, "nodes"), 0);
	ck_assert_uint_eq(size_of(line, "counts"), 2);
	ck_assert_int_eq(in_event(line, 0, 2), 400);
	ck_assert(json_is_null(json_array_get(json_array_get(json_object_get(line, "events"), 0),
					      3)));
	json_decref(line);
	live_feed_end(&f, 0);
	ck_assert(live_feed_has(&f, &reader));
	line = line_for(&reader);
	ck_assert(json_is_true(json_object_get(line, "end")));
	json_decref(line);
	ck_assert(!live_feed_has(&f, &reader));
}

/* A reader gets each event once, in lines of limited size; one that is too slow skips
 * some, which are counted. */
TEST(readers)
{
	struct live_reader slow = { .begun = true };
	const unsigned int total = LIVE_HISTORY + 3 * LIVE_RECORDS_MAX;
	unsigned int sent, i, got = 0;
	json_t *line;

	for (i = 0; i < LIVE_RECORDS_MAX; i++)
		records[i].ns = i;
	for (sent = 0; sent < total; sent += LIVE_RECORDS_MAX) {
		ck_assert_int_eq(gets(0, sent ? "{}" : "{\"names\":[\"a\"]}", LIVE_RECORDS_MAX),
				 0);
		live_feed_step(&f, LIVE_HOLD_NS);
		for (; live_feed_has(&f, &reader); json_decref(line)) {
			line = line_for(&reader);
			ck_assert_uint_le(size_of(line, "events"), LINE_EVENTS);
			for (i = 0; i < size_of(line, "events"); i++)
				ck_assert_int_eq(in_event(line, i, 0), got++);
		}
	}
	ck_assert_uint_eq(got, total);
	ck_assert_uint_eq(reader.skipped, 0);
	line = line_for(&slow);
	ck_assert_uint_eq(slow.skipped, total - LIVE_HISTORY);
	ck_assert_int_eq(in_event(line, 0, 0), total - LIVE_HISTORY);
	json_decref(line);
}

TEST(hostile)
{
	ck_assert_int_eq(gets(0, "{}", 1), -EPROTO);		/* no such name */
	ck_assert_int_eq(gets(0, "{\"names\":[1]}", 0), -EPROTO);
	ck_assert_int_eq(gets(0, "{\"names\":\"x\",\"threads\":7,\"read\":-5,\"now_ns\":[]}", 0), 0);
	ck_assert_int_eq(gets(0, "{\"threads\":[1]}", 0), -EPROTO);
	ck_assert_int_eq(gets(0, "{\"names\":[\"a\"]}", 0), 0);
	ck_assert_int_eq(gets_bytes(0, "{}", 33), -EPROTO);
	records[1].kind = TSCT_KIND_NR;
	ck_assert_int_eq(gets(0, "{}", 2), -EPROTO);
	records[1].kind = 0;
	ck_assert_uint_eq(f.window.order.nr, 0);
	ck_assert_int_eq(gets(0, "{}", LIVE_RECORDS_MAX + 1), -EPROTO);
	records[0].ns = INT64_MIN;
	records[1].ns = INT64_MAX;
	ck_assert_int_eq(gets(0, "{\"now_ns\":9223372036854775807,\"passed_ns\":"
			      "9223372036854775807,\"end\":true}", 2), 0);
	ck_assert_int_eq(gets(0, "{}", 0), -EPROTO);		/* after its end */
	for (unsigned int i = 0; i < LIVE_THREADS + 1; i++)
		ck_assert_int_eq(gets(1, "{\"threads\":[[1,\"a name that is too long\"]]}", 0), 0);
	ck_assert_uint_eq(f.nr_threads, LIVE_THREADS);
	live_feed_end(&f, 0);
	while (live_feed_has(&f, &reader))
		json_decref(line_for(&reader));
	ck_assert_uint_eq(f.window.released, 2);
}

/* Any bytes in any message leave the feed in order. */
LOOP_TEST(random_messages, 0, 10)
{
	static const char *const some[] = {
		"{\"names\":[\"a\",\"b\"]}", "{\"names\":[]}", "{\"passed_ns\":1000}",
		"{\"threads\":[[1,\"x\"],[2]]}", "{\"now_ns\":-9223372036854775808,\"read\":3}",
	};

	for (unsigned int i = 0; i < 300; i++) {
		for (unsigned int k = 0; k < sizeof(records[0]) * 4; k++)
			((unsigned char *)records)[k] = (unsigned char)any(any(2) ? 2 : 256);
		gets_bytes(any(2), some[any(5)], any(sizeof(records[0]) * 4));
		live_feed_step(&f, any(2) ? 0 : LIVE_HOLD_NS);
		if (!any(10))
			json_decref(line_for(&reader));
	}
	live_feed_end(&f, LIVE_HOLD_NS);
	while (live_feed_has(&f, &reader))
		json_decref(line_for(&reader));
	ck_assert_uint_eq(f.window.released, f.nodes[0].received + f.nodes[1].received);
}

TEST(addresses)
{
	static const char *const own[] = { "localhost", "LocalHost:1", "127.0.0.1", "127.0.0.1:80",
					   "[::1]", "[::1]:65535" };
	static const char *const others[] = {
		"", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.2",
		"localhost:", "localhost:x", "localhost:65536", "localhost:80:80", "::1", "[::1",
		"[::1]x", "0.0.0.0:80", "localhost:-1", "user@localhost", "localhost ",
	};
	char url[64];

	for (size_t i = 0; i < ROWS(own); i++)
		ck_assert_msg(live_http_host_valid(own[i]), "%s", own[i]);
	for (size_t i = 0; i < ROWS(others); i++) {
		ck_assert_msg(!live_http_host_valid(others[i]), "%s", others[i]);
		ck_assert_int_eq(live_http_listen(others[i], url, sizeof(url)), -EINVAL);
	}
	ck_assert_int_eq(live_http_listen("localhost", url, sizeof(url)), -EINVAL);
	ck_assert_int_eq(live_http_listen("unix:", url, sizeof(url)), -ENAMETOOLONG);
}

// SPDX-License-Identifier: MIT
/* test-wing: cluster */
/* The table of trace-ctl cluster top: rows of samples, marks of the slowest link, order,
 * and samples that are hostile */
#include "tools/wings/cluster/top_table.c"
#include "tools/shared/top_rows.c"
#include "tools/wings/cluster/coordinator.c"
#include "tools/wings/cluster/cluster_check.c"
#include "tools/common/json.c"
#include "tools/shared/message.c"
#include "tools/common/error.c"
#include "tools/common/view.c"
#include "suite.h"

#define SECOND	1000000000LL
#define NR	4

static char *names[] = { "n1", "n2", "n3", "n4", NULL };
static struct cluster_settings options = { .top = true, .connect_ns = 20 * SECOND };
static struct cluster c;
static json_t *table;
static char *printed;

static void take_actions(void)
{
	struct cluster_action a;

	while (cluster_next_action(&c, &a)) {
		json_decref(a.json);
		free(a.text);
	}
}

static void gets(unsigned int i, const char *line)
{
	struct control_message m = { .json = json_loads(line, 0, NULL) };

	ck_assert_msg(m.json != NULL, "%s", line);
	m.type = ctl_json_string(m.json, "type");
	cluster_receive(&c, i, &m, SECOND);
	json_decref(m.json);
	take_actions();
}

static void begin(void)
{
	ck_assert_int_eq(cluster_begin(&c, &options, names, SECOND), 0);
	for (unsigned int i = 0; i < NR; i++)
		gets(i, "{\"type\":\"hello\",\"protocol\":1,\"version\":\"0\"}");
}

static void end(void)
{
	cluster_free(&c);
	json_decref(table);
	free(printed);
	table = NULL;
	printed = NULL;
}

static void read_rows(__s64 now, const char *sort)
{
	json_decref(table);
	table = top_table_read(&c, now, sort);
}

static const json_t *row_at(size_t i)
{
	return json_array_get(json_object_get(table, "nodes"), i);
}

static void expect_name(size_t i, const char *name)
{
	ck_assert_str_eq(ctl_json_string(row_at(i), "name"), name);
}

static void print(int width, int height, __s64 now)
{
	size_t len;
	FILE *to;

	free(printed);
	to = open_memstream(&printed, &len);
	read_rows(now, "events_per_s");
	top_table_print(table, to, width, height);
	fclose(to);
}

static void expect(const char *what, bool there)
{
	ck_assert_msg(!strstr(printed, what) != there, "'%s' %s: %s", what,
		      there ? "missing" : "unexpected", printed);
}

#define SAMPLE(events, lost, error, delay) "{\"type\":\"sample\",\"seconds\":1.0,\"channels\":2," \
	"\"providers\":1,\"events\":9000,\"lost\":7,\"events_per_s\":" events ",\"bytes_per_s\":" \
	"2500000.0,\"lost_per_s\":" lost ",\"unread_percent\":12.0,\"clock\":\"synchronized\"," \
	"\"offset_ns\":-1500,\"error_ns\":" error ",\"link\":{\"name\":\"n1\",\"delay_ns\":" \
	delay "}}"

CASE("top_table", begin, end);

TEST(figures)
{
	ck_assert_uint_eq(cluster_count(&c, CLUSTER_SAMPLING), NR);
	gets(0, SAMPLE("10.0", "0.0", "0", "null"));
	gets(1, SAMPLE("30.0", "1.5", "900", "70000"));
	gets(2, SAMPLE("20.0", "0.0", "2500", "60000"));
	print(0, 0, SECOND);
	expect("4 nodes, 60 events/s, 7.5 MB/s, 1.5 lost/s\n", true);
	/* The largest bound and the longest delay are different links. */
	expect("synchronized; slowest link: longest delay\n", true);
	expect("synchronized; slowest link: largest bound\n", true);
	expect_name(0, "n2");
	expect_name(1, "n3");
	expect_name(2, "n1");
	ck_assert(json_is_false(json_object_get(row_at(2), "largest_bound")));
	ck_assert(json_is_false(json_object_get(row_at(2), "longest_delay")));
	ck_assert(json_is_null(json_object_get(row_at(2), "delay_ns")));
	expect_name(3, "n4");
	ck_assert_ptr_null(json_object_get(row_at(3), "events"));
	expect("-1.50 us", true);
	expect("2.50 us", true);
	expect("70.00 us", true);
	read_rows(SECOND, "error_ns");
	expect_name(0, "n3");
	read_rows(SECOND, "delay_ns");
	expect_name(0, "n2");
	read_rows(SECOND, NULL);
	expect_name(0, "n1");
	print(0, 5, SECOND);
	expect("  ... 2 more nodes\n", true);
	gets(1, SAMPLE("30.0", "1.5", "9000", "70000"));
	print(0, 0, SECOND);
	expect("synchronized; slowest link: largest bound, longest delay\n", true);
}

/* The others go on; the end of the run comes with the last failure, or an interrupt. */
TEST(failures)
{
	gets(0, SAMPLE("10.0", "0.0", "0", "null"));
	cluster_disconnected(&c, 2, "connection lost", 2 * SECOND);
	take_actions();
	print(0, 0, 6 * SECOND);
	expect_name(0, "n3");
	expect("4 nodes (1 FAILED), 10 events/s", true);
	expect("FAILED: connection lost\n", true);
	expect("silent for 5 s\n", true);
	ck_assert_int_eq(c.stage, CLUSTER_STAGE_CHECK);
	ck_assert_str_eq(ctl_json_string(row_at(0), "why"), "connection lost");
	gets(0, SAMPLE("11.0", "0.0", "0", "null"));
	cluster_disconnected(&c, 0, "x", 2 * SECOND);
	cluster_disconnected(&c, 1, "x", 2 * SECOND);
	ck_assert_int_eq(c.stage, CLUSTER_STAGE_CHECK);
	cluster_disconnected(&c, 3, "x", 2 * SECOND);
	take_actions();
	ck_assert_int_eq(c.stage, CLUSTER_STAGE_OVER);
}

TEST(interrupt)
{
	cluster_interrupt(&c, SECOND);
	take_actions();
	ck_assert_int_eq(c.stage, CLUSTER_STAGE_OVER);
	ck_assert_uint_eq(cluster_count(&c, CLUSTER_DONE), NR);
}

/* Values of any type and size, and messages of a recording, which has not begun */
TEST(hostile)
{
	gets(0, "{\"type\":\"sample\"}");
	gets(1, "{\"type\":\"sample\",\"seconds\":\"x\",\"events_per_s\":-1e300,\"lost\":-5,"
	     "\"link\":[1],\"clock\":\"\\u001b]0;x\\u0007\",\"providers\":1,\"offset_ns\":1e308,"
	     "\"unread_percent\":1e300}");
	gets(2, SAMPLE("1e300", "1e300", "-3", "1e300"));
	gets(3, "{\"type\":\"ready\"}");
	ck_assert_int_eq(c.nodes[3].state, CLUSTER_FAILED);
	print(0, 0, SECOND);
	expect("\033", false);
	expect("FAILED: unexpected message 'ready'", true);
	expect("no channels; start tsctraced on the node\n", true);
	ck_assert_uint_eq(json_array_size(json_object_get(table, "nodes")), NR);
}

// SPDX-License-Identifier: MIT
/* test-wing: cluster */
/* The coordinator of trace-ctl cluster record: its states and checks, and messages of nodes
 * that are hostile */
#include "tools/wings/cluster/coordinator.c"
#include "tools/wings/cluster/cluster_check.c"
#include "tools/common/error.c"
#include "tools/common/json.c"
#include "tools/shared/message.c"
#include "seed.h"
#include "suite.h"

#define SECOND	1000000000LL

static char *names[] = { "n1", "n2", "n3", NULL };
static char *command[] = { "./a.out", NULL };
static char *no_options[] = { NULL };
static struct cluster_settings options;
static struct cluster c;
static __s64 now;
static bool write_fails;		/* recordings cannot be completed here */

/* Counts of actions since take_actions() was called, and the last texts */
static struct {
	unsigned int live[3], sent[3], closed[3], killed[3], files[3], done[3], commands, stops, outputs;
	char last[3][64];		/* type of the last message to each node */
	bool removes[3];		/* it is to remove its recording */
	char printed[4096];
	__u64 bytes[3];
} did;

static void take_actions(void)
{
	struct cluster_action a;

	while (cluster_next_action(&c, &a)) {
		ck_assert_uint_lt(a.node, c.nr);
		switch (a.type) {
		case CLUSTER_SEND:
			did.sent[a.node]++;
			snprintf(did.last[a.node], sizeof(did.last[0]), "%s",
				 ctl_json_string(a.json, "type"));
			did.removes[a.node] |= !strcmp(did.last[a.node], "quit") &&
				!json_is_true(json_object_get(a.json, "keep"));
			break;
		case CLUSTER_PRINT:
			ck_assert_ptr_nonnull(a.text);
			snprintf(did.printed + strlen(did.printed),
				 sizeof(did.printed) - strlen(did.printed), "%s: %s\n",
				 c.nodes[a.node].name, a.text);
			break;
		case CLUSTER_OUTPUT: did.outputs++; break;
		case CLUSTER_FILE:
			ck_assert(cluster_file_valid(a.text));
			ck_assert(!strchr(a.text, '/') && *a.text != '.');
			did.files[a.node]++;
			did.bytes[a.node] += a.size;
			break;
		case CLUSTER_DATA: break;
		case CLUSTER_LIVE: did.live[a.node]++; break;
		case CLUSTER_FILES_DONE:
			did.done[a.node]++;
			if (write_fails)
				cluster_write_failed(&c, a.node, "no space", now);
			else
				cluster_files_done(&c, a.node, now);
			break;
		case CLUSTER_CLOSE: did.closed[a.node]++; break;
		case CLUSTER_KILL: did.killed[a.node]++; break;
		case CLUSTER_COMMAND: did.commands++; break;
		case CLUSTER_COMMAND_STOP: did.stops++; break;
		}
		json_decref(a.json);
		free(a.text);
	}
}

/* Node @i sends a line, and @data after it. */
static void gets_data(unsigned int i, const char *line, const char *data)
{
	struct control_message m = { .json = json_loads(line, 0, NULL), .data = data,
			     .len = strlen(data) };

	ck_assert_msg(m.json != NULL, "%s", line);
	m.type = ctl_json_string(m.json, "type");
	cluster_receive(&c, i, &m, now);
	json_decref(m.json);
	take_actions();
}

static void gets(unsigned int i, const char *line)
{
	gets_data(i, line, "");
}

static void all_get(const char *line)
{
	for (unsigned int i = 0; i < c.nr; i++)
		gets(i, line);
}

static void begin(void)
{
	memset(&options, 0, sizeof(options));
	options.command = command;
	options.record = no_options;
	options.connect_ns = 20 * SECOND;
	options.cwd = "/home/x";
	memset(&did, 0, sizeof(did));
	write_fails = false;
	now = SECOND;
	ck_assert_int_eq(cluster_begin(&c, &options, names, now), 0);
}

static void end(void)
{
	cluster_free(&c);
}

#define HELLO	"{\"type\":\"hello\",\"protocol\":1,\"version\":\"" TSCT_VERSION "\"}"
#define CHECKED(boot, clock) "{\"type\":\"checked\",\"boot\":\"" boot "\",\"dir\":\"/d\"," \
	"\"free\":1000000000,\"cwd_exists\":true,\"clock\":" clock "}"
#define CLUSTER_CLOCK(status, master) \
	"{\"cluster\":{\"status\":\"" status "\",\"master\":\"" master "\"}}"
#define SYNCED	CLUSTER_CLOCK("synchronized", "a")
#define READY	"{\"type\":\"ready\"}"
#define ENDED	"{\"type\":\"ended\",\"exit_status\":0,\"signal\":0}"
#define RECORDED "{\"type\":\"recorded\",\"status\":0,\"files\":2,\"bytes\":100}"

static void expect(const char *text)
{
	ck_assert_msg(strstr(did.printed, text) != NULL, "no '%s' in: %s", text, did.printed);
}

/* Brings all nodes to the stage of recording. */
static void reach_recording(void)
{
	all_get(HELLO);
	all_get(CHECKED("b", "{}"));
	all_get(READY);
	ck_assert_int_eq(c.stage, CLUSTER_STAGE_RECORD);
}

/* Time passes, and the coordinator looks after it. */
static void pass(__s64 ns)
{
	now += ns;
	cluster_tick(&c, now);
	take_actions();
}

static void interrupt(void)
{
	cluster_interrupt(&c, now);
	take_actions();
}

/* Node @i sends the two files of its recording. */
static void gather(unsigned int i)
{
	gets(i, "{\"type\":\"file\",\"name\":\"a\",\"size\":0}");
	gets(i, "{\"type\":\"file\",\"name\":\"b\",\"size\":100}");
	gets(i, "{\"type\":\"gathered\"}");
}

/* ---- whole runs ---------------------------------------------------------------- */

CASE("runs", begin, end);

TEST(whole)
{
	all_get(HELLO);
	ck_assert_uint_eq(cluster_count(&c, CLUSTER_CHECKING), 3);
	gets(0, CHECKED("b", "{}"));
	gets(1, CHECKED("b", "{}"));
	ck_assert_str_eq(did.last[0], "check");	/* nothing starts before all are checked */
	gets(2, CHECKED("b", "{}"));
	ck_assert_str_eq(did.last[0], "start");
	gets(1, "{\"type\":\"ready\",\"recording\":\"0123); gamma: lost\"}");
	gets(0, "{\"type\":\"ready\",\"recording\":-2}");
	ck_assert_str_eq(did.last[0], "start");	/* nor before all are ready */
	ck_assert_uint_eq(c.nodes[0].recording, UINT64_MAX - 1);
	ck_assert_uint_eq(c.nodes[1].recording, 0);
	gets(2, READY);
	for (unsigned int i = 0; i < 3; i++)
		ck_assert_str_eq(did.last[i], "go");
	gets(0, "{\"type\":\"progress\",\"events\":5,\"bytes\":7,\"lost\":1,\"offset_ns\":-3,"
	     "\"error_ns\":9}");
	ck_assert_uint_eq(c.nodes[0].events, 5);
	ck_assert_int_eq(c.nodes[0].offset_ns, -3);
	ck_assert_uint_eq(c.nodes[0].error_ns, 9);
	gets(0, ENDED);
	gets(1, ENDED);
	ck_assert_str_eq(did.last[0], "go");	/* it records until all have ended */
	gets(2, ENDED);
	for (unsigned int i = 0; i < 3; i++)
		ck_assert_str_eq(did.last[i], "stop");
	all_get("{\"type\":\"summary\",\"summary\":{\"events\":8,\"lost\":{\"full\":2,"
		"\"nested\":1},\"command\":{\"running\":false,\"exit_status\":3}}}");
	ck_assert_uint_eq(c.nodes[2].lost, 3);
	ck_assert_int_eq(c.nodes[2].exit_status, 3);
	all_get(RECORDED);
	for (unsigned int i = 0; i < 3; i++) {
		ck_assert_str_eq(did.last[i], "gather");
		gets(i, "{\"type\":\"file\",\"name\":\"metadata\",\"size\":60}");
		gets_data(i, "{\"type\":\"data\"}", "xyz");
		gets(i, "{\"type\":\"file\",\"name\":\"default_0\",\"size\":40}");
		gets(i, "{\"type\":\"gathered\"}");
		ck_assert_uint_eq(did.done[i], 1);
		ck_assert_str_eq(did.last[i], "quit");
		ck_assert_uint_eq(did.closed[i], 1);
	}
	ck_assert_int_eq(c.stage, CLUSTER_STAGE_OVER);
	ck_assert_str_eq(did.printed, "");
	cluster_disconnected(&c, 1, "its launcher ended", now);
	ck_assert_int_eq(c.nodes[1].state, CLUSTER_DONE);
}

/* Events come while the recorders run, and only if they are wanted. */
TEST(live)
{
	options.live = options.discard = true;
	all_get(HELLO);
	gets(0, CHECKED("b", SYNCED));
	gets(1, CHECKED("c", SYNCED));
	gets(2, CHECKED("d", SYNCED));
	ck_assert_str_eq(c.live_time, "cluster");
	gets_data(0, "{\"type\":\"live\"}", "x");
	all_get(READY);
	gets_data(1, "{\"type\":\"live\"}", "y");
	interrupt();
	gets_data(1, "{\"type\":\"live\"}", "z");
	ck_assert_uint_eq(did.live[0], 1);
	ck_assert_uint_eq(did.live[1], 2);
	gets(0, RECORDED);
	ck_assert_str_eq(did.last[0], "quit");	/* nothing is gathered */
	ck_assert_int_eq(c.nodes[0].state, CLUSTER_DONE);
	gets(1, RECORDED);
	gets(2, "{\"type\":\"sample\"}");
	ck_assert_int_eq(c.nodes[2].state, CLUSTER_FAILED);
	ck_assert_int_eq(c.stage, CLUSTER_STAGE_OVER);
}

TEST(live_unwanted)
{
	reach_recording();
	gets(1, "{\"type\":\"live\"}");
	ck_assert_int_eq(c.nodes[1].state, CLUSTER_FAILED);
	expect("unexpected message 'live'");
}

static const struct {
	const char *boots[2], *clocks[2], *time;
} live_clocks[] = {
	{ { "b", "b" }, { "{}", "{}" }, "clock" },
	{ { "b", "c" }, { "{}", "{}" }, "none" },
	{ { "b", "c" }, { "{\"utc_error_ns\":5}", "{\"utc_error_ns\":6}" }, "utc" },
	{ { "b", "b" }, { SYNCED, SYNCED }, "cluster" },
	{ { "b", "c" }, { SYNCED, "{}" }, "none" },
	{ { "b", "c" }, { SYNCED, CLUSTER_CLOCK("synchronized", "z") }, "none" },
	{ { "b", "c" }, { SYNCED, CLUSTER_CLOCK("calibrating", "a") }, "none" },
};

/* The time in which live events are compared */
LOOP_TEST(live_times, 0, ROWS(live_clocks))
{
	char line[512];

	for (int k = 0; k < 3; k++) {
		gets(k, HELLO);
		snprintf(line, sizeof(line), "{\"type\":\"checked\",\"boot\":\"%s\",\"host\":"
			 "\"h%d\",\"dir\":\"/d\",\"free\":1000000000,\"cwd_exists\":true,"
			 "\"clock\":%s}", live_clocks[_i].boots[k > 0], k, live_clocks[_i].clocks[k > 0]);
		options.force = true;
		gets(k, line);
	}
	ck_assert_str_eq(c.live_time, live_clocks[_i].time);
}

TEST(command_here)
{
	options.here = true;
	reach_recording();
	ck_assert_uint_eq(did.commands, 1);
	interrupt();
	ck_assert_uint_eq(did.stops, 1);
	ck_assert_str_eq(did.last[0], "go");	/* the nodes record until it has ended */
	cluster_command_ended(&c, now);
	take_actions();
	ck_assert_str_eq(did.last[0], "stop");
}

TEST(duration)
{
	options.duration_ns = 5 * SECOND;
	reach_recording();
	pass(4 * SECOND);
	ck_assert_int_eq(c.stage, CLUSTER_STAGE_RECORD);
	pass(SECOND);
	ck_assert_str_eq(did.last[2], "stop");
}

/* ---- failures -------------------------------------------------------------------- */

TEST(unreachable)
{
	gets(0, HELLO);
	gets(0, CHECKED("b", "{}"));
	cluster_disconnected(&c, 1, "no route", now);
	take_actions();
	ck_assert_int_eq(c.stage, CLUSTER_STAGE_CHECK);	/* all problems come at once */
	now += 21 * SECOND;
	c.nodes[0].heard_ns = now;
	cluster_tick(&c, now);
	take_actions();
	expect("n2: no route");
	expect("n3: no message after 20 s");
	ck_assert_int_eq(c.stage, CLUSTER_STAGE_OVER);
	ck_assert_str_eq(did.last[0], "quit");
	ck_assert_uint_eq(did.killed[2], 1);
	ck_assert_int_eq(c.recording_ns, 0);
}

/* The node's messages come, but ours do not reach it. */
TEST(deaf)
{
	all_get(HELLO);
	gets(0, CHECKED("b", "{}"));
	gets(2, CHECKED("b", "{}"));
	for (unsigned int i = 0; i < 5; i++) {
		now += 5 * SECOND;
		all_get("{\"type\":\"alive\"}");
		cluster_tick(&c, now);
		take_actions();
	}
	expect("n2: the node does not answer; use a launcher that forwards standard input");
	ck_assert_int_eq(c.stage, CLUSTER_STAGE_OVER);
}

TEST(forced)
{
	options.force = true;
	cluster_disconnected(&c, 1, "no route", now);
	gets(0, HELLO);
	gets(0, CHECKED("b", "{}"));
	gets(2, "{\"type\":\"hello\",\"protocol\":1,\"version\":\"0.0.0\"}");
	gets(2, CHECKED("b", "{}"));
	ck_assert_str_eq(did.last[0], "start");
	ck_assert_str_eq(did.last[2], "quit");	/* another version: it is left out */
	ck_assert(c.nodes[2].dropped);
	gets(0, READY);
	ck_assert_int_eq(c.stage, CLUSTER_STAGE_RECORD);
}

TEST(no_node_left)
{
	options.force = true;
	for (unsigned int i = 0; i < 3; i++)
		cluster_disconnected(&c, i, "no route", now);
	take_actions();
	ck_assert_int_eq(c.stage, CLUSTER_STAGE_OVER);
}

TEST(recorder_fails)
{
	all_get(HELLO);
	all_get(CHECKED("b", "{}"));
	gets(0, READY);
	gets(1, "{\"type\":\"recorded\",\"status\":1,\"files\":0,\"bytes\":0}");
	ck_assert_int_eq(c.stage, CLUSTER_STAGE_START);
	gets(2, READY);
	expect("n2: the recorder made no recording (exit status 1)");
	ck_assert_int_eq(c.stage, CLUSTER_STAGE_OVER);
	ck_assert_str_eq(did.last[0], "quit");
}

TEST(lost_while_recording)
{
	reach_recording();
	gets(0, ENDED);
	gets(2, ENDED);
	now += 31 * SECOND;
	c.nodes[0].heard_ns = c.nodes[2].heard_ns = now;
	cluster_tick(&c, now);
	take_actions();
	expect("n2: no message for 30 s");
	ck_assert_uint_eq(did.killed[1], 1);
	ck_assert_int_eq(c.nodes[1].state, CLUSTER_FAILED);
	ck_assert_str_eq(did.last[0], "stop");	/* the others go on, to the end */
	gets(0, RECORDED);
	cluster_write_failed(&c, 0, "no space", now);
	take_actions();
	ck_assert_str_eq(did.last[0], "quit");
	gets(2, RECORDED);
	gather(2);
	ck_assert_int_eq(c.stage, CLUSTER_STAGE_OVER);
}

/* A node removes its recording only after it is here. */
TEST(kept)
{
	reach_recording();
	all_get(ENDED);
	gets(0, "{\"type\":\"recorded\",\"status\":0,\"files\":70000,\"bytes\":100}");
	expect("n1: the recorder made more files than can be gathered");
	gets(1, RECORDED);
	gets(2, RECORDED);
	write_fails = true;
	gather(1);
	ck_assert_int_eq(c.nodes[1].state, CLUSTER_FAILED);
	ck_assert_str_eq(did.last[1], "quit");
	write_fails = false;
	gather(2);
	ck_assert(!did.removes[0] && !did.removes[1] && did.removes[2]);
	ck_assert_int_eq(c.stage, CLUSTER_STAGE_OVER);
}

TEST(ends_early)
{
	reach_recording();
	gets(1, RECORDED);
	ck_assert(c.nodes[1].early);
	expect("n2: the recorder ended early");
	ck_assert_str_eq(did.last[1], "gather");
	ck_assert_int_eq(c.stage, CLUSTER_STAGE_RECORD);
}

TEST(interrupts)
{
	reach_recording();
	interrupt();
	ck_assert_str_eq(did.last[0], "stop");
	ck_assert_uint_eq(did.sent[0], 4);
	interrupt();	/* commands still run: ends the recordings */
	ck_assert_uint_eq(did.sent[0], 5);
	ck_assert(!c.gave_up);
	gets(0, RECORDED);
	interrupt();
	ck_assert(c.gave_up);
	ck_assert_str_eq(did.last[0], "quit");
	ck_assert_int_eq(c.stage, CLUSTER_STAGE_OVER);
}

TEST(interrupted_early)
{
	all_get(HELLO);
	interrupt();
	ck_assert_int_eq(c.stage, CLUSTER_STAGE_OVER);
	ck_assert_str_eq(did.last[0], "quit");
	ck_assert_int_eq(c.recording_ns, 0);
}

/* ---- checks ------------------------------------------------------------------------- */

#define UTC	"{\"cluster\":null,\"utc_error_ns\":5}"
#define NO_DIR(host) "{\"type\":\"checked\",\"boot\":\"b\",\"host\":\"" host \
	"\",\"free\":100000000}"

static const struct {
	const char *checked[3];		/* what the nodes state */
	const char *problems[4];
	bool starts;
	unsigned int good;		/* a node without a problem; 3: all have one */
} checks[] = {
	{ { CHECKED("x", SYNCED), CHECKED("y", CLUSTER_CLOCK("holdover", "a")),
	    CHECKED("z", CLUSTER_CLOCK("synchronized", "b")) },
	  { "n2: cluster time is holdover",
	    "n3: another cluster than n1: its master is b, not a" }, false, 0 },
	{ { CHECKED("x", SYNCED), CHECKED("y", SYNCED), CHECKED("z", SYNCED) }, { NULL }, true, 0 },
	{ { CHECKED("x", UTC), CHECKED("y", UTC), CHECKED("z", UTC) }, { NULL }, true, 0 },
	/* One machine by two names: it has no daemon, so nothing else tells them apart. */
	{ { NO_DIR("h"), NO_DIR("k"), NO_DIR("h") }, { "n3: the same node as n1" }, false, 1 },
	{ { "{\"type\":\"checked\",\"boot\":\"b\",\"dir\":\"/d\",\"free\":1000000,"
	    "\"status\":{\"kernel_events\":{\"available\":false,\"why\":\"no BTF\"}}}",
	    "{\"type\":\"checked\",\"boot\":\"b\",\"error\":\"/d exists\"}",
	    "{\"type\":\"checked\",\"boot\":\"b\",\"dir\":\"/d\",\"free\":1000000000,"
	    "\"cwd_exists\":false}" },
	  { "n1: /d: only 1.0 MB are free", "n1: kernel events: no BTF", "n2: /d exists",
	    "n3: /home/x: no such directory" }, false, 3 },
};

LOOP_TEST(problems, 0, ROWS(checks))
{
	static char *events[] = { "--events=job_*", "-e", "sched", NULL };

	options.record = events;
	all_get(HELLO);
	for (int i = 0; i < 3; i++)
		gets(i, checks[_i].checked[i]);
	for (int i = 0; i < 4 && checks[_i].problems[i]; i++)
		expect(checks[_i].problems[i]);
	ck_assert_int_eq(!*did.printed, checks[_i].starts);
	ck_assert_int_eq(c.stage, checks[_i].starts ? CLUSTER_STAGE_START : CLUSTER_STAGE_OVER);
	if (checks[_i].good < 3)
		ck_assert_uint_eq(json_array_size(c.nodes[checks[_i].good].problems), 0);
}

CASE("names", NULL, NULL);

TEST(valid_names)
{
	ck_assert(cluster_name_valid("n1") && cluster_name_valid("root@10.0.0.1") &&
		  cluster_name_valid("fe80::1"));
	ck_assert(!cluster_name_valid("") && !cluster_name_valid("-oProxyCommand=x") &&
		  !cluster_name_valid("a;b") && !cluster_name_valid("a b") &&
		  !cluster_name_valid("..") && !cluster_name_valid("a/b") &&
		  !cluster_name_valid("$(x)"));
	ck_assert(cluster_file_valid("metadata") && cluster_file_valid("a.b-c_0"));
	ck_assert(!cluster_file_valid("") && !cluster_file_valid(".") &&
		  !cluster_file_valid("..") && !cluster_file_valid(".x") &&
		  !cluster_file_valid("a/b") && !cluster_file_valid("/etc/passwd") &&
		  !cluster_file_valid("-x") && !cluster_file_valid("a\nb"));
}

/* ---- hostile nodes --------------------------------------------------------------------- */

CASE("runs", begin, end);

static const char *const hostile_lines[] = {
	"{\"type\":\"file\",\"name\":\"../x\",\"size\":1}",
	"{\"type\":\"file\",\"name\":\"a/b\",\"size\":1}",
	"{\"type\":\"file\",\"name\":\"\",\"size\":1}",
	"{\"type\":\"file\",\"size\":1}",
	"{\"type\":\"file\",\"name\":5,\"size\":1}",
	"{\"type\":\"file\",\"name\":\"a\",\"size\":101}",
	"{\"type\":\"file\",\"name\":\"a\",\"size\":9223372036854775807}",
	"{\"type\":\"data\"}",
	"{\"type\":\"gathered\"}",
	"{\"type\":\"hello\",\"protocol\":1}",
	"{\"type\":\"ready\"}",
	"{\"type\":\"recorded\",\"files\":1}",
	"{\"type\":\"unknown\"}",
};

LOOP_TEST(hostile_files, 0, ROWS(hostile_lines))
{
	reach_recording();
	gets(1, RECORDED);
	gets(1, hostile_lines[_i]);
	ck_assert_msg(c.nodes[1].state == CLUSTER_FAILED, "%s", hostile_lines[_i]);
	ck_assert_uint_eq(did.killed[1], 1);
	ck_assert_uint_eq(did.files[1], 0);
	ck_assert_int_eq(c.nodes[0].state, CLUSTER_RECORDING);
}

TEST(more_than_announced)
{
	reach_recording();
	gets(1, RECORDED);
	gets(1, "{\"type\":\"file\",\"name\":\"a\",\"size\":10}");
	gets(1, "{\"type\":\"file\",\"name\":\"b\",\"size\":90}");
	gets(1, "{\"type\":\"file\",\"name\":\"c\",\"size\":0}");
	ck_assert_int_eq(c.nodes[1].state, CLUSTER_FAILED);
	gets(0, "{\"type\":\"recorded\",\"status\":0,\"files\":100000,\"bytes\":1}");
	ck_assert_int_eq(c.nodes[0].state, CLUSTER_FAILED);
}

/* Messages, valid ones more often, in any order and of any node: the run must end when
 * all nodes are gone, and never takes more than was announced. */
TEST(any_order)
{
	static const char *const lines[] = {
		HELLO, HELLO, CHECKED("b", "{}"), CHECKED("b", "{}"), READY, READY, ENDED,
		RECORDED, RECORDED,
		"{\"type\":\"progress\",\"events\":-1,\"bytes\":\"x\",\"error_ns\":[]}",
		"{\"type\":\"summary\",\"summary\":{\"lost\":{\"a\":\"b\",\"c\":-4}}}",
		"{\"type\":\"summary\",\"summary\":7}", "{\"type\":\"summary\"}",
		"{\"type\":\"file\",\"name\":\"a\",\"size\":50}",
		"{\"type\":\"file\",\"name\":\"b\",\"size\":50}", "{\"type\":\"gathered\"}",
		"{\"type\":\"data\"}", "{\"type\":\"output\",\"stream\":1}",
		"{\"type\":\"checked\",\"clock\":3,\"status\":[],\"free\":{}}",
		"{\"type\":\"alive\"}", "{\"type\":\"alive\"}",
	};
	unsigned int i, step, runs;
	size_t pick;

	for (runs = 0; runs < 3000; runs++) {
		end();
		begin();
		options.force = any(2);
		options.here = any(4) == 0;
		options.shared = any(4) ? NULL : "/s";
		if (any(2))
			reach_recording();
		for (step = 0; step < 60; step++) {
			now += any(SECOND);
			i = any(3);
			pick = any(ROWS(lines));
			if (any(50) == 0)
				cluster_disconnected(&c, i, "gone", now);
			else if (any(60) == 0)
				cluster_interrupt(&c, now);
			else if (any(100) == 0)
				cluster_write_failed(&c, i, "full", now);
			else if (any(10) == 0)
				cluster_tick(&c, now);
			else
				gets_data(i, lines[pick], "data");
			take_actions();
			ck_assert_uint_le(did.bytes[i], 100);
			ck_assert_uint_le(did.done[i], 1);
		}
		for (i = 0; i < 3; i++)
			cluster_disconnected(&c, i, "gone", now);
		take_actions();
		ck_assert_int_eq(c.stage, CLUSTER_STAGE_OVER);
		ck_assert(!c.out_of_memory);
	}
}

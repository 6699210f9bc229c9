// SPDX-License-Identifier: MIT
/* Planning a merge: rejected recordings, event definitions, and corrupt inputs. */
#include "lib/merge/merge_private.h"
#include "merge_world.h"

#define NR_ABC	(5 * EVENTS)

/* ---- rejected recordings ------------------------------------------------- */

struct bad {
	const char *why;	/* expected error message about recording 'd' */
	const char *names;	/* names of all inputs of the merge, one letter each */
	bool force;		/* true if the inputs are accepted with --force */
	struct node node;
};

/* Returns test case @i. Its recording 'd' is a copy of b with another identity, and one
 * property changed. */
static struct bad bad(int i)
{
	struct node n = nodes[1];

	n.uuid = n.boot = 9;
	n.id = 0xd;
	switch (i) {
	case 0:
		n.timeline = 10;
		return (struct bad) { "/d: is on timeline 10 of node 00000000a0000001, but",
			"ad", true, n };
	case 1:
		n.no_samples = true;
		return (struct bad) { "/d: is uncalibrated: it has no sync samples of"
			" its timeline; record with --cluster", "ad", true, n };
	case 2:
		n.alone = true;
		n.status = TSCT_STATUS_DISRUPTED;
		return (struct bad) { "/d: is uncalibrated: its clock had no known time"
			" (status: disrupted)", "d", true, n };
	case 3:
		n.killed = true;
		return (struct bad) { "/d: not complete: it is still being written, or its recorder was killed",
			"ad", true, n };
	case 4:
		n.uuid = 2;
		return (struct bad) { "/d: holds the same recording as", "bd", true, n };
	case 5:
		n.id = 0xb;
		return (struct bad) { "/d: has the node id of", "abd",
			true, n };
	case 6:
		n.own_off_ns = 400LL * 24 * 3600 * 1000000000;
		n.alone = true;
		return (struct bad) { "/d: begins 399 days after", "ad", true, n };
	case 7:
		n.alone = true;
		return (struct bad) { "/d: has no sync samples, but other inputs have", "adb",
			true, n };
	}
	ck_abort();
}

CASE("merge_plan", begin_world, drop_root);

LOOP_TEST(test_rejected_recordings, 0, 8)
{
	const struct bad o = bad(_i);

	write_node(&o.node, "d");
	expect_refused(o.names, o.why);
	options.force = true;
	ck_assert_msg(!plan(o.names) == o.force, "%s", why);
}

/* Valid inputs: two recordings of one node, which differ in channel or time; a
 * recording with an unknown kind of fit */
TEST(test_accepted_recordings)
{
	struct node n = nodes[1];

	n.uuid = 9;
	n.channel = "other";	/* recording d: same node and time as recording b, other
				 * channel */
	write_node(&n, "d");
	merge_to("abd", "o");
	check_result("o", 6 * EVENTS, 1);
	n.channel = "default";	/* recording e: same node and channel as recording b,
				 * later time */
	n.begin = LENGTH;
	n.end = 2 * LENGTH;
	n.uuid = 10;
	write_node(&n, "e");
	merge_to("abe", "p");
	check_result("p", 6 * EVENTS, 1);
	n.fit = "later";	/* recording f: a kind of fit that this version does not
				 * know */
	n.uuid = 11;
	write_node(&n, "f");
	merge_to("af", "q");
	check_result("q", 4 * EVENTS, 1);
}

#define LOST_B	"b: lost, late (recording 0202020202020202)"

/* Nodes that are missing in a merge's result: the one that is named with the id of its
 * recording is not if that is merged later, or is a part of what is merged. */
TEST(test_missing_nodes)
{
	static const struct {
		const char *names, *missing, *wanted;
		const char *to;
	} merges[] = {
		{ "ac", "b:c; " LOST_B "; d: off", "b:c; " LOST_B "; d: off", "p" },
		{ "pb", NULL, "b:c; d: off", "q" },
		{ "bc", NULL, NULL, "r" },
		{ "a", LOST_B "; d: off", LOST_B "; d: off", "s" },
		{ "rs", NULL, "d: off", "t" },
		{ "a", LOST_B, LOST_B, "u" },
		{ "ub", NULL, NULL, "v" },
		{ "ab", LOST_B ".", LOST_B ".", "w" },
		{ "ab", LOST_B ", and more; d: off", LOST_B ", and more; d: off", "x" },
		{ "ab", "d: off; " LOST_B ", and more; " LOST_B, "d: off; " LOST_B ", and more", "y" },
		{ "c", "b: again (recording 0202020202020202)", "b: again (recording 0202020202020202)", "z" },
		{ "uzb", NULL, NULL, "A" },
	};
	const char *missing;
	struct tsct_trace *trace;
	size_t i;

	for (i = 0; i < sizeof(merges) / sizeof(merges[0]); i++) {
		options.missing_nodes = merges[i].missing;
		merge_to(merges[i].names, merges[i].to);
		ck_assert(tsct_merge_is_partial(m) == !!merges[i].wanted);
		trace = open_result(merges[i].to);
		missing = tsct_trace_recording(trace)->missing_nodes;
		ck_assert_msg(!strcmp(missing ? missing : "", merges[i].wanted ? merges[i].wanted : ""),
			      "%s: %s", merges[i].to, missing);
		tsct_trace_close(trace);
	}
}

TEST(test_missing_recordings)
{
	int fd = make_dir("d");

	expect_refused("ax", "/x: No such file or directory");
	expect_refused("ad",
		       "/d: not a tsctrace recording; it has no file 'metadata'");
	close(fd);
}

/* A recording is rejected if its timeline changes in the middle. */
TEST(test_timeline_change)
{
	struct node n = nodes[1];
	struct recorder r;

	n.uuid = n.boot = 9;
	begin_node(&r, &n, "d");
	define_now(&r, 16);
	join_cluster(&r.rec, &n);
	r.rec.nodes[0].sync.epoch = 1;
	r.rec.nodes[0].sync.timeline = 10;
	open_node(&r, &n);
	n.end = LENGTH / 2;
	write_samples(&r, &n);
	n.begin = LENGTH / 2;
	n.end = LENGTH;
	n.timeline = 10;
	write_samples(&r, &n);
	end_node(&r, false);
	expect_refused("ad", "/d: the cluster's timeline ended during the recording");
	options.force = true;
	expect_accepted("ad", "/d: the cluster's timeline ended");
}

/* Sync samples with an impossible rate are not used: if no fit can have it, or if it
 * contradicts the rate of the node's own clock. */
LOOP_TEST(test_impossible_rate, 0, 2)
{
	static const struct {
		/* rate in the samples, as a multiple of half the rate of the node's own
		 * clock */
		__u64 faster;
		const char *why;
	} cases[] = {
		{ 10, "/d: its sync samples give no time with --fit auto: the"
		  " rate between the counters is out of range" },
		{ 3, "/d: has sync samples that contradict each other, or contradict its clock" },
	};
	struct node n = nodes[1];
	struct recorder r;

	n.uuid = n.boot = 9;
	begin_node(&r, &n, "d");
	open_node(&r, &n);
	n.num = n.num * cases[_i].faster / 2;
	n.end = LENGTH / 8;
	write_samples(&r, &n);
	end_node(&r, false);
	expect_refused("ad", cases[_i].why);
}

/* Writes recording @name of node b without events. For each @nth sample, and for all
 * samples from time @from on, the counter is @shift higher than the recording's clock
 * params state. */
static void write_shifted(const char *name, unsigned int nth, __u64 from, __u64 shift,
			  void (*change)(struct tsct_recording *rec))
{
	struct node n = nodes[1], shifted = nodes[1];
	struct recorder r;
	unsigned int i = 0;

	n.uuid = n.boot = 9;
	shifted.base += shift;
	begin_node(&r, &n, name);
	join_cluster(&r.rec, &n);
	if (change)
		change(&r.rec);
	open_node(&r, &n);
	for (__u64 t = n.begin; t < n.end; t += 20 * MS)
		write_sample(&r, t >= from || (nth && ++i % nth == 0) ? &shifted : &n, t, 1);
	end_node(&r, false);
}

/* Single wrong samples are left out of fits. If the counter changed, no fit is
 * right. */
LOOP_TEST(test_contradictory_samples, 0, 5)
{
	static const struct {
		unsigned int nth;
		__u64 from;
		bool refused;
	} cases[] = {
		{ 0, LENGTH, false }, { 40, LENGTH, false }, { 0, LENGTH / 4, true },
		{ 0, LENGTH / 2, true }, { 0, 3 * LENGTH / 4, true },
	};

	write_shifted("d", cases[_i].nth, cases[_i].from, 30 * MS, NULL);
	if (!cases[_i].refused) {
		expect_accepted("ad", "");
		return;
	}
	expect_refused("ad", "/d: has sync samples that contradict each other, or contradict its clock;"
		       " use --force");
	options.force = true;
	expect_accepted("ad", "/d: has sync samples that contradict each other");
}

static void claim_session(struct tsct_recording *rec)
{
	struct tsct_recorded_sync *sync = &rec->nodes[0].sync;

	sync->start.state = sync->end.state = TSCT_SESSION_DONE;
	sync->start.begin = rec->begin;
	sync->start.end = rec->begin + S;
	sync->end.begin = rec->end - S;
	sync->end.end = rec->end;
}

/* The recorder took the last samples long after the last event. */
static void claim_late_samples(struct tsct_recording *rec)
{
	rec->nodes[0].sync.end.begin = rec->end;
	rec->nodes[0].sync.end.end = rec->end + 4 * LENGTH;
}

/* The sync samples of another recording have times outside of this one. */
TEST(test_foreign_samples)
{
	write_shifted("d", 0, 0, 0, claim_session);
	expect_accepted("ad", "");
	write_shifted("e", 0, 0, 4 * LENGTH, NULL);
	expect_refused("ae", "/e: has sync samples of a time after its end");
	write_shifted("h", 0, 0, 4 * LENGTH, claim_late_samples);
	expect_accepted("ah", "");
	write_shifted("f", 0, 0, -4 * LENGTH, NULL);
	expect_accepted("af", "");
	write_shifted("g", 0, 0, -4 * LENGTH, claim_session);
	expect_refused("ag", "/g: has no samples of its sync sessions");
	options.force = true;
	expect_accepted("ag", "/g: has no samples of its sync sessions");
}

/* ---- event definitions --------------------------------------------------- */

/* Writes a recording in one of two variants, which have some event definitions in
 * common. */
static void write_defs(const struct node *of, const char *name, bool other)
{
	static const __u32 id[] = { 16, 17, 40, 41, 65535 };
	__u64 t;
	struct tsct_event event = { .payload = &t, .len = sizeof(t) };
	struct recorder r;

	begin_node(&r, of, name);
	ck_assert_int_eq(tsct_recording_add_stream(&r.rec, other ? "kernel" : "mine"), 1);
	r.rec.streams[1].kernel = other;
	ck_assert_int_eq(tsct_recording_add_stream(&r.rec, other ? "mine" : "kernel"), 2);
	define(&r.rec, 0, 16, other ? "beta" : "alpha", TSCT_KIND_INSTANT, "t:u64");
	define(&r.rec, 0, 17, other ? "alpha" : "beta", TSCT_KIND_INSTANT, "t:u64");
	define(&r.rec, 0, 40, "gamma", other ? TSCT_KIND_BEGIN : TSCT_KIND_END, "t:u64");
	define(&r.rec, 0, 41, "delta", TSCT_KIND_INSTANT, other ? "t:u64/x" : "t:u64");
	define(&r.rec, 0, 65535, "last", TSCT_KIND_INSTANT, "t:u64");
	define(&r.rec, 1, 16, other ? "k" : "m", TSCT_KIND_INSTANT, "t:u64");
	define(&r.rec, 2, 16, other ? "m" : "k", TSCT_KIND_INSTANT, "t:u64");
	r.rec.streams[0].loss[0].cause[TSCT_LOSS_FULL] = 3;
	r.rec.streams[0].lost_no_ring = 2;
	open_node(&r, of);
	write_samples(&r, of);
	for (t = of->begin; t < of->end; t += MS) {
		event.cycles = count_at(of, t);
		event.id = id[t / MS % 5];
		ck_assert_int_eq(tsct_recording_writer_event(r.writer, 0, &event), 0);
		event.id = 16;
		ck_assert_int_eq(tsct_recording_writer_event(r.writer, 1, &event), 0);
		ck_assert_int_eq(tsct_recording_writer_event(r.writer, 2, &event), 0);
	}
	end_node(&r, false);
}

static const char *const wanted[2][5] = {
	{ "alpha", "beta", "gamma", "delta", "last" },
	{ "beta", "alpha", "gamma", "delta", "last" },
};

TEST(test_definitions)
{
	struct node n[2] = { nodes[0], nodes[1] };
	const struct tsct_recording *r;
	struct tsct_trace_event e;
	struct tsct_trace *trace;
	__u64 t, nr = 0;
	__u32 i, defs;

	n[0].nr_cpus = n[1].nr_cpus = 1;
	write_defs(&n[0], "d", false);
	write_defs(&n[1], "e", true);
	merge_to("de", "o");
	trace = open_result("o");
	r = tsct_trace_recording(trace);
	/* A program's channel called "kernel" and the kernel's own channel stay two
	 * channels. */
	ck_assert_uint_eq(r->nr_streams, 4);
	ck_assert_str_eq(r->streams[0].name, "default");
	ck_assert_str_eq(r->streams[1].name, "mine");
	ck_assert_str_eq(r->streams[2].name, "kernel");
	ck_assert_str_eq(r->streams[3].name, "kernel_");
	ck_assert_uint_eq(r->streams[3].kernel, 1);
	for (i = 0, defs = 0; i < r->streams[0].nr_defs; i++)
		defs += r->streams[0].defs[i] != NULL;
	ck_assert_uint_eq(defs, 7);
	ck_assert_str_eq(tsct_recording_def(r, 0, 16)->name, "alpha");
	ck_assert_str_eq(tsct_recording_def(r, 0, 65535)->name, "last");
	/* Lost events are still counted on the CPU that lost them. */
	ck_assert_uint_eq(r->streams[0].loss[0].cause[TSCT_LOSS_FULL], 3);
	ck_assert_uint_eq(r->streams[0].loss[1].cause[TSCT_LOSS_FULL], 3);
	ck_assert_uint_eq(r->streams[0].lost_no_ring, 4);
	while (tsct_trace_next(trace, &e) == 1) {
		nr++;
		memcpy(&t, e.payload, sizeof(t));
		if (!e.stream) {
			ck_assert_str_eq(e.def->name, wanted[e.node][t / MS % 5]);
			if (t / MS % 5 == 2)
				ck_assert_uint_eq(e.def->kind, e.node ?
						  TSCT_KIND_BEGIN : TSCT_KIND_END);
			if (t / MS % 5 == 3)
				ck_assert_uint_eq(e.def->fields[0].format, e.node);
		} else {
			ck_assert_str_eq(e.def->name, e.stream == 1 ? "m" : "k");
			ck_assert(e.stream == 1 || e.stream == 2 + e.node);
		}
	}
	ck_assert_uint_eq(nr, 2 * 3 * LENGTH / MS);
	ck_assert_uint_eq(tsct_trace_discarded(trace), 6);
	tsct_trace_close(trace);
}

/* One channel is called "x_", which is also the name that the second of two channels
 * "x" would get. */
TEST(test_channel_names)
{
	struct node n[2] = { nodes[0], nodes[1] };
	const struct tsct_recording *r;

	n[0].channel = "x_";
	n[1].channel = "x";
	write_node(&n[0], "d");
	write_node(&n[1], "e");
	merge_to("de", "o");
	r = tsct_merge_result(m);
	ck_assert_uint_eq(r->nr_streams, 2);
	ck_assert_str_eq(r->streams[0].name, "x_");
	ck_assert_str_eq(r->streams[1].name, "x");
	check_result("o", 4 * EVENTS, 1);
}

/* The first recording uses every event id of 16 bits, and the second one has a further event
 * definition. */
TEST(test_many_ids)
{
	struct node n = nodes[0];
	struct recorder r;
	char name[32];

	n.uuid = 9;
	begin_node(&r, &n, "d");
	for (__u32 id = TSCT_ID_FIRST; id <= TSCT_ID_MAX; id++) {
		snprintf(name, sizeof(name), "e%u", id);
		define(&r.rec, 0, id, name, TSCT_KIND_INSTANT, "");
	}
	open_node(&r, &n);
	end_node(&r, false);
	merge_to("db", "o");
	ck_assert_ptr_nonnull(tsct_recording_def(tsct_merge_result(m), 0, TSCT_ID_MAX + 1));
	check_result("o", 2 * EVENTS, 1);
}

TEST(test_too_many_channels)
{
	char name[2] = "d", channel[] = "channel-a";
	struct node n = nodes[0];
	char names[] = "defghijklmnopqrst";

	n.alone = true;
	n.nr_cpus = 1;
	n.channel = channel;
	options.force = true;
	for (unsigned int i = 0; i < 7; i++) {
		channel[8] = 'a' + i;
		name[0] = 'd' + i;
		n.uuid = 20 + i;
		write_node(&n, name);
	}
	names[7] = '\0';
	merge_to(names, "o");
	check_result("o", 7 * EVENTS, 1);
}

/* ---- damaged inputs ------------------------------------------------------ */

static void cut(const char *name, const char *file, long size)
{
	char file_name[256];

	snprintf(file_name, sizeof(file_name), "%s/%s/%s", root, name, file);
	ck_assert_int_eq(truncate(file_name, size), 0);
}

static void check_balance(const char *name, __u64 held, __u64 lost,
			  enum tsct_loss_cause cause)
{
	struct tsct_trace *trace = open_result(name);
	const struct tsct_recording *rec = tsct_trace_recording(trace);
	struct tsct_trace_event e;
	struct tsct_loss loss;
	__u64 nr = 0;

	tsct_recording_loss(rec, -1, &loss);
	while (tsct_trace_next(trace, &e) == 1)
		nr++;
	ck_assert_uint_eq(nr, held);
	ck_assert_uint_eq(tsct_loss_total(&loss), lost);
	ck_assert_uint_eq(loss.cause[cause], lost);
	ck_assert_uint_eq(tsct_trace_discarded(trace), lost);
	tsct_trace_close(trace);
}

static void check_no_write(const char *names, const char *what)
{
	int fd, err = plan(names);

	ck_assert_msg(!err, "%s", why);
	fd = make_dir("x");
	ck_assert_int_eq(tsct_merge_write(m, fd), -EBADMSG);
	ck_assert_msg(strstr(tsct_merge_why(m), what), "'%s' has no '%s'",
		      tsct_merge_why(m), what);
	ck_assert_int_ne(faccessat(fd, "metadata", F_OK, 0), 0);
	close(fd);
}

TEST(test_truncated_stream)
{
	cut("b", "default_1", 2000);
	check_no_write("ab", "/b: stream default_1: cut off in packet 1 at byte 2000;"
		       " everything before it is shown; use --salvage");
	options.salvage = true;
	merge_to("ab", "o");
	ck_assert(tsct_merge_is_partial(m));
	ck_assert_ptr_nonnull(strstr(notes, "/b: stream default_1: cut off"));
	ck_assert_ptr_nonnull(strstr(notes, "/b: stream default_1: ends early; "));
	ck_assert_uint_gt(tsct_merge_input(m, 1)->missing, 100);
	ck_assert_uint_eq(tsct_merge_input(m, 1)->missing +
			  tsct_merge_input(m, 1)->events, 2 * EVENTS);
	check_balance("o", 4 * EVENTS - tsct_merge_input(m, 1)->missing,
		      tsct_merge_input(m, 1)->missing, TSCT_LOSS_TRUNCATED);
}

/* Merges recordings a and b. Returns the number of events of b that are missing. */
static __u64 merge_missing(const char *to)
{
	__u64 missing;

	merge_to("ab", to);
	missing = tsct_merge_input(m, 1)->missing;
	ck_assert_uint_gt(missing, 0);
	return missing;
}

/* An invalid event in the middle of a packet: the missing events are counted as
 * damaged, and the stream does not count as ending early. */
TEST(test_damaged_event)
{
	char name[256];
	__u64 missing;
	int fd;

	snprintf(name, sizeof(name), "%s/b/default_1", root);
	fd = open(name, O_WRONLY);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pwrite(fd, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, 2000), 8);
	close(fd);
	options.salvage = true;
	missing = merge_missing("o");
	ck_assert_ptr_nonnull(strstr(notes, "the rest of the packet is skipped"));
	ck_assert_ptr_nonnull(strstr(notes, "/b: stream default_1: "));
	ck_assert_ptr_null(strstr(notes, "ends early"));
	check_balance("o", 4 * EVENTS - missing, missing, TSCT_LOSS_DAMAGED);
	merge_to("o", "q");
	check_balance("q", 4 * EVENTS - missing, missing, TSCT_LOSS_DAMAGED);
}

/* An input of the merge lacks a stream file, or has a truncated sample stream. */
TEST(test_missing_stream)
{
	char name[256];

	snprintf(name, sizeof(name), "%s/b/default_0", root);
	ck_assert_int_eq(unlink(name), 0);
	check_no_write("ab", "/b: stream default_0: empty or missing; "
		       "missing events: 500");
	options.salvage = true;
	merge_to("ab", "o");
	ck_assert(tsct_merge_is_partial(m));
	check_balance("o", 3 * EVENTS, EVENTS, TSCT_LOSS_TRUNCATED);
	options.salvage = false;
	cut("c", "sync_0", 3000);
	expect_refused("abc", "/c: stream sync_0: cut off in packet");
	options.salvage = true;
	/* With a truncated sample stream no event is lost: the remaining samples
	 * suffice, and determine the bound. */
	merge_to("ac", "p");
	ck_assert(!tsct_merge_is_partial(m));
	ck_assert_ptr_nonnull(strstr(notes, "/c: stream sync_0: cut off"));
	check_result("p", 3 * EVENTS, 1);
}

/* A damaged file may lack the samples of a session, which are then not foreign. */
TEST(test_cut_samples)
{
	write_shifted("d", 0, 0, 0, claim_session);
	cut("d", "sync_0", 9000);
	options.salvage = true;
	expect_accepted("ad", "/d: stream sync_0: cut off in packet");
	ck_assert_ptr_null(strstr(notes, "sessions"));
}

TEST(test_unfinished_recording)
{
	struct node n = nodes[1];

	n.killed = true;
	write_node(&n, "d");
	cut("d", "default_1", 1500);
	options.salvage = true;
	merge_to("ad", "o");
	ck_assert(tsct_merge_is_partial(m));
	ck_assert_ptr_nonnull(strstr(notes, "/d: not complete"));
	/* It is unknown how many events the input should contain, so none count as
	 * missing. */
	ck_assert_uint_eq(tsct_merge_input(m, 1)->missing, 0);
	check_balance("o", tsct_merge_input(m, 1)->events + 2 * EVENTS, 0,
		      TSCT_LOSS_TRUNCATED);
}

/* Merges inputs of which one is corrupt: the result is an error, or a readable
 * recording. */
static void try_damaged(const char *names)
{
	struct tsct_trace_event e;
	struct tsct_trace *trace;
	int fd = make_dir("o");
	char name[256];

	if (!plan(names) && !tsct_merge_write(m, fd)) {
		trace = open_result("o");
		while (tsct_trace_next(trace, &e) == 1)
			;
		tsct_trace_close(trace);
	}
	close(fd);
	snprintf(name, sizeof(name), "%s/o", root);
	ck_assert_int_eq(nftw(name, drop_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static void damage_one(const char *file, const char *names)
{
	char name[256];
	__u8 byte, old;
	off_t at;
	int fd;

	snprintf(name, sizeof(name), "%s/%s", root, file);
	fd = open(name, O_RDWR);
	ck_assert_int_ge(fd, 0);
	at = (off_t)any((unsigned int)lseek(fd, 0, SEEK_END));
	ck_assert_int_eq(pread(fd, &old, 1, at), 1);
	byte = any(2) ? old ^ (1U << any(8)) : '0' + any(10);
	ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
	try_damaged(names);
	ck_assert_int_eq(pwrite(fd, &old, 1, at), 1);
	close(fd);
}

TEST(test_corrupt_inputs)
{
	static const char *const files[] = { "b/metadata", "b/default_0", "b/sync_0" };
	int left = unit_repeats(300);

	options.salvage = true;
	while (left--)
		damage_one(files[any(3)], "abc");
}

TEST(test_corrupt_merged_inputs)
{
	static const char *const files[] = { "p/metadata", "p/metadata",
					     "p/default_n1_0" };
	int left = unit_repeats(300);

	merge_to("ab", "p");
	options.salvage = true;
	while (left--) {
		options.force = any(2);
		damage_one(files[any(3)], any(2) ? "pc" : "cp");
	}
}

static bool stop_writing(void *arg, const struct tsct_merge_progress *)
{
	return *(bool *)arg;
}

TEST(test_interrupted_write)
{
	bool stop = false;
	int fd = make_dir("o");

	options.poll = stop_writing;
	options.arg = &stop;
	ck_assert_int_eq(plan("abc"), 0);
	stop = true;
	ck_assert_int_eq(tsct_merge_write(m, fd), -EINTR);
	ck_assert_int_ne(faccessat(fd, "metadata", F_OK, 0), 0);
	close(fd);
}

/* ---- reading the events of inputs ---------------------------------------- */

TEST(test_reader)
{
	__u64 t, global, events = 0;
	struct merge_reader r;
	__s64 off;

	ck_assert_int_eq(plan("abc"), 0);
	ck_assert_uint_eq(m->nr_files, 5);
	for (unsigned int i = 0; i < m->nr_files; i++) {
		ck_assert_int_eq(merge_reader_open(&r, m, &m->file[i], NULL, NULL), 0);
		for (; merge_reader_next(&r, &global) == 1; events++) {
			memcpy(&t, r.s.event.payload, sizeof(t));
			off = (__s64)(global - EPOCH - t);
			ck_assert_int_le(llabs(off), (__s64)tsct_recording_error_ns(
				tsct_merge_result(m), m->file[i].node, global));
			off = merge_own_ns(r.in, r.s.event.tick) - EPOCH - (__s64)t -
				nodes[m->file[i].node].own_off_ns;
			ck_assert_int_le(llabs(off), 1);
		}
		merge_reader_close(&r);
	}
	ck_assert_uint_eq(events, NR_ABC);
}

// SPDX-License-Identifier: MIT
/* Merging recordings: the common time axis, the nodes by way of which each node's time
 * is converted to the axis, and error bounds. */
#include "merge_world.h"

/* All events of nodes a (2 CPUs), b (2 CPUs) and c (1 CPU) */
#define NR_ABC	(5 * EVENTS)

CASE("merge", begin_world, drop_root);

LOOP_TEST(test_tree, 0, TSCT_FIT_NR)
{
	static const enum tsct_merge_how how[] = {
		TSCT_MERGE_AS_MASTER, TSCT_MERGE_AS_CHILD, TSCT_MERGE_VIA,
	};
	const struct tsct_recording *r;

	options.fit = _i;
	merge_to("abc", "o");
	r = tsct_merge_result(m);
	ck_assert_int_eq(tsct_merge_time(m), TSCT_MERGE_CLUSTER);
	ck_assert_uint_eq(r->nr_nodes, 3);
	for (__u32 i = 0; i < 3; i++) {
		ck_assert_int_eq(tsct_merge_how(m, i), how[i]);
		if (i && _i == TSCT_FIT_AUTO)	/* for fit auto, the result names the
						 * kind of fit that it chose */
			ck_assert(!strcmp(r->nodes[i].correction.fit, "hull") ||
				  !strcmp(r->nodes[i].correction.fit, "regression"));
		else
			ck_assert_str_eq(r->nodes[i].correction.fit,
					 i ? tsct_fit_name(_i) : "");
	}
	/* A node that synchronized through another node has a larger error than that
	 * node. */
	ck_assert_uint_lt(tsct_recording_error_ns(r, 0, r->begin), 4);
	ck_assert_uint_lt(tsct_recording_error_ns(r, 1, EPOCH + 2 * S), 80000);
	ck_assert_uint_gt(tsct_recording_error_ns(r, 2, EPOCH + 2 * S),
			  tsct_recording_error_ns(r, 1, EPOCH + 2 * S));
	ck_assert(!tsct_merge_is_partial(m));
	check_result("o", NR_ABC, 1);
}

static const struct tsct_recorded_correction *
correction_of(const struct tsct_trace *trace, __u32 node)
{
	return &tsct_trace_recording(trace)->nodes[node].correction;
}

/* Removes a key from a recording's metadata, as if an older version had written it. */
static void drop_key(const char *name, const char *key)
{
	char command[256];

	snprintf(command, sizeof(command), "sed -i '/^\t[a-z0-9_]*%s = /d'"
		 " %s/%s/metadata", key, root, name);
	ck_assert_int_eq(system(command), 0);
}

/* The residual of a fit is the root mean square of the distances of its samples. Delays
 * of requests and answers differ by up to 5 us, and a sample is off by half of the
 * difference, so the residual is about 1.02 us. A merge of a merged recording keeps the
 * residuals. */
TEST(test_residual)
{
	const struct tsct_recorded_correction *c, *d;
	struct tsct_trace *trace, *again;

	merge_to("abc", "o");
	merge_to("o", "p");
	trace = open_result("o");
	again = open_result("p");
	ck_assert_uint_eq(correction_of(trace, 0)->has_residual, 0);
	for (__u32 i = 1; i < 3; i++) {
		c = correction_of(trace, i);
		d = correction_of(again, i);
		ck_assert_uint_eq(c->has_residual, 1);
		ck_assert_uint_gt(c->residual_ps, 700000);
		ck_assert_uint_lt(c->residual_ps, 1300000);
		ck_assert_uint_eq(d->has_residual, 1);
		ck_assert_uint_eq(d->residual_ps, c->residual_ps);
	}
	tsct_trace_close(again);
	tsct_trace_close(trace);
	drop_key("o", "correction_residual");
	trace = open_result("o");
	ck_assert_uint_eq(correction_of(trace, 1)->has_residual, 0);
	ck_assert(*correction_of(trace, 1)->fit);
	tsct_trace_close(trace);
	merge_to("o", "q");
	check_result("q", NR_ABC, 1);
}

/* Adds a key behind `complete` to a recording's metadata. */
static void add_key(const char *name, const char *key)
{
	char command[256];

	snprintf(command, sizeof(command), "sed -i 's/^\tcomplete = .*/&\\n\t%s/'"
		 " %s/%s/metadata", key, root, name);
	ck_assert_int_eq(system(command), 0);
}

/* The counters of a node's CPUs are up to 700 ns apart: the bounds of its events include
 * that, whether its clock is the timeline or is fitted to it. */
TEST(test_skew)
{
	__u64 before[2], after;

	merge_to("ab", "o");
	for (__u32 i = 0; i < 2; i++)
		before[i] = tsct_recording_error_ns(tsct_merge_result(m), i, EPOCH + S);
	add_key("a", "clock_skew_ns = 700;");
	add_key("b", "clock_skew_ns = 700;");
	merge_to("ab", "p");
	for (__u32 i = 0; i < 2; i++) {
		after = tsct_recording_error_ns(tsct_merge_result(m), i, EPOCH + S);
		ck_assert_uint_eq(after, before[i] + 700);
	}
}

/* Node c is synchronized through b, of which there is no recording: b's clock params,
 * which c's samples contain, are used with their error. */
TEST(test_intermediate_not_recorded)
{
	merge_to("ac", "o");
	ck_assert_int_eq(tsct_merge_how(m, 1), TSCT_MERGE_BY_PARAMS);
	ck_assert_uint_gt(tsct_recording_error_ns(tsct_merge_result(m), 1, EPOCH + S),
			  40000);
	check_result("o", 3 * EVENTS, 1);
}

/* Without a recording of the master, the axis is made from the master's clock params,
 * or is in ns if its counter is unknown. */
TEST(test_no_master)
{
	merge_to("bc", "o");
	ck_assert_int_eq(tsct_merge_how(m, 1), TSCT_MERGE_VIA);
	check_result("o", 3 * EVENTS, 1);
	merge_to("c", "p");
	ck_assert_int_eq(tsct_merge_how(m, 0), TSCT_MERGE_BY_PARAMS);
	check_result("p", EVENTS, 1);
}

/* Nodes d and c poll only each other: the clock params in the nodes' sync samples map
 * the nodes' ticks to the common time axis. */
TEST(test_nodes_poll_each_other)
{
	struct node b = nodes[1];

	b.polls = 0xc;
	write_node(&b, "d");
	merge_to("adc", "o");
	ck_assert_int_eq(tsct_merge_how(m, 1), TSCT_MERGE_BY_PARAMS);
	ck_assert_int_eq(tsct_merge_how(m, 2), TSCT_MERGE_BY_PARAMS);
	check_result("o", NR_ABC, 1);
}

/* Global ticks depend neither on the order of inputs nor on the number of jobs. */
TEST(test_ticks_are_independent_of_order)
{
	__u64 sum;

	merge_to("abc", "o");
	sum = check_result("o", NR_ABC, 1);
	merge_to("cab", "p");
	ck_assert_uint_eq(check_result("p", NR_ABC, 1), sum);
	options.jobs = 1;
	merge_to("bca", "q");
	ck_assert_uint_eq(check_result("q", NR_ABC, 1), sum);
	/* Merging the same recordings in several steps gives the same ticks. */
	merge_to("ab", "r");
	merge_to("a", "s");
	merge_to("sb", "t");
	check_result("t", 4 * EVENTS, 1);
	merge_to("o", "u");
	ck_assert_uint_eq(check_result("u", NR_ABC, 1), sum);
}

/* Merges a merged recording that contains the master with a child's recording; and then
 * two merged recordings that have different axes. */
TEST(test_merge_merged_recordings)
{
	merge_to("ab", "o");
	merge_to("oc", "p");
	ck_assert_int_eq(tsct_merge_how(m, 0), TSCT_MERGE_AS_MERGED);
	ck_assert_int_eq(tsct_merge_how(m, 1), TSCT_MERGE_AS_MERGED);
	ck_assert_int_eq(tsct_merge_how(m, 2), TSCT_MERGE_BY_PARAMS);
	ck_assert(*tsct_merge_result(m)->nodes[1].correction.fit);
	check_result("p", NR_ABC, 1);
	merge_to("c", "q");
	merge_to("oq", "r");
	check_result("r", NR_ABC, 1);
	merge_to("qo", "s");
	check_result("s", NR_ABC, 1);
	expect_refused("oa", "holds the same recording as");
	options.hz = 2 * S;
	expect_refused("o", "its ticks are 1/1000000000 s already");
}

TEST(test_resolution)
{
	options.hz = 10 * S;
	merge_to("abc", "o");
	/* If global ticks are finer than the ticks of all counters, different local
	 * ticks have different global ticks: there are no monotonic fixups. */
	ck_assert_uint_eq(tsct_merge_result(m)->nodes[1].correction.monotonic_fixups, 0);
	check_result("o", NR_ABC, 10);
	options.hz = 0;
	merge_to("o", "p");
	check_result("p", NR_ABC, 10);
	options.hz = 18446744073709551557ULL;
	expect_refused("a", "--resolution");
}

/* ---- nodes with their own clocks only ------------------------------------ */

static void write_alone(__s64 off_ns, __u64 utc_ns)
{
	struct node n = nodes[1];

	for (size_t i = 0; i < 2; i++) {
		n = nodes[i];
		n.alone = true;
		n.own_off_ns = off_ns;
		n.utc_ns = utc_ns;
		write_node(&n, (char[]) { 'd' + i, 0 });
	}
}

/* A bound is @ns, and a little more for roundings. */
static void check_ns(__u64 bound, __u64 ns)
{
	ck_assert_uint_ge(bound, ns);
	ck_assert_uint_lt(bound, ns + 10);
}

/* Nodes whose kernels state bounds to UTC: the error bound of a time is the bound to the
 * node's CLOCK_REALTIME, 5 us, plus that of CLOCK_REALTIME to UTC. */
TEST(test_own_clocks)
{
	struct tsct_recorded_errors errors;

	write_alone(20000, 16000);	/* Both nodes' own clocks are 20 us ahead of true
					 * time, which is UTC. */
	merge_to("de", "o");
	ck_assert_int_eq(tsct_merge_time(m), TSCT_MERGE_OWN);
	ck_assert_ptr_nonnull(strstr(notes, "state that each is within 16.000 us of UTC"));
	ck_assert_uint_eq(tsct_merge_result(m)->compared, TSCT_COMPARED_UTC);
	tsct_recording_errors(tsct_merge_result(m), EPOCH + LENGTH, &errors);
	check_ns(errors.clock_ns, 5000);
	check_ns(errors.node_ns, 21000);
	check_ns(errors.utc_ns, 21000);
	check_result("o", 4 * EVENTS, 1);
	merge_to("o", "p");
	check_result("p", 4 * EVENTS, 1);
	options.hz = 3 * S;
	merge_to("de", "r");
	check_result("r", 4 * EVENTS, 3);
}

/* Within a day of the end of a half year, clocks may be 1 s off for a leap second. */
LOOP_TEST(test_leap_second, 0, 5)
{
	static const struct {
		__s64 s;	/* time of the recordings, s since the Unix epoch */
		bool near;	/* flag: a leap second may be within a day */
	} cases[] = {
		{ 1798761600 - 43200, true },	/* 2026-12-31, 12:00 */
		{ 1798761600 + 86000, true },	/* 2027-01-01, 23:53 */
		{ 1798761600 + 90000, false },
		{ 1814400000 - 86000, true },	/* 2027-06-30, 00:06 */
		{ 1814400000 - 90000, false },
	};
	struct tsct_recorded_errors errors;

	write_alone(cases[_i].s * 1000000000LL - EPOCH, 1000);
	merge_to("de", "o");
	tsct_recording_errors(tsct_merge_result(m), tsct_merge_result(m)->end, &errors);
	ck_assert_int_eq(errors.node_ns >= 1000006000, cases[_i].near);
	ck_assert_uint_lt(errors.node_ns, cases[_i].near ? 1000006010 : 6010);
}

/* The clock of a node was disrupted: before that, its times have no bound. */
TEST(test_own_clock_disrupted)
{
	struct node n = nodes[1];
	struct recorder r;
	struct tsct_trace *trace;
	__u64 middle = EPOCH + LENGTH / 2;

	write_alone(0, 1000);
	n.alone = true;
	n.utc_ns = 1000;
	n.uuid = n.boot = 30;
	begin_node(&r, &n, "f");
	r.rec.epoch = 2;
	r.rec.real.base_cycles = count_at(&n, LENGTH / 2);
	r.rec.real.base_ns += LENGTH / 2;
	define_now(&r, 16);
	open_node(&r, &n);
	write_events(&r, &n, 16);
	end_node(&r, false);
	merge_to("df", "o");
	ck_assert_ptr_nonnull(strstr(notes, "/f: its clock was disrupted"));
	trace = open_result("o");
	ck_assert_uint_lt(tsct_trace_error_ns(trace, 0, EPOCH), 6010);
	ck_assert_uint_eq(tsct_trace_error_ns(trace, 1, EPOCH), UINT64_MAX);
	ck_assert_uint_eq(tsct_trace_error_ns(trace, 1, middle - S / 10), UINT64_MAX);
	ck_assert_uint_lt(tsct_trace_error_ns(trace, 1, EPOCH + LENGTH), 6010);
	tsct_trace_close(trace);
}

/* Writes a recording of node b by its own clock, which a line narrows to 100 ns in the time
 * before the middle. */
static void write_narrow(const char *name)
{
	struct node n = nodes[1];
	struct tsct_clock_segment line;
	struct recorder r;

	n.alone = true;
	n.utc_ns = 1000;
	n.uuid = n.boot = 31;
	begin_node(&r, &n, name);
	r.rec.real_epoch = 1;
	r.rec.has_real_epoch = 1;
	line = (struct tsct_clock_segment) {
		.base_cycles = r.rec.begin, .until_cycles = count_at(&n, LENGTH / 2),
		.mult = r.rec.real.mult,
		.base_ns = tsct_clock_params_ns(&r.rec.real, r.rec.begin),
		.error_ps = 100000, .epoch = 1, .status = TSCT_STATUS_SYNCHRONIZED,
	};
	ck_assert_int_eq(tsct_recording_add_segment(&r.rec, &line), 0);
	define_now(&r, 16);
	open_node(&r, &n);
	write_events(&r, &n, 16);
	end_node(&r, false);
}

/* The bound of a time to the node's own CLOCK_REALTIME is that of its part of the recording,
 * and never below that of the input @in. @per_ns: ticks of the result @out per ns */
static void check_clock_parts(struct tsct_trace *in, struct tsct_trace *out, __u64 per_ns)
{
	struct node n = nodes[1];
	const __u64 begin = EPOCH + (__u64)n.own_off_ns;
	__u64 t, a, b;

	for (t = 0; t <= LENGTH; t += LENGTH / 64) {
		a = tsct_trace_error_of(in, TSCT_ERROR_CLOCK, 0, count_at(&n, t));
		b = tsct_trace_error_of(out, TSCT_ERROR_CLOCK, 1, (begin + t) * per_ns);
		ck_assert_uint_ge(b, a);
		ck_assert_uint_lt(b, t < LENGTH / 5 * 2 ? 110 : 5010);
		a = tsct_trace_error_of(in, TSCT_ERROR_UTC, 0, count_at(&n, t));
		b = tsct_trace_error_of(out, TSCT_ERROR_UTC, 1, (begin + t) * per_ns);
		ck_assert_uint_ge(b, a);
		ck_assert_uint_lt(b, t < LENGTH / 5 * 2 ? 1110 : 6010);
	}
	a = tsct_trace_recording(in)->real.past_error_ps / 1000;
	ck_assert_uint_ge(tsct_trace_error_of(out, TSCT_ERROR_CLOCK, 1,
					      (begin + LENGTH) * per_ns), a);
}

/* The bounds of times by a node's own clock are those of its recording, which its lines
 * narrow; a bound of the result is never below that of the input. The result has points 0.8 s
 * apart, between which the larger one of two holds. */
TEST(test_own_clock_lines)
{
	struct tsct_trace *in, *out;
	struct node n = nodes[1];
	__u64 t, a, b;

	write_alone(0, 1000);
	write_narrow("g");
	merge_to("dg", "o");
	in = open_result("g");
	out = open_result("o");
	for (t = 0; t <= LENGTH; t += LENGTH / 64) {
		a = tsct_trace_error_of(in, TSCT_ERROR_UTC, 0, count_at(&n, t));
		b = tsct_trace_error_ns(out, 1, EPOCH + t);
		ck_assert_uint_ge(b, a);
		ck_assert_uint_lt(a, t < LENGTH / 2 ? 1110 : 6010);
		ck_assert_uint_lt(b, t < LENGTH / 5 ? 1115 : 6015);
	}
	ck_assert_uint_gt(tsct_trace_error_ns(out, 1, EPOCH + LENGTH), 6000);
	check_clock_parts(in, out, 1);
	merge_to("o", "p");
	tsct_trace_close(out);
	out = open_result("p");
	check_clock_parts(in, out, 1);
	tsct_trace_close(out);
	options.hz = 3 * S;
	merge_to("dg", "q");
	out = open_result("q");
	check_clock_parts(in, out, 3);
	tsct_trace_close(in);
	tsct_trace_close(out);
}

/* Checks that no error of times between nodes or to UTC is known in a recording, and
 * that the bound to each node's own CLOCK_REALTIME is. */
static void check_uncompared(const char *name)
{
	struct tsct_trace *trace = open_result(name);
	const struct tsct_recording *rec = tsct_trace_recording(trace);
	struct tsct_recorded_errors errors;

	ck_assert(tsct_recording_is_uncompared(rec));
	ck_assert_uint_ne(rec->status, TSCT_STATUS_SYNCHRONIZED);
	ck_assert_uint_eq(tsct_recording_worst_ns(rec, rec->end), UINT64_MAX);
	tsct_recording_errors(rec, rec->end, &errors);
	ck_assert_uint_eq(errors.node_ns, UINT64_MAX);
	ck_assert_uint_eq(errors.utc_ns, UINT64_MAX);
	check_ns(errors.clock_ns, 5000);
	for (__u32 i = 0; i < rec->nr_nodes; i++) {
		ck_assert_uint_eq(tsct_recording_error_ns(rec, i, rec->begin), UINT64_MAX);
		ck_assert_uint_eq(tsct_trace_error_ns(trace, i, rec->end), UINT64_MAX);
		ck_assert_uint_eq(tsct_trace_error_of(trace, TSCT_ERROR_UTC, i, rec->end),
				  UINT64_MAX);
		ck_assert_uint_le(tsct_trace_error_of(trace, TSCT_ERROR_CLOCK, i, rec->end),
				  errors.clock_ns);
	}
	tsct_trace_close(trace);
}

/* Two nodes that were never compared, 3.7 s apart, of which no kernel states a bound to
 * UTC: merge refuses them, and with --force no error of their times is known. */
TEST(test_never_compared)
{
	struct node n = nodes[1];

	write_alone(0, 0);
	n.alone = true;
	n.own_off_ns = 3700000000LL;
	n.uuid = n.boot = 30;
	write_node(&n, "f");
	expect_refused("df", "node ha was never compared with the other nodes");
	expect_refused("df", "or use --force to merge them without error bounds");
	/* One bound to UTC does not suffice. */
	n.utc_ns = 1000;
	n.uuid = n.boot = 31;
	write_node(&n, "g");
	expect_refused("dg", "node ha was never compared with the other nodes");
	/* A bound of CLOCK_REALTIME is not one of a clock that was in holdover. */
	n.status = TSCT_STATUS_HOLDOVER;
	n.uuid = n.boot = 32;
	write_node(&n, "h");
	expect_refused("gh",
		       "the distance of its clock, which was in holdover, from UTC is unknown");
	options.force = true;
	merge_to("df", "o");
	ck_assert_ptr_nonnull(strstr(notes, "each node's own clock is used"));
	check_uncompared("o");
	merge_to("o", "p");
	check_uncompared("p");
	/* Recordings of one machine need no comparison. */
	options.force = false;
	expect_accepted("d", "");
	ck_assert_str_eq(notes, "");
}

/* Two recordings of one boot have one clock. If the time between them is not the same by
 * the counter and by CLOCK_REALTIME, they are refused. */
TEST(test_one_boot)
{
	struct node n = nodes[1];

	n.alone = true;
	n.own_off_ns = 4000;
	write_node(&n, "d");
	n.uuid = 30;
	n.channel = "other";
	write_node(&n, "e");
	merge_to("de", "o");
	ck_assert_str_eq(notes, "");
	check_result("o", 4 * EVENTS, 1);
	n.uuid = 31;
	n.own_off_ns = 2000000;
	write_node(&n, "f");
	expect_refused("df", "of the same boot, but their clocks contradict each other");
	options.force = true;
	merge_to("df", "p");
	check_uncompared("p");
}

/* --force is required to merge a node without sync samples with nodes that have such
 * samples. */
TEST(test_force)
{
	write_alone(0, 0);
	expect_refused("be", "/e: holds the same recording as");
	expect_refused("ce", "has no sync samples, but other inputs have; use --force");
	options.force = true;
	merge_to("ce", "o");
	ck_assert_int_eq(tsct_merge_time(m), TSCT_MERGE_OWN);
	ck_assert_ptr_nonnull(strstr(notes, "/e: has no sync samples"));
	ck_assert_ptr_nonnull(strstr(notes, "each node's own clock is used"));
	/* The times of the merged events are not checked, because the own clock of node
	 * c is 3 ms off, beyond its bound. */
}

/* Bounds of a cluster's times are against the cluster's time: whatever the kernels state of
 * their CLOCK_REALTIME, they are no bounds to UTC, nor to a node's CLOCK_REALTIME. */
TEST(test_cluster_and_utc)
{
	struct tsct_recorded_errors errors;
	struct tsct_trace *trace;
	struct node n;

	for (__u32 i = 0; i < 2; i++) {
		n = nodes[i];
		n.utc_ns = 1000;
		write_node(&n, (char[]) { 'i' + i, 0 });
	}
	n.alone = true;
	n.uuid = n.boot = 33;
	write_node(&n, "k");
	merge_to("ij", "o");
	trace = open_result("o");
	ck_assert_uint_eq(tsct_trace_recording(trace)->compared, TSCT_COMPARED_SAMPLES);
	tsct_recording_errors(tsct_trace_recording(trace), EPOCH + LENGTH, &errors);
	ck_assert_uint_lt(errors.node_ns, UINT64_MAX);
	ck_assert_uint_eq(errors.clock_ns, UINT64_MAX);
	ck_assert_uint_eq(errors.utc_ns, UINT64_MAX);
	ck_assert_uint_eq(tsct_trace_error_of(trace, TSCT_ERROR_CLOCK, 0, EPOCH), UINT64_MAX);
	tsct_trace_close(trace);
	options.force = true;
	merge_to("ok", "p");
	ck_assert_ptr_nonnull(strstr(notes,
				     "the distance of its cluster's time from UTC is unknown"));
	trace = open_result("p");
	ck_assert(tsct_recording_is_uncompared(tsct_trace_recording(trace)));
	tsct_recording_errors(tsct_trace_recording(trace), EPOCH + LENGTH, &errors);
	ck_assert_uint_eq(errors.node_ns, UINT64_MAX);
	ck_assert_uint_eq(errors.clock_ns, UINT64_MAX);
	ck_assert_uint_eq(errors.utc_ns, UINT64_MAX);
	tsct_trace_close(trace);
}

/* Nodes configured as synced-cluster: CLOCK_REALTIME is the same on all nodes, counters
 * differ. Each node's own clock is used. The bounds are known if the kernels state bounds
 * to UTC; else a note warns that there are none. */
TEST(test_synced_cluster)
{
	struct node n;

	for (size_t i = 0; i < 2; i++) {
		n = nodes[i];
		n.synced = true;
		n.uuid = n.boot = 20 + i;
		n.own_off_ns = i ? 4000 : -4000; /* The own clock of d is 4 us
						  * behind true time, that of e
						  * 4 us ahead; bounds: 5 us */
		write_node(&n, (char[]) { 'd' + i, 0 });
	}
	merge_to("de", "o");
	ck_assert_int_eq(tsct_merge_time(m), TSCT_MERGE_OWN);
	ck_assert_int_eq(tsct_merge_how(m, 1), TSCT_MERGE_AS_OWN);
	ck_assert_ptr_nonnull(strstr(notes, "although tsctraced.conf has synced-cluster"));
	check_uncompared("o");
	/* A merged recording of nodes that have `synced-cluster` in tsctraced.conf can
	 * be merged again. */
	expect_accepted("o", "although tsctraced.conf has synced-cluster");
	for (size_t i = 0; i < 2; i++) {
		n.uuid = n.boot = n.id = 30 + i;
		n.utc_ns = 1000;
		write_node(&n, (char[]) { 'f' + i, 0 });
	}
	merge_to("fg", "p");
	ck_assert_ptr_nonnull(strstr(notes, "state that each is within 1.000 us of UTC"));
	check_result("p", 4 * EVENTS, 1);
}

/* --force is required to merge nodes that have `synced-cluster` in tsctraced.conf with
 * nodes that have sync samples. The times then have no error bounds. */
TEST(test_synced_mixed)
{
	static const char sentence[] =
		"/d: uses CLOCK_REALTIME (synced-cluster), but other inputs use sync samples";
	struct node n = nodes[1];

	n.synced = true;
	n.uuid = n.boot = n.id = 20;
	write_node(&n, "d");
	expect_refused("ad", sentence);
	expect_refused("da", sentence);
	options.force = true;
	expect_accepted("ad", sentence);
	ck_assert_ptr_nonnull(strstr(notes, "without error bounds"));
	n = nodes[1];
	n.timeline = 10;
	n.uuid = n.boot = n.id = 21;
	write_node(&n, "e");
	expect_accepted("ae", "/e: is on timeline 10");
	ck_assert_ptr_nonnull(strstr(notes, "without error bounds"));
}

/* ---- recordings of a killed recorder ------------------------------------- */

static void write_cut_off(const struct node *n, __u64 last)
{
	struct recorder r;

	begin_node(&r, n, (char[]) { n->name, 0 });
	r.rec.end = r.rec.begin;
	r.rec.real.as_of_cycles = r.rec.real.holdover_after_cycles = r.rec.begin;
	r.rec.real.error_ps = r.rec.real.past_error_ps = 20000;
	r.rec.real.growth = tsct_growth(r.rec.real.mult, 100000);
	r.rec.real.holdover_growth = 2 * r.rec.real.growth;
	r.rec.real.void_after_cycles = last + S;
	define_now(&r, 16);
	open_node(&r, n);
	write_events(&r, n, 16);
	end_node(&r, true);
}

/* The recorder was killed, so events lie beyond the end that the metadata states. The
 * error continues to grow there, and is not below the input's. */
TEST(test_killed_recorder)
{
	struct node n = nodes[1];
	struct tsct_trace *in, *out;
	struct tsct_trace_event e, f;
	__u64 nr = 0;

	n.name = 'd';
	n.alone = true;
	write_cut_off(&n, count_at(&n, LENGTH));
	expect_refused("d", "/d: not complete");
	options.salvage = true;
	merge_to("d", "o");
	ck_assert(tsct_merge_is_partial(m));
	in = open_result("d");
	out = open_result("o");
	ck_assert(tsct_trace_recording(out)->complete);
	ck_assert(!tsct_recording_is_whole(tsct_trace_recording(out)));
	for (; tsct_trace_next(in, &e) == 1; nr++) {
		ck_assert_int_eq(tsct_trace_next(out, &f), 1);
		ck_assert_uint_ge(tsct_recording_error_ns(tsct_trace_recording(out),
							  0, f.tick),
				  tsct_recording_error_ns(tsct_trace_recording(in),
							  0, e.tick));
	}
	ck_assert_uint_eq(nr, 2 * EVENTS);
	ck_assert_uint_gt(tsct_recording_error_ns(tsct_trace_recording(out), 0,
						  f.tick), LENGTH / 10000);
	tsct_trace_close(in);
	tsct_trace_close(out);
	options.salvage = false;
	merge_to("o", "p");
	ck_assert(tsct_merge_is_partial(m));
	ck_assert(strstr(notes, "/o: node 0, hb, was not complete") ||
		  strstr(notes, "/o: node 0, hd, was not complete"));
	ck_assert(tsct_merge_result(m)->nodes[0].cut_off);
}

/* After a loss of power, files may end in zeros. The end is that of the last packet still. */
TEST(test_zeros_at_end)
{
	struct node n = nodes[1];
	struct tsct_trace *trace;
	char command[256];
	__u64 end;

	n.name = 'd';
	n.alone = true;
	write_cut_off(&n, count_at(&n, LENGTH));
	trace = open_result("d");
	end = tsct_trace_recording(trace)->end;
	ck_assert_uint_gt(end, tsct_trace_recording(trace)->begin);
	tsct_trace_close(trace);
	snprintf(command, sizeof(command), "for f in %s/d/default_*; do truncate -s +1M $f; done",
		 root);
	ck_assert_int_eq(system(command), 0);
	trace = open_result("d");
	ck_assert_uint_eq(tsct_trace_recording(trace)->end, end);
	tsct_trace_close(trace);
}

/* ---- short recordings and ends of ranges --------------------------------- */

/* Recordings of 1 us, 100 ms and 1.1 s, with events before all sync samples */
TEST(test_short_recordings)
{
	static const __u64 length[] = { 1000, 100 * MS, 1100 * MS };
	struct node n = nodes[1];

	for (unsigned int i = 0; i < ROWS(length); i++) {
		n = nodes[1];
		n.end = length[i];
		write_node(&n, (char[]) { 'd' + i, 0 });
	}
	for (unsigned int i = 0; i < ROWS(length); i++) {
		merge_to((char[]) { 'a', 'd' + i, 0 }, (char[]) { 'o' + i, 0 });
		check_result((char[]) { 'o' + i, 0 }, 4 * EVENTS, 1);
	}
}

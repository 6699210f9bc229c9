// SPDX-License-Identifier: MIT
/*
 * Detection of inputs that contain the same events, and of recordings of one machine: the
 * result, compared with a search of all pairs of nodes; and the growth of its run time.
 */
#include "lib/merge/merge_private.h"
#include "seed.h"
#include "suite.h"

#define INPUTS_MAX	6
#define NODES_MAX	4

static const char *const input_paths[] = { "A", "B", "C", "D", "E", "F" };
static struct tsct_merge m;
static struct tsct_recording recs[INPUTS_MAX];

/* ---- inputs of a merge --------------------------------------------------- */

static void make_input(unsigned int i, __u32 nr_nodes, __u32 nr_streams)
{
	struct tsct_recording *rec = &recs[i];

	memset(rec, 0, sizeof(*rec));
	ck_assert_int_eq(tsct_recording_make(rec, nr_nodes), 0);
	ck_assert_int_eq(tsct_recording_locate(rec, 1), 0);
	rec->real.mult = rec->real.slew_mult = TSCT_NS_MULT;
	for (__u32 k = 0; k < nr_streams; k++)
		ck_assert_int_eq(tsct_recording_add_stream(
			rec, (char[]) { 'a' + k, 0 }), (int)k);
	m.in[i].rec = rec;
	m.in[i].index = i;
	m.in[i].info.path = input_paths[i];
	m.in[i].dirfd = -1;	/* the input has no open directory, so merge cannot
				 * compare the directories' inodes; t_merge.sh tests
				 * that */
}

static void begin(void)
{
	seed_with(0);
	memset(&m, 0, sizeof(m));
	m.in = calloc(INPUTS_MAX, sizeof(*m.in));
	ck_assert_ptr_nonnull(m.in);
	pthread_mutex_init(&m.lock, NULL);
	m.ranks = &tsct_ranks_alone;
	m.options.path = m.options.name = input_paths;
}

static int identify(void)
{
	int err = 0;

	for (unsigned int i = 0; i < m.nr && !err; i++)
		err = merge_list_identity(&m, &m.in[i]);
	return err ? err : merge_identify(&m);
}

static void drop_inputs(void)
{
	for (unsigned int i = 0; i < m.nr; i++) {
		recs[i].merged = 1;	/* no input has a stream of samples */
		tsct_recording_free(&recs[i]);
	}
	for (unsigned int i = 0; i < MERGE_LISTS; i++)
		tsct_blob_free(&m.list[i]);
	free(m.same);
	m.same = NULL;
	m.nr = 0;
	m.error = 0;
	m.why[0] = '\0';
}

static void end(void)
{
	drop_inputs();
	free(m.in);
	pthread_mutex_destroy(&m.lock);
}

static void bound(struct tsct_recorded_node *node, __u64 from, __u64 to)
{
	node->correction.nr_bounds = 2;
	node->correction.bounds[0].tick = from;
	node->correction.bounds[1].tick = to;
}

/* ---- comparison with a search of all pairs ------------------------------- */

static void make_node(struct tsct_recorded_node *node)
{
	__u64 from = any(12);

	node->uuid[0] = any(4) ? 0 : 1 + any(100);
	node->boot_id[3] = any(3);
	node->host = strdup(any(3) ? "x" : "y");
	node->sync.on = any(2);
	node->sync.node = any(4);
	bound(node, from, from + any(4));
}

static void make_any(void)
{
	m.nr = 2 + any(INPUTS_MAX - 1);
	for (unsigned int i = 0; i < m.nr; i++) {
		m.in[i].merged = any(3);
		make_input(i, m.in[i].merged ? 1 + any(NODES_MAX) : 1, any(4) ? 1 + any(2) : 0);
		recs[i].merged = m.in[i].merged;
		recs[i].source = any(8) ? TSCT_SOURCE_TSC : TSCT_SOURCE_MONOTONIC_RAW;
		for (__u32 k = 0; k < recs[i].nr_streams; k++) {
			recs[i].streams[k].kernel = !any(4);
			recs[i].streams[k].name[0] = 'a' + any(2);
		}
		for (__u32 k = 0; k < recs[i].nr_nodes; k++)
			make_node(&recs[i].nodes[k]);
		for (__u32 k = 1; k < recs[i].nr_nodes; k++)
			if (!any(4) && !recs[i].nodes[k - 1].same)
				recs[i].nodes[k].same = k;
		m.in[i].begin = 0;
		m.in[i].end = 12;
		m.in[i].hz = 1e9;
		if (!m.in[i].merged) {
			m.in[i].begin = recs[i].nodes[0].correction.bounds[0].tick;
			m.in[i].end = recs[i].nodes[0].correction.bounds[1].tick;
		}
	}
}

static bool is_same_node(const struct tsct_recorded_node *x,
			 const struct tsct_recorded_node *y)
{
	if (x->sync.on && y->sync.on)
		return x->sync.node == y->sync.node;
	return x->boot_id[3] && x->boot_id[3] == y->boot_id[3] &&
		!strcmp(x->host, y->host);
}

static bool is_at_same_time(const struct tsct_recorded_node *x,
			    const struct tsct_recorded_node *y)
{
	const struct tsct_recorded_bound *a = x->correction.bounds;
	const struct tsct_recorded_bound *b = y->correction.bounds;

	return a[0].tick < b[1].tick && b[0].tick < a[1].tick;
}

static bool share_channel(const struct tsct_recording *a,
			  const struct tsct_recording *b)
{
	for (__u32 i = 0; i < a->nr_streams; i++)
		for (__u32 k = 0; k < b->nr_streams; k++)
			if (a->streams[i].kernel == b->streams[k].kernel &&
			    !strcmp(a->streams[i].name, b->streams[k].name))
				return true;
	return false;
}

/* Messages about a node that two inputs contain */
static const char *const clashes[] = { "holds the same recording as",
	"was recorded on the same node as", "has the node id of" };
enum { SAME_RECORDING, SAME_NODE, COPIED_NODE };

/* Returns the messages that are true of nodes of @a and @b, a bit for each of clashes[]. */
static unsigned int clashes_of(const struct tsct_recording *a, const struct tsct_recording *b)
{
	const struct tsct_recorded_node *x, *y;
	unsigned int found = 0;

	for (x = a->nodes; x < a->nodes + a->nr_nodes; x++) {
		for (y = b->nodes; y < b->nodes + b->nr_nodes; y++) {
			if (x->uuid[0] && x->uuid[0] == y->uuid[0])
				return 1U << SAME_RECORDING;
			if (is_same_node(x, y) && is_at_same_time(x, y) &&
			    share_channel(a, b))
				found |= 1U << (x->boot_id[3] && y->boot_id[3] &&
						x->boot_id[3] != y->boot_id[3] ?
						COPIED_NODE : SAME_NODE);
		}
	}
	return found;
}

/* A merge must fail exactly if two inputs contain the same events; the message must
 * name such a pair of inputs. */
static void check_sentence(int err)
{
	bool any_clash = false, is_named = false;
	unsigned int found, c;
	char start[64];

	for (unsigned int i = 0; i < m.nr; i++) {
		for (unsigned int k = i + 1; k < m.nr; k++) {
			found = clashes_of(&recs[i], &recs[k]);
			any_clash |= found != 0;
			for (c = 0; c < ROWS(clashes); c++) {
				snprintf(start, sizeof(start), "%s: %s %s",
					 m.in[k].info.path, clashes[c], m.in[i].info.path);
				is_named |= found & 1U << c &&
					!strncmp(m.why, start, strlen(start));
			}
		}
	}
	ck_assert_msg(any_clash == (err != 0), "%d: %s", err, m.why);
	ck_assert_msg(any_clash == is_named, "%d: %s", err, m.why);
}

/* ---- recordings of one machine -------------------------------------------------- */

/* A node of all inputs, by its index in the result */
struct listed {
	const struct tsct_recorded_node *node;
	const struct tsct_recording *rec;
	__u32 base;		/* index of the first node of the input */
};

static bool is_one_boot(const struct listed *x, const struct listed *y)
{
	return x->node->boot_id[3] && x->node->boot_id[3] == y->node->boot_id[3] &&
		!strcmp(x->node->host, y->node->host);
}

static bool differ(const struct listed *x, const struct listed *y)
{
	return (x->node->sync.on && y->node->sync.on &&
		x->node->sync.node != y->node->sync.node) ||
		(!x->rec->merged && !y->rec->merged && x->rec->source != y->rec->source);
}

static bool is_equal(const struct listed *x, const struct listed *y)
{
	return x->node->sync.on == y->node->sync.on && !differ(x, y) &&
		x->rec->merged == y->rec->merged;
}

/* Checks m.same against a search of all pairs. Returns the number of nodes that are the same as
 * one of another input. */
static unsigned int check_same(void)
{
	struct listed all[INPUTS_MAX * NODES_MAX];
	__u32 nr = 0, i, k, l, same[INPUTS_MAX * NODES_MAX];
	unsigned int joined = 0;
	bool several;

	for (i = 0; i < m.nr; i++)
		for (k = 0; k < recs[i].nr_nodes; k++, nr++)
			all[nr] = (struct listed) { &recs[i].nodes[k], &recs[i], nr - k };
	ck_assert_int_eq(merge_find_same(&m), 0);
	for (i = 0; i < nr; i++) {
		for (several = false, k = 0; k < nr; k++)
			for (l = 0; l < nr; l++)
				several |= is_one_boot(&all[i], &all[k]) &&
					is_one_boot(&all[i], &all[l]) && differ(&all[k], &all[l]);
		same[i] = i;
		for (k = 0; k < i && same[i] == i; k++)
			if (is_one_boot(&all[i], &all[k]) &&
			    (!several || is_equal(&all[i], &all[k])))
				same[i] = k;
		if (all[i].node->same)
			same[i] = all[i].base + all[i].node->same - 1;
		same[i] = same[same[i]];
		joined += same[i] < all[i].base;
		ck_assert_msg(m.same[i] == same[i], "node %u: %u, not %u", i, m.same[i], same[i]);
	}
	return joined;
}

CASE("merge_identity", begin, end);

TEST(test_finds_same_events)
{
	unsigned int round, expect_refused = 0, joined = 0;
	int err;

	for (round = 0; round < 20000; round++) {
		make_any();
		err = identify();
		check_sentence(err);
		expect_refused += err != 0;
		joined += check_same();
		drop_inputs();
	}
	ck_assert_uint_gt(joined, round / 2);
	/* The test is useful only if accepted and rejected merges are both frequent. */
	ck_assert_uint_gt(expect_refused, round / 10);
	ck_assert_uint_lt(expect_refused, round / 5 * 4);
}

/* Two recordings of one boot id and host: their clocks agree, or differ by 1 s at the same ticks,
 * as those of two machines that were restored from one snapshot do. */
LOOP_TEST(test_clones, 0, 2)
{
	m.options.force = true;
	for (unsigned int i = 0; i < 2; i++) {
		make_input(i, 1, 1);
		m.in[i].hz = 1e9;
		m.in[i].end = 1000;
		recs[i].real.base_ns = _i && i ? 1000000000 : 0;
		recs[i].nodes[0].boot_id[3] = 1;
		recs[i].nodes[0].host = strdup("x");
	}
	m.nr = 2;
	ck_assert_int_eq(identify(), 0);
	ck_assert_int_eq(merge_find_same(&m), 0);
	ck_assert_uint_eq(m.same[1], _i ? 1 : 0);
}

/* ---- run time -------------------------------------------------------------------- */

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Makes two inputs of @nr nodes each: all nodes are different, or all are recordings of
 * one node at consecutive times. */
static void make_large(__u32 nr, bool is_one)
{
	__u32 i, k, name;

	for (i = 0; i < 2; i++) {
		make_input(i, nr, 2);
		recs[i].merged = 1;
		m.in[i].merged = true;
		m.in[i].end = 2 * (__u64)nr;
		for (k = 0; k < nr; k++) {
			struct tsct_recorded_node *node = &recs[i].nodes[k];

			name = 2 * k + i + 1;
			memcpy(node->uuid, &name, sizeof(name));
			memcpy(node->boot_id, is_one ? &nr : &name, sizeof(name));
			node->host = strdup("x");
			node->sync.on = is_one ? 0 : k & 1;
			node->sync.node = name;
			bound(node, is_one ? name : 0, is_one ? name + 1 : 2 * nr);
		}
	}
	m.nr = 2;
}

static double time_large(__u32 nr, bool is_one)
{
	double before;
	int err;

	make_large(nr, is_one);
	before = cpu_s();
	err = identify() ?: merge_find_same(&m);
	before = cpu_s() - before;
	ck_assert_msg(!err, "%s", m.why);
	drop_inputs();
	return before;
}

/* With 8 times as many nodes, the check takes some 16 times as long, because of caches.
 * A search of all pairs would take 90 times as long. */
LOOP_TEST(test_run_time, 0, 2)
{
	double few = 1e9, many = 1e9, s;

	for (int i = 0; i < 3; i++) {
		s = time_large(2000, _i);
		few = s < few ? s : few;
		s = time_large(16000, _i);
		many = s < many ? s : many;
	}
	ck_assert_msg(many < 40 * few, "2000: %g s, 16000: %g s", few, many);
}

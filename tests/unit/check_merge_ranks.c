// SPDX-License-Identifier: MIT
/*
 * Several ranks merge random recordings: the result is that of one rank, bit by bit; and
 * the operations of which that is made.
 * test-wing: mpi
 */
#include <sys/resource.h>

#include "lib/merge/merge_messages.h"
#include "lib/merge/merge_private.h"
#include "lib/query/message_match.h"
#include "merge_world.h"
#include "lib/merge/ranks.h"
#include "suite.h"

/* ---- ranks that are threads: messages between them are copied in memory ------------- */

#define RANKS_MAX	9

/* A message on its way */
struct letter {
	struct tsct_blob blob;
	struct letter *next;
};

/* Messages on their way from one rank to another, in order */
static struct mailbox {
	struct letter *first, **last;
} mailbox[RANKS_MAX][RANKS_MAX];
static pthread_mutex_t mailbox_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t mailbox_filled = PTHREAD_COND_INITIALIZER;

/* The thread of a rank */
typedef void rank_main(const struct tsct_ranks *ranks);

static struct rank {
	struct tsct_ranks ranks;
	rank_main *run;
	pthread_t thread;
} rank_threads[RANKS_MAX];

static void post(struct mailbox *box, const struct tsct_blob *out)
{
	struct letter *letter = calloc(1, sizeof(*letter));

	ck_assert_ptr_nonnull(letter);
	ck_assert_int_eq(tsct_blob_add(&letter->blob, out->data, out->size), 0);
	pthread_mutex_lock(&mailbox_lock);
	*box->last = letter;
	box->last = &letter->next;
	pthread_cond_broadcast(&mailbox_filled);
	pthread_mutex_unlock(&mailbox_lock);
}

static void fetch(struct mailbox *box, struct tsct_blob *ret)
{
	struct letter *letter;

	pthread_mutex_lock(&mailbox_lock);
	while (!box->first)
		pthread_cond_wait(&mailbox_filled, &mailbox_lock);
	letter = box->first;
	box->first = letter->next;
	if (!box->first)
		box->last = &box->first;
	pthread_mutex_unlock(&mailbox_lock);
	*ret = letter->blob;
	free(letter);
}

static void trade(void *arg, unsigned int to, const struct tsct_blob *out,
		  unsigned int from, struct tsct_blob *ret_in)
{
	const struct rank *r = arg;

	if (to != TSCT_RANK_NONE)
		post(&mailbox[r->ranks.rank][to], out);
	if (from != TSCT_RANK_NONE)
		fetch(&mailbox[from][r->ranks.rank], ret_in);
}

static void abort_ranks(void *arg, int err)
{
	ck_abort_msg("rank %u: %s", ((const struct rank *)arg)->ranks.rank, strerror(-err));
}

static void *run_rank(void *arg)
{
	struct rank *r = arg;

	r->run(&r->ranks);
	return NULL;
}

/* Runs @run in @nr threads, each with its rank, and checks that no message is left. */
static void run_ranks(unsigned int nr, rank_main *run)
{
	for (unsigned int i = 0; i < nr; i++)
		for (unsigned int k = 0; k < nr; k++)
			mailbox[i][k] = (struct mailbox) { NULL, &mailbox[i][k].first };
	for (unsigned int i = 0; i < nr; i++) {
		rank_threads[i].run = run;
		rank_threads[i].ranks = (struct tsct_ranks) {
			.rank = i, .nr = nr, .arg = &rank_threads[i], .trade = trade,
			.abort = abort_ranks,
		};
		ck_assert_int_eq(pthread_create(&rank_threads[i].thread, NULL, run_rank,
						&rank_threads[i]), 0);
	}
	for (unsigned int i = 0; i < nr; i++)
		pthread_join(rank_threads[i].thread, NULL);
	for (unsigned int i = 0; i < nr; i++)
		for (unsigned int k = 0; k < nr; k++)
			ck_assert_ptr_null(mailbox[i][k].first);
}

/* ---- operations -------------------------------------------------------------------- */

/* Rank R adds R + 1 times the letter of R: an order that is not that of ranks shows. */
static void add_letters(struct tsct_blob *blob, unsigned int rank)
{
	for (unsigned int i = 0; i <= rank; i++)
		ck_assert_int_eq(tsct_blob_add(blob, &(char) { (char)('a' + rank) }, 1), 0);
}

static void check_letters(const struct tsct_blob *blob, unsigned int nr)
{
	struct tsct_blob want = { NULL, 0, 0 };

	for (unsigned int i = 0; i < nr; i++)
		add_letters(&want, i);
	ck_assert_uint_eq(blob->size, want.size);
	ck_assert_mem_eq(blob->data, want.data, want.size);
	tsct_blob_free(&want);
}

static void use_operations(const struct tsct_ranks *r)
{
	struct tsct_blob blob = { NULL, 0, 0 }, to[RANKS_MAX] = { { NULL, 0, 0 } };
	__u64 before, mine = r->rank * 3 + 1;

	add_letters(&blob, r->rank);
	tsct_ranks_reduce(r, &blob, NULL);
	if (r->rank)
		ck_assert_uint_eq(blob.size, 0);
	else
		check_letters(&blob, r->nr);
	tsct_ranks_share(r, &blob);
	check_letters(&blob, r->nr);
	tsct_blob_free(&blob);
	/* A message to rank I names both ranks; one to the next rank is empty. */
	for (unsigned int i = 0; i < r->nr; i++)
		if (i != (r->rank + 1) % r->nr)
			ck_assert_int_eq(tsct_blob_add(&to[i], (unsigned int[]) { r->rank, i },
						       2 * sizeof(i)), 0);
	tsct_ranks_exchange(r, to);
	for (unsigned int i = 0; i < r->nr; i++) {
		if ((i + 1) % r->nr == r->rank)
			ck_assert_uint_eq(to[i].size, 0);
		else
			ck_assert_mem_eq(to[i].data, ((unsigned int[]) { i, r->rank }),
					 2 * sizeof(i));
		tsct_blob_free(&to[i]);
	}
	ck_assert_uint_eq(tsct_ranks_max(r, 1000 - mine), 999);
	ck_assert_uint_eq(tsct_ranks_sum(r, 2, &before), 2 * r->nr);
	ck_assert_uint_eq(before, 2 * r->rank);
	mine = r->rank;
	ck_assert(tsct_ranks_first(r, r->rank + 2 >= r->nr, &mine, sizeof(mine)));
	ck_assert_uint_eq(mine, r->nr > 1 ? r->nr - 2 : 0);
	ck_assert(!tsct_ranks_any(r, false));
}

LOOP_TEST(test_operations, 1, RANKS_MAX + 1)
{
	run_ranks((unsigned int)_i, use_operations);
}

/* Sorting with runs in a file, and without: both by tick, and stable */
LOOP_TEST(test_ends, 0, 20)
{
	struct merge_ends *few = merge_ends_new(7), *all = merge_ends_new(2000);
	const struct merge_end *a, *b;
	struct merge_end end = { 0 };
	__u64 last = 0, last_key = 0;
	unsigned int i, nr = any(2000);

	for (i = 0; i < nr; i++) {
		end.tick = any(50);
		end.key = i + 1;
		ck_assert_int_eq(merge_ends_add(few, &end), 0);
		ck_assert_int_eq(merge_ends_add(all, &end), 0);
	}
	ck_assert_int_eq(merge_ends_sort(few), 0);
	ck_assert_int_eq(merge_ends_sort(all), 0);
	for (i = 0; i < nr; i++) {
		ck_assert_int_eq(merge_ends_next(few, &a), 1);
		ck_assert_int_eq(merge_ends_next(all, &b), 1);
		ck_assert_uint_eq(a->key, b->key);
		ck_assert_uint_eq(a->tick, b->tick);
		ck_assert(a->tick > last || (a->tick == last && a->key > last_key));
		last = a->tick;
		last_key = a->key;
		merge_ends_drop(few);
		merge_ends_drop(all);
	}
	ck_assert_int_eq(merge_ends_next(few, &a), 0);
	ck_assert_int_eq(merge_ends_next(all, &b), 0);
	merge_ends_free(few);
	merge_ends_free(all);
}

/* ---- random recordings ------------------------------------------------------------- */

#define INPUTS_MAX	8
#define TYPES		6

static const struct type {
	const char *name, *fields;
	__u32 kind;
} types[TYPES] = {
	{ "message", "number:u64", TSCT_KIND_SEND },
	{ "message", "number:u64", TSCT_KIND_RECEIVE },
	{ "asked", "number:u64", TSCT_KIND_SEND },
	{ "now", "t:u64", TSCT_KIND_INSTANT },
	{ "now", "other:u64", TSCT_KIND_INSTANT },
	{ "unused", "x:u32,y:string", TSCT_KIND_BEGIN },
};

static const char *const channels[] = { "default", "default", "default_", "x" };

/* All inputs have one channel, with one name: so they are never refused. */
static bool one_channel;

/* Adds one or two channels with some types each, under any ids. */
static void define_any(struct tsct_recording *rec)
{
	const __u32 nr = one_channel ? 1 : 1 + any(2);
	__u32 i, k, id;

	while (rec->nr_streams < nr)
		if (tsct_recording_add_stream(rec, channels[2 + any(2)]) < 0)
			ck_abort();
	if (nr == 2 && !strcmp(rec->streams[0].name, rec->streams[1].name))
		strcpy(rec->streams[1].name, "other");
	for (i = 0; i < nr; i++) {
		rec->streams[i].kernel = !one_channel && !any(3);
		rec->streams[i].lost_no_ring = any(3);
		for (k = 0; k < TYPES; k++) {
			id = TSCT_ID_FIRST + any(8);
			if (any(3) && !tsct_recording_def(rec, i, id))
				define(rec, i, id, types[k].name, types[k].kind,
				       types[k].fields);
		}
	}
}

/* Writes events of any types on one CPU, in order; message numbers recur. */
static void write_any(struct recorder *r, const struct node *n, __u32 stream, __u32 cpu)
{
	const __u32 nr = any(4) ? any(600) : 0;
	struct tsct_event event = { .cpu = cpu, .tid = 100 + cpu };
	__u64 number;

	for (__u32 i = 0; i < nr; i++) {
		event.id = TSCT_ID_FIRST + any(8);
		if (!tsct_recording_def(&r->rec, stream, event.id) ||
		    tsct_recording_def(&r->rec, stream, event.id)->nr_fields != 1)
			continue;
		number = any(3) ? i + 1000 * any(2) : any(20);
		event.payload = &number;
		event.len = sizeof(number);
		event.cycles = count_at(n, n->begin + (n->end - n->begin) / nr * i);
		ck_assert_int_eq(tsct_recording_writer_event(r->writer, stream, &event), 0);
	}
}

static void write_input(const struct node *n, const char *name)
{
	struct recorder r;

	begin_node(&r, n, name);
	define_any(&r.rec);
	open_node(&r, n);
	write_samples(&r, n);
	for (__u32 i = 0; i < r.rec.nr_streams; i++)
		for (__u32 cpu = 0; cpu < n->nr_cpus; cpu++)
			write_any(&r, n, i, cpu);
	end_node(&r, n->killed);
}

/* Merges the inputs A and B, which are children of the master, to an input. */
static void write_merged(const char *name)
{
	int fd;

	ck_assert_msg(!plan("AB"), "%s", why);
	fd = make_dir(name);
	ck_assert_int_eq(tsct_merge_write(m, fd), 0);
	close(fd);
}

/* Makes input @i of a cluster: its node polled the master, or another node, or in a circle. */
static void make_input(unsigned int i, bool circle, bool alone)
{
	struct node n = nodes[i < 3 ? i : any(3)];

	n.name = (char)('a' + i);
	n.uuid = (__u8)(20 + i);
	n.boot = (__u8)(40 + i);
	n.channel = channels[any(4)];
	n.nr_cpus = 1 + any(3);
	if (i >= 3) {
		n.id = 0x100 + i;
		n.polls = any(2) ? MASTER : any(2) ? 0xb : 0xc;
	}
	if (i == 1 && circle)
		n.polls = 0xc;
	n.alone = alone;
	n.utc_ns = 5000;
	n.begin = any(3) * 100 * MS;
	n.end = LENGTH - any(3) * 100 * MS;
	n.killed = options.salvage && !any(4);
	write_input(&n, (char[]) { n.name, 0 });
}

static unsigned int make_inputs(void)
{
	const unsigned int nr = 1 + any(INPUTS_MAX - 1);
	const bool circle = !any(4), alone = !any(4);

	options.salvage = !any(3);
	options.as_fitted = !any(4);
	options.force = !any(4);
	options.hz = any(3) ? 0 : 10000000000;
	for (unsigned int i = 0; i < nr; i++)
		make_input(i, circle, alone);
	return nr;
}

/* ---- comparison ---------------------------------------------------------------------- */

static int serial_error;

static void merge_part(const struct tsct_ranks *r)
{
	struct tsct_merge_options mine = options;
	struct tsct_merge *part;
	char path_r[128];
	int fd, err;

	mine.ranks = r;
	mine.note = NULL;
	mine.jobs = 1 + r->rank % 2;
	err = tsct_merge_plan(&mine, &part);
	if (!err) {
		path_of(path_r, "r");
		fd = open(path_r, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		ck_assert_int_ge(fd, 0);
		err = tsct_merge_write(part, fd);
		close(fd);
	}
	ck_assert_msg(err == serial_error, "rank %u of %u: %d, %s", r->rank, r->nr, err,
		      tsct_merge_why(part));
	ck_assert_str_eq(tsct_merge_why(part), why);
	tsct_merge_free(part);
}

static void run_shell(const char *command)
{
	char line[512];

	snprintf(line, sizeof(line), "cd %s && %s", root, command);
	ck_assert_msg(!system(line), "%s", line);
}

/* Merges the inputs alone, then with several numbers of ranks, more than inputs too. */
static void compare(const char *names)
{
	static const unsigned int nrs[] = { 2, 3, 4, 7, RANKS_MAX };
	int fd = make_dir("s");

	serial_error = plan(names);
	if (!serial_error) {
		serial_error = tsct_merge_write(m, fd);
		snprintf(why, sizeof(why), "%s", tsct_merge_why(m));
	}
	close(fd);
	for (size_t i = 0; i < ROWS(nrs); i++) {
		close(make_dir("r"));
		run_ranks(nrs[i], merge_part);
		if (!serial_error)
			run_shell("diff -r s r");
		run_shell("rm -r r");
	}
}

RANDOM_TEST(test_random, 40)
{
	char names[INPUTS_MAX + 1] = "";
	unsigned int i, nr;

	reset_options();
	merge_batch = 1 + any(50);
	make_root();
	nr = make_inputs();
	for (i = 0; i < nr; i++)
		names[i] = (char)('a' + i);
	compare(names);
	drop_root();
}

/* A merged recording among the inputs, and nodes that are mapped by way of others */
LOOP_TEST(test_merged_input, 0, 3)
{
	static const char *const orders[] = { "oCD", "CoD", "DCo" };
	struct node n;

	reset_options();
	one_channel = true;
	make_root();
	for (int i = 0; i < 4; i++) {
		n = nodes[i < 3 ? i : 2];
		n.name = (char)('A' + i);
		n.uuid = (__u8)(20 + i);
		n.id = i < 3 ? n.id : 0xd;
		write_input(&n, (char[]) { n.name, 0 });
	}
	write_merged("o");
	compare(orders[_i]);
	drop_root();
}

/* Writes one end of 400 messages; a message takes 1 ns. */
static void write_ends(const struct node *n, const char *name, __u32 kind)
{
	__u64 number;
	struct tsct_event event = { .id = TSCT_ID_FIRST, .payload = &number, .len = 8 };
	struct recorder r;

	begin_node(&r, n, name);
	define(&r.rec, 0, TSCT_ID_FIRST, "message", kind, "number:u64");
	open_node(&r, n);
	write_samples(&r, n);
	for (number = 0; number < 400; number++) {
		event.cycles = count_at(n, (number + 1) * 9 * MS + (kind != TSCT_KIND_SEND));
		ck_assert_int_eq(tsct_recording_writer_event(r.writer, 0, &event), 0);
	}
	end_node(&r, false);
}

/* Messages take less time than the fit is off: in one of the directions some are received
 * too early, and node b is shifted. Limits and nodes are of other ranks than the search. */
LOOP_TEST(test_shifted, 0, 3)
{
	static const __u32 kinds[] = { TSCT_KIND_SEND, TSCT_KIND_RECEIVE };
	struct tsct_trace *trace;
	unsigned int i, shifted = 0;

	for (i = 0; i < 2; i++) {
		/* Delays with which the fit is off, whatever the seed */
		seed_random.state = 1 + (unsigned int)_i;
		reset_options();
		make_root();
		write_ends(&nodes[0], "a", kinds[i]);
		write_ends(&nodes[1], "b", kinds[!i]);
		compare("ab");
		trace = open_result("s");
		shifted += tsct_trace_recording(trace)->nodes[1].correction.shift_ns != 0;
		tsct_trace_close(trace);
		drop_root();
	}
	ck_assert_uint_gt(shifted, 0);
}

/* Of messages of more pairs than have statistics of their own, the lowest pairs have them,
 * whatever the order, and however the messages are divided. */
TEST(test_many_pairs)
{
	const __u32 nr = 2 * TSCT_MESSAGE_PAIRS_MAX + 5000;
	struct tsct_messages_options o = { .room = 16 };
	struct tsct_message_end send = { .tick = 1 }, receive = { .tick = 2 };
	struct tsct_message_matcher *matcher[3];
	struct tsct_message_stats s[3], sum;
	__u32 i, k, pair;

	for (int which = 0; which < 3; which++) {
		ck_assert_int_eq(tsct_message_matcher_new(&o, &matcher[which]), 0);
		for (i = 0; i < 2 * nr; i++) {
			/* Each pair twice, in an order that is not theirs */
			pair = (__u32)((__u64)i * 7919 % nr);
			for (k = 0; k < (which == 2 || i % 2 == (unsigned int)which); k++) {
				send.node = pair / 300;
				receive.node = pair % 300;
				tsct_message_sent(matcher[which], pair + 1, &send);
				tsct_message_received(matcher[which], pair + 1, &receive);
			}
		}
		tsct_message_finish(matcher[which], &s[which]);
		tsct_message_matcher_free(matcher[which]);
	}
	sum = s[0];
	ck_assert_int_eq(tsct_message_stats_add(&sum, &s[1]), 0);
	ck_assert_uint_eq(s[2].nr_pairs, TSCT_MESSAGE_PAIRS_MAX);
	ck_assert_uint_eq(s[2].other_pairs, 2 * (nr - TSCT_MESSAGE_PAIRS_MAX));
	ck_assert_uint_eq(s[2].pairs[300].from, 1);
	ck_assert_uint_eq(s[2].pairs[300].matched, 2);
	ck_assert_uint_eq(sum.nr_pairs, s[2].nr_pairs);
	ck_assert_uint_eq(sum.other_pairs, s[2].other_pairs);
	ck_assert_mem_eq(sum.pairs, s[2].pairs, sum.nr_pairs * sizeof(*sum.pairs));
	free(sum.pairs);
	for (int which = 0; which < 3; which++)
		free(s[which].pairs);
}

/* ---- more inputs than may stay open ------------------------------------------------- */

#define MANY	40

static char many_paths[MANY][128];

/* Plans a merge of MANY recordings, with few file descriptors. */
static void plan_many(void)
{
	static const char *many[MANY];
	const struct rlimit few = { 64, 64 };
	struct node n = nodes[0];
	char name[12];
	int i, err;

	n.alone = true;
	n.nr_cpus = 1;
	for (i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "%d", i);
		n.uuid = (__u8)(1 + i);
		write_input(&n, name);
		path_of(many_paths[i], name);
		many[i] = many_paths[i];
	}
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	options.path = many;
	options.nr = MANY;
	options.force = true;
	err = tsct_merge_plan(&options, &m);
	ck_assert_msg(!err, "%s", tsct_merge_why(m));
}

LOOP_TEST(test_many_inputs, 0, 2)
{
	char file[160];
	int fd, err;

	reset_options();
	one_channel = true;
	make_root();
	plan_many();
	fd = make_dir("o");
	/* With _i, the first input is another one when it is opened again to be copied. */
	snprintf(file, sizeof(file), "%s/metadata", many_paths[0]);
	if (_i)
		ck_assert_int_eq(utimensat(AT_FDCWD, file, (struct timespec[2]) {
			{ 0, UTIME_OMIT }, { 1, 0 } }, 0), 0);
	err = tsct_merge_write(m, fd);
	ck_assert_msg(_i ? err == -EINVAL : !err, "%d: %s", err, tsct_merge_why(m));
	ck_assert(!_i || strstr(tsct_merge_why(m), "/0: was changed while it was merged"));
	close(fd);
	drop_root();
}

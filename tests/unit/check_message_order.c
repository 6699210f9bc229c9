// SPDX-License-Identifier: MIT
/* test-wing: mpi */
/*
 * Numbers of messages: random programs of one receiver against a model of MPI's matching.
 * The model knows which message each receive takes; the receiver learns it as a program
 * does, in any order, and has to come to the same numbers.
 */
#include "lib/mpi/message_order.h"
#include "seed.h"
#include "suite.h"

#define SOURCES		3
#define TAGS		2
#define RECEIVES	64

/* A message that has arrived */
struct message {
	__s32 source, tag;
	__u64 number;
	bool taken;
};

/* A receive as MPI has it */
struct posted_receive {
	struct tsct_receive r;		/* the first member */
	__s32 source, tag;
	bool used, blocking, cancelled, cancelling, probe, probed;
	struct message *message;
};

static struct tsct_message_order order;
static struct posted_receive receives[RECEIVES];
static struct message messages[100000];
static __u32 first_posted, nr_messages;
static __u64 arrived[SOURCES][TAGS];
static __u64 nr_known, nr_late, nr_taken;
static bool exact;		/* the model and the receiver see one order */
static __u64 given[SOURCES][TAGS][64];	/* bits of the numbers given */

static void known(struct tsct_message_order *o, struct tsct_receive *r)
{
	struct posted_receive *p = (struct posted_receive *)r;
	__u64 *bits = given[r->source][r->tag];

	ck_assert_ptr_eq(o, &order);
	ck_assert(p->used && p->message);
	ck_assert_int_eq(r->source, p->message->source);
	ck_assert_int_eq(r->tag, p->message->tag);
	if (exact)
		ck_assert_uint_eq(r->number, p->message->number);
	/* A number is not received before its message has arrived, nor twice. */
	ck_assert_uint_lt(r->number, arrived[r->source][r->tag]);
	if (r->number < 64 * 64) {
		ck_assert(!(bits[r->number / 64] & 1ULL << r->number % 64));
		bits[r->number / 64] |= 1ULL << r->number % 64;
	}
	nr_known++;
	p->used = false;
}

static void begin(void)
{
	seed_with(0);
	order = (struct tsct_message_order) { .known = known };
	memset(receives, 0, sizeof(receives));
	memset(arrived, 0, sizeof(arrived));
	memset(given, 0, sizeof(given));
	nr_messages = nr_known = nr_late = nr_taken = first_posted = 0;
	exact = true;
}

static void end(void)
{
	tsct_message_order_free(&order);
}

static __u32 below(__u32 limit)
{
	return any64() % limit;
}

/* ---- the model of MPI ------------------------------------------------------- */

static bool fits(const struct posted_receive *p, const struct message *m)
{
	return (p->source < 0 || p->source == m->source) &&
		(p->tag < 0 || p->tag == m->tag);
}

static void take(struct posted_receive *p, struct message *m)
{
	p->message = m;
	m->taken = true;
	nr_taken++;
}

/* Receives in the order in which MPI sees them: by this counter */
static __u64 posted_at[RECEIVES], now;

static void arrive(void)
{
	struct message *m = &messages[nr_messages++];
	struct posted_receive *first = NULL, *p;

	m->source = below(SOURCES);
	m->tag = below(TAGS);
	m->taken = false;
	m->number = arrived[m->source][m->tag]++;
	for (p = receives; p < receives + RECEIVES; p++)
		if (p->used && !p->message && !p->cancelled && !p->probe && fits(p, m) &&
		    posted_at[p - receives] &&
		    (!first || posted_at[p - receives] < posted_at[first - receives]))
			first = p;
	if (first)
		take(first, m);
}

static void post_to_mpi(struct posted_receive *p)
{
	posted_at[p - receives] = ++now;
	for (__u32 i = 0; i < nr_messages; i++)
		if (!messages[i].taken && fits(p, &messages[i])) {
			take(p, &messages[i]);
			return;
		}
}

/* ---- the program ------------------------------------------------------------ */

static struct posted_receive *any_receive(void)
{
	struct posted_receive *p = &receives[below(RECEIVES)];

	return p->used ? p : NULL;
}

static struct posted_receive *note(bool blocking)
{
	struct posted_receive *p = &receives[below(RECEIVES)];

	if (p->used)
		return NULL;
	*p = (struct posted_receive) { .used = true, .blocking = blocking };
	p->source = below(4) ? (__s32)below(SOURCES) : TSCT_MPI_ANY;
	p->tag = below(4) ? (__s32)below(TAGS) : TSCT_MPI_ANY;
	p->r.blocking = blocking;
	posted_at[p - receives] = 0;
	tsct_receive_post(&order, &p->r, p->source, p->tag);
	return p;
}

static void probe(void)
{
	struct posted_receive *p = note(false);

	if (!p)
		return;
	p->probe = true;
	post_to_mpi(p);
	if (!p->message) {
		p->used = false;
		tsct_receive_cancelled(&order, &p->r);
		return;
	}
	tsct_receive_matched(&order, &p->r, p->message->source, p->message->tag);
}

static void cancel(struct posted_receive *p)
{
	if (p->probe || p->cancelling || p->r.received)
		return;
	p->cancelling = true;
	p->cancelled = !p->message;
	tsct_receive_cancelling(&order, &p->r);
}

/* The program learns what has become of a receive, if anything has. */
static void complete(struct posted_receive *p)
{
	const __u64 before = nr_known;

	if (p->r.received)
		return;
	if (p->message) {
		tsct_receive_done(&order, &p->r, p->message->source, p->message->tag);
		nr_late += nr_known == before;
	} else if (p->cancelled) {
		p->used = false;
		tsct_receive_cancelled(&order, &p->r);
	}
}

static void step(void)
{
	struct posted_receive *p;

	switch (below(8)) {
	case 0: case 1: case 2:
		arrive();
		break;
	case 3: case 4:
		p = note(false);
		if (p)
			post_to_mpi(p);
		break;
	case 5:
		p = any_receive();
		if (p && below(4))
			cancel(p);
		else if (!p)
			probe();
		break;
	default:
		p = any_receive();
		if (p)
			complete(p);
	}
}

/* Ends all receives, and checks that nothing is left without a number. */
static void finish(void)
{
	struct posted_receive *p;

	for (p = receives; p < receives + RECEIVES; p++)
		if (p->used && !p->message && !p->cancelled) {
			p->cancelling = p->cancelled = true;
			tsct_receive_cancelling(&order, &p->r);
		}
	for (p = receives; p < receives + RECEIVES; p++)
		if (p->used)
			complete(p);
	ck_assert_ptr_null(order.first);
	ck_assert_uint_eq(order.nr_unnumbered, 0);
	ck_assert_uint_eq(order.nr_cancelling, 0);
	ck_assert_uint_eq(order.nr_blocking, 0);
	ck_assert_uint_eq(nr_known, nr_taken);
}

/* ---- tests ------------------------------------------------------------------ */

CASE("all", begin, end);

LOOP_TEST(random_programs, 0, 5)
{
	__u64 late = 0;

	for (int run = 0; run < 200; run++) {
		begin();
		seed_with(_i * 1000 + run + 1);
		for (int i = 0; i < 500; i++)
			step();
		finish();
		late += nr_late;
		end();
	}
	ck_assert_uint_gt(late, 100);
}

/*
 * Threads in blocking receives: each is noted first, and posted to MPI some time later, in
 * another order. Nothing is received before it arrived, and no number is used twice.
 */
LOOP_TEST(threads, 0, 5)
{
	struct posted_receive *p;

	for (int run = 0; run < 200; run++) {
		begin();
		exact = false;
		seed_with(_i * 1000 + run + 1);
		for (int i = 0; i < 500; i++) {
			p = any_receive();
			if (below(3) && p && p->blocking && !posted_at[p - receives])
				post_to_mpi(p);
			else if (below(2))
				arrive();
			else if (below(2))
				note(true);
			else if (p && p->message)
				complete(p);
		}
		for (p = receives; p < receives + RECEIVES; p++)
			if (p->used && !posted_at[p - receives])
				post_to_mpi(p);
		while (nr_messages < ROWS(messages)) {
			for (p = receives; p < receives + RECEIVES; p++)
				if (p->used && !p->message)
					break;
			if (p == receives + RECEIVES)
				break;
			arrive();
		}
		finish();
		end();
	}
}

TEST(sends)
{
	ck_assert_uint_eq(tsct_message_sending(&order, 1, 0), 0);
	ck_assert_uint_eq(tsct_message_sending(&order, 1, 0), 1);
	ck_assert_uint_eq(tsct_message_sending(&order, 0, 1), 0);
	tsct_message_not_sent(&order, 1, 0, 0);
	ck_assert_uint_eq(tsct_message_sending(&order, 1, 0), 2);
	tsct_message_not_sent(&order, 1, 0, 2);
	ck_assert_uint_eq(tsct_message_sending(&order, 1, 0), 2);
}

// SPDX-License-Identifier: MIT
/* test-wing: mpi */
/* Merging recordings of programs that compared their clocks over MPI, with hostile events */
#include "merge_world.h"

#define FIELDS \
	"t:u64,t1:u64,t2:u64,t3:u64,t4:u64,node:u64/x,master:u64/x,timeline:u32," \
	"session:u32,base:u64,mult:u64,base_ns:s64,source:u8"
#define PER_SESSION	16

/* An event of FIELDS; mpi_master has the same, of which it needs some */
struct exchange {
	__u64 t;		/* true time of the event, ns */
	__u64 t1, t2, t3, t4, node, master;
	__u32 timeline, session;
	__u64 base, mult;
	__s64 base_ns;
	__u8 source;
} __attribute__((packed));

/* Changes an event before it is recorded; @nr: number of the event in its recording */
typedef void change_fn(struct exchange *x, unsigned int nr);

/* A recording, as of struct node, and the sessions in it */
struct program {
	struct node n;
	const struct node *master;	/* the node itself: it is the master */
	__u32 timeline;
	change_fn *change;		/* NULL: none */
	const char *fields;		/* NULL: FIELDS */
	unsigned int times;		/* times that each exchange is recorded; 0: 1 */
};

static void make_exchange(const struct program *p, __u64 t, __u32 session,
			  struct exchange *x)
{
	*x = (struct exchange) {
		.t1 = count_at(&p->n, t), .node = p->n.id, .master = p->master->id,
		.timeline = p->timeline, .session = session, .base = count_at(p->master, 0),
		.mult = mult_of(p->master), .base_ns = EPOCH, .source = TSCT_SOURCE_TSC,
	};
	t += 20000 + any(5000);
	x->t2 = count_at(p->master, t);
	x->t3 = count_at(p->master, t + 100);
	t += 20100 + any(5000);
	x->t4 = count_at(&p->n, t);
}

/* Writes two sessions, one near each end of the recording, to CPU 1. */
static void write_sessions(struct recorder *r, const struct program *p)
{
	const bool is_master = p->n.id == p->master->id;
	struct exchange x;
	struct tsct_event event = {
		.id = is_master ? 91 : 90, .payload = &x, .len = sizeof(x), .cpu = 1,
	};
	unsigned int i, k, nr = 0;
	__u64 t;

	for (i = 0; i < 2 * PER_SESSION; i++) {
		t = p->n.begin + (i < PER_SESSION ? S / 10 : LENGTH - S / 10) + i * 60000;
		make_exchange(p, t, 7 + i / PER_SESSION, &x);
		for (k = 0; k < (p->times ?: 1); k++) {
			x.t = t + 55000 + k;
			event.cycles = count_at(&p->n, x.t);
			if (p->change)
				p->change(&x, nr++);
			ck_assert_int_eq(tsct_recording_writer_event(r->writer, 0, &event), 0);
		}
	}
}

static void write_program(const struct program *p, const char *name)
{
	const __u32 id = 16 + p->n.uuid;
	struct node one_cpu = p->n;
	struct recorder r;

	one_cpu.nr_cpus = 1;
	begin_node(&r, &p->n, name);
	define_now(&r, id);
	define(&r.rec, 0, 90, "mpi_exchange", TSCT_KIND_INSTANT, p->fields ?: FIELDS);
	define(&r.rec, 0, 91, "mpi_master", TSCT_KIND_INSTANT, FIELDS);
	open_node(&r, &p->n);
	write_samples(&r, &p->n);
	write_events(&r, &one_cpu, id);
	write_sessions(&r, p);
	end_node(&r, false);
}

/* Programs on nodes a and b, without daemons: d is the master's recording, e the other */
static struct program master, child;

static void begin_programs(void)
{
	begin_world();
	master = (struct program) { .n = nodes[0], .master = &nodes[0], .timeline = 5 };
	child = (struct program) { .n = nodes[1], .master = &nodes[0], .timeline = 5 };
	master.n.alone = child.n.alone = true;
}

static void write_both(void)
{
	write_program(&master, "d");
	write_program(&child, "e");
}

#define EVENTS_EACH	(EVENTS + 2 * PER_SESSION)

CASE("sessions", begin_programs, drop_root);

/* The counters are 1000 s apart, and one is 0.001 % fast. */
TEST(test_sessions)
{
	const struct tsct_recorded_sync *sync;
	const struct tsct_recorded_node *to;

	child.times = 3;
	write_both();
	merge_to("de", "out");
	ck_assert_int_eq(tsct_merge_time(m), TSCT_MERGE_CLUSTER);
	ck_assert_int_eq(tsct_merge_how(m, 0), TSCT_MERGE_AS_MASTER);
	ck_assert_int_eq(tsct_merge_how(m, 1), TSCT_MERGE_AS_CHILD);
	to = tsct_merge_result(m)->nodes;
	ck_assert_uint_eq(tsct_merge_result(m)->compared, TSCT_COMPARED_SAMPLES);
	ck_assert_uint_eq(tsct_merge_result(m)->timeline.master, MASTER);
	ck_assert_uint_eq(tsct_merge_result(m)->timeline.number, 5);
	/* Exchanges that three processes recorded count once. */
	ck_assert_uint_eq(to[1].correction.kept + to[1].correction.dropped, 2 * PER_SESSION);
	ck_assert_uint_le(to[1].correction.bounds[0].error_ns, 50000);
	sync = &to[1].sync;
	ck_assert(sync->on && sync->node == 0xb && sync->role == TSCT_SYNC_CHILD);
	check_result("out", 2 * EVENTS + 2 * PER_SESSION * (1 + 3), 1);
	merge_to("ed", "again");
	check_result("again", 2 * EVENTS + 2 * PER_SESSION * (1 + 3), 1);
}

TEST(test_without_the_master)
{
	write_both();
	child.n = nodes[2];
	child.n.alone = true;
	child.n.nr_cpus = 2;
	write_program(&child, "f");
	merge_to("ef", "out");
	check_result("out", 2 * EVENTS_EACH, 1);
}

/* The samples of daemons count, if all inputs have them; and those of sessions, if not. */
static void second_late(struct exchange *x, unsigned int)
{
	x->t2 += nodes[0].num * S;
	x->t3 += nodes[0].num * S;
}

TEST(test_daemons)
{
	master.n.alone = child.n.alone = false;
	child.change = second_late;
	write_both();
	merge_to("de", "out");
	check_result("out", 2 * EVENTS_EACH, 1);
}

LOOP_TEST(test_one_daemon, 0, 3)
{
	master.n.alone = _i == 0;
	child.n.alone = _i == 1;
	child.n.no_samples = true;
	write_both();
	merge_to("de", "out");
	check_result("out", 2 * EVENTS_EACH, 1);
}

TEST(test_no_common_timeline)
{
	child.timeline = 6;
	write_both();
	expect_refused("de", "was never compared");
	write_program(&(struct program) { .n = child.n, .master = &nodes[2], .timeline = 5 },
		      "f");
	expect_refused("df", "was never compared");
	/* Node b was compared, but c was not. */
	child.n = nodes[2];
	child.n.alone = true;
	write_node(&child.n, "g");
	expect_refused("dg", "was never compared");
}

/* A recording with two programs, of different masters: one timeline is common. */
static void other_master(struct exchange *x, unsigned int nr)
{
	if (nr % 2)
		return;
	x->master = 0xc;
	x->t2 += 12345;
	x->t3 += 12345;
}

TEST(test_two_masters)
{
	child.change = other_master;
	write_both();
	merge_to("ed", "out");
	check_result("out", 2 * EVENTS_EACH, 1);
}

/* ---- hostile events --------------------------------------------------------- */

#define ODD(name, what)						\
	static void name(struct exchange *x, unsigned int nr)		\
	{								\
		if (nr % 4 == 1)					\
			what;						\
	}

ODD(answered_early, x->t4 = x->t1 - 1)
ODD(sent_early, x->t3 = x->t2 - 1)
ODD(no_rate, x->mult = 0)
ODD(too_fast, x->mult = TSCT_NS_MULT / 101)
ODD(too_slow, x->mult = ~0ULL)
ODD(no_node, x->node = 0)
ODD(no_master, x->master = 0)
ODD(itself, x->node = x->master)
ODD(other_source, x->source = TSCT_SOURCE_MONOTONIC)

static const struct {
	change_fn *change;
	const char *why;
} impossible[] = {
	{ answered_early, "answer received before its request was sent" },
	{ sent_early, "request answered before it was received" },
	{ no_rate, "counter of rate 0" },
	{ too_fast, "impossible rate of the counter" },
	{ too_slow, "impossible rate of the counter" },
	{ no_node, "node without an id" },
	{ no_master, "node without an id" },
	{ itself, "exchange of a node with itself" },
	{ other_source, "they use another counter than the recording" },
};

CASE("hostile", begin_programs, drop_root);

LOOP_TEST(test_impossible, 0, ROWS(impossible))
{
	char wanted[128];

	child.change = impossible[_i].change;
	write_both();
	snprintf(wanted, sizeof(wanted), "8 events of sessions over MPI are not used: %s",
		 impossible[_i].why);
	expect_accepted("de", wanted);
	merge_to("de", "out");
	check_result("out", 2 * EVENTS_EACH, 1);
}

/* Definitions with a field of another type, and with another one in its place */
static const char *const other_fields[] = {
	"t:u64,t1:f64,t2:u64,t3:u64,t4:u64,node:u64/x,master:u64/x,timeline:u32,"
	"session:u32,base:u64,mult:u64,base_ns:s64,source:u8",
	"t:u64,t1:u64,t2:u64,t3:u64,t4:u64,node:u64/x,leader:u64/x,timeline:u32,"
	"session:u32,base:u64,mult:u64,base_ns:s64,source:u8",
};

LOOP_TEST(test_other_fields, 0, 2)
{
	child.fields = other_fields[_i];
	write_both();
	expect_refused("de", "was never compared");
	ck_assert_ptr_nonnull(strstr(notes, "32 events of sessions over MPI are not used: a"
				     " field is missing"));
}

/* Any values, for the sanitizers: the merge is refused, or made */
static void random_values(struct exchange *x, unsigned int)
{
	__u8 *bytes = (__u8 *)x;

	for (unsigned int k = 0; k <= any(3); k++)
		bytes[sizeof(x->t) + any(sizeof(*x) - sizeof(x->t))] ^= 1U << any(8);
	if (!any(3))
		(&x->t1)[any(4)] = any(2) ? ~0ULL : 0;
}

RANDOM_TEST(test_random_values, 60)
{
	int err;

	child.change = random_values;
	if (any(2))
		master.change = random_values;
	write_both();
	err = plan("de");
	ck_assert(!err || err == -EINVAL);
}

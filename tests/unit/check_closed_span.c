// SPDX-License-Identifier: MIT
/* test-wing: formats */
/* The stream of closed spans: of random events, compared with a list of what was begun */
#include "lib/export/export.h"
#include "lib/syscalls/syscalls.h"
#include "recordings.h"

enum {
	JOB_BEGIN = 18, JOB_END, LOOP_BEGIN, LOOP_END, RECV_BEGIN, RECV_END, ENTER = 16, EXIT
};

#define THREADS		4
#define STEPS		3000
#define OPEN_MAX	8
#define TEXT		128
#define CALLS		50

static int dir;
static struct tsct_recording rec;
static struct tsct_recording_writer *writer;
static __u64 now;
static __u32 cpu;	/* of the events */

/* An open span of the model; a thread's are in the order of their begins */
struct open {
	const char *name;
	__u64 begin, n, len, depth;
};

static struct { struct open open[OPEN_MAX * 3]; unsigned int nr; } threads[THREADS];

/* Spans that the stream should have, and those that it has, as texts in any order */
static char wanted[STEPS + THREADS * OPEN_MAX * 3][TEXT], found[STEPS * 2][TEXT];
static unsigned int nr_wanted, nr_found;

static void before(void)
{
	dir = make_dir();
	make_recording(&rec, 2);
	define(&rec, 0, JOB_BEGIN, "job", TSCT_KIND_BEGIN, "n:u64,text:string");
	define(&rec, 0, JOB_END, "job", TSCT_KIND_END, "n:u64");
	define(&rec, 0, LOOP_BEGIN, "loop", TSCT_KIND_BEGIN, "n:u64");
	define(&rec, 0, LOOP_END, "loop", TSCT_KIND_END, "");
	define(&rec, 0, RECV_BEGIN, "MPI_Recv", TSCT_KIND_BEGIN, "n:u64");
	define(&rec, 0, RECV_END, "MPI_Recv", TSCT_KIND_END, "n:u64");
	define(&rec, 1, EXIT, "sys_exit", TSCT_KIND_INSTANT, "id:s64/syscall,ret:s64");
	now = rec.begin;
}

static void after(void)
{
	tsct_recording_free(&rec);
	drop_dir(dir);
}

/* Records an event of a thread: field n, and with @len > 0 a text of that length and NUL. */
static void put(__u32 stream, __u32 thread, __u32 id, __u64 n, __u32 len)
{
	struct { __u64 n; char text[256]; } payload = { .n = n };
	struct tsct_event event = {
		.cycles = now, .cpu = cpu, .tid = 100 + thread, .id = id, .payload = (__u8 *)&payload,
		.len = (id == LOOP_END && !stream ? 0 : 8) + len + (stream ? 8 : 0),
	};

	memset(payload.text, 'x', len ? len - 1 : 0);
	ck_assert_int_eq(tsct_recording_writer_event(writer, stream, &event), 0);
}

static void print(char text[TEXT], const char *name, __u64 thread, __u64 begin, __u64 end,
		  int why, const struct open *o)
{
	snprintf(text, TEXT, "%s %llu %llu-%llu %s %llu %llu %llu", name, thread, begin, end,
		 tsct_span_why_names[why], o ? o->depth : 0, o ? o->n : 0, o ? o->len : 0);
}

static void want(unsigned int thread, unsigned int at, int why)
{
	struct open *o = &threads[thread].open[at];

	print(wanted[nr_wanted++], o->name, thread, o->begin,
	      why == TSCT_SPAN_UNKNOWN ? o->begin : why == TSCT_SPAN_OPEN ? 0 : now, why, o);
	memmove(o, o + 1, (--threads[thread].nr - at) * sizeof(*o));
}

static void begin(unsigned int thread, const char *name, __u64 n, __u64 len)
{
	struct open *o = &threads[thread].open[threads[thread].nr++];
	unsigned int i;

	*o = (struct open) { .name = name, .begin = now, .n = n, .len = len };
	for (i = 0; i + 1 < threads[thread].nr; i++)
		if (threads[thread].open[i].depth >= o->depth)
			o->depth = threads[thread].open[i].depth + 1;
}

/* Returns the index of the thread's last open span with name @name; -1: none. *ret_nr: number of
 * those that are open */
static int last(unsigned int thread, const char *name, unsigned int *ret_nr)
{
	int i, found_at = -1;

	*ret_nr = 0;
	for (i = 0; i < (int)threads[thread].nr; i++)
		if (!strcmp(threads[thread].open[i].name, name)) {
			found_at = i;
			++*ret_nr;
		}
	return found_at;
}

static void want_alone(const char *name, unsigned int thread)
{
	print(wanted[nr_wanted++], name, thread, now, now, TSCT_SPAN_NOT_BEGUN, NULL);
}

/* Ends a job: one that is open, or one that is not, whose number is 0 */
static void end_job(unsigned int thread)
{
	unsigned int nr, i;
	const int at = last(thread, "job", &nr);
	__u64 n = 0;

	if (at < 0)
		want_alone("job", thread);
	for (i = any(OPEN_MAX * 3); at >= 0 && any(20) && !n; i++)
		if (!strcmp(threads[thread].open[i % threads[thread].nr].name, "job"))
			n = threads[thread].open[i % threads[thread].nr].n;
	put(0, thread, JOB_END, n, 0);
	if (at < 0)
		return;
	for (i = 0; n && threads[thread].open[i].n != n; i++)
		;
	want(thread, n ? i : (unsigned int)at, n ? TSCT_SPAN_ENDED : TSCT_SPAN_AMBIGUOUS);
}

static void end_loop(unsigned int thread)
{
	unsigned int nr;
	const int at = last(thread, "loop", &nr);

	put(0, thread, LOOP_END, 0, 0);
	if (at < 0)
		want_alone("loop", thread);
	else
		want(thread, at, TSCT_SPAN_ENDED);
}

/* Begins or ends the system call number @call, of which a thread has one at most. */
static void make_call(unsigned int thread, __u64 call, bool enter)
{
	const char *name = tsct_syscall_by_number(call)->name;
	unsigned int nr, i;

	for (i = 0; i < threads[thread].nr && (!strcmp(threads[thread].open[i].name, "job") ||
		    !strcmp(threads[thread].open[i].name, "loop")); i++)
		;
	put(1, thread, enter ? ENTER : EXIT, call, 0);
	if (!enter && last(thread, name, &nr) >= 0) {
		want(thread, i, TSCT_SPAN_ENDED);
		return;
	}
	if (i < threads[thread].nr)
		want(thread, i, TSCT_SPAN_UNKNOWN);
	if (enter)
		begin(thread, name, call, 0);
	else
		want_alone(name, thread);
}

static void step(unsigned int thread, __u64 number)
{
	const bool full = threads[thread].nr >= OPEN_MAX * 2;
	__u64 len;

	now += 1 + any(1000);
	switch (any(6)) {
	case 0:
		len = 1 + any(200);
		if (full)
			break;
		put(0, thread, JOB_BEGIN, number, len);
		begin(thread, "job", number, len);
		break;
	case 1:
		if (full)
			break;
		put(0, thread, LOOP_BEGIN, number, 0);
		begin(thread, "loop", number, 0);
		break;
	case 2:
		end_job(thread);
		break;
	case 3:
		end_loop(thread);
		break;
	default:
		make_call(thread, any(2), any(2));
	}
}

static int note_span(struct tsct_export *x, const struct tsct_closed_span *s)
{
	struct open o = { .depth = s->depth };
	struct tsct_value v;
	__s64 n = 0;

	ck_assert_int_eq(s->is_call, strcmp(s->name, "job") && strcmp(s->name, "loop") &&
			 strcmp(s->name, "MPI_Recv"));
	ck_assert_int_eq(s->begin_event == NULL, s->why == TSCT_SPAN_NOT_BEGUN);
	ck_assert_int_eq(s->end_event == NULL, s->why == TSCT_SPAN_OPEN ||
			 s->why == TSCT_SPAN_UNKNOWN);
	ck_assert_int_eq(s->begin_ns, tsct_clock_params_ns(&x->rec->real, s->begin));
	if (s->begin_event && (tsct_value_find_integer(s->begin_event, "n", &n) ||
			       tsct_value_find_integer(s->begin_event, "id", &n)))
		o.n = (__u64)n;
	if (s->begin_event && tsct_value_find(s->begin_event, "text", &v))
		o.len = tsct_value_text_len(&v) + 1;
	print(found[nr_found++], s->name, s->thread->tid - 100, s->begin,
	      s->why == TSCT_SPAN_OPEN ? 0 : s->end, s->why, &o);
	return 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Compares the stream of the recording with what is wanted. Returns the number of ambiguous ends. */
static __u64 compare(void)
{
	struct tsct_export x = { .recording = dir_name, .closed = note_span };
	char why[256];
	unsigned int i;
	__u64 ambiguous;

	rec.end = now;
	ck_assert_int_eq(finish(writer), 0);
	ck_assert_int_eq(tsct_trace_open(dir_name, NULL, NULL, &x.trace, why, sizeof(why)), 0);
	ck_assert_int_eq(tsct_export_prepare(&x), 0);
	ck_assert_int_eq(tsct_export_walk(&x, x.trace, &x.threads, NULL), 0);
	ck_assert_uint_eq(nr_found, nr_wanted);
	qsort(wanted, nr_wanted, TEXT, by_text);
	qsort(found, nr_found, TEXT, by_text);
	for (i = 0; i < nr_found; i++)
		ck_assert_str_eq(found[i], wanted[i]);
	ambiguous = x.ambiguous;
	tsct_trace_close(x.trace);
	tsct_export_free(&x);
	return ambiguous;
}


CASE("stream", before, after);

LOOP_TEST(test_random_spans, 0, 10)
{
	unsigned int i;

	ck_assert_int_eq(tsct_recording_writer_open(dir, &rec, &writer), 0);
	for (i = 0; i < STEPS; i++)
		step(any(THREADS), i + CALLS);
	for (i = 0; i < THREADS; i++)
		while (threads[i].nr)
			want(i, 0, TSCT_SPAN_OPEN);
	ck_assert_uint_gt(compare(), 0);
}

/* A call of MPI ends with other values than it began with, such as the size of a message. */
TEST(test_call_of_mpi)
{
	ck_assert_int_eq(tsct_recording_writer_open(dir, &rec, &writer), 0);
	put(0, 0, RECV_BEGIN, 4096, 0);
	begin(0, "MPI_Recv", 4096, 0);
	now += 10;
	put(0, 0, RECV_END, 12, 0);
	want(0, 0, TSCT_SPAN_ENDED);
	ck_assert_uint_eq(compare(), 0);
}

/* Of a thread's spans by two recorders, those of the one that ends first are open at its end; the
 * other's have their ends. The recorder of CPU 1 is another one. */
TEST(test_two_recorders)
{
	unsigned int i;

	rec.nodes = realloc(rec.nodes, 2 * sizeof(*rec.nodes));
	rec.nodes[1] = (struct tsct_recorded_node) { .same = 1, .host = strdup("node-1") };
	rec.nr_nodes = 2;
	rec.locations[1].node = 1;
	rec.locations[1].cpu = 0;
	rec.merged = 1;
	rec.timeline.hz = 1000000000;
	ck_assert_int_eq(tsct_recording_writer_open(dir, &rec, &writer), 0);
	for (i = 0; i < 3; i++, now++) {
		cpu = i % 2;
		put(0, 0, cpu ? LOOP_BEGIN : JOB_BEGIN, i, cpu ? 0 : 5);
		begin(0, cpu ? "loop" : "job", i, cpu ? 0 : 5);
	}
	cpu = 1;
	put(0, 0, LOOP_END, 0, 0);
	want(0, 1, TSCT_SPAN_ENDED);
	want(0, 0, TSCT_SPAN_OPEN);
	want(0, 0, TSCT_SPAN_OPEN);
	compare();
}

// SPDX-License-Identifier: MIT
/*
 * Many writers on one channel:
 *
 *	writers kill COUNT [SEED]	processes, each killed at a random instant
 *	writers threads COUNT		concurrent threads, which also fork
 *
 * Every writer numbers its events and counts them in shared memory. The reader must get
 * exactly these events: each once, intact, in order, and no others. The counts of the
 * rings must be equal to those of the writers.
 */
#include <tsctrace/event.h>

#include "lib/client/channel.h"
#include "lib/clock/clock_source.h"
#include "lib/provider/server.h"
#include "helper.h"

#define AT_ONCE		4	/* concurrent processes in kill mode */
#define EVENTS_MAX	4096	/* events per writer */
#define THREADS_MAX	4096
#define EVENTS_THREAD	64
#define TEXT_MAX	160

TSCT_EVENT(small, TSCT_KIND_INSTANT, TSCT_U32(writer), TSCT_U32(seq));
TSCT_EVENT(medium, TSCT_KIND_INSTANT,
	   TSCT_U32(writer), TSCT_U32(seq), TSCT_BYTES(text, 40));
TSCT_EVENT(text, TSCT_KIND_INSTANT,
	   TSCT_U32(writer), TSCT_U32(seq), TSCT_STRING(text));

struct head {
	__u32 writer, seq;
};

/* Counts of one writer; no other writer changes these */
struct note {
	__u32 done;		/* number of events whose emit call succeeded */
	__u32 full;		/* number of emit calls refused for lack of space */
	__u32 failed;		/* number of emit calls refused for a reason other than
				 * lack of space */
};

static struct note *notes;
static struct tsct_channel *t;
static struct tsct_reader *reader;
static int plain;

/* Number and order of the events read, per writer */
static unsigned char (*seen)[EVENTS_MAX];
static __u32 *nr_seen;
static __u64 last_stamp[TSCT_CPUS_MAX], nr_read;
static unsigned int nr_writers;

/* ---- writing ------------------------------------------------------------- */

static void make_text(__u32 writer, __u32 seq, char *ret_text)
{
	const unsigned int len = (writer * 7 + seq * 13) % TEXT_MAX;

	memset(ret_text, 0, TEXT_MAX + 1);
	memset(ret_text, 'a' + (writer + seq) % 26, len);
}

/* Emits one event with each emit function in turn. */
static int emit(__u32 writer, __u32 seq)
{
	struct {
		struct head head;
		char text[TEXT_MAX + 1];
	} payload = { { writer, seq }, "" };

	make_text(writer, seq, payload.text);
	switch (seq % 5) {
	case 0:
		return small_emit(writer, seq);
	case 1:
		return medium_emit(writer, seq, payload.text);
	case 2:
		return text_emit(writer, seq, payload.text);
	case 3:
		return small_emit_unordered(writer, seq);
	}
	return tsct_emit(t, plain, &payload, sizeof(payload.head) +
			 strlen(payload.text) + 1);
}

static void write_events(__u32 writer, __u32 nr)
{
	struct note *note = &notes[writer];
	int error;

	for (__u32 seq = 0; seq < nr;) {
		error = emit(writer, seq);
		if (!error)
			__atomic_store_n(&note->done, ++seq, __ATOMIC_RELEASE);
		else if (error != -ENOSPC)
			note->failed++;
		else if (++note->full % 4 == 0)
			sched_yield();
	}
}

/* ---- reading ------------------------------------------------------------- */

static void check_text(const struct tsct_event *event, const struct head *head)
{
	const char *got = (const char *)(head + 1);
	const size_t len = event->len - sizeof(*head);
	char text[TEXT_MAX + 1];

	make_text(head->writer, head->seq, text);
	if (head->seq % 5 == 0 || head->seq % 5 == 3) {
		if (len)
			errx(1, "a small event has %zu extra bytes", len);
	} else if (head->seq % 5 == 1) {
		if (len != 40 || memcmp(got, text, 40))
			errx(1, "a medium event is corrupt");
	} else if (len != strlen(text) + 1 || memcmp(got, text, len)) {
		errx(1, "a text is corrupt");
	}
}

static void check_event(const struct tsct_event *event)
{
	struct head head;

	if (event->len < sizeof(head))
		errx(1, "an event of %u bytes", event->len);
	memcpy(&head, event->payload, sizeof(head));
	if (head.writer >= nr_writers || head.seq >= EVENTS_MAX)
		errx(1, "writer %u, event %u", head.writer, head.seq);
	check_text(event, event->payload);
	if (seen[head.writer][head.seq]++)
		errx(1, "writer %u, event %u: twice", head.writer, head.seq);
	nr_seen[head.writer]++;
	nr_read++;
	if (head.seq % 5 == 3)
		/* an unordered event's stamp may be smaller than the previous stamp */
		return;
	if (event->cycles < last_stamp[event->cpu])
		errx(1, "CPU %u: stamps decrease", event->cpu);
	last_stamp[event->cpu] = event->cycles;
}

static void drain(void)
{
	struct tsct_event event;

	for (unsigned int cpu = 0; cpu < t->header.nr_cpus; cpu++) {
		while (tsct_reader_next(reader, cpu, &event) == 1)
			check_event(&event);
		tsct_reader_release(reader, cpu);
	}
}

/* A killed writer may have emitted one event more than it counted. */
static unsigned int check_writer(__u32 writer)
{
	const __u32 done = notes[writer].done, nr = nr_seen[writer];

	if (nr != done && nr != done + 1)
		errx(1, "writer %u: %u events of %u", writer, nr, done);
	for (__u32 seq = 0; seq < nr; seq++)
		if (seen[writer][seq] != 1)
			errx(1, "writer %u: event %u is missing", writer, seq);
	if (notes[writer].failed)
		errx(1, "writer %u: %u failures", writer, notes[writer].failed);
	return nr - done;
}

/* Checks the rings' counts. Returns the events lost for lack of space. */
static __u64 check_rings(void)
{
	struct tsct_ring_stat stat;
	__u64 published = 0, full = 0, others = 0;

	for (unsigned int cpu = 0; !tsct_reader_stat(reader, cpu, &stat); cpu++) {
		if (stat.broken || stat.broken_places || stat.unread)
			errx(1, "CPU %u: broken", cpu);
		published += stat.published;
		full += stat.lost[TSCT_LOST_FULL];
		for (unsigned int cause = 0; cause < TSCT_LOST_NR; cause++)
			others += stat.lost[cause];
	}
	if (published != nr_read)
		errx(1, "%llu published, %llu read", published, nr_read);
	if (others != full)
		errx(1, "%llu lost for no reason", others - full);
	return full;
}

/* ---- kills --------------------------------------------------------------- */

static unsigned int seed;

static unsigned int any(unsigned int below)
{
	return (unsigned int)rand_r(&seed) % below;
}

static void forget(void)
{
	memset(notes, 0, AT_ONCE * sizeof(notes[0]));
	memset(seen, 0, AT_ONCE * sizeof(seen[0]));
	memset(nr_seen, 0, AT_ONCE * sizeof(nr_seen[0]));
}

static __u32 done_by(unsigned int writer)
{
	return __atomic_load_n(&notes[writer].done, __ATOMIC_ACQUIRE);
}

/* Kills some writers before their first event, most while they emit. */
static void kill_some(pid_t *pids)
{
	unsigned int i, spin, first;
	int status;

	for (i = 0; i < AT_ONCE; i++) {
		first = any(8) ? 1 + any(100) : 0;
		while (done_by(i) < first &&
		       !waitpid(pids[i], &status, WNOHANG)) {
			drain();
			sched_yield();
		}
		for (spin = any(200); spin; spin--)
			__builtin_ia32_pause();
		kill(pids[i], SIGKILL);
		drain();
	}
	for (i = 0; i < AT_ONCE; i++) {
		if (waitpid(pids[i], &status, 0) != pids[i] ||
		    !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
			errx(1, "a writer ended by itself: %x", status);
	}
}

static void kill_writers(unsigned int count)
{
	unsigned int killed, i, doubtful = 0, idle = 0;
	__u64 full = 0, lost;
	pid_t pids[AT_ONCE];

	for (killed = 0; killed < count; killed += AT_ONCE) {
		forget();
		for (i = 0; i < AT_ONCE; i++) {
			pids[i] = fork();
			if (pids[i])
				continue;
			write_events(i, EVENTS_MAX);
			pause();
		}
		kill_some(pids);
		drain();
		for (i = 0; i < AT_ONCE; i++) {
			doubtful += check_writer(i);
			idle += !notes[i].done;
			full += notes[i].full;
		}
	}
	lost = check_rings();
	if (lost < full || lost > full + killed)
		errx(1, "%llu lost, writers counted %llu", lost, full);
	if (idle == killed)
		errx(1, "no writer has written an event");
	printf("%u killed, %u of them before their first event: %llu events, "
	       "each read once, %llu lost; %u were there before their writer "
	       "knew\n", killed, idle, nr_read, lost, doubtful);
}

/* ---- threads ------------------------------------------------------------- */

static pthread_barrier_t barrier;

/* The thread and its child process are a writer each. */
static void *run_thread(void *arg)
{
	const __u32 writer = (__u32)(uintptr_t)arg;
	int status;
	pid_t pid;

	pthread_barrier_wait(&barrier);
	write_events(writer, EVENTS_THREAD);
	if (writer % 64 == 0) {
		pid = fork();
		if (!pid) {
			write_events(nr_writers / 2 + writer, EVENTS_THREAD);
			_exit(0);
		}
		if (waitpid(pid, &status, 0) != pid || status)
			errx(1, "a child failed");
	}
	return NULL;
}

static int done;

static void *read_along(void *arg)
{
	while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE))
		drain();
	return NULL;
}

static void run_threads(unsigned int count)
{
	static pthread_t threads[THREADS_MAX];
	pthread_t drainer;
	pthread_attr_t attr;
	unsigned int i, wrote = 0;
	__u64 full = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 128 << 10);
	pthread_barrier_init(&barrier, NULL, count);
	pthread_create(&drainer, NULL, read_along, NULL);
	for (i = 0; i < count; i++)
		if (pthread_create(&threads[i], &attr, run_thread,
				   (void *)(uintptr_t)i))
			errx(1, "%u threads are too many", count);
	for (i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	__atomic_store_n(&done, 1, __ATOMIC_RELEASE);
	pthread_join(drainer, NULL);
	drain();
	for (i = 0; i < nr_writers; i++) {
		if (check_writer(i))
			errx(1, "writer %u did not note its last event", i);
		full += notes[i].full;
		wrote += notes[i].done != 0;
	}
	if (check_rings() != full)
		errx(1, "writers counted %llu lost", full);
	printf("%u threads and %u children: %llu events, each read once, %llu "
	       "lost\n", count, wrote - count, nr_read, full);
}

/* ---- main program -------------------------------------------------------- */

static void prepare(unsigned int writers)
{
	nr_writers = writers;
	notes = mmap(NULL, writers * sizeof(*notes), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	seen = calloc(writers, sizeof(*seen));
	nr_seen = calloc(writers, sizeof(*nr_seen));
	if (notes == MAP_FAILED || !seen || !nr_seen)
		errx(1, "no memory");
}

static void open_channel(const char *path)
{
	struct tsct_channel_options options = {
		.roles = TSCT_ROLE_READ | TSCT_ROLE_WRITE,
		.block_size = 4096, .blocks = 128,
	};

	if (tsct_channel_open_at(path, &options, &t))
		errx(1, "%s", tsct_channel_error(t));
	if (tsct_reader_open(t, &reader) || tsct_events_enable(t, "*") != 3)
		errx(1, "cannot read, or not write");
	plain = tsct_event_define(t, "plain", TSCT_KIND_INSTANT,
			    "writer:u32 seq:u32 text:string");
	if (plain < 0)
		errx(1, "cannot define");
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/tsct-writers.XXXXXX", path[64];
	const unsigned int count = argc > 2 ? (unsigned int)atoi(argv[2]) : 0;
	const bool killing = argc > 2 && !strcmp(argv[1], "kill");
	struct tsct_server *server;

	if (!count || count > (killing ? ~0U : THREADS_MAX) || !mkdtemp(dir))
		return 2;
	seed = argc > 3 ? (unsigned int)atoi(argv[3]) : 1;
	snprintf(path, sizeof(path), "%s/s", dir);
	if (tsct_server_start(path, "embedded", tsct_source_choose(NULL, 0), &server) ||
	    tsct_server_run(server))
		errx(1, "no server");
	prepare(killing ? AT_ONCE : 2 * count);
	open_channel(path);
	if (killing)
		kill_writers(count);
	else
		run_threads(count);
	tsct_reader_close(reader);
	tsct_channel_close(t);
	tsct_server_stop(server);
	rmdir(dir);
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * The statedump of a recording (lib/statedump): states of threads, processes and cgroups
 * during the recording. BPF programs report states if kernel events are recorded; the
 * recorder reads the states of all other threads from /proc.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/index.h"
#include "cmd_record.h"
#include "lib/core/ring.h"
#include "lib/client/gettime.h"
#include "lib/statedump/statedump.h"
#include "record_statedump.h"
#include "tools/common/error.h"

/* Inode number of the initial pid namespace, as the kernel defines it */
#define INITIAL_PID_NAMESPACE	0xeffffffcU
#define CGROUPS		"/sys/fs/cgroup"	/* mount point of the cgroup hierarchy, version 2 */
#define HELD_MAX	(64U << 20)	/* limit of events in `held`, bytes */
/* Start times in /proc are in units of 10 ms. */
#define START_SLACK_NS	10000000ULL
/* time between two reads of the same thread's state in /proc, ns */
#define RECHECK_NS	1000000000LL
/* time between two reads of a thread's name, ns: NAME_EACH_NS times the number of known
 * threads, about 1 % of a CPU, but at least NAME_NS and at most RECHECK_NS */
#define NAME_NS		2000000LL
#define NAME_EACH_NS	500000LL
/* maximum time for reading states from /proc after a pass over the rings, ns */
#define READ_NS		20000000LL
#define READ_BUSY_NS	1000000LL	/* like READ_NS, but after a pass with many events, ns */
#define LAST_PID_NS	100000000LL	/* time between two reads of the last thread ID, ns */
/* time after which an event with an unchanged last thread ID is written again, ns */
#define SAME_PID_NS	1000000000LL

struct record_statedump {
	/* Protects the members below and the statedump's counts in the session, because
	 * the embedded server's thread calls record_statedump_on_thread(). */
	pthread_mutex_t lock;
	__u64 last_cycles;	/* cycles of the last event that was written */
	/* events that are not written yet: for each a struct tsct_record and the payload,
	 * padded to a multiple of 8 bytes */
	char *held;
	size_t used, room;
	/* descriptor of /proc/loadavg, which has the last thread ID that the kernel gave;
	 * -1: not used, because BPF programs report all threads, or use other thread IDs */
	int loadavg;
	__u64 pid_position;	/* last thread ID + 2^22 * restarts of IDs, tsct_pid_position() */
	__u32 written_pid;	/* thread ID in the last event last_pid that was written */
	/* CLOCK_MONOTONIC of the last read of loadavg, and of the last event last_pid */
	__s64 last_pid_ns, written_pid_ns;
	struct known_thread *threads;	/* threads whose state was written */
	struct tsct_index thread_index;	/* finds an element of `threads` by thread ID */
	__u32 next_name; /* index in `threads` of the next thread whose name is read */
	struct tsct_index cgroups;	/* IDs of the cgroups whose path was written */
	struct tsct_tid_notes *notes;	/* IDs of the threads whose events were written */
};

/* ---- events ------------------------------------------------------------------ */

/* Adds an event to `held`. Called with the mutex locked. */
static void add_event(struct record_session *s, __u32 id, __u64 cycles, const void *payload,
		      __u32 len)
{
	const struct tsct_record header = { .len = sizeof(header) + len, .id = id,
					    .cycles = cycles };
	struct record_statedump *dump = s->statedump;
	const size_t size = tsct_record_size(len);

	if (dump->used + size > HELD_MAX ||
	    tsct_array_reserve(&dump->held, &dump->room, dump->used + size, 1)) {
		s->rec.nodes[0].statedump_lost++;
		return;
	}
	memcpy(dump->held + dump->used, &header, sizeof(header));
	memcpy(dump->held + dump->used + sizeof(header), payload, len);
	dump->used += size;
}

void record_statedump_add(struct record_session *s, __u32 id, __u64 cycles,
			  const void *payload, __u32 len)
{
	pthread_mutex_lock(&s->statedump->lock);
	add_event(s, id, cycles, payload, len);
	pthread_mutex_unlock(&s->statedump->lock);
}

static int by_cycles(const void *a, const void *b)
{
	const struct tsct_record *x = *(const struct tsct_record *const *)a;
	const struct tsct_record *y = *(const struct tsct_record *const *)b;

	return tsct_compare(x->cycles, y->cycles) ?: tsct_compare(x, y);
}

static void write_event(struct record_session *s, const struct tsct_record *r)
{
	__u64 *last = &s->statedump->last_cycles;
	struct tsct_event event = {
		.id = r->id, .payload = r + 1, .len = r->len - sizeof(*r),
	};

	*last = *last < s->rec.begin ? s->rec.begin : *last;
	*last = *last < r->cycles ? r->cycles : *last;
	/* Events that are read from /proc after the end of the recording get the time
	 * of this end. */
	if (s->ended && *last > s->rec.end)
		*last = s->rec.end;
	event.cycles = *last;
	/* The recording writer counts events that it fails to write. */
	tsct_recording_writer_event(s->writer, s->rec.statedump, &event);
}

/* Writes the events in `held` with times up to @until, in cycles, sorted by time. */
static void write_events(struct record_session *s, __u64 until)
{
	struct record_statedump *dump = s->statedump;
	const struct tsct_record **all, *r;
	size_t at, nr = 0, i, kept = 0, size;

	if (!dump->used)
		return;
	all = malloc(dump->used / sizeof(*r) * sizeof(*all));
	if (!all)
		return;
	for (at = 0; at < dump->used; at += tsct_record_size(r->len - sizeof(*r))) {
		r = (const struct tsct_record *)(dump->held + at);
		all[nr++] = r;
	}
	qsort(all, nr, sizeof(*all), by_cycles);
	for (i = 0; i < nr && all[i]->cycles <= until; i++)
		write_event(s, all[i]);
	free(all);
	/* Keep the later events in `held`, in the order in which they were added. */
	for (at = 0; at < dump->used; at += size) {
		r = (const struct tsct_record *)(dump->held + at);
		size = tsct_record_size(r->len - sizeof(*r));
		if (r->cycles <= until)
			continue;
		memmove(dump->held + kept, r, size);
		kept += size;
	}
	dump->used = kept;
}

/* ---- cgroups ----------------------------------------------------------------- */

static void add_cgroup(struct record_session *s, __u64 cycles, __u64 id, const char *path)
{
	struct record_statedump *dump = s->statedump;
	char payload[TSCT_STATEDUMP_BYTES_MAX];
	__u32 len = 0;

	if (tsct_index_find(&dump->cgroups, id, 0) != TSCT_INDEX_NONE ||
	    tsct_index_add(&dump->cgroups, id, 0) == TSCT_INDEX_NONE)
		return;
	tsct_statedump_put(payload, &len, &id, sizeof(id));
	tsct_statedump_put_text(payload, &len, path);
	add_event(s, TSCT_STATEDUMP_CGROUP, cycles, payload, len);
}

void record_statedump_cgroup(struct record_session *s, __u64 cycles, __u64 id,
			     const char *path)
{
	pthread_mutex_lock(&s->statedump->lock);
	add_cgroup(s, cycles, id, path);
	pthread_mutex_unlock(&s->statedump->lock);
}

/* ---- reuse of thread IDs ------------------------------------------------------ */

/* Reads the last thread ID that the kernel gave to a new thread, and adds an event with
 * this ID and the time before the read. @force: read even if the last read was less
 * than LAST_PID_NS ago. Called with the mutex locked. */
static void note_last_pid(struct record_session *s, bool force)
{
	struct record_statedump *dump = s->statedump;
	struct tsct_statedump_last_pid now = { 0 };
	const __s64 now_ns = tsct_monotonic_ns();
	const __u64 cycles = tsct_clock_cycles(s->clock);
	char text[128];
	ssize_t len;

	if (dump->loadavg < 0 ||
	    (!force && now_ns - dump->last_pid_ns < LAST_PID_NS))
		return;
	dump->last_pid_ns = now_ns;
	now.boottime_ns = (__u64)tsct_gettime_ns(CLOCK_BOOTTIME);
	len = pread(dump->loadavg, text, sizeof(text) - 1, 0);
	text[len > 0 ? len : 0] = '\0';
	if (strrchr(text, ' '))
		now.tid = (__u32)strtoul(strrchr(text, ' '), NULL, 10);
	dump->pid_position = tsct_pid_position(dump->pid_position, now.tid);
	if (now.tid == dump->written_pid && now_ns - dump->written_pid_ns < SAME_PID_NS)
		return;
	dump->written_pid = now.tid;
	dump->written_pid_ns = now_ns;
	add_event(s, TSCT_STATEDUMP_LAST_PID, cycles, &now, sizeof(now));
}

/* ---- a thread in /proc ---------------------------------------------------- */

/* Reads the start of file @name in a thread's directory @dir of /proc. Returns the number of
 * bytes, followed by a NUL in @text; 0: the file is empty or cannot be read. */
static size_t read_file(int dir, const char *name, char *text, size_t size)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? 0 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[len > 0 ? len : 0] = '\0';
	return len > 0 ? (size_t)len : 0;
}

/* Returns the last number in the line of a status file that begins with @name; 0: no
 * such line. */
static __u32 status_number(const char *status, const char *name)
{
	const char *at = strstr(status, name), *end, *last;

	if (!at)
		return 0;
	end = strchrnul(at + 1, '\n');
	for (last = end; last > at && last[-1] != '\t' && last[-1] != ' '; last--)
		;
	return (__u32)strtoul(last, NULL, 10);
}

/* Gets name and start time from a stat file: "TID (NAME) S ...". The name may contain any
 * characters. */
static bool parse_stat(const char *stat, struct tsct_statedump_thread *ret)
{
	const char *begin = strchr(stat, '('), *at = strrchr(stat, ')');
	size_t len;
	int field;

	if (!begin || !at || at < begin)
		return false;
	len = (size_t)(at - begin) - 1;
	memcpy(ret->name, begin + 1, len < 15 ? len : 15);
	for (field = 2; field < 22 && at; field++)
		at = strchr(at + 1, ' ');
	if (at)
		ret->start_ns = strtoull(at, NULL, 10) *
			(1000000000ULL / (__u64)sysconf(_SC_CLK_TCK)) -
			(__u64)tsct_time_namespace.boottime_ns;
	return true;
}

static void parse_cgroup(const char *text, struct tsct_statedump_thread *ret, char *path,
			 size_t path_size)
{
	const char *at = strstr(text, "0::/");
	char full[4200];
	struct stat st;

	if (!at || (at != text && at[-1] != '\n'))
		return;
	at += 3;
	snprintf(path, path_size, "%.*s", (int)strcspn(at, "\n"), at);
	snprintf(full, sizeof(full), CGROUPS "%s", path);
	/* The ID of a cgroup is the inode number of its directory. */
	if (!stat(full, &st))
		ret->cgroup = st.st_ino;
	else
		path[0] = '\0';
}

/*
 * Reads the state of thread @tid from /proc. Fields that this user may not read are 0.
 * Returns false if there is no such thread. @path: receives the path of the thread's
 * cgroup, version 2; "" if unknown
 */
static bool read_proc(__u32 tid, struct tsct_statedump_thread *ret, char *path,
		      size_t path_size)
{
	char text[4096];
	struct stat st;
	bool ok = false;
	int dir;

	*ret = (struct tsct_statedump_thread) { .tid = tid };
	path[0] = '\0';
	/* Check first whether the thread exists: if it has just ended, opening its
	 * directory would wait until the kernel has removed its entries in /proc. */
	if (kill((pid_t)tid, 0) && errno == ESRCH)
		return false;
	snprintf(text, sizeof(text), "/proc/%u", tid);
	dir = open(text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return false;
	if (read_file(dir, "stat", text, sizeof(text)) && parse_stat(text, ret) &&
	    read_file(dir, "status", text, sizeof(text))) {
		ret->tgid = status_number(text, "\nTgid:");
		ret->ns_tgid = status_number(text, "\nNStgid:");
		ret->ns_tid = status_number(text, "\nNSpid:");
		ok = ret->tgid;	/* 0: the thread has ended meanwhile */
		if (read_file(dir, "cgroup", text, sizeof(text)))
			parse_cgroup(text, ret, path, path_size);
		if (!fstatat(dir, "ns/pid", &st, 0))
			ret->pid_ns = (__u32)st.st_ino;
	}
	close(dir);
	return ok;
}

/* ---- threads ----------------------------------------------------------------- */

struct known_thread {
	struct tsct_statedump_thread state;	/* last state that was written */
	__s64 checked_ns;			/* CLOCK_MONOTONIC of the last read of the state */
	/* a BPF program reported the state, and will report changes of the state */
	bool reported;
	bool ended;
	__s64 named_ns;			/* CLOCK_MONOTONIC of the last read of the name */
	__u64 pid_position;			/* dump->pid_position at the time of `state` */
};

/* Returns true if the kernel may have given the thread's ID to another thread since the
 * known state was written. */
static bool may_be_another(const struct record_statedump *dump,
			   const struct known_thread *known)
{
	return tsct_pid_next(known->pid_position, known->state.tid) <= dump->pid_position;
}

/* Returns the thread with ID @tid, or NULL if this ID is unknown. */
static struct known_thread *find_thread(const struct record_statedump *dump, __u32 tid)
{
	const __u32 at = tsct_index_find(&dump->thread_index, tid, 0);

	return at != TSCT_INDEX_NONE ? &dump->threads[at] : NULL;
}

/* Returns the thread with ID @tid, or NULL if out of memory. Adds a thread with a state
 * of zeros if the ID is unknown. */
static struct known_thread *get_thread(struct record_statedump *dump, __u32 tid)
{
	const __u32 nr = dump->thread_index.nr;
	struct known_thread *found = find_thread(dump, tid);

	if (found)
		return found;
	if (!tsct_array_next(&dump->threads, nr, sizeof(*found)) ||
	    tsct_index_add(&dump->thread_index, tid, 0) == TSCT_INDEX_NONE)
		return NULL;
	dump->threads[nr] = (struct known_thread) { .state.tid = tid };
	return &dump->threads[nr];
}

/* Returns true if both threads began at the same time. Start times may differ by
 * START_SLACK_NS, because /proc rounds them down. */
static bool began_together(const struct tsct_statedump_thread *a,
			   const struct tsct_statedump_thread *b)
{
	return (a->start_ns > b->start_ns ? a->start_ns - b->start_ns :
		b->start_ns - a->start_ns) <= START_SLACK_NS;
}

static bool is_same(const struct tsct_statedump_thread *a,
		    const struct tsct_statedump_thread *b)
{
	struct tsct_statedump_thread copy = *a;

	copy.start_ns = b->start_ns;
	copy.selected = b->selected;
	return began_together(a, b) && !memcmp(&copy, b, sizeof(copy));
}

/* Adds an event with the state of a thread, unless the same state was added before.
 * @reported: a BPF program reported the state, which is then always added */
static void add_thread(struct record_session *s, __u64 cycles,
		       const struct tsct_statedump_thread *state, bool reported)
{
	struct known_thread *known = get_thread(s->statedump, state->tid);
	struct tsct_statedump_thread now = *state;

	if (known) {
		known->checked_ns = tsct_monotonic_ns();
		if (!reported && is_same(&known->state, state) &&
		    !may_be_another(s->statedump, known))
			return;
		/* /proc does not have the member `selected`. */
		if (!reported && began_together(&known->state, state))
			now.selected = known->state.selected;
		known->reported = reported;
		known->ended = false;
		known->state = now;
		known->pid_position = s->statedump->pid_position;
	}
	add_event(s, TSCT_STATEDUMP_THREAD, cycles, &now, sizeof(now));
}

void record_statedump_thread(struct record_session *s, __u64 cycles,
			     const struct tsct_statedump_thread *state)
{
	pthread_mutex_lock(&s->statedump->lock);
	add_thread(s, cycles, state, true);
	pthread_mutex_unlock(&s->statedump->lock);
}

/* Counts a thread that ended before its state could be read, unless the state is known. */
static void note_ended(struct record_session *s, __u32 tid)
{
	struct record_statedump *dump = s->statedump;
	struct known_thread *known = get_thread(dump, tid);

	if (!known || known->reported ||
	    (known->state.tgid && !may_be_another(dump, known)))
		return;
	*known = (struct known_thread) {
		.state.tid = tid, .checked_ns = tsct_monotonic_ns(),
		.pid_position = dump->pid_position,
	};
	s->threads_unseen++;
}

/* Adds the state of thread @tid, read from /proc. Returns false if the thread has ended.
 * @only: NULL, or the known state: if another thread has the ID @tid by now, returns false and adds
 * nothing, because that thread may set its name before its first event. */
static bool read_thread(struct record_session *s, __u32 tid,
			const struct tsct_statedump_thread *only)
{
	struct tsct_statedump_thread state;
	const __u64 cycles = tsct_clock_cycles(s->clock);
	char path[4096];
	const bool found = read_proc(tid, &state, path, sizeof(path));

	if (only && (!found || only->tgid != state.tgid || !began_together(only, &state)))
		return false;
	pthread_mutex_lock(&s->statedump->lock);
	if (*path)
		add_cgroup(s, cycles, state.cgroup, path);
	if (found)
		add_thread(s, cycles, &state, false);
	else
		note_ended(s, tid);
	pthread_mutex_unlock(&s->statedump->lock);
	return found;
}

void record_statedump_on_thread(void *session, __u32 tid)
{
	struct record_session *s = session;

	/* The recorder connects to its own server before it has a clock. If kernel events are
	 * recorded, BPF programs report the threads of all programs that use this server. */
	if (!s->clock || tid == (__u32)getpid() || s->o->nr_events)
		return;
	pthread_mutex_lock(&s->statedump->lock);
	note_last_pid(s, true);
	pthread_mutex_unlock(&s->statedump->lock);
	read_thread(s, tid, NULL);
}

/* Reads from /proc the states of threads that have written events: at the first event, and
 * again after a second, because names change and the kernel gives the same IDs to new
 * threads. Stops after @limit_ns. */
static void read_noted(struct record_session *s, __s64 limit_ns)
{
	struct record_statedump *dump = s->statedump;
	const __s64 begin = tsct_monotonic_ns();
	struct known_thread *known;
	__s64 now = begin;
	bool wanted;
	__u32 tid;

	while (now - begin < limit_ns && dump->notes &&
	       (tid = tsct_tid_note_take(dump->notes))) {
		pthread_mutex_lock(&dump->lock);
		known = find_thread(dump, tid);
		wanted = !known || now - known->checked_ns >= RECHECK_NS ||
			may_be_another(dump, known);
		if (wanted && known)
			known->checked_ns = now;
		pthread_mutex_unlock(&dump->lock);
		if (!wanted)
			continue;
		read_thread(s, tid, NULL);
		now = tsct_monotonic_ns();
	}
}

/* Finds the next thread whose name must be read at @now, and copies the thread's
 * element to *ret. Returns false if no name is due. */
static bool take_name(struct record_statedump *dump, __s64 now, struct known_thread *ret)
{
	const __s64 all_ns = dump->thread_index.nr * NAME_EACH_NS;
	struct known_thread *known;

	if (!dump->thread_index.nr)
		return false;
	known = &dump->threads[dump->next_name % dump->thread_index.nr];
	if (now - known->named_ns < (all_ns < NAME_NS ? NAME_NS :
				     all_ns < RECHECK_NS ? all_ns : RECHECK_NS))
		return false;
	known->named_ns = now;
	dump->next_name = (__u32)(known - dump->threads) + 1;
	*ret = *known;
	return true;
}

/* Reads the names of the known threads again, in turn. Reads the state of a thread whose
 * name has changed: a thread may set its name after it has connected or written events. */
static void read_names(struct record_session *s)
{
	struct record_statedump *dump = s->statedump;
	const __s64 begin = tsct_monotonic_ns();
	char path[64], name[32];
	struct known_thread known;
	bool due = true;

	while (due && tsct_monotonic_ns() - begin < READ_BUSY_NS) {
		pthread_mutex_lock(&dump->lock);
		due = take_name(dump, begin, &known);
		pthread_mutex_unlock(&dump->lock);
		if (!due || known.reported || known.ended || !known.state.tgid)
			continue;
		snprintf(path, sizeof(path), "/proc/%u/comm", known.state.tid);
		name[0] = '\0';
		if (!kill((pid_t)known.state.tid, 0) || errno != ESRCH)
			read_file(AT_FDCWD, path, name, sizeof(name));
		name[strcspn(name, "\n")] = '\0';
		if (*name && (!strncmp(name, known.state.name, sizeof(known.state.name)) ||
			      read_thread(s, known.state.tid, &known.state)))
			continue;
		pthread_mutex_lock(&dump->lock);
		find_thread(dump, known.state.tid)->ended = true;
		pthread_mutex_unlock(&dump->lock);
	}
}

/* ---- passes ----------------------------------------------------------------- */

/* Starts a pass. Returns the cycles now: events that are added later are not earlier. */
static __u64 start_pass(struct record_session *s, bool is_last)
{
	struct record_statedump *dump = s->statedump;
	const __u64 now = tsct_clock_cycles(s->clock);

	pthread_mutex_lock(&dump->lock);
	note_last_pid(s, is_last || (dump->notes && dump->notes->nr));
	pthread_mutex_unlock(&dump->lock);
	return is_last ? UINT64_MAX : now;
}

/* Reads the states of threads that have written events, and writes the events of the pass.
 * @more: records of BPF programs are left in the ring buffer */
static void finish_pass(struct record_session *s, __u64 until, bool idle, bool more)
{
	/* Before /proc, read all records of BPF programs, which may report the same threads. */
	if (!s->other_numbers && !more) {
		read_noted(s, until == UINT64_MAX ? INT64_MAX : idle ? READ_NS : READ_BUSY_NS);
		read_names(s);
	}
	if (!s->writer)
		return;
	pthread_mutex_lock(&s->statedump->lock);
	write_events(s, until);
	pthread_mutex_unlock(&s->statedump->lock);
}

bool record_statedump_pass(struct record_session *s, bool idle, bool is_last)
{
	const __u64 until = start_pass(s, is_last);
	const bool more = s->source && record_kernel_take(s);

	finish_pass(s, until, idle, more);
	return more;
}

/* ---- begin and end -------------------------------------------------------------- */

int record_statedump_open(struct record_session *s)
{
	const struct record_options *o = s->o;
	struct record_statedump *dump = calloc(1, sizeof(*dump));
	struct stat st;

	if (!dump)
		return ctl_fail(-ENOMEM, "statedump: out of memory");
	s->statedump = dump;
	pthread_mutex_init(&dump->lock, NULL);
	/* BPF programs use the thread IDs of the initial pid namespace; /proc has the
	 * thread IDs of this process's namespace. */
	s->other_numbers = o->nr_events &&
		!stat("/proc/self/ns/pid", &st) && st.st_ino != INITIAL_PID_NAMESPACE;
	dump->loadavg = -1;
	if (!s->other_numbers &&
	    (!o->nr_events || (!o->all && (o->command || o->nr_pids))))
		dump->loadavg = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	return 0;
}

void record_statedump_begin(struct record_session *s)
{
	struct record_statedump *dump = s->statedump;

	dump->notes = calloc(1, sizeof(*dump->notes));
	tsct_recording_writer_note(s->writer, dump->notes);
	pthread_mutex_lock(&dump->lock);
	note_last_pid(s, true);
	pthread_mutex_unlock(&dump->lock);
}

void record_statedump_close(struct record_session *s)
{
	struct record_statedump *dump = s->statedump;

	if (!dump)
		return;
	if (dump->loadavg >= 0)
		close(dump->loadavg);
	free(dump->held);
	free(dump->threads);
	tsct_index_free(&dump->thread_index);
	tsct_index_free(&dump->cgroups);
	free(dump->notes);
	free(dump);
}

// SPDX-License-Identifier: MIT
/*
 * The helper thread of a program: opens channels when a provider starts after the
 * program, connects to a daemon that was restarted, and answers trace-ctl events.
 *
 * The thread sleeps until a provider notifies the program (programs.h), a connection to
 * the daemon ends, or trace-ctl sends a request. Only for 10 seconds after the daemon ended or a
 * provider notified the program, or if $TSCTRACE_RETRY_MS is set, it tries to connect at intervals.
 */
#include <errno.h>
#include <stddef.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tsctrace/event.h>

#include "lib/base/array.h"
#include "channel.h"
#include "gettime.h"
#include "programs.h"

#define STACK_SIZE	(256 << 10)
#define NS_PER_MS	1000000LL
/* least time between tries to open channels, so that notifications cannot use up a CPU */
#define TRY_EVERY_NS	(100 * NS_PER_MS)
/* after the daemon ended or a provider notified: time between tries, total time */
#define RESUME_EVERY_NS	(250 * NS_PER_MS)
#define RESUME_FOR_NS	(10000 * NS_PER_MS)
/* time between tries of a program that cannot be notified */
#define BLIND_EVERY_NS	(1500 * NS_PER_MS)
#define REQUEST_MAX	1024
#define REPLY_PART	16384
/* timeout of a send or receive of a request, ms */
#define PEER_MS		1000

static struct {
	pthread_mutex_t lock;
	pthread_cond_t idle;		/* signaled when a handle is no longer busy */
	struct tsct_channel *first;	/* first handle in the list of watched handles */
	pid_t pid;			/* id of the process that runs the thread; 0: no thread */
	pthread_t thread;
	int listener;			/* socket on which the thread listens; -1: none */
	ino_t inode;			/* inode of the listener, which the program may close */
	struct tsct_program_addr addr;	/* address of the listener */
	bool stop;
	/* Times that only the running thread uses, ns of CLOCK_MONOTONIC: last try, next try, end
	 * of the tries at short intervals; retry_ns: time between later tries; 0: no later tries */
	__s64 tried_ns, next_ns, until_ns, retry_ns;
} helper = {
	.lock = PTHREAD_MUTEX_INITIALIZER, .idle = PTHREAD_COND_INITIALIZER,
	.listener = -1,
};

static pthread_once_t prepare_once = PTHREAD_ONCE_INIT;
static bool is_off;			/* true: $TSCTRACE_THREAD is "no" */

/* ---- handles ------------------------------------------------------------- */

/* Returns true if the handle has no provider, or its provider has ended. */
static bool is_waiting(const struct tsct_channel *channel)
{
	const struct tsct_channel *target = tsct_channel_target(channel);

	return target->provider == TSCT_PROVIDER_NONE || channel->lost;
}

/* Opens the handle's channel, or connects to the daemon again. The caller does not
 * hold helper.lock: fork() takes that lock, and must not wait for a server. */
static int attach_handle(struct tsct_channel *channel)
{
	struct tsct_channel *target = tsct_channel_target(channel);
	int err = -ENODEV;

	if (target->provider != TSCT_PROVIDER_NONE)
		err = tsct_channel_resume(target);
	/* Defines, at the new daemon, events that could not be defined while no daemon ran. */
	if (target->provider != TSCT_PROVIDER_NONE && !err)
		tsct_events_move(channel, NULL);
	/*
	 * Opens the channel if the handle has none. Also opens a new channel, and abandons
	 * the old memory with its events, if the server has another channel of this name
	 * since the restart or cannot use the memory, or the program has closed the memfd.
	 */
	else if (target->provider == TSCT_PROVIDER_NONE || err == -EEXIST ||
		 err == -EPROTO || err == -ENOTTY || err == -EBADF)
		err = tsct_channel_open_later(channel);
	return err;
}

/* Tries to connect all waiting handles. Returns true if some of them still wait. */
static bool attach_all(void)
{
	struct tsct_channel *channel;
	bool waiting = false;
	int err;

	pthread_mutex_lock(&helper.lock);
	for (channel = helper.first; channel; channel = channel->next_watched) {
		if (!is_waiting(channel))
			continue;
		channel->busy = true;
		pthread_mutex_unlock(&helper.lock);
		err = attach_handle(channel);
		pthread_mutex_lock(&helper.lock);
		channel->busy = false;
		if (!err)
			channel->lost = false;
		waiting |= err != 0;
		pthread_cond_broadcast(&helper.idle);
	}
	pthread_mutex_unlock(&helper.lock);
	return waiting;
}

static void try_now(void)
{
	const bool waiting = attach_all();

	helper.tried_ns = tsct_monotonic_ns();
	helper.next_ns = INT64_MAX;
	if (waiting && helper.tried_ns < helper.until_ns)
		helper.next_ns = helper.tried_ns + RESUME_EVERY_NS;
	else if (waiting && helper.retry_ns)
		helper.next_ns = helper.tried_ns + helper.retry_ns;
}

static void try_soon(void)
{
	const __s64 due = helper.tried_ns + TRY_EVERY_NS;

	helper.next_ns = min(helper.next_ns, due);
}

/* Marks the handles whose daemon has ended. */
static void find_lost(void)
{
	struct tsct_channel *channel, *target;

	pthread_mutex_lock(&helper.lock);
	for (channel = helper.first; channel; channel = channel->next_watched) {
		target = tsct_channel_target(channel);
		if (channel->lost || !tsct_provider_gone(target))
			continue;
		channel->lost = true;
		helper.until_ns = tsct_monotonic_ns() + RESUME_FOR_NS;
		try_soon();
	}
	pthread_mutex_unlock(&helper.lock);
}

/* ---- the socket ---------------------------------------------------------- */

/* Listens on a socket with an unused name. Returns the socket, or -1: then
 * neither requests nor notifications reach this program. */
static int make_listener(void)
{
	struct sockaddr_un *addr = &helper.addr.addr;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	__u32 number = 0;
	struct stat st;
	int tries, len;

	for (tries = 0; fd >= 0 && tries < 8; tries++) {
		if (getrandom(&number, sizeof(number), GRND_NONBLOCK) < 0)
			number++;
		memset(addr, 0, sizeof(*addr));
		addr->sun_family = AF_UNIX;
		len = snprintf(addr->sun_path + 1, sizeof(addr->sun_path) - 1,
			       TSCT_PROGRAM_SOCKET "%d.%x", (int)getpid(), number);
		helper.addr.len = offsetof(struct sockaddr_un, sun_path) + 1 + len;
		if (bind(fd, (struct sockaddr *)addr, helper.addr.len) ||
		    listen(fd, 16) || fstat(fd, &st))
			continue;
		helper.inode = st.st_ino;
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

/* ---- requests ------------------------------------------------------------ */

static void send_reply(int fd, const char *text, size_t len)
{
	size_t part;

	for (; len; text += part, len -= part) {
		part = len < REPLY_PART ? len : REPLY_PART;
		if (send(fd, text, part, MSG_NOSIGNAL) < 0)
			return;
	}
}

static void switch_events(char *request, FILE *to)
{
	char *patterns = strchr(request, ' '), *pattern;
	const bool on = request[0] == 'e';
	int nr = 0, result;

	while (patterns && (pattern = strsep(&patterns, ", \t\n"))) {
		if (!*pattern)
			continue;
		result = tsct_events_set_enabled(pattern, on);
		if (result < 0) {
			fprintf(to, "error: invalid pattern\n");
			return;
		}
		nr += result;
	}
	fprintf(to, "%d\n", nr);
}

/* Receives a request of this program's user or of root, and answers it. */
static void answer_request(int fd)
{
	char request[REQUEST_MAX + 1], *text = NULL;
	ssize_t n = recv(fd, request, REQUEST_MAX, 0);
	size_t len = 0;
	FILE *to;

	if (n <= 0)
		return;
	request[n] = '\0';
	to = open_memstream(&text, &len);
	if (!to)
		return;
	if (!strcmp(request, "list"))
		tsct_events_describe(to);
	else if (!strncmp(request, "enable ", 7) || !strncmp(request, "disable ", 8))
		switch_events(request, to);
	else if (strcmp(request, "attach"))
		fputs("error: unknown request\n", to);
	if (!fclose(to))
		send_reply(fd, text, len);
	free(text);
}

/*
 * Accepts one connection. A connection of any user means that a provider may have started.
 * If the program has closed the socket, as programs that become daemons do, makes a new socket.
 */
static void accept_request(void)
{
	const struct timeval timeout = { .tv_sec = PEER_MS / 1000 };
	struct ucred cred;
	socklen_t len = sizeof(cred);
	struct stat st;
	int fd;

	if (fstat(helper.listener, &st) || st.st_ino != helper.inode) {
		helper.listener = make_listener();
		if (helper.listener < 0)
			helper.retry_ns = helper.retry_ns ?: BLIND_EVERY_NS;
		try_soon();
		return;
	}
	fd = accept4(helper.listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		return;
	try_soon();
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		memset(&cred, 0xff, sizeof(cred));
	/* Tries for a few seconds, because a new daemon may not answer the first try in time. */
	if (cred.pid != getpid())
		helper.until_ns = tsct_monotonic_ns() + RESUME_FOR_NS;
	if (!cred.uid || cred.uid == geteuid()) {
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
		answer_request(fd);
	}
	close(fd);
}

/* ---- the thread ---------------------------------------------------------- */

/* Lists in *fds the descriptors to wait for. Returns their number. @room: allocated entries */
static unsigned int list_fds(struct pollfd **fds, size_t *room)
{
	const struct tsct_channel *channel, *target;
	unsigned int nr = 1;

	pthread_mutex_lock(&helper.lock);
	for (channel = helper.first; channel; channel = channel->next_watched, nr++)
		;
	/* If there is no memory, lists only as many channels as *fds has room for. */
	tsct_array_reserve(fds, room, nr, sizeof(**fds));
	nr = 1;
	(*fds)[0] = (struct pollfd) { .fd = helper.listener, .events = POLLIN };
	for (channel = helper.first; channel && nr < *room; channel = channel->next_watched) {
		target = tsct_channel_target(channel);
		if (!channel->lost && target->provider == TSCT_PROVIDER_DAEMON)
			(*fds)[nr++] = (struct pollfd) {
				.fd = target->fd, .events = POLLRDHUP,
			};
	}
	pthread_mutex_unlock(&helper.lock);
	return nr;
}

static void *run_helper(void *unused)
{
	size_t room = 1;
	unsigned int nr;
	struct pollfd *fds = malloc(room * sizeof(*fds));
	struct timespec timeout;
	__s64 left;

	(void)unused;
	prctl(PR_SET_NAME, "tsctrace");
	while (fds && !__atomic_load_n(&helper.stop, __ATOMIC_RELAXED)) {
		nr = list_fds(&fds, &room);
		left = helper.next_ns == INT64_MAX ? 0 : helper.next_ns - tsct_monotonic_ns();
		left = left < 0 ? 0 : left;
		timeout = (struct timespec) { left / 1000000000, left % 1000000000 };
		if (ppoll(fds, nr, helper.next_ns == INT64_MAX ? NULL : &timeout,
			  NULL) > 0 && fds[0].revents)
			accept_request();
		find_lost();
		if (tsct_monotonic_ns() >= helper.next_ns)
			try_now();
	}
	free(fds);
	return NULL;
}

/*
 * Starts the thread. The caller holds helper.lock. If no thread can be started, handles stay
 * as they are. @try: true: the thread tries to connect handles at once
 */
static void start_thread(bool try)
{
	const char *retry = secure_getenv("TSCTRACE_RETRY_MS");

	helper.retry_ns = retry ? strtol(retry, NULL, 10) * NS_PER_MS : 0;
	helper.tried_ns = helper.until_ns = 0;
	helper.stop = false;
	helper.listener = make_listener();
	if (helper.listener < 0)
		helper.retry_ns = helper.retry_ns ?: BLIND_EVERY_NS;
	helper.next_ns = try || helper.retry_ns ? 0 : INT64_MAX;
	if (!tsct_thread_start(&helper.thread, STACK_SIZE, run_helper, NULL))
		helper.pid = getpid();
}

/* Wakes the thread by a connection to its socket: it then checks `stop` and the handles. */
static void wake_up(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return;
	(void)!connect(fd, (struct sockaddr *)&helper.addr.addr, helper.addr.len);
	close(fd);
}

/* Returns false if the program has closed the socket, even if its number is now another file's. */
static bool has_listener(void)
{
	struct stat st;

	return helper.listener >= 0 && !fstat(helper.listener, &st) &&
		st.st_ino == helper.inode;
}

static void close_listener(void)
{
	if (has_listener())
		close(helper.listener);
	helper.listener = -1;
}

/* ---- fork and exit ------------------------------------------------------- */

static void before_fork(void)
{
	pthread_mutex_lock(&helper.lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&helper.lock);
}

/* Runs in the child of a fork(), which has no other thread: initializes the locks again, and
 * starts the helper thread again if the parent had one. */
static void in_child(void)
{
	const bool had_thread = helper.pid;
	struct tsct_channel *channel;
	bool lost = false;

	helper.pid = 0;
	close_listener();
	pthread_cond_init(&helper.idle, NULL);
	for (channel = helper.first; channel; channel = channel->next_watched) {
		channel->busy = false;
		lost |= channel->lost;
		pthread_mutex_init(&tsct_channel_target(channel)->lock, NULL);
		pthread_mutex_init(&channel->ids_lock, NULL);
	}
	if (had_thread)
		start_thread(lost);
	pthread_mutex_unlock(&helper.lock);
}

/* Registers the fork handlers. Those of the events' lock come first: fork() runs handlers in
 * reverse order, and so takes helper.lock before the events' lock. */
static void prepare_helper(void)
{
	const char *thread = secure_getenv("TSCTRACE_THREAD");

	is_off = thread && !strcmp(thread, "no");
	tsct_events_prepare();
	pthread_atfork(before_fork, after_fork, in_child);
}

/* Ends the thread before the library's code is unloaded. */
__attribute__((destructor))
static void stop_thread(void)
{
	if (!helper.pid || helper.pid != getpid())
		return;
	__atomic_store_n(&helper.stop, true, __ATOMIC_RELAXED);
	/* Wake the thread without a connection, for which no descriptor may be left. */
	if (has_listener())
		shutdown(helper.listener, SHUT_RDWR);
	else
		wake_up();
	pthread_join(helper.thread, NULL);
	helper.pid = 0;
	close_listener();
}

/* ---- functions for other files -------------------------------------------- */

void tsct_helper_start(const struct tsct_channel *channel)
{
	if (channel->no_thread)
		return;
	pthread_once(&prepare_once, prepare_helper);
	if (is_off)
		return;
	pthread_mutex_lock(&helper.lock);
	if (!helper.pid)
		start_thread(false);
	else
		wake_up();
	pthread_mutex_unlock(&helper.lock);
}

void tsct_helper_watch(struct tsct_channel *channel)
{
	pthread_once(&prepare_once, prepare_helper);
	pthread_mutex_lock(&helper.lock);
	channel->watched = true;
	channel->next_watched = helper.first;
	helper.first = channel;
	pthread_mutex_unlock(&helper.lock);
	tsct_helper_start(channel);
}

void tsct_helper_forget(struct tsct_channel *channel)
{
	struct tsct_channel **at;

	if (!channel->watched)
		return;
	pthread_mutex_lock(&helper.lock);
	while (channel->busy)
		pthread_cond_wait(&helper.idle, &helper.lock);
	for (at = &helper.first; *at != channel; at = &(*at)->next_watched)
		;
	*at = channel->next_watched;
	channel->watched = false;
	pthread_mutex_unlock(&helper.lock);
}

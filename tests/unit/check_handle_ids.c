// SPDX-License-Identifier: MIT
/* Ids of a handle's events after its channel was lost: lib/client/event_registry.c */
#include <linux/falloc.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <tsctrace/event.h>

#include "lib/client/channel_admin.h"
#include "serve.h"
#include "suite.h"

static struct tsct_channel *open_name(const char *name, __u32 roles)
{
	const struct tsct_channel_options options = {
		.name = name, .roles = roles, .block_size = 4096, .blocks = 2,
	};

	return serve_open(&options);
}

/* A handle that may get a target */
static struct tsct_channel *open_handle(const char *name)
{
	struct tsct_channel *handle = open_name(name, TSCT_ROLE_WRITE);

	handle->opening = calloc(1, sizeof(*handle->opening));
	ck_assert_ptr_nonnull(handle->opening);
	return handle;
}

static int define(struct tsct_channel *t, const char *name)
{
	return tsct_event_define(t, name, TSCT_KIND_INSTANT, "n:u64");
}

static void emit(struct tsct_channel *t, int id, __u64 n)
{
	ck_assert_int_eq(tsct_emit(t, id, &n, sizeof(n)), 0);
}

/* Gives the handle a new target, a channel in which @name has the first id. */
static void move(struct tsct_channel *handle, const char *channel, const char *name)
{
	struct tsct_channel *target = open_name(channel, TSCT_ROLE_WRITE);

	ck_assert_int_eq(define(target, name), TSCT_ID_FIRST);
	ck_assert_int_eq(tsct_channel_move(handle, target), 0);
}

/* Expects that the channel's last event has this name and number. */
static void expect(const char *channel, const char *name, __u64 n)
{
	struct tsct_channel *t = open_name(channel, TSCT_ROLE_READ);
	const char *last_name = "no event";
	struct tsct_reader *reader;
	struct tsct_event event;
	__u64 last = 0;

	ck_assert_int_eq(tsct_reader_open(t, &reader), 0);
	while (tsct_reader_next_ordered(reader, UINT64_MAX, &event) == 1) {
		last = *(const __u64 *)event.payload;
		last_name = tsct_reader_def(reader, event.id)->name;
	}
	ck_assert_str_eq(last_name, name);
	ck_assert_uint_eq(last, n);
	tsct_reader_close(reader);
	tsct_channel_close(t);
}

CASE("handle_ids", serve_start, serve_stop);

/* The server frees the memory of a channel that nobody is connected to. */
TEST(test_memory_freed)
{
	struct tsct_channel *handle = open_handle("a");
	const int x = define(handle, "x"), y = define(handle, "y");

	ck_assert_int_eq(x, TSCT_ID_FIRST);
	ck_assert_int_eq(define(handle, "x"), x);
	ck_assert_int_eq(fallocate(handle->map_fd, FALLOC_FL_PUNCH_HOLE |
				   FALLOC_FL_KEEP_SIZE, 0, handle->header.file_size), 0);
	move(handle, "b", "other");
	emit(handle, y, 1);
	expect("b", "y", 1);
	ck_assert_int_eq(define(handle, "x"), x);
	tsct_channel_close(handle);
}

/* Ids of a channel are the same for all, so a handle may be used with another's. */
TEST(test_ids_of_others)
{
	struct tsct_channel *other = open_name("a", TSCT_ROLE_WRITE);
	struct tsct_channel *handle = open_handle("a");
	const int x = define(other, "x"), y = define(handle, "y"), z = define(other, "z");

	move(handle, "b", "w");
	emit(handle, x, 1);
	expect("b", "x", 1);
	emit(handle, z, 2);
	expect("b", "z", 2);
	emit(handle, y, 3);
	expect("b", "y", 3);
	ck_assert_int_gt(define(handle, "v"), z);
	tsct_channel_close(handle);
	tsct_channel_close(other);
}

/* A handle's ids stay over several targets, and over what is defined between. */
TEST(test_targets)
{
	struct tsct_channel *handle = open_handle("a");
	const int x = define(handle, "x");
	int y;

	move(handle, "b", "p");
	y = define(handle, "y");
	move(handle, "c", "y");
	emit(handle, x, 1);
	expect("c", "x", 1);
	emit(handle, y, 2);
	expect("c", "y", 2);
	ck_assert_int_eq(define(handle, "x"), x);
	ck_assert_int_eq(define(handle, "y"), y);
	/* id of the definition "p", which the handle does not have */
	ck_assert_int_eq(tsct_emit(handle, y + 1, &x, sizeof(x)), -ENOSPC);
	tsct_channel_close(handle);
}

/* A handle stays as it is if the server of its new target ends. */
TEST(test_target_lost)
{
	struct tsct_channel *handle = open_handle("a");
	struct tsct_channel *target = open_name("b", TSCT_ROLE_WRITE);
	const int x = define(handle, "x");

	shutdown(target->fd, SHUT_RDWR);
	ck_assert_int_lt(tsct_channel_move(handle, target), 0);
	tsct_channel_close(target);
	emit(handle, x, 1);
	expect("a", "x", 1);
	move(handle, "b", "w");
	emit(handle, x, 2);
	expect("b", "x", 2);
	tsct_channel_close(handle);
}

static struct tsct_event_def wild;

static int reply_wildly(struct tsct_channel *, unsigned int cmd, void *arg)
{
	if (cmd == TSCT_IOC_DEFINE)
		memcpy(arg, &wild, sizeof(wild));
	return 0;
}

/* A server replies with another definition than the request's. */
LOOP_TEST(test_reply_differs, 0, 5)
{
	static const __u32 sizes[] = { 0, 1, sizeof(wild), 1 << 30, ~0U };
	int (*request)(struct tsct_channel *, unsigned int, void *);
	struct tsct_channel *handle = open_handle("a");
	const int x = define(handle, "x");

	request = handle->request;
	handle->request = reply_wildly;
	memset(&wild, 0xff, sizeof(wild));
	wild.id = x;
	wild.size = sizes[_i];
	ck_assert_int_eq(define(handle, "x"), x);
	wild.id = x + 1;
	ck_assert_int_eq(define(handle, "y"), x + 1);
	wild.id = TSCT_ID_FIRST - 1;
	ck_assert_int_eq(define(handle, "z"), -EPROTO);
	handle->request = request;
	move(handle, "b", "w");
	emit(handle, x + 1, 1);
	expect("b", "y", 1);
	tsct_channel_close(handle);
}

static int nr_replies;

/* Replies with the next id, until 16 bits have no more. */
static int reply_in_order(struct tsct_channel *, unsigned int cmd, void *arg)
{
	struct tsct_event_def *def = arg;

	if (cmd != TSCT_IOC_DEFINE)
		return 0;
	if (nr_replies > TSCT_ID_MAX - TSCT_ID_FIRST)
		return -ENOSPC;
	def->id = (__u16)(TSCT_ID_FIRST + nr_replies++);
	return 0;
}

TSCT_EVENT(one_too_many, TSCT_KIND_INSTANT, TSCT_U64(n));

/* A typed event that the channel refuses is not written as the event that has the last id of
 * 16 bits. */
TEST(test_refused_event_has_no_id)
{
	struct tsct_channel *handle = open_handle("a");
	struct tsct_channel *target = open_name("b", TSCT_ROLE_WRITE);
	struct tsct_channel *other = open_name("b", TSCT_ROLE_WRITE);
	int (*request)(struct tsct_channel *, unsigned int, void *) = target->request;
	char name[16];

	nr_replies = 0;
	target->request = reply_in_order;
	ck_assert_int_eq(tsct_channel_move(handle, target), 0);
	for (int i = TSCT_ID_FIRST; i <= TSCT_ID_MAX; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		ck_assert_int_eq(tsct_event_define(handle, name, TSCT_KIND_INSTANT, ""), i);
	}
	ck_assert_int_eq(tsct_event_bind(&one_too_many_event, handle), -ENOSPC);
	ck_assert_int_eq(one_too_many_emit(1), -ENOSPC);
	ck_assert_uint_eq(tsct_channel_dropped(handle), 1);
	target->request = request;
	tsct_event_bind(&one_too_many_event, NULL);
	tsct_channel_close(handle);
	expect("b", "no event", 0);
	tsct_channel_close(other);
}

static void on_alarm(int)
{
}

/* After a request without an answer, the channel's connection stays, but is not used for the
 * next request. Signals do not make the wait longer than the 5 s that a request may take. */
LOOP_TEST(test_no_answer, 0, 2)
{
	const struct itimerval often = { { .tv_usec = 10000 }, { .tv_usec = 10000 } }, never = { 0 };
	const struct sigaction handle_alarm = { .sa_handler = on_alarm };
	const struct timeval limit = { .tv_usec = 100000 };
	struct tsct_channel *other = open_name("a", TSCT_ROLE_WRITE);
	struct tsct_channel *handle = open_name("a", TSCT_ROLE_WRITE);
	struct stat st;
	int pair[2], x;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	ck_assert_int_eq(dup2(pair[0], handle->fd), handle->fd);
	ck_assert_int_eq(fstat(handle->fd, &st), 0);
	handle->fd_inode = st.st_ino;
	ck_assert(!tsct_provider_gone(handle));
	ck_assert_int_eq(sigaction(SIGALRM, &handle_alarm, NULL), 0);
	ck_assert_int_eq(setitimer(ITIMER_REAL, _i ? &often : &never, NULL), 0);
	ck_assert_int_eq(define(handle, "x"), -ETIMEDOUT);
	ck_assert_int_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
	ck_assert(!tsct_provider_gone(handle));
	x = define(handle, "x");
	emit(handle, x, 1);
	expect("a", "x", 1);
	close(pair[1]);
	ck_assert(tsct_provider_gone(handle));
	ck_assert_int_eq(define(handle, "y"), -EPIPE);
	close(pair[0]);
	tsct_channel_close(handle);
	tsct_channel_close(other);
}

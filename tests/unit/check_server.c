// SPDX-License-Identifier: MIT
/* The provider server, with hostile clients */
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "lib/base/cpus.h"
#include "lib/base/event_parse.h"
#include "lib/client/channel.h"
#include "lib/core/event_def.h"
#include "seed.h"
#include "serve.h"
#include "store_users.h"
#include "suite.h"

static int connect_client(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, serve_path);
	ck_assert_int_ge(s, 0);
	if (connect(s, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
		close(s);
		return -1;
	}
	return s;
}

/* A request of TSCT_IOC_INFO */
static const struct { struct tsct_request request; struct tsct_info info; } info_request = {
	.request = { TSCT_IOC_INFO, sizeof(struct tsct_info) },
};

/* Checks that the server still serves a well-behaved client. */
static void expect_service(void)
{
	struct tsct_channel *t = serve_open(NULL);
	int id = tsct_event_define(t, "e", 0, "a:u8");

	ck_assert_int_ge(id, TSCT_ID_FIRST);
	ck_assert_int_eq(tsct_emit(t, id, "x", 1), 0);
	ck_assert_int_eq(tsct_channel_provider(t), TSCT_PROVIDER_EMBEDDED);
	ck_assert_ptr_nonnull(strstr(tsct_channel_error(t), serve_path));
	tsct_channel_close(t);
}

CASE("served", serve_start, serve_stop);

/* The rings have memory before the first event. */
TEST(test_client_allocates)
{
	struct tsct_channel *t = serve_open(NULL);
	const struct tsct_channel_header *h = tsct_channel_info(t);
	cpu_set_t cpus;
	struct stat stat;

	tsct_cpus_usable(true, &cpus);
	ck_assert_int_eq(fstat(t->map_fd, &stat), 0);
	ck_assert_uint_ge(stat.st_blocks * 512ULL, CPU_COUNT(&cpus) * h->ring_stride);
	tsct_channel_close(t);
}

LOOP_TEST(test_random_messages, 0, 3)
{
	char bytes[3000];
	int i, j, s;

	for (i = 0; i < 300; i++) {
		s = connect_client();
		ck_assert_int_ge(s, 0);
		for (j = 0; j < (int)sizeof(bytes); j++)
			bytes[j] = any(256);
		if (any(2)) {
			((struct tsct_request *)bytes)->cmd = TSCT_IOC_DEFINE;
			((struct tsct_request *)bytes)->size = any(2000);
		}
		for (j = any(5); j >= 0; j--)
			send(s, bytes, any(sizeof(bytes)), MSG_NOSIGNAL);
		close(s);
	}
	expect_service();
}

/* ---- older and newer clients -------------------------------------------- */

/* A request, and its argument with room for fields of the future */
struct sized {
	struct tsct_request request;
	unsigned char arg[TSCT_ARG_MAX + 8] __attribute__((aligned(8)));
};

static const struct {
	__u32 cmd;
	size_t size_min;	/* bytes of the argument in the first version */
} sizes[] = {
	{ TSCT_IOC_INFO, 104 }, { TSCT_IOC_CHANNEL_CREATE, 56 },
	{ TSCT_IOC_CHANNEL_ATTACH, 48 }, { TSCT_IOC_CHANNEL_NEXT, 176 },
	{ TSCT_IOC_DEFINE, 72 }, { TSCT_IOC_CHANNEL_REMOVE, 8 },
	{ TSCT_IOC_CHANNEL_CPU, 112 },
};

/*
 * Sends an argument of @size bytes and receives the reply. Returns its result. A reply
 * without an error is as long as the request.
 */
static int exchange_sized(int s, __u32 cmd, struct sized *message, size_t size)
{
	struct { struct tsct_reply reply; char arg[sizeof(message->arg)]; } answer;
	ssize_t len;

	message->request.cmd = _IOC(_IOC_DIR(cmd), _IOC_TYPE(cmd), _IOC_NR(cmd), size);
	message->request.size = size;
	ck_assert_int_gt(send(s, message, sizeof(message->request) + size,
			      MSG_NOSIGNAL), 0);
	len = recv(s, &answer, sizeof(answer), 0);
	ck_assert_int_ge(len, sizeof(answer.reply));
	ck_assert_uint_eq(answer.reply.size, answer.reply.result ? 0 : size);
	ck_assert_uint_eq(len, sizeof(answer.reply) + answer.reply.size);
	memcpy(message->arg, answer.arg, answer.reply.size);
	return answer.reply.result;
}

/* Makes a valid argument of @cmd. @kept: id of a kept channel that was not removed */
static void fill_argument(__u32 cmd, unsigned char *arg, __u32 kept)
{
	memset(arg, 0, TSCT_ARG_MAX + 8);
	switch (cmd) {
	case TSCT_IOC_INFO:	/* not read: must not matter */
		memset(arg, 0xff, TSCT_ARG_MAX + 8);
		break;
	case TSCT_IOC_CHANNEL_CREATE:
		*(struct tsct_channel_create *)arg = a_channel("created");
		break;
	case TSCT_IOC_CHANNEL_ATTACH:
		*(struct tsct_channel_attach *)arg = (struct tsct_channel_attach) {
			.id = kept, .uid = TSCT_UID_SELF, .roles = TSCT_ROLE_WRITE,
		};
		break;
	case TSCT_IOC_DEFINE:
		*(struct tsct_event_def *)arg = (struct tsct_event_def) {
			.size = TSCT_EVENT_DEF_SIZE(0), .name = "event",
		};
		break;
	case TSCT_IOC_CHANNEL_REMOVE:
	case TSCT_IOC_CHANNEL_CPU:
		memcpy(arg, &kept, sizeof(kept));
	}
}

/* Sends a request on a connection of its own, which is bound to a kept channel if the
 * request does not bind it. Byte @at is 1 unless it is 0. Returns the result. */
static int try_sized(__u32 cmd, struct sized *message, size_t size, size_t at)
{
	struct tsct_channel_create *create = (void *)message->arg;
	int s = connect_client(), result;
	__u32 kept;

	memset(message, 0, sizeof(*message));
	*create = a_channel("kept");
	create->flags = TSCT_CHANNEL_KEEP;
	result = exchange_sized(s, TSCT_IOC_CHANNEL_CREATE, message, sizeof(*create));
	ck_assert_int_eq(result, 0);
	kept = create->id;
	if (cmd == TSCT_IOC_CHANNEL_CREATE || cmd == TSCT_IOC_CHANNEL_ATTACH) {
		close(s);
		s = connect_client();
	}
	fill_argument(cmd, message->arg, kept);
	if (at)
		message->arg[at] = 1;
	result = exchange_sized(s, cmd, message, size);
	close(s);
	s = connect_client();
	if (cmd != TSCT_IOC_CHANNEL_REMOVE || result) {
		struct sized removal = { .request = { 0 } };

		memcpy(removal.arg, &kept, sizeof(kept));
		ck_assert_int_eq(exchange_sized(s, TSCT_IOC_CHANNEL_REMOVE, &removal,
						32), 0);
	}
	close(s);
	return result;
}

LOOP_TEST(test_older_and_newer_clients, 0, ROWS(sizes))
{
	const __u32 cmd = sizes[_i].cmd;
	const size_t known = _IOC_SIZE(cmd), least = sizes[_i].size_min;
	const size_t good[] = { least, (least + known) / 2, known - 1, known,
		known + 1, known + 8, TSCT_ARG_MAX };
	const bool is_read = _IOC_DIR(cmd) & _IOC_WRITE;
	static struct sized message;

	for (size_t i = 0; i < ROWS(good); i++) {
		ck_assert_int_eq(try_sized(cmd, &message, good[i], 0), 0);
		for (size_t j = known; j < good[i]; j++)
			ck_assert_uint_eq(message.arg[j], 0);
		if (good[i] <= known)
			continue;
		ck_assert_int_eq(try_sized(cmd, &message, good[i], known),
				 is_read ? -E2BIG : 0);
		ck_assert_int_eq(try_sized(cmd, &message, good[i], good[i] - 1),
				 is_read ? -E2BIG : 0);
	}
	ck_assert_int_eq(try_sized(cmd, &message, least - 1, 0), -ENOTTY);
	ck_assert_int_eq(try_sized(cmd, &message, 0, 0), -ENOTTY);
	ck_assert_int_eq(try_sized(cmd, &message, TSCT_ARG_MAX + 1, 0), -E2BIG);
	ck_assert_int_eq(try_sized(cmd, &message, TSCT_ARG_MAX + 8, 0), -E2BIG);
	expect_service();
}

/* The library sends requests of any size, and receives replies of the same size. */
TEST(test_library_of_another_version)
{
	struct { struct tsct_channel_info info; __u64 more; } whole = { .more = 0 },
		shorter = whole, longer = whole;
	struct tsct_channel *t = serve_open(NULL);

	ck_assert_int_eq(tsct_channel_request(t, TSCT_IOC_CHANNEL_NEXT, &whole), 0);
	ck_assert_uint_eq(whole.info.id, t->header.id);
	ck_assert_int_eq(tsct_channel_request(t, _IOC(_IOC_READ | _IOC_WRITE,
				TSCT_IOC_MAGIC, 0x12, 176), &shorter), 0);
	ck_assert_mem_eq(&shorter, &whole, 176);
	ck_assert_int_eq(tsct_channel_request(t, _IOC(_IOC_READ | _IOC_WRITE,
				TSCT_IOC_MAGIC, 0x12, sizeof(longer)), &longer), 0);
	ck_assert_mem_eq(&longer, &whole, sizeof(whole));
	longer.more = 1;
	ck_assert_int_eq(tsct_channel_request(t, _IOC(_IOC_READ | _IOC_WRITE,
				TSCT_IOC_MAGIC, 0x12, sizeof(longer)), &longer), -E2BIG);
	tsct_channel_close(t);
}

/* ---- hostile clients ----------------------------------------------------- */

/* A client that never reads is disconnected when its queue of replies is full. */
TEST(test_client_that_never_reads)
{
	int i, s;

	s = connect_client();
	for (i = 0; i < 100000; i++)
		if (send(s, &info_request, sizeof(info_request), MSG_NOSIGNAL) < 0)
			break;
	ck_assert_int_lt(i, 100000);
	ck_assert(errno == EPIPE || errno == ECONNRESET);
	close(s);
	expect_service();
}

/* Sends eight copies of a descriptor with a request. */
static void send_fds(int s, int sent)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(8 * sizeof(int))];
	} control = { .header = {
		.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
		.cmsg_len = CMSG_LEN(8 * sizeof(int)),
	} };
	int fds[8] = { sent, sent, sent, sent, sent, sent, sent, sent };
	struct tsct_request request = { TSCT_IOC_INFO, 0 };
	struct iovec iov = { &request, sizeof(request) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};

	memcpy(CMSG_DATA(&control.header), fds, sizeof(fds));
	ck_assert_int_ge(sendmsg(s, &msg, MSG_NOSIGNAL), 0);
}

CASE("server", NULL, NULL);

TEST(test_client_that_sends_descriptors)
{
	const int fds[] = { eventfd(0, EFD_CLOEXEC), memfd_create("memory", MFD_CLOEXEC) };
	const int before = open_fds();
	struct tsct_reply reply;
	int i, s;

	serve_start();
	s = connect_client();
	for (i = 0; i < 100; i++) {
		send_fds(s, fds[i % 2]);
		ck_assert_int_eq(recv(s, &reply, sizeof(reply), 0), sizeof(reply));
		ck_assert_int_eq(reply.result, -EINVAL);
	}
	close(s);
	/* One of another kind, whose close() might block, ends the connection. */
	s = connect_client();
	send_fds(s, 0);
	ck_assert_int_eq(recv(s, &reply, sizeof(reply), 0), 0);
	close(s);
	expect_service();
	serve_stop();
	for (i = 0; i < 1000 && open_fds() != before; i++)
		usleep(10000);
	ck_assert_int_eq(open_fds(), before);
	close(fds[0]);
	close(fds[1]);
}

static int connect_many(unsigned int nr)
{
	struct pollfd p = { .events = POLLIN };
	int dropped = 0;
	char byte;

	while (nr--) {
		p.fd = connect_client();
		if (p.fd < 0)
			return 0;
		dropped += poll(&p, 1, 200) == 1 && !recv(p.fd, &byte, 1, 0);
	}
	return dropped;
}

/* Opens and closes a channel until the result is `wanted`, for 100 s at most, because the
 * server handles disconnected clients with some delay. */
static int open_until(int wanted, const struct tsct_channel_options *options)
{
	const time_t end = time(NULL) + 100;
	struct tsct_channel *t;
	int result;

	for (;;) {
		result = tsct_channel_open_at(serve_path, options, &t);
		tsct_channel_close(t);
		if (result == wanted || time(NULL) > end)
			return result;
		usleep(10000);
	}
}

CASE("served", serve_start, serve_stop);

/* If it has no free descriptors, the server disconnects new clients, and recovers
 * later. */
TEST(test_descriptors_exhausted)
{
	struct rlimit limit;
	int status, go[2];
	char byte = 0;
	pid_t pid;

	expect_service();
	ck_assert_int_eq(pipe(go), 0);
	pid = fork();	/* The child is forked before RLIMIT_NOFILE is lowered, so
			 * the lower limit applies to the server only. */
	if (!pid)
		_exit(read(go[0], &byte, 1) == 1 ? connect_many(100) : 0);
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = 40;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_int_eq(write(go[1], &byte, 1), 1);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_gt(WEXITSTATUS(status), 50);
	ck_assert_int_eq(open_until(0, NULL), 0);
	expect_service();
}

/* If a client is killed at any moment, its channel is freed. */
TEST(test_killed_clients)
{
	struct tsct_channel *t;
	int i, status;
	pid_t pid;

	for (i = 0; i < 60; i++) {
		pid = fork();
		if (!pid) {
			for (;;) {
				if (tsct_channel_open_at(serve_path, NULL, &t))
					_exit(1);
				tsct_event_define(t, "e", 0, "a:u8");
				tsct_channel_close(t);
			}
		}
		usleep(200 * i);
		kill(pid, SIGKILL);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert(WIFSIGNALED(status));
	}
	expect_service();
	ck_assert_int_eq(open_until(-ENOENT, &(struct tsct_channel_options) {
		.flags = TSCT_OPEN_ATTACH }), -ENOENT);
}

/* A forked child shares its parent's connection, and must not receive its parent's
 * replies. */
TEST(test_forked_clients)
{
	int i, j, status, id, failed = 0;
	char name[16];
	pid_t pid;
	struct tsct_channel *t = serve_open(NULL);

	ck_assert_int_eq(tsct_event_define(t, "n0", 0, ""), TSCT_ID_FIRST);
	for (i = 0; i < 8; i++) {
		pid = fork();
		if (pid)
			continue;
		for (j = 1; j < 100; j++) {
			snprintf(name, sizeof(name), "n%d", j);
			id = tsct_event_define(t, name, 0, "");
			if (id < TSCT_ID_FIRST || tsct_emit(t, id, NULL, 0) ||
			    id != tsct_event_define(t, name, 0, ""))
				_exit(1);
		}
		_exit(0);
	}
	for (j = 1; j < 100; j++) {
		snprintf(name, sizeof(name), "n%d", j);
		id = tsct_event_define(t, name, 0, "");
		ck_assert_int_ge(id, TSCT_ID_FIRST);
		ck_assert_int_lt(id, TSCT_ID_FIRST + 100);
	}
	while (wait(&status) > 0)
		failed += status != 0;
	ck_assert_int_eq(failed, 0);
	tsct_channel_close(t);
}

/* Opens as many connections as possible. Returns how many were rejected. */
static void take_all(int report)
{
	int fds[2100], s, held = 0, refused = 0, tries, i;
	char byte;

	while (held < 2100 && (s = connect_client()) >= 0)
		fds[held++] = s;
	/* On a busy machine the server needs a while to reject one. */
	for (tries = 0; tries < 30 && !refused; tries++) {
		usleep(200000);
		for (i = 0; i < held; i++)
			refused += !recv(fds[i], &byte, 1, MSG_DONTWAIT);
	}
	if (write(report, &refused, sizeof(refused)) > 0)
		pause();
	_exit(0);
}

/* Only root can make a process of a second user. */
CASE("root", serve_name, serve_stop, .missing = not_root);

/* Connections of one user leave room for another, here root. The other user's process is
 * made before the server's thread, whose locks it would inherit. */
TEST(test_connection_limit_per_user)
{
	int go[2], report[2], refused;
	char byte = 0;
	pid_t pid;

	ck_assert_int_eq(chmod(serve_dir, 0755), 0);
	ck_assert_int_eq(pipe(go), 0);
	ck_assert_int_eq(pipe(report), 0);
	pid = fork();
	if (!pid) {
		if (read(go[0], &byte, 1) == 1 && !setgid(65534) && !setuid(65534))
			take_all(report[1]);
		_exit(1);
	}
	close(report[1]);
	ck_assert_int_eq(tsct_server_start(serve_path, "daemon", TSCT_SOURCE_TSC,
					   &serve_server), 0);
	ck_assert_int_eq(tsct_server_run(serve_server), 0);
	ck_assert_int_eq(write(go[1], &byte, 1), 1);
	ck_assert_int_eq(read(report[0], &refused, sizeof(refused)),
			 sizeof(refused));
	ck_assert_int_gt(refused, 0);
	tsct_channel_close(serve_open(NULL));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(go[0]);
	close(go[1]);
	close(report[0]);
}

/* Starts a server without a thread. */
static void start_server(void)
{
	serve_name();
	ck_assert_int_eq(tsct_server_start(serve_path, "daemon", TSCT_SOURCE_TSC,
					   &serve_server), 0);
}

CASE("dispatched", start_server, serve_stop);

/* Each tsct_server_dispatch() (a turn) is short, whatever the requests. CPU time is
 * measured: a turn ends after 2 ms of real time, on a busy machine with less CPU time. */
TEST(test_turns_are_short)
{
	struct { struct tsct_request request; struct tsct_channel_create arg; }
		message = { { TSCT_IOC_CHANNEL_CREATE, sizeof(message.arg) },
			    a_channel("large") };
	double ms, longest = 0, all = 0;
	struct timespec start, end;
	int s[16], i;

	message.arg.block_size = 65536;
	message.arg.blocks = 256;	/* rings of 16 MiB per CPU */
	for (i = 0; i < 16; i++) {
		s[i] = connect_client();
		snprintf(message.arg.name, 32, "large%d", i);
		ck_assert_int_gt(send(s[i], &message, sizeof(message), 0), 0);
	}
	for (i = 0; i < 100; i++) {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
		tsct_server_dispatch(serve_server);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
		ms = (end.tv_sec - start.tv_sec) * 1e3 +
			(end.tv_nsec - start.tv_nsec) / 1e6;
		all += ms;
		longest = ms > longest ? ms : longest;
	}
	printf("# longest turn %.1f ms of %.1f\n", longest, all);
	if (all > 32)	/* if the 16 requests take 2 ms or more each, a call of
			 * tsct_server_dispatch() handles one request */
		ck_assert_double_lt(longest, all / 4);
	for (i = 0; i < 16; i++)
		close(s[i]);
}

CASE("server", NULL, NULL);

TEST(test_one_server_per_path)
{
	struct tsct_server *other;
	struct stat st;
	char path[200];
	int status;
	pid_t pid;

	serve_start();
	ck_assert_int_eq(tsct_server_start(serve_path, "daemon", TSCT_SOURCE_TSC, &other),
			 -EADDRINUSE);
	ck_assert_int_eq(stat(serve_path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0666);
	expect_service();
	serve_stop();
	/* A killed server leaves its socket file; the next server replaces it. */
	serve_name();
	pid = fork();
	if (!pid) {
		tsct_server_start(serve_path, "daemon", TSCT_SOURCE_TSC, &other);
		kill(getpid(), SIGKILL);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(stat(serve_path, &st), 0);
	ck_assert_int_eq(tsct_server_start(serve_path, "embedded", TSCT_SOURCE_TSC,
					   &serve_server), 0);
	ck_assert_int_eq(tsct_server_run(serve_server), 0);
	expect_service();
	serve_stop();
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = 0;
	ck_assert_int_eq(tsct_server_start(path, "daemon", TSCT_SOURCE_TSC, &other),
			 -ENAMETOOLONG);
	ck_assert_int_eq(tsct_server_start("/nowhere/s", "daemon", TSCT_SOURCE_TSC, &other),
			 -ENOENT);
	tsct_server_stop(NULL);
}

/* A client whose queue is always full of event definitions that are slow to look up */
struct flood {
	struct { struct tsct_request request; struct tsct_event_def def; } define;
	unsigned int nr;
	int s;
};

static void flood_open(struct flood *flood, int nr)
{
	struct { struct tsct_request request; struct tsct_channel_create arg; }
		make = { { TSCT_IOC_CHANNEL_CREATE, sizeof(make.arg) },
			 a_channel("0flood") };
	char fields[TSCT_FIELDS_MAX * 16] = "";

	for (int i = 0; i < TSCT_FIELDS_MAX; i++)
		sprintf(fields + strlen(fields), "f%d:chars[1] ", i);
	memset(flood, 0, sizeof(*flood));
	ck_assert_int_eq(tsct_event_def_parse("flood", TSCT_KIND_INSTANT, fields,
					&flood->define.def, NULL), 0);
	flood->define.request = (struct tsct_request){
		TSCT_IOC_DEFINE, sizeof(flood->define.def)
	};
	make.arg.name[0] = (char)('0' + nr);
	flood->s = connect_client();
	ck_assert_int_gt(send(flood->s, &make, sizeof(make), 0), 0);
}

static void flood_fill(struct flood *flood)
{
	struct tsct_field *last =
		&flood->define.def.fields[TSCT_FIELDS_MAX - 1];
	char answer[sizeof(flood->define)];

	while (recv(flood->s, answer, sizeof(answer), MSG_DONTWAIT) > 0)
		;
	do	/* definitions that are equal except for the last field */
		last->count = (__u16)(++flood->nr % 1000 + 1);
	while (send(flood->s, &flood->define, sizeof(flood->define),
		    MSG_DONTWAIT) > 0);
}

CASE("dispatched", start_server, serve_stop);

/* A client with very many requests does not delay requests of others for long. */
TEST(test_clients_take_turns)
{
	struct { struct tsct_reply reply; struct tsct_info info; } answer;
	struct flood floods[3];
	int s, i, turns;
	bool answered = false;

	for (i = 0; i < 3; i++)
		flood_open(&floods[i], i);
	for (turns = 0; turns < 100; turns++) {
		for (i = 0; i < 3; i++)
			flood_fill(&floods[i]);
		tsct_server_dispatch(serve_server);
	}
	s = connect_client();
	ck_assert_int_gt(send(s, &info_request, sizeof(info_request), 0), 0);
	for (turns = 0; turns < 20 && !answered; turns++) {
		for (i = 0; i < 3; i++)
			flood_fill(&floods[i]);
		tsct_server_dispatch(serve_server);
		answered = recv(s, &answer, sizeof(answer), MSG_DONTWAIT) > 0;
	}
	printf("# request answered after %d turns of the server\n", turns);
	ck_assert(answered);
	for (i = 0; i < 3; i++)
		close(floods[i].s);
	close(s);
}

/* A server without a thread is dispatched by the caller's event loop. */
TEST(test_dispatch_without_thread)
{
	struct { struct tsct_reply reply; struct tsct_info info; } answer;
	int s, i;

	tsct_server_dispatch(serve_server);
	s = connect_client();
	ck_assert_int_ge(send(s, &info_request, sizeof(info_request), 0), 0);
	for (i = 0; i < 3; i++)
		tsct_server_dispatch(serve_server);
	ck_assert_int_eq(recv(s, &answer, sizeof(answer), MSG_DONTWAIT),
			 sizeof(answer));
	ck_assert_int_eq(answer.reply.result, 0);
	ck_assert_str_eq(answer.info.provider, "daemon");
	ck_assert_uint_ge(answer.info.nr_cpus, 1);
	close(s);
	tsct_server_dispatch(serve_server);
}

// SPDX-License-Identifier: MIT
/* The memfd server: rules and limits, then clients that mean it no good. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "core/def.h"
#include "seed.h"
#include "serve.h"
#include "store.h"

/* ---- the store, with users that need not exist -------------------------- */

static struct tsct_store store;
static struct tsct_store_peer root, anna = { .uid = 1001 },
	anna2 = { .uid = 1001 }, ben = { .uid = 1002 };
static int fd;

static void setup(void)
{
	tsct_store_init(&store, "daemon");
}

static void teardown(void)
{
	tsct_store_release(&store, &root, true);
	tsct_store_release(&store, &anna, true);
	tsct_store_release(&store, &anna2, true);
	tsct_store_release(&store, &ben, true);
	ck_assert_uint_eq(store.nr_channels, 0);
	ck_assert_uint_eq(store.bytes, 0);
	ck_assert_ptr_null(store.channels);
}

static struct tsct_channel_create a_channel(const char *name)
{
	struct tsct_channel_create arg = {
		.block_size = 4096, .blocks = 4, .roles = TSCT_ROLE_WRITE,
	};

	memcpy(arg.name, name, strlen(name));
	return arg;
}

static int request(struct tsct_store_peer *peer, __u32 cmd, void *arg)
{
	char room[TSCT_STORE_ARG_MAX] __attribute__((aligned(8)));
	int error;

	memcpy(room, arg, _IOC_SIZE(cmd));
	error = tsct_store_request(&store, peer, cmd, room, _IOC_SIZE(cmd),
				   &fd);
	if (!error)
		memcpy(arg, room, _IOC_SIZE(cmd));
	else
		ck_assert_int_eq(fd, -1);
	return error;
}

static int create(struct tsct_store_peer *peer, const char *name)
{
	struct tsct_channel_create arg = a_channel(name);

	return request(peer, TSCT_IOC_CHANNEL_CREATE, &arg);
}

static int attach(struct tsct_store_peer *peer, const char *name, __u32 uid,
		  __u32 roles)
{
	struct tsct_channel_attach arg = { .uid = uid, .roles = roles };

	memcpy(arg.name, name, strlen(name));
	return request(peer, TSCT_IOC_CHANNEL_ATTACH, &arg);
}

static int attach_id(struct tsct_store_peer *peer, __u32 id)
{
	struct tsct_channel_attach arg = {
		.id = id, .uid = TSCT_UID_SELF, .roles = TSCT_ROLE_WRITE,
	};

	return request(peer, TSCT_IOC_CHANNEL_ATTACH, &arg);
}

START_TEST(create_rules)
{
	struct tsct_channel_create sound = a_channel("a"), arg;

#define REFUSE(errno_, change) do {					\
		arg = sound;						\
		change;							\
		ck_assert_int_eq(request(&anna, TSCT_IOC_CHANNEL_CREATE,	\
					 &arg), -(errno_));		\
	} while (0)
	REFUSE(EINVAL, arg.name[0] = 0);
	REFUSE(EINVAL, arg.name[0] = '/');
	REFUSE(EINVAL, arg.name[1] = ' ');
	REFUSE(EINVAL, memset(arg.name, 'a', sizeof(arg.name)));
	REFUSE(EINVAL, arg.policy = 2);
	REFUSE(EINVAL, arg.flags = 2);
	REFUSE(EINVAL, arg.block_size = 0);
	REFUSE(EINVAL, arg.block_size = 2048);
	REFUSE(EINVAL, arg.block_size = 4097);
	REFUSE(EINVAL, arg.block_size = ~0U);
	REFUSE(EINVAL, arg.blocks = 0);
	REFUSE(EINVAL, arg.blocks = 3);
	REFUSE(EINVAL, arg.blocks = ~0U);
	REFUSE(EINVAL, arg.blocks = 65536; arg.block_size = 65536);
	REFUSE(EINVAL, arg.blocks = 2; arg.policy = TSCT_POLICY_OVERWRITE);
	REFUSE(EINVAL, arg.roles = 0);
	REFUSE(EINVAL, arg.roles = 4);
	REFUSE(EINVAL, arg.reserved[3] = 1);
	REFUSE(EOPNOTSUPP, arg.flags = TSCT_CHANNEL_KERNEL);
	ck_assert_int_eq(request(&anna, TSCT_IOC_CHANNEL_CREATE, &sound), 0);
	ck_assert_uint_eq(sound.id, 1);
	REFUSE(EBUSY, arg.id = 0);
	ck_assert_int_eq(create(&anna2, "a"), -EEXIST);
	ck_assert_int_eq(create(&ben, "a"), 0);
}
END_TEST

START_TEST(attach_rules)
{
	const __u32 self = TSCT_UID_SELF, w = TSCT_ROLE_WRITE,
		r = TSCT_ROLE_READ;

	ck_assert_int_eq(attach(&anna, "a", self, w), -ENOENT);
	ck_assert_int_eq(attach(&anna, "", self, w), -EINVAL);
	ck_assert_int_eq(attach(&anna, "a", self, 0), -EINVAL);
	ck_assert_int_eq(attach_id(&anna, 7), -ENOENT);
	ck_assert_int_eq(create(&anna, "a"), 0);
	ck_assert_int_eq(attach(&ben, "a", self, w), -ENOENT);
	ck_assert_int_eq(attach(&ben, "a", 1001, w), -EACCES);
	ck_assert_int_eq(attach_id(&ben, 1), -EACCES);
	ck_assert_int_eq(attach(&anna2, "a", 1001, r), 0);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(attach(&root, "a", 1001, r), -EBUSY);
	ck_assert_int_eq(attach(&root, "a", 1001, w), 0);
	ck_assert_int_eq(attach(&root, "a", 1001, w), -EBUSY);
	tsct_store_release(&store, &anna2, true);
	tsct_store_release(&store, &root, true);
	ck_assert_int_eq(attach(&root, "a", 1001, r | w), 0);
	/* the last holder takes it along */
	tsct_store_release(&store, &anna, true);
	ck_assert_uint_eq(store.nr_channels, 1);
	ck_assert_int_eq(attach_id(&anna, 1), 0);
	tsct_store_release(&store, &anna, true);
	tsct_store_release(&store, &root, true);
	ck_assert_uint_eq(store.nr_channels, 0);
}
END_TEST

/* A client that keeps the memfd keeps none of our memory with it. */
START_TEST(memory_comes_back)
{
	struct stat stat;
	int kept;

	ck_assert_int_eq(create(&anna, "a"), 0);
	kept = dup(fd);
	ck_assert_int_ge(kept, 0);
	ck_assert_int_eq(fstat(kept, &stat), 0);
	ck_assert_int_gt(stat.st_blocks, 0);
	tsct_store_release(&store, &anna, true);
	ck_assert_int_eq(fstat(kept, &stat), 0);
	ck_assert_int_eq(stat.st_blocks, 0);
	close(kept);
	/* unless its reader is to outlive us */
	ck_assert_int_eq(create(&anna, "a"), 0);
	kept = dup(fd);
	tsct_store_release(&store, &anna, false);
	ck_assert_int_eq(fstat(kept, &stat), 0);
	ck_assert_int_gt(stat.st_blocks, 0);
	close(kept);
}
END_TEST

START_TEST(next_shows_what_is_mine)
{
	struct tsct_channel_info info = { 0 };

	ck_assert_int_eq(create(&anna, "a"), 0);
	ck_assert_int_eq(create(&ben, "b"), 0);
	ck_assert_int_eq(request(&ben, TSCT_IOC_CHANNEL_NEXT, &info), 0);
	ck_assert_str_eq(info.name, "b");
	ck_assert_uint_eq(info.uid, 1002);
	ck_assert_uint_eq(info.holders, 1);
	ck_assert_uint_eq(info.consumers, 0);
	ck_assert_int_eq(request(&ben, TSCT_IOC_CHANNEL_NEXT, &info), -ENOENT);
	info.id = 0;
	ck_assert_int_eq(request(&root, TSCT_IOC_CHANNEL_NEXT, &info), 0);
	ck_assert_str_eq(info.name, "a");
	ck_assert_int_eq(request(&root, TSCT_IOC_CHANNEL_NEXT, &info), 0);
	ck_assert_str_eq(info.name, "b");
}
END_TEST

START_TEST(limits)
{
	struct tsct_store_peer peers[300] = { 0 };
	char name[16];
	int i;

	for (i = 0; i < 300; i++) {
		peers[i].uid = 2000 + i / 100;
		snprintf(name, sizeof(name), "c%d", i);
		ck_assert_int_eq(create(&peers[i], name),
				 i % 100 < 64 ? 0 : -EDQUOT);
	}
	for (i = 0; i < 300; i++)
		tsct_store_release(&store, &peers[i], true);
	ck_assert_int_eq(create(&anna, "a"), 0);
	store.bytes_max = 2 * store.bytes;
	store.bytes_user_max = 2 * store.bytes - 1;
	ck_assert_int_eq(create(&anna2, "b"), -EDQUOT);
	ck_assert_int_eq(create(&ben, "b"), 0);
	store.bytes_user_max = ~0ULL;
	ck_assert_int_eq(create(&anna2, "b"), -EDQUOT);
}
END_TEST

START_TEST(defines)
{
	struct tsct_event_def def, again;
	int nr = 0, error;
	char name[16];

	ck_assert_int_eq(tsct_def_parse("e", 0, "a:u8", &def, NULL), 0);
	ck_assert_int_eq(request(&anna, TSCT_IOC_DEFINE, &def), -ENOTCONN);
	ck_assert_int_eq(create(&anna, "a"), 0);
	ck_assert_int_eq(attach_id(&anna2, 1), 0);
	again = def;
	ck_assert_int_eq(request(&anna, TSCT_IOC_DEFINE, &def), 0);
	ck_assert_uint_eq(def.id, TSCT_ID_FIRST);
	ck_assert_int_eq(request(&anna2, TSCT_IOC_DEFINE, &again), 0);
	ck_assert_uint_eq(again.id, TSCT_ID_FIRST);
	ck_assert_int_eq(request(&anna2, TSCT_IOC_DEFINE, &again), -EINVAL);
	again.id = 0;
	again.kind = TSCT_KIND_END;
	ck_assert_int_eq(request(&anna2, TSCT_IOC_DEFINE, &again), 0);
	ck_assert_uint_eq(again.id, TSCT_ID_FIRST + 1);
	again.size++;
	again.id = 0;
	ck_assert_int_eq(request(&anna2, TSCT_IOC_DEFINE, &again), -EINVAL);
	do {
		snprintf(name, sizeof(name), "n%d", nr++);
		tsct_def_parse(name, 0, "", &def, NULL);
		error = request(&anna, TSCT_IOC_DEFINE, &def);
	} while (!error);
	ck_assert_int_eq(error, -ENOSPC);
	ck_assert_int_eq(nr - 1, (TSCT_DEFS_SIZE - 2 * 112) / 72);
	ck_assert_uint_le(anna.channel->header.defs_used, TSCT_DEFS_SIZE);
}
END_TEST

START_TEST(unknown_requests)
{
	char arg[TSCT_STORE_ARG_MAX] = "";

	ck_assert_int_eq(request(&anna, TSCT_IOC_CHECK, arg), -EOPNOTSUPP);
	ck_assert_int_eq(request(&anna, TSCT_IOC_CHECK_RUN, arg), -EOPNOTSUPP);
	ck_assert_int_eq(request(&anna, TSCT_IOC_CLOCK_SET, arg), -EOPNOTSUPP);
	ck_assert_int_eq(request(&anna, TSCT_IOC_WRITE, arg), -EOPNOTSUPP);
	ck_assert_int_eq(request(&anna, _IO(TSCT_IOC_MAGIC, 0xff), arg),
			 -ENOTTY);
	ck_assert_int_eq(request(&anna, _IO('T', 0), arg), -ENOTTY);
	ck_assert_int_eq(tsct_store_request(&store, &anna, TSCT_IOC_INFO, arg,
					    sizeof(struct tsct_info) - 1, &fd),
			 -EINVAL);
	ck_assert_int_eq(tsct_store_request(&store, &anna, TSCT_IOC_INFO, arg,
					    0, &fd), -EINVAL);
}
END_TEST

/* Whatever is written to the memfd, the server decides by its own copy. */
START_TEST(scribbled_memory)
{
	struct tsct_channel_info info = { 0 };
	struct tsct_event_def def;
	__u64 size;
	char *map;

	ck_assert_int_eq(create(&anna, "a"), 0);
	size = anna.channel->header.file_size;
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(map, MAP_FAILED);
	memset(map, 0xff, size);
	tsct_def_parse("e", 0, "a:u8", &def, NULL);
	ck_assert_int_eq(request(&anna, TSCT_IOC_DEFINE, &def), 0);
	ck_assert_uint_eq(def.id, TSCT_ID_FIRST);
	ck_assert_int_eq(request(&anna, TSCT_IOC_CHANNEL_NEXT, &info), 0);
	ck_assert_str_eq(info.name, "a");
	ck_assert_uint_eq(info.bytes, size);
	ck_assert_int_eq(ftruncate(fd, size - 1), -1);
	ck_assert_int_eq(ftruncate(fd, size + 1), -1);
	munmap(map, size);
}
END_TEST

START_TEST(random_requests)
{
	static const __u32 cmds[] = {
		TSCT_IOC_INFO, TSCT_IOC_CHANNEL_CREATE,
		TSCT_IOC_CHANNEL_ATTACH, TSCT_IOC_CHANNEL_NEXT, TSCT_IOC_DEFINE,
	};
	struct tsct_store_peer *peers[] = { &root, &anna, &anna2, &ben };
	union {
		struct tsct_channel_create create;
		struct tsct_event_def def;
		unsigned char bytes[TSCT_STORE_ARG_MAX];
	} arg;
	int i, j;

	seed_with(_i);
	for (i = 0; i < 3000; i++) {
		memset(&arg, 0, sizeof(arg));
		if (any(2))
			arg.create = a_channel("x");
		else
			tsct_def_parse("e", 0, "a:u8", &arg.def, NULL);
		for (j = any(3); j > 0; j--)
			arg.bytes[any(120)] = any(256);
		/* not too large: this is about sense, not about memory */
		arg.create.blocks &= 0xf;
		request(peers[any(4)], cmds[any(5)], &arg);
		if (!any(5))
			tsct_store_release(&store, peers[any(4)], true);
	}
}
END_TEST

/* ---- the socket -------------------------------------------------------- */

static int connect_there(void)
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

/* A well-behaved client gets what it came for. */
static void expect_service(void)
{
	struct tsct *t = serve_open(NULL);
	int id = tsct_define(t, "e", 0, "a:u8");

	ck_assert_int_ge(id, TSCT_ID_FIRST);
	ck_assert_int_eq(tsct_emit(t, id, "x", 1), 0);
	ck_assert_int_eq(tsct_provider_of(t), TSCT_PROVIDER_EMBEDDED);
	ck_assert_ptr_nonnull(strstr(tsct_why(t), serve_path));
	tsct_close(t);
}

START_TEST(garbage)
{
	char bytes[3000];
	int i, j, s;

	seed_with(_i);
	serve_start();
	for (i = 0; i < 300; i++) {
		s = connect_there();
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
	serve_stop();
}
END_TEST

/* Never reads a reply: is dropped when its queue is full, and nobody waits. */
START_TEST(never_reads)
{
	struct { struct tsct_request request; struct tsct_info info; } message = {
		.request = { TSCT_IOC_INFO, sizeof(struct tsct_info) },
	};
	int i, s;

	serve_start();
	s = connect_there();
	for (i = 0; i < 100000; i++)
		if (send(s, &message, sizeof(message), MSG_NOSIGNAL) < 0)
			break;
	ck_assert_int_lt(i, 100000);
	ck_assert(errno == EPIPE || errno == ECONNRESET);
	close(s);
	expect_service();
	serve_stop();
}
END_TEST

static void send_fds(int s)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(8 * sizeof(int))];
	} control = { .header = {
		.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
		.cmsg_len = CMSG_LEN(8 * sizeof(int)),
	} };
	int fds[8] = { 0 };
	struct tsct_request request = { TSCT_IOC_INFO, 0 };
	struct iovec iov = { &request, sizeof(request) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};

	memcpy(CMSG_DATA(&control.header), fds, sizeof(fds));
	ck_assert_int_ge(sendmsg(s, &msg, MSG_NOSIGNAL), 0);
}

static int open_fds(void)
{
	int nr = 0, i;

	for (i = 0; i < 512; i++)
		nr += fcntl(i, F_GETFD) >= 0;
	return nr;
}

START_TEST(sends_descriptors)
{
	struct tsct_reply reply;
	int before, i, s;

	serve_start();
	s = connect_there();
	send_fds(s);
	ck_assert_int_eq(recv(s, &reply, sizeof(reply), 0), sizeof(reply));
	ck_assert_int_eq(reply.result, -EINVAL);
	before = open_fds();
	for (i = 0; i < 100; i++) {
		send_fds(s);
		ck_assert_int_eq(recv(s, &reply, sizeof(reply), 0),
				 sizeof(reply));
	}
	ck_assert_int_eq(open_fds(), before);
	close(s);
	serve_stop();
}
END_TEST

static int connect_many(unsigned int nr)
{
	struct pollfd p = { .events = POLLIN };
	int dropped = 0;
	char byte;

	while (nr--) {
		p.fd = connect_there();
		if (p.fd < 0)
			return 0;
		dropped += poll(&p, 1, 200) == 1 && !recv(p.fd, &byte, 1, 0);
	}
	return dropped;
}

/*
 * Opens and closes until that gives `wanted`, or for 5 s: when the server
 * notices that somebody is gone is its own affair, and the machine's.
 */
static int open_until(int wanted, const struct tsct_options *options)
{
	const time_t end = time(NULL) + 5;
	struct tsct *t;
	int result;

	for (;;) {
		result = tsct_open_at(serve_path, options, &t);
		tsct_close(t);
		if (result == wanted || time(NULL) > end)
			return result;
		usleep(10000);
	}
}

/* The server runs out of descriptors: it drops who comes, and recovers. */
START_TEST(descriptors_exhausted)
{
	struct rlimit limit;
	int status, go[2];
	char byte = 0;
	pid_t pid;

	serve_start();
	expect_service();
	ck_assert_int_eq(pipe(go), 0);
	pid = fork();	/* before the limit, which is the server's alone */
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
	serve_stop();
}
END_TEST

/* A client that dies takes its channel along, wherever it was. */
START_TEST(clients_die)
{
	struct tsct *t;
	int i, status;
	pid_t pid;

	serve_start();
	for (i = 0; i < 60; i++) {
		pid = fork();
		if (!pid) {
			for (;;) {
				if (tsct_open_at(serve_path, NULL, &t))
					_exit(1);
				tsct_define(t, "e", 0, "a:u8");
				tsct_close(t);
			}
		}
		usleep(200 * i);
		kill(pid, SIGKILL);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert(WIFSIGNALED(status));
	}
	expect_service();
	ck_assert_int_eq(open_until(-ENOENT, &(struct tsct_options) {
		.flags = TSCT_OPEN_ATTACH }), -ENOENT);
	serve_stop();
}
END_TEST

/* A fork shares the connection, and must not take its parent's replies. */
START_TEST(children_define)
{
	struct tsct *t;
	int i, j, status, id, failed = 0;
	char name[16];
	pid_t pid;

	serve_start();
	t = serve_open(NULL);
	ck_assert_int_eq(tsct_define(t, "n0", 0, ""), TSCT_ID_FIRST);
	for (i = 0; i < 8; i++) {
		pid = fork();
		if (pid)
			continue;
		for (j = 1; j < 100; j++) {
			snprintf(name, sizeof(name), "n%d", j);
			id = tsct_define(t, name, 0, "");
			if (id < TSCT_ID_FIRST || tsct_emit(t, id, NULL, 0) ||
			    id != tsct_define(t, name, 0, ""))
				_exit(1);
		}
		_exit(0);
	}
	for (j = 1; j < 100; j++) {
		snprintf(name, sizeof(name), "n%d", j);
		id = tsct_define(t, name, 0, "");
		ck_assert_int_ge(id, TSCT_ID_FIRST);
		ck_assert_int_lt(id, TSCT_ID_FIRST + 100);
	}
	while (wait(&status) > 0)
		failed += status != 0;
	ck_assert_int_eq(failed, 0);
	tsct_close(t);
	serve_stop();
}
END_TEST

/* As many connections as there are; says how many were dropped, and stays. */
static void take_all(int report)
{
	int fds[2100], s, held = 0, refused = 0, i;
	char byte;

	while (held < 2100 && (s = connect_there()) >= 0)
		fds[held++] = s;
	usleep(200000);
	for (i = 0; i < held; i++)
		refused += !recv(fds[i], &byte, 1, MSG_DONTWAIT);
	if (write(report, &refused, sizeof(refused)) > 0)
		pause();
	_exit(0);
}

/* One user's crowd leaves room for another: root's, here. */
START_TEST(crowd)
{
	int report[2], refused;
	pid_t pid;

	serve_name();
	ck_assert_int_eq(chmod(serve_dir, 0755), 0);
	ck_assert_int_eq(tsct_server_start(serve_path, "daemon",
					   &serve_server), 0);
	ck_assert_int_eq(tsct_server_run(serve_server), 0);
	ck_assert_int_eq(pipe(report), 0);
	pid = fork();
	if (!pid) {
		if (!setgid(65534) && !setuid(65534))
			take_all(report[1]);
		_exit(1);
	}
	close(report[1]);
	ck_assert_int_eq(read(report[0], &refused, sizeof(refused)),
			 sizeof(refused));
	ck_assert_int_gt(refused, 0);
	tsct_close(serve_open(NULL));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	serve_stop();
}
END_TEST

/* A turn is short, whatever is asked for: the caller has other things to do */
START_TEST(turns_are_short)
{
	struct { struct tsct_request request; struct tsct_channel_create arg; }
		message = { { TSCT_IOC_CHANNEL_CREATE, sizeof(message.arg) },
			    a_channel("large") };
	double ms, longest = 0, all = 0;
	struct timespec start, end;
	int s[16], i;

	serve_name();
	ck_assert_int_eq(tsct_server_start(serve_path, "daemon",
					   &serve_server), 0);
	message.arg.block_size = 65536;
	message.arg.blocks = 256;	/* 16 MiB per CPU */
	for (i = 0; i < 16; i++) {
		s[i] = connect_there();
		snprintf(message.arg.name, 32, "large%d", i);
		ck_assert_int_gt(send(s[i], &message, sizeof(message), 0), 0);
	}
	for (i = 0; i < 100; i++) {
		clock_gettime(CLOCK_MONOTONIC, &start);
		tsct_server_dispatch(serve_server);
		clock_gettime(CLOCK_MONOTONIC, &end);
		ms = (end.tv_sec - start.tv_sec) * 1e3 +
			(end.tv_nsec - start.tv_nsec) / 1e6;
		all += ms;
		longest = ms > longest ? ms : longest;
	}
	printf("# longest turn %.1f ms of %.1f\n", longest, all);
	if (all > 32)	/* at least 2 ms for each: one in a turn */
		ck_assert_double_lt(longest, all / 4);
	for (i = 0; i < 16; i++)
		close(s[i]);
	serve_stop();
}
END_TEST

START_TEST(one_server_per_path)
{
	struct tsct_server *other;
	struct stat st;
	char path[200];
	int status;
	pid_t pid;

	serve_start();
	ck_assert_int_eq(tsct_server_start(serve_path, "daemon", &other),
			 -EADDRINUSE);
	ck_assert_int_eq(stat(serve_path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0666);
	expect_service();
	serve_stop();
	/* one that is killed leaves its socket; the next replaces it */
	serve_name();
	pid = fork();
	if (!pid) {
		tsct_server_start(serve_path, "daemon", &other);
		kill(getpid(), SIGKILL);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(stat(serve_path, &st), 0);
	ck_assert_int_eq(tsct_server_start(serve_path, "embedded",
					   &serve_server), 0);
	ck_assert_int_eq(tsct_server_run(serve_server), 0);
	expect_service();
	serve_stop();
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = 0;
	ck_assert_int_eq(tsct_server_start(path, "daemon", &other),
			 -ENAMETOOLONG);
	ck_assert_int_eq(tsct_server_start("/nowhere/s", "daemon", &other),
			 -ENOENT);
	tsct_server_stop(NULL);
}
END_TEST

/* Without a thread: the caller's loop drives it. */
START_TEST(dispatch)
{
	struct { struct tsct_request request; struct tsct_info info; } message = {
		.request = { TSCT_IOC_INFO, sizeof(struct tsct_info) },
	};
	struct { struct tsct_reply reply; struct tsct_info info; } answer;
	int s, i;

	serve_name();
	ck_assert_int_eq(tsct_server_start(serve_path, "daemon",
					   &serve_server), 0);
	tsct_server_dispatch(serve_server);
	s = connect_there();
	ck_assert_int_ge(send(s, &message, sizeof(message), 0), 0);
	for (i = 0; i < 3; i++)
		tsct_server_dispatch(serve_server);
	ck_assert_int_eq(recv(s, &answer, sizeof(answer), MSG_DONTWAIT),
			 sizeof(answer));
	ck_assert_int_eq(answer.reply.result, 0);
	ck_assert_str_eq(answer.info.provider, "daemon");
	ck_assert_uint_ge(answer.info.nr_cpus, 1);
	close(s);
	tsct_server_dispatch(serve_server);
	serve_stop();
}
END_TEST

/* ---- servers that mean their clients no good ----------------------------- */

struct lie {
	const char *what;
	int expected;
	int result;		/* of the reply */
	int size;		/* of the message, -1: the right one */
#define SILENT	-2
	int memfd;		/* what comes along */
};

enum { NO_FD, NO_MEMFD, TINY, UNSEALED, EMPTY, NOISE };

static const struct lie lies[] = {
	{ "hangs up", -ECONNRESET, 0, 0, NO_FD },
	{ "short reply", -EPROTO, 0, 4, NO_FD },
	{ "no argument", -EPROTO, 0, 8, NO_FD },
	{ "positive result", -EPROTO, 77, -1, NO_FD },
	{ "wild result", -EPROTO, -70000, -1, NO_FD },
	{ "no descriptor", -EPROTO, 0, -1, NO_FD },
	{ "not a memfd", -EPROTO, 0, -1, NO_MEMFD },
	{ "a tiny file", -EPROTO, 0, -1, TINY },
	{ "may shrink", -EPROTO, 0, -1, UNSEALED },
	{ "all zero", -EPROTO, 0, -1, EMPTY },
	{ "noise", -EPROTO, 0, -1, NOISE },
	{ "an error", -EDQUOT, -EDQUOT, 8, NO_FD },
	{ "says nothing", -ETIMEDOUT, 0, SILENT, NO_FD },
};

static int lying_fd(int kind)
{
	int memfd, i;

	if (kind == NO_FD)
		return -1;
	if (kind == NO_MEMFD)
		return open("/dev/null", O_RDWR);
	memfd = memfd_create("lie", MFD_ALLOW_SEALING);
	ck_assert_int_eq(ftruncate(memfd, kind == TINY ? 1 : 1 << 20), 0);
	for (i = 0; kind == NOISE && i < 4096; i++)
		ck_assert_int_eq(pwrite(memfd, &(char) { any(256) }, 1, i), 1);
	if (kind != UNSEALED)
		fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
	return memfd;
}

static void tell(int s, const struct lie *lie, size_t arg_size, int memfd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .header = {
		.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
		.cmsg_len = CMSG_LEN(sizeof(int)),
	} };
	char bytes[4096] = "";
	struct iovec iov = { bytes, lie->size < 0 ? 8 + arg_size :
			     (size_t)lie->size };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = memfd < 0 ? 0 : sizeof(control),
	};

	memcpy(CMSG_DATA(&control.header), &memfd, sizeof(memfd));
	((struct tsct_reply *)bytes)->result = lie->result;
	if (iov.iov_len)
		sendmsg(s, &msg, MSG_NOSIGNAL);
}

/* Answers INFO honestly, and the next request with the lie. */
static void *lie_once(void *arg)
{
	const struct lie *lie = arg, honest = { .size = -1 };
	struct tsct_request request;
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int s, client, memfd = lying_fd(lie->memfd);

	strcpy(addr.sun_path, serve_path);
	s = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	bind(s, (struct sockaddr *)&addr, sizeof(addr));
	listen(s, 1);
	client = accept(s, NULL, NULL);
	recv(client, &request, sizeof(request), 0);
	tell(client, &honest, request.size, -1);
	recv(client, &request, sizeof(request), 0);
	if (lie->size == SILENT)
		recv(client, &request, sizeof(request), 0);
	else
		tell(client, lie, request.size, memfd);
	close(client);
	close(s);
	close(memfd);
	return NULL;
}

START_TEST(lying_server)
{
	struct stat st;
	pthread_t thread;
	struct tsct *t;
	int error, before;

	seed_with(_i);
	serve_name();
	before = open_fds();
	pthread_create(&thread, NULL, lie_once, (void *)&lies[_i]);
	do {
		usleep(1000);
		error = stat(serve_path, &st) ? -ECONNREFUSED :
			tsct_open_at(serve_path, NULL, &t);
	} while (error == -ECONNREFUSED || error == -ENODEV);
	ck_assert_msg(error == lies[_i].expected, "%s: %d: %s", lies[_i].what,
		      error, tsct_why(t));
	ck_assert_int_eq(tsct_emit(t, TSCT_ID_FIRST, NULL, 0), -ENODEV);
	tsct_close(t);
	pthread_join(thread, NULL);
	ck_assert_int_eq(open_fds(), before);
	unlink(serve_path);
	rmdir(serve_dir);
}
END_TEST

/* An accepted header keeps every region inside the file. */
static void expect_inside(const struct tsct_channel_header *h)
{
	const unsigned __int128 cpus = h->nr_cpus;

	ck_assert(h->cpu_state_offset + cpus <= h->defs_offset);
	ck_assert((unsigned __int128)h->defs_offset + h->defs_size <=
		  h->consumer_offset);
	ck_assert(h->consumer_offset + cpus * 4096 <= h->ring_offset);
	ck_assert(h->ring_stride >= 4096 + h->data_size);
	ck_assert(h->ring_offset + cpus * h->ring_stride <= h->file_size);
	ck_assert(h->data_size == (__u64)h->block_size * h->blocks);
	ck_assert(!(h->data_size & (h->data_size - 1)));
}

START_TEST(random_headers)
{
	struct tsct_channel_header sound, h;
	unsigned int i, accepted = 0;
	__u64 *word;

	setup();
	ck_assert_int_eq(create(&anna, "a"), 0);
	sound = anna.channel->header;
	ck_assert_int_eq(tsct_channel_check(&sound, sound.file_size), 0);
	ck_assert_int_eq(tsct_channel_check(&sound, sound.file_size + 4096),
			 -EINVAL);
	seed_with(_i);
	for (i = 0; i < 50000; i++) {
		h = sound;
		do {
			word = (__u64 *)&h + any(sizeof(h) / 8);
			if (any(2))
				*word ^= 1ULL << any(64);
			else if (any(2))
				*word = -(__u64)any(1 << 20) * 4096;
			else
				*word = (__u64)any(1 << 20) * 4096;
		} while (any(2));
		if (tsct_channel_check(&h, any(2) ? h.file_size : 0))
			continue;
		expect_inside(&h);
		accepted++;
	}
	ck_assert_uint_gt(accepted, 100);
	teardown();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("provider");
	TCase *rules = tcase_create("store"), *sockets = tcase_create("socket");
	SRunner *runner;
	int failed;

	print_seed();
	tcase_add_checked_fixture(rules, setup, teardown);
	tcase_add_test(rules, create_rules);
	tcase_add_test(rules, attach_rules);
	tcase_add_test(rules, memory_comes_back);
	tcase_add_test(rules, next_shows_what_is_mine);
	tcase_add_test(rules, limits);
	tcase_add_test(rules, defines);
	tcase_add_test(rules, unknown_requests);
	tcase_add_test(rules, scribbled_memory);
	tcase_add_loop_test(rules, random_requests, 0, 5);
	tcase_set_timeout(sockets, 30);
	tcase_add_loop_test(sockets, garbage, 0, 3);
	tcase_add_test(sockets, never_reads);
	tcase_add_test(sockets, sends_descriptors);
	tcase_add_test(sockets, descriptors_exhausted);
	tcase_add_test(sockets, clients_die);
	tcase_add_test(sockets, children_define);
	if (!geteuid())		/* needs a second user */
		tcase_add_test(sockets, crowd);
	tcase_add_test(sockets, turns_are_short);
	tcase_add_test(sockets, one_server_per_path);
	tcase_add_test(sockets, dispatch);
	tcase_add_loop_test(sockets, lying_server, 0,
			    sizeof(lies) / sizeof(lies[0]));
	tcase_add_loop_test(sockets, random_headers, 0, 3);
	suite_add_tcase(suite, rules);
	suite_add_tcase(suite, sockets);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}

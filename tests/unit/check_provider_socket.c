// SPDX-License-Identifier: MIT
/* The client of a provider socket, with hostile servers */
#include <sys/socket.h>
#include <sys/un.h>

#include "seed.h"
#include "serve.h"
#include "store_users.h"
#include "suite.h"

struct hostile_reply {
	const char *name;
	int expected;
	int result;		/* result code in the server's reply */
	int size;		/* size of the server's reply in bytes; -1: correct
				 * size, SILENT: no reply */
#define SILENT	-2
	int memfd;		/* kind of descriptor that the server passes: NO_FD
				 * ... NOISE */
};

enum { NO_FD, NO_MEMFD, TINY, UNSEALED, EMPTY, NOISE };

static const struct hostile_reply replies[] = {
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
	{ "silent", -ETIMEDOUT, 0, SILENT, NO_FD },
};

static int hostile_fd(int kind)
{
	int memfd, i;

	if (kind == NO_FD)
		return -1;
	if (kind == NO_MEMFD)
		return open("/dev/null", O_RDWR);
	memfd = memfd_create("hostile", MFD_ALLOW_SEALING);
	ck_assert_int_eq(ftruncate(memfd, kind == TINY ? 1 : 1 << 20), 0);
	for (i = 0; kind == NOISE && i < 4096; i++)
		ck_assert_int_eq(pwrite(memfd, &(char) { any(256) }, 1, i), 1);
	if (kind != UNSEALED)
		fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
	return memfd;
}

static void send_reply(int s, const struct hostile_reply *reply,
		       size_t arg_size, int memfd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .header = {
		.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
		.cmsg_len = CMSG_LEN(sizeof(int)),
	} };
	char bytes[4096] = "";
	struct iovec iov = { bytes, reply->size < 0 ? 8 + arg_size :
			     (size_t)reply->size };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = memfd < 0 ? 0 : sizeof(control),
	};

	memcpy(CMSG_DATA(&control.header), &memfd, sizeof(memfd));
	((struct tsct_reply *)bytes)->result = reply->result;
	if (iov.iov_len)
		sendmsg(s, &msg, MSG_NOSIGNAL);
}

/* Thread of a hostile server: answers the INFO request correctly, and the next request
 * with the hostile reply. */
static void *serve_hostile(void *arg)
{
	const struct hostile_reply *reply = arg, honest = { .size = -1 };
	struct tsct_request request;
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int s, client, memfd = hostile_fd(reply->memfd);

	strcpy(addr.sun_path, serve_path);
	s = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	bind(s, (struct sockaddr *)&addr, sizeof(addr));
	listen(s, 1);
	client = accept(s, NULL, NULL);
	recv(client, &request, sizeof(request), 0);
	send_reply(client, &honest, request.size, -1);
	recv(client, &request, sizeof(request), 0);
	if (reply->size == SILENT)
		recv(client, &request, sizeof(request), 0);
	else
		send_reply(client, reply, request.size, memfd);
	close(client);
	close(s);
	close(memfd);
	return NULL;
}

LOOP_TEST(test_hostile_replies, 0, ROWS(replies))
{
	struct stat st;
	pthread_t thread;
	struct tsct_channel *t = NULL;
	int error, before;

	serve_name();
	before = open_fds();
	pthread_create(&thread, NULL, serve_hostile, (void *)&replies[_i]);
	/* Tries again while the server's socket does not exist or does not listen. A
	 * channel that found no server has to be closed, too. */
	do {
		tsct_channel_close(t);
		t = NULL;
		usleep(1000);
		error = stat(serve_path, &st) ? -ECONNREFUSED :
			tsct_channel_open_at(serve_path, NULL, &t);
	} while (error == -ECONNREFUSED || error == -ENODEV);
	ck_assert_msg(error == replies[_i].expected, "%s: %d: %s", replies[_i].name,
		      error, tsct_channel_error(t));
	ck_assert_int_eq(tsct_emit(t, TSCT_ID_FIRST, NULL, 0), -ENODEV);
	tsct_channel_close(t);
	pthread_join(thread, NULL);
	ck_assert_int_eq(open_fds(), before);
	unlink(serve_path);
	rmdir(serve_dir);
}

/* If the client accepted a channel's header, all regions that it names lie inside the
 * file. */
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

LOOP_TEST(test_random_headers, 0, 3)
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

// SPDX-License-Identifier: MIT
/*
 * Dumps of many channels over generic netlink: in several parts, abandoned, read with
 * other rights, and while channels are made and removed.
 * guest-test: timeout=60
 */
#include <pthread.h>
#include <time.h>

#include "netlink.h"

#define CHANNELS	60
#define PART	8192	/* more bytes than the kernel puts in the first part of a dump */

static int channels[CHANNELS];
static uint32_t ids[CHANNELS];

struct listing {
	uint32_t last;		/* id of the last channel */
	unsigned int nr, known;	/* number of channels, of those in `ids` */
	uint32_t wanted;	/* id to look for */
	bool found;
};

static void see_id(struct listing *l, uint32_t id)
{
	t_check(id > l->last, "%u after %u", id, l->last);
	l->last = id;
	l->nr++;
	while (l->known < CHANNELS && ids[l->known] < id)
		l->known++;
	l->found |= id == l->wanted;
}

static void see_channel(const struct nl_message *m, void *arg)
{
	see_id(arg, nl_u32(m, TSCT_GENL_CHANNEL_ID));
}

static void send_dump(int sock)
{
	struct nl_message m;

	nl_begin(&m, TSCT_GENL_CMD_CHANNEL_GET, NLM_F_DUMP);
	nl_send(sock, &m);
}

/* Begins a dump on a new socket: the parts grow with the largest recv() on a socket. */
static int open_dump(void)
{
	int sock = nl_open();

	send_dump(sock);
	return sock;
}

/* Reads the first part of a dump. Returns the last id in it. */
static uint32_t read_part(int sock, struct listing *l)
{
	static char buffer[PART] __attribute__((aligned(8)));
	ssize_t len = nl_receive_raw(sock, buffer, sizeof(buffer), NL_WAIT_MS);
	const char *at = buffer;
	struct nl_message m;

	t_check(len > 0, "%m");
	while (len > 0) {
		const struct nlmsghdr *header = (const void *)at;

		if (!t_check(header->nlmsg_type == nl_family &&
			     !(header->nlmsg_flags & NLM_F_DUMP_INTR)))
			break;
		memcpy(&m, header, header->nlmsg_len);
		see_channel(&m, l);
		at += NLMSG_ALIGN(header->nlmsg_len);
		len -= NLMSG_ALIGN(header->nlmsg_len);
	}
	return l->last;
}

/* The whole dump in parts: all channels, in order, consistent */
static void try_parts(void)
{
	struct listing l = { .wanted = ids[CHANNELS - 1] };
	bool interrupted = false;
	int sock = open_dump();

	read_part(sock, &l);
	t_check(l.nr > 1 && l.nr < CHANNELS, "%u", l.nr);
	t_check(!nl_dump_rest(sock, see_channel, &l, &interrupted).error);
	t_check(l.nr == CHANNELS && l.found && !interrupted, "%u", l.nr);
	close(sock);
}

/* A channel that is made meanwhile is listed; the dump is marked. */
static void try_made(void)
{
	struct tsct_channel_create arg = dev_request("made");
	struct listing l = { 0 };
	bool interrupted = false;
	int fd, sock = open_dump();

	read_part(sock, &l);
	fd = dev_create(&arg);
	l.wanted = arg.id;
	t_check(!nl_dump_rest(sock, see_channel, &l, &interrupted).error);
	t_check(l.nr == CHANNELS + 1 && l.found && interrupted, "%u", l.nr);
	close(fd);
	close(sock);
}

/*
 * Channels that are removed meanwhile: the last one that was sent, after which the dump
 * continues, and the very last one. Both are made again.
 */
static void try_removed(void)
{
	struct listing l = { 0 };
	bool interrupted = false;
	int i = 0, sock = open_dump();
	uint32_t last = read_part(sock, &l);

	while (i < CHANNELS - 1 && ids[i] != last)
		i++;
	t_check(ids[i] == last && i < CHANNELS - 2);
	close(channels[i]);
	close(channels[CHANNELS - 1]);
	l.wanted = ids[CHANNELS - 1];
	t_check(!nl_dump_rest(sock, see_channel, &l, &interrupted).error);
	t_check(l.nr == CHANNELS - 1 && !l.found && interrupted, "%u", l.nr);
	close(sock);
	for (; i < CHANNELS; i++) {
		struct tsct_channel_create arg;
		char name[16];

		if (i < CHANNELS - 1 && ids[i] != last)
			close(channels[i]);
		snprintf(name, sizeof(name), "again%d", i);
		arg = dev_request(name);
		channels[i] = dev_create(&arg);
		ids[i] = arg.id;
	}
}

/* One dump per socket at a time; a dump that nobody reads to its end holds nothing. */
static void try_abandoned(void)
{
	struct nl_message m;
	struct listing l;
	int i, sock;

	for (i = 0; i < 200; i++) {
		sock = open_dump();
		l = (struct listing) { 0 };
		if (i & 1)
			read_part(sock, &l);
		if (i % 20 == 3) {
			send_dump(sock);
			/* The dump goes on; the error is among its messages. */
			do
				t_check(nl_receive_raw(sock, &m, sizeof(m),
						       NL_WAIT_MS) > 0);
			while (m.header.nlmsg_type == nl_family);
			t_check(m.header.nlmsg_type == NLMSG_ERROR &&
				nl_parse_result(&m.header).error == EBUSY);
		}
		close(sock);
	}
}

/* The rights of a dump are those of its sender at the start, whoever reads it. */
static void try_other_reader(void)
{
	struct listing l = { 0 };
	int sock = open_dump();

	t_check(!seteuid(1000), "%m");
	read_part(sock, &l);
	t_check(!nl_dump_rest(sock, see_channel, &l, NULL).error);
	t_check(l.nr == CHANNELS, "%u", l.nr);
	close(sock);
	/* A dump that begins now */
	l = (struct listing) { 0 };
	sock = open_dump();
	t_check(!seteuid(0), "%m");
	t_check(!nl_dump_rest(sock, see_channel, &l, NULL).error);
	t_check(l.nr == 0, "%u", l.nr);
	close(sock);
}

/* ---- while threads make and remove channels ------------------------------ */

static bool stop;
static unsigned long made;

static void *make_and_remove(void *arg)
{
	char name[16];

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		snprintf(name, sizeof(name), "churn%ld", (long)(intptr_t)arg);
		close(dev_new(name));
		__atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void try_stress(int sock)
{
	unsigned int dumps = 0, marked = 0;
	pthread_t threads[2];
	double end = t_now() + t_repeats("TSCT_DUMP_SECONDS", 1, 4);
	intptr_t i;

	for (i = 0; i < 2; i++)
		t_check(!pthread_create(&threads[i], NULL, make_and_remove, (void *)i));
	while (t_now() < end || dumps <= 10 || __atomic_load_n(&made, __ATOMIC_RELAXED) <= 10) {
		struct listing l = { 0 };
		bool interrupted = false;

		send_dump(sock);
		t_check(!nl_dump_rest(sock, see_channel, &l, &interrupted).error);
		/* The channels that stay are in each dump. */
		t_check(l.known >= CHANNELS - 1 && l.nr >= CHANNELS, "%u of %u",
			l.known, l.nr);
		dumps++;
		marked += interrupted;
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%u dumps, %u marked, %lu channels made\n", dumps, marked, made);
}

int main(void)
{
	struct tsct_channel_create arg;
	int sock = nl_open(), i;
	char name[16];

	t_check(!nl_resolve(sock));
	for (i = 0; i < CHANNELS; i++) {
		snprintf(name, sizeof(name), "channel%d", i);
		arg = dev_request(name);
		channels[i] = dev_create(&arg);
		ids[i] = arg.id;
	}
	try_parts();
	try_made();
	try_removed();
	try_parts();
	try_abandoned();
	try_stress(sock);
	try_other_reader();
	return t_status();
}

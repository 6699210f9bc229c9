// SPDX-License-Identifier: MIT
/*
 * falseticker DIR [LIE VALUE]... - a falseticker: serves the time of the daemon at DIR, with
 * the given errors. Listens on port 123 of this network namespace and answers every
 * client, as a node one hop from DIR's master and as an NTP server.
 *
 *   ahead NS	its time is NS ahead
 *   fast PPM	its counter runs PPM faster than its clock params state
 *   step S	after S seconds, its time steps one second ahead
 *   past S	every other answer has the counter of S seconds ago
 *   epoch S	its timeline's epoch grows by 1 every S seconds
 *   other N	its timeline's epoch is N more than the real one
 *   there NS	requests take NS longer (busy wait before the receive time)
 *   back NS	answers take NS longer (busy wait after the transmit time)
 *   error NS	the error bound that it sends; default 1000
 *   turn US	one session that never ends, with a turn every US, at once if US is 0
 *
 * SIGTERM ends it.
 */
#include <arpa/inet.h>

#include <tsctrace/tsctrace.h>

#include "lib/clock/clock_page.h"
#include "lib/clock/clock_sample.h"
#include "lib/clockpage/latch.h"
#include "lib/clockpage/clock_params.h"
#include "lib/ntp/responder.h"
#include "helper.h"

#define NODE		0x11a211a211a211a2ULL
#define NS_PER_S	1000000000LL

enum lie { AHEAD, FAST, STEP, PAST, EPOCH, OTHER, THERE, BACK, ERROR, TURN, NR_LIES };

static const char *const names[NR_LIES] = {
	"ahead", "fast", "step", "past", "epoch", "other", "there", "back", "error",
	"turn",
};
static double lies[NR_LIES] = { [ERROR] = 1000, [TURN] = -1 };

static struct tsct_clock_area area;
static struct tsct_clock_state state;	/* clock of the daemon at DIR */
static __u64 begin;
static unsigned int answers;

static double ticks_per_ns(void)
{
	return 0x1p56 / (double)state.rate_mult;
}

/* Returns the false counter's value when the real counter is at @cycles. */
static __u64 counter(__u64 cycles)
{
	double off = (double)(__s64)(cycles - begin) * lies[FAST] * 1e-6;

	if (lies[PAST] && answers % 2)
		off -= lies[PAST] * 1e9 * ticks_per_ns();
	return cycles + (__u64)(__s64)off;
}

static double seconds(void)
{
	return (double)(tsct_cycles_read(state.source) - begin) / ticks_per_ns() / 1e9;
}

static __s64 ahead_ns(void)
{
	return (__s64)lies[AHEAD] +
		(lies[STEP] && seconds() > lies[STEP] ? NS_PER_S : 0);
}

static __u64 now(void *ctx)
{
	return counter(tsct_cycles_read(state.source));
}

/* CLOCK_REALTIME when the counter is at @ticks, in NTP format */
static __s64 real_ns(void *ctx, __u64 ticks)
{
	return tsct_clock_params_ns(&state.real, ticks) + ahead_ns();
}

static void open_session(void *ctx, const struct tsct_responder_request *request)
{
	if (lies[TURN] < 0)
		return;
	request->reply->flags |= TSCT_EXT_SESSION_OPEN;
	request->reply->session = 7;
	request->reply->turn_us = (__u32)lies[TURN];
}

static void make_timeline(struct tsct_timeline *t)
{
	const struct tsct_clock_params *pair = &state.cluster;
	__u64 error_ns = (__u64)lies[ERROR];

	*t = (struct tsct_timeline) {
		.node = NODE, .host = NODE, .depth = 1,
		.master = state.cluster_master,
		.epoch = state.cluster_timeline,
		.status = state.cluster_status,
		.has_params = pair->mult,
		.params = {
			.base = pair->base_cycles,
			.base_ns = pair->base_ns + ahead_ns(),
			.mult = pair->mult,
			.as_of = now(NULL),
			.error_ps = error_ns * 1000,
		},
		.stratum = 3, .precision = -25, .refid = NODE & 0xffff,
		.root_dispersion = tsct_ntp_short(error_ns),
		.reference = tsct_ntp_from_ns(real_ns(NULL, now(NULL))),
	};
	t->epoch += (__u32)lies[OTHER];
	if (lies[EPOCH])
		t->epoch += (__u32)(seconds() / lies[EPOCH]);
}

static void be_late(double ns)
{
	__u64 from = tsct_cycles_read(state.source);

	while ((double)(tsct_cycles_read(state.source) - from) < ns * ticks_per_ns())
		;
}

static void answer(struct tsct_responder *responder, int fd)
{
	__u8 bytes[TSCT_NTP_MAX], reply[TSCT_NTP_MAX];
	struct sockaddr_in from;
	socklen_t size = sizeof(from);
	ssize_t len = recvfrom(fd, bytes, sizeof(bytes), 0, (void *)&from,
			       &size);
	struct tsct_address address = { .ip = { [10] = 0xff, [11] = 0xff } };
	struct tsct_timeline timeline;
	struct tsct_packet_time rx = { 0 };
	size_t reply_len;
	__u32 ticket;

	if (len < 0 || tsct_latch_read(area.page, &state))
		return;
	memcpy(address.ip + 12, &from.sin_addr, 4);
	address.port = ntohs(from.sin_port);
	be_late(lies[THERE]);
	answers++;
	rx.cycles = now(NULL);
	make_timeline(&timeline);
	tsct_responder_answer(responder, &timeline, &address, bytes,
			      (size_t)len, rx, reply, &reply_len, &ticket);
	be_late(lies[BACK]);
	if (reply_len)
		sendto(fd, reply, reply_len, 0, (void *)&from, size);
}

static int read_lies(char **argv)
{
	int i;

	for (; argv[0] && argv[1]; argv += 2) {
		for (i = 0; i < NR_LIES && strcmp(argv[0], names[i]); i++)
			;
		if (i == NR_LIES)
			return -1;
		lies[i] = strtod(argv[1], NULL);
	}
	return argv[0] ? -1 : 0;
}

static int open_socket(void)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_port = htons(TSCT_NTP_PORT),
	};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0 || bind(fd, (void *)&at, sizeof(at))) {
		perror("falseticker");
		exit(1);
	}
	return fd;
}

int main(int argc, char **argv)
{
	const struct tsct_responder_ops ops = {
		.now = now, .real_ns = real_ns, .member_request = open_session,
	};
	static const struct tsct_ratelimit_options no_limit;
	struct tsct_ratelimit *guard = tsct_ratelimit_new(&no_limit, 1);
	struct tsct_responder *responder;
	char why[256];
	int fd;

	if (argc < 2 || read_lies(argv + 2)) {
		fprintf(stderr, "usage: falseticker DIR [LIE VALUE]...\n");
		return 2;
	}
	if (tsct_clock_area_map_file(argv[1], &area, why, sizeof(why)) ||
	    tsct_latch_read(area.page, &state)) {
		fprintf(stderr, "%s: %s\n", argv[1], why);
		return 1;
	}
	begin = tsct_cycles_read(state.source);
	responder = tsct_responder_new(&ops);
	if (!guard || !responder || tsct_ratelimit_rule(guard, "all", true))
		return 1;
	tsct_responder_use(responder, NULL, guard);
	fd = open_socket();
	for (;;)
		answer(responder, fd);
}

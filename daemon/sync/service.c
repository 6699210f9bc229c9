// SPDX-License-Identifier: MIT
/* Whom we answer: sockets, rules, and what we say. */
#include <errno.h>
#include <string.h>
#include <sys/timex.h>

#include "daemon/config/log.h"
#include "lib/client/gettime.h"
#include "peers_private.h"

#define STRATUM		10		/* where nobody said another */
#define REFID		0x54534354	/* "TSCT" */
#define PRECISION	-25		/* 2^n s: what reading the counter takes */
#define REFRESH_NS	(2 * NS_PER_S)	/* a timeline is made anew before that */
#define PHI_PPM		15
#define PACE_NR		64		/* calls, to know how fast it can be */
#define PACE_NS		(10 * NS_PER_S)	/* as long it is worth something */
#define TELL_NS		(10 * NS_PER_S)

/* ---- what we say -------------------------------------------------------- */

/*
 * The kernel's own opinion of its clock; false: it is not synchronized, or who
 * confines us does not let us ask.
 */
static bool ask_kernel(__u64 *ret_error_ns)
{
	struct timex timex = { .modes = 0 };
	int state = adjtimex(&timex);

	if (state < 0 || state == TIME_ERROR || timex.status & STA_UNSYNC)
		return false;
	*ret_error_ns = (__u64)timex.maxerror * 1000;
	return true;
}

static void tell_ntp(struct peers *p, struct tsct_timeline *t)
{
	__u64 error_ns, kernel_ns = 0, now = packet_clock_now(&p->clock);
	__s64 ns;
	bool known = packet_clock_real(&p->clock, now, &ns, &error_ns);

	if (known && !p->config->stratum)
		known = ask_kernel(&kernel_ns);
	t->leap = known ? 0 : TSCT_NTP_UNSYNCED;
	t->stratum = !known ? 0 : p->config->stratum ?
		(__u8)p->config->stratum : STRATUM;
	t->precision = PRECISION;
	t->refid = REFID;
	t->root_delay = 0;
	t->root_dispersion = 0;
	t->reference = 0;
	if (!known)
		return;
	t->root_dispersion = tsct_ntp_short(error_ns + kernel_ns +
					    REFRESH_NS / 1000000 * PHI_PPM);
	t->reference = tsct_ntp_from_ns(ns);
}

void service_refresh(struct peers *p)
{
	struct tsct_timeline *t = &p->service.timeline;

	if (!p->service.nr)
		return;
	t->node = p->node;
	t->host = p->host;
	t->status = tsct_cluster_timeline(p->cluster, packet_clock_now(&p->clock),
					  &t->master, &t->epoch, &t->depth,
					  &t->line);
	t->has_line = t->status == TSCT_STATUS_CALIBRATING ||
		t->status == TSCT_STATUS_SYNCHRONIZED ||
		t->status == TSCT_STATUS_HOLDOVER;
	tell_ntp(p, t);
}

/* ---- what the responder wants of us ------------------------------------- */

static __u64 now_ticks(void *ctx)
{
	struct peers *p = ctx;

	return packet_clock_now(&p->clock);
}

/* Of what the page does not know: as long ago as the counter has it */
static __s64 real_ns(void *ctx, __u64 ticks)
{
	struct peers *p = ctx;
	double hz = (double)packet_clock_cycles(&p->clock, NS_PER_S);
	struct timespec ts;
	__u64 error_ns;
	__s64 ns;

	if (packet_clock_real(&p->clock, ticks, &ns, &error_ns))
		return ns;
	tsct_gettime(CLOCK_REALTIME, &ts);
	ns = (__s64)((double)(__s64)(packet_clock_now(&p->clock) - ticks) *
		     (double)NS_PER_S / hz);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec - ns;
}

/* Once for all that came together */
static __u64 now_us(void *ctx)
{
	const struct peers *p = ctx;

	return (__u64)p->service.now_ns / 1000;
}

struct tsct_responder *service_responder(struct peers *p)
{
	const struct tsct_responder_ops ops = {
		.ctx = p, .now = now_ticks, .real_ns = real_ns,
		.now_us = now_us, .asked = members_asked,
	};

	return tsct_responder_new(&ops);
}

/* ---- requests ----------------------------------------------------------- */

/* The log is for who runs this node: strangers write a line in a while. */
static void tell(struct peers *p, const struct net_packet *packet,
		 enum tsct_answer answer, __s64 now_ns)
{
	__s64 *told_ns = &p->service.told_ns[answer];
	struct tsct_ntp_packet ntp;
	char text[CONFIG_NAME_MAX];

	if (answer != TSCT_ANSWER_UNKNOWN_KEY && answer != TSCT_ANSWER_BAD_MAC &&
	    answer != TSCT_ANSWER_NO_MAC && answer != TSCT_ANSWER_WRONG_KEY)
		return;
	if ((*told_ns && now_ns - *told_ns < TELL_NS) ||
	    tsct_ntp_parse(packet->bytes, packet->len, &ntp, NULL))
		return;
	*told_ns = now_ns;
	peers_name(&packet->from, text, sizeof(text));
	if (ntp.has_mac)
		log_warning("request from %s by key %u: %s", text, ntp.key_id,
			    tsct_responder_result_text(answer));
	else
		log_warning("request from %s: %s", text,
			    tsct_responder_result_text(answer));
}

/*
 * What the kernel takes for one of many at the very least: three fourths of the
 * shortest that it took lately, in a second or two; 0 where too little is known.
 */
static __u64 pace_of(const struct pace *p)
{
	__u64 least = p->before && p->before < p->least ? p->before : p->least;

	return p->before || p->nr >= PACE_NR ? least / 4 * 3 : 0;
}

static void note_pace(struct pace *p, __u64 each, __s64 now_ns)
{
	p->seen_ns = now_ns;
	if (each < p->least || !p->nr)
		p->least = each;
	if (++p->nr < PACE_NR || now_ns - p->since_ns < NS_PER_S)
		return;
	p->before = p->least;
	p->nr = 0;
	p->since_ns = now_ns;
}

/*
 * All that waits is sent by one call, one after another: so the transmit stamp of each
 * is that of its own turn, or early; never late, or clients would see answers that
 * came before they were sent.
 */
static void flush(struct peers *p, struct net_socket *socket)
{
	struct outbox *out = &p->service.out;
	__s64 now_ns = p->service.now_ns;
	__u64 pace, at;
	unsigned int i;

	if (now_ns - out->pace.seen_ns > PACE_NS)
		out->pace = (struct pace) { .since_ns = now_ns };
	pace = pace_of(&out->pace);
	at = packet_clock_now(&p->clock);
	for (i = 0; i < out->nr; i++)
		tsct_ntp_set_transmit(out->answer[i].bytes, tsct_ntp_from_ns(
				      real_ns(p, at + i * pace)));
	net_send_together(socket, out->answer, out->nr);
	if (out->nr == NET_TOGETHER)
		note_pace(&out->pace, (packet_clock_now(&p->clock) - at) /
			  NET_TOGETHER, now_ns);
	out->nr = 0;
}

static void read_stamps(struct peers *p, struct net_socket *socket)
{
	struct tsct_packet_time stamp;
	__u32 ticket;
	int i;

	for (i = 0; i < 2 * NET_BATCH; i++) {
		if (!net_sent(socket, &p->clock, &ticket, &stamp))
			return;
		if (stamp.kernel)
			tsct_responder_sent(p->service.responder, ticket,
					    stamp);
		if (!socket->nr_waiting)
			return;
	}
}

/*
 * Answers go at once, and the kernel is asked when they really went where somebody
 * may be told. But where more wait than can be taken, those of plain NTP, in basic
 * mode and without a MAC, go together.
 */
static void send_answer(struct peers *p, struct net_socket *socket,
			const struct net_packet *packet, const __u8 *reply,
			size_t len, __u32 ticket)
{
	struct outbox *out = &p->service.out;

	if (ticket || len != TSCT_NTP_HEADER || !out->is_open) {
		net_send(socket, packet, reply, len, ticket ? ticket :
			 NET_NO_COOKIE, &p->clock, NULL);
		/* It mostly did at once, and the next may be of the same asker. */
		if (ticket)
			read_stamps(p, socket);
		return;
	}
	out->answer[out->nr].to = packet;
	out->answer[out->nr].len = len;
	memcpy(out->answer[out->nr].bytes, reply, len);
	if (++out->nr == NET_TOGETHER)
		flush(p, socket);
}

static void answer(struct peers *p, struct net_socket *socket,
		   const struct net_packet *packet)
{
	struct service *s = &p->service;
	enum tsct_answer result;
	__u8 reply[TSCT_NTP_MAX];
	size_t len = 0;
	__u32 ticket = 0;

	p->members.packet = packet;
	p->members.socket = (unsigned int)(socket - s->socket);
	result = tsct_responder_answer(s->responder, &s->timeline,
				       &packet->from, packet->bytes,
				       packet->len, packet->stamp, reply, &len,
				       &ticket);
	if (len)
		send_answer(p, socket, packet, reply, len, ticket);
	else
		tell(p, packet, result, s->now_ns);
}

/*
 * One batch, whoever floods us: then whatever else there is comes first, timers,
 * programs, answers to our own requests, and the other sockets.
 */
void service_dispatch(struct peers *p, unsigned int nr)
{
	struct net_socket *socket = &p->service.socket[nr];
	int i, got;

	p->service.now_ns = tsct_monotonic_ns();
	packet_clock_round(&p->clock);
	if (socket->nr_waiting)
		read_stamps(p, socket);
	got = net_receive(socket, &p->clock, p->batch);
	p->service.out.is_open = got == NET_BATCH;
	for (i = 0; i < got; i++)
		answer(p, socket, &p->batch[i]);
	if (p->service.out.nr)
		flush(p, socket);
	/* What woke us up may be a stamp that nobody waits for any more. */
	if (socket->nr_waiting || got <= 0)
		read_stamps(p, socket);
}

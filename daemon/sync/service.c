// SPDX-License-Identifier: MIT
/* The NTP service: the responder, its sockets, and the content of answers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>

#include "lib/core/clock_params.h"
#include "daemon/config/log.h"
#include "lib/client/gettime.h"
#include "peers_private.h"

#define STRATUM		10		/* unless configured */
#define REFID		0x54534354	/* "TSCT" */
#define PRECISION	-25		/* 2^n s: time to read the counter */
#define REFRESH_NS	(2 * NS_PER_S)	/* longest time between two
					 * service_refresh() */
#define PHI_PPM		15
#define PACE_NR		64		/* measurements for a minimum */
#define PACE_NS		(10 * NS_PER_S)	/* a minimum is valid for this long */
#define LOG_NS		(10 * NS_PER_S)

/* ---- content of answers -------------------------------------------------- */

/* The kernel's bound of CLOCK_REALTIME's error. False: it is not synchronized,
 * or a sandbox denies adjtimex(2). */
static bool kernel_error(__u64 *ret_error_ns)
{
	struct timex timex = { .modes = 0 };
	int state = adjtimex(&timex);

	if (state < 0 || state == TIME_ERROR || timex.status & STA_UNSYNC)
		return false;
	*ret_error_ns = (__u64)timex.maxerror * 1000;
	return true;
}

static void refresh_ntp(struct peers *p, struct tsct_timeline *t)
{
	__u64 error_ns, kernel_ns = 0, now = packet_clock_now(&p->clock);
	__s64 ns;
	bool known = packet_clock_real(&p->clock, now, &ns, &error_ns);

	if (known && !p->config->stratum)
		known = kernel_error(&kernel_ns);
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
					  &t->params);
	t->has_params = tsct_status_has_time(t->status);
	refresh_ntp(p, t);
}

/* ---- operations for the responder ---------------------------------------- */

static __u64 now_cycles(void *ctx)
{
	struct peers *p = ctx;

	return packet_clock_now(&p->clock);
}

/* Of what the page does not know: as long ago as the counter has it */
static __s64 real_ns(void *ctx, __u64 cycles)
{
	struct peers *p = ctx;
	double hz = (double)packet_clock_cycles(&p->clock, NS_PER_S);
	struct timespec ts;
	__u64 error_ns;
	__s64 ns;

	if (packet_clock_real(&p->clock, cycles, &ns, &error_ns))
		return ns;
	tsct_gettime(CLOCK_REALTIME, &ts);
	ns = (__s64)((double)(__s64)(packet_clock_now(&p->clock) - cycles) *
		     (double)NS_PER_S / hz);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec - ns;
}

/* The same for all packets of a dispatch */
static __u64 now_us(void *ctx)
{
	const struct peers *p = ctx;

	return (__u64)p->service.now_ns / 1000;
}

/* ---- requests ------------------------------------------------------------ */

/* Logs requests with a key that is missing or wrong. Anyone can send these: one
 * line per reason in a while. */
static void log_refused(struct peers *p, const struct net_packet *packet,
			enum tsct_answer answer, __s64 now_ns)
{
	__s64 *logged_ns = &p->service.logged_ns[answer];
	struct tsct_ntp_packet ntp;
	char text[CONFIG_NAME_MAX];

	if (answer != TSCT_ANSWER_UNKNOWN_KEY && answer != TSCT_ANSWER_BAD_MAC &&
	    answer != TSCT_ANSWER_NO_MAC && answer != TSCT_ANSWER_WRONG_KEY)
		return;
	if ((*logged_ns && now_ns - *logged_ns < LOG_NS) ||
	    tsct_ntp_parse(packet->bytes, packet->len, &ntp, NULL))
		return;
	*logged_ns = now_ns;
	peers_name(&packet->from, text, sizeof(text));
	if (ntp.has_mac)
		log_warning("request from %s by key %u: %s", text, ntp.key_id,
			    tsct_responder_result_text(answer));
	else
		log_warning("request from %s: %s", text,
			    tsct_responder_result_text(answer));
}

/*
 * Lower bound of the kernel's time to send one of many, in cycles: three
 * quarters of the shortest measured in the last second or two; 0: too few
 * measurements.
 */
static __u64 pace_of(const struct send_pace *p)
{
	__u64 least = p->before && p->before < p->least ? p->before : p->least;

	return p->before || p->nr >= PACE_NR ? least / 4 * 3 : 0;
}

static void note_pace(struct send_pace *p, __u64 each, __s64 now_ns)
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
 * Sends all answers that wait by one call. The kernel sends them one after
 * another, so the transmit time of each is that of its own turn, or earlier;
 * never later, or clients would see answers that came before they were sent.
 */
static void send_outbox(struct peers *p, struct net_socket *socket)
{
	struct outbox *out = &p->service.out;
	__s64 now_ns = p->service.now_ns;
	__u64 pace, at;
	unsigned int i;

	if (now_ns - out->pace.seen_ns > PACE_NS)
		out->pace = (struct send_pace) { .since_ns = now_ns };
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

static void read_tx_times(struct peers *p, struct net_socket *socket)
{
	struct tsct_packet_time tx;
	__u32 ticket;
	int i;

	for (i = 0; i < 2 * NET_BATCH; i++) {
		if (!net_sent(socket, &p->clock, &ticket, &tx))
			return;
		if (tx.kernel)
			tsct_responder_sent(p->service.responder, ticket, tx);
		if (!socket->nr_waiting)
			return;
	}
}

/*
 * Sends an answer at once, and requests its transmit time from the kernel where
 * the next answer can report it. But when more requests wait than can be
 * received at once, answers in NTP's basic mode without a MAC are collected.
 */
static void send_answer(struct peers *p, struct net_socket *socket,
			const struct net_packet *packet, const __u8 *reply,
			size_t len, __u32 ticket)
{
	struct outbox *out = &p->service.out;

	if (ticket || len != TSCT_NTP_HEADER || !out->is_open) {
		net_send(socket, packet, reply, len, ticket ? ticket :
			 NET_NO_COOKIE, &p->clock, NULL);
		/* The transmit time is mostly available already, and the next
		 * request may come from the same client. */
		if (ticket)
			read_tx_times(p, socket);
		return;
	}
	out->answer[out->nr].to = packet;
	out->answer[out->nr].len = len;
	memcpy(out->answer[out->nr].bytes, reply, len);
	if (++out->nr == NET_TOGETHER)
		send_outbox(p, socket);
}

static void answer_request(struct peers *p, struct net_socket *socket,
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
				       packet->len, packet->time, reply, &len,
				       &ticket);
	if (len)
		send_answer(p, socket, packet, reply, len, ticket);
	else
		log_refused(p, packet, result, s->now_ns);
}

/* One batch of packets, at any load: then timers, programs, answers to this
 * node's own requests, and the other sockets have their turn. */
void service_dispatch(struct peers *p, unsigned int nr)
{
	struct net_socket *socket = &p->service.socket[nr];
	int i, got;

	p->service.now_ns = tsct_monotonic_ns();
	packet_clock_refresh(&p->clock);
	if (socket->nr_waiting)
		read_tx_times(p, socket);
	got = net_receive(socket, &p->clock, p->batch);
	p->service.out.is_open = got == NET_BATCH;
	for (i = 0; i < got; i++)
		answer_request(p, socket, &p->batch[i]);
	if (p->service.out.nr)
		send_outbox(p, socket);
	/* The wake-up may be for a transmit time that is no longer expected. */
	if (socket->nr_waiting || got <= 0)
		read_tx_times(p, socket);
}

/* ---- sockets ------------------------------------------------------------- */

/*
 * Opens a second socket for packets of configured children, by address or, for
 * those without one, by key: however many packets others send, they do not fill
 * its buffer.
 */
static int open_filtered(struct peers *p, struct net_socket *server,
			 struct net_socket *ret)
{
	const struct config *config = p->config;
	struct tsct_address *address = calloc(config->nr_children,
					      sizeof(*address));
	__u32 *key = calloc(config->nr_children, sizeof(*key));
	unsigned int i, nr = 0, nr_keys = 0;
	int err = -ENOMEM;

	for (i = 0; i < config->nr_children && address && key; i++) {
		if (config->child[i].has_address)
			address[nr++] = config->child[i].address;
		else if (config->child[i].key)
			key[nr_keys++] = config->child[i].key;
	}
	if (address && key)
		err = net_open_filtered(server, address, nr, key, nr_keys,
				    &p->clock, ret);
	free(address);
	free(key);
	return err;
}

static void add_filtered(struct peers *p, struct service *s,
			 struct net_socket *server)
{
	int err;

	if (!p->config->nr_children)
		return;
	err = open_filtered(p, server, &s->socket[s->nr]);
	if (!err)
		s->nr++;
	else if (err != -ENOENT)
		log_warning("socket for children: %s; they share one with "
			    "other clients, which can fill its buffer",
			    strerror(-err));
}

static int add_socket(struct peers *p, struct service *s,
		      const struct tsct_address *address, bool v6)
{
	char text[CONFIG_NAME_MAX];
	int err = net_open_server(address, v6, p->config->port, &p->clock,
				  &s->socket[s->nr]);

	if (err == -EAFNOSUPPORT && !address)
		return 0;
	if (err) {
		log_error("%s port %u: %s; %s",
			  address ? peers_name(address, text, sizeof(text)) :
			  v6 ? "IPv6" : "IPv4", p->config->port, strerror(-err),
			  err == -EADDRINUSE ?
				"another server uses it: stop that "
			  "one, or set another 'port'" :
			  err == -EACCES ? "run tsctraced as root, or set 'port' "
			  "above 1023" : "set 'listen' to an address of this "
			  "machine");
		return err;
	}
	s->nr++;
	add_filtered(p, s, &s->socket[s->nr - 1]);
	return 0;
}

static int open_sockets(struct peers *p, struct service *s)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < p->config->nr_listen && !err; i++)
		err = add_socket(p, s, &p->config->listen[i], false);
	if (!p->config->nr_listen) {
		err = add_socket(p, s, NULL, false);
		if (!err)
			err = add_socket(p, s, NULL, true);
	}
	return err;
}

static int create_ratelimit(struct peers *p, struct service *s)
{
	const struct config *config = p->config;
	__u64 random[2];
	unsigned int i;
	int err = 0;

	peers_random(random);
	s->ratelimit = tsct_ratelimit_new(&config->ratelimit, random[0]);
	if (!s->ratelimit)
		return -ENOMEM;
	for (i = 0; i < config->nr_rules && !err; i++)
		err = tsct_ratelimit_rule(s->ratelimit, config->rule[i].prefix,
				      config->rule[i].allow);
	for (i = 0; i < config->nr_children && !err; i++)
		err = tsct_ratelimit_child(s->ratelimit,
					   config->child[i].has_address ?
				       &config->child[i].address : NULL,
				       config->child[i].key);
	return err;
}

int service_open(struct peers *p, struct service *ret)
{
	const struct tsct_responder_ops ops = {
		.ctx = p, .now = now_cycles, .real_ns = real_ns,
		.now_us = now_us, .member_request = members_request,
	};
	int err;

	memset(ret, 0, sizeof(*ret));
	if (!p->config->serve)
		return 0;
	ret->responder = tsct_responder_new(&ops);
	err = ret->responder ? create_ratelimit(p, ret) : -ENOMEM;
	if (!err)
		err = open_sockets(p, ret);
	if (err) {
		service_close(ret);
		return err;
	}
	tsct_responder_use(ret->responder, p->config->keys, ret->ratelimit);
	return 0;
}

void service_close(struct service *s)
{
	unsigned int i;

	for (i = 0; i < s->nr; i++)
		net_close(&s->socket[i]);
	tsct_responder_free(s->responder);
	tsct_ratelimit_free(s->ratelimit);
	memset(s, 0, sizeof(*s));
}

// SPDX-License-Identifier: MIT
/* The NTP service: responder, sockets, the content of answers, requests of members */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>

#include "lib/clockpage/clock_params.h"
#include "daemon/config/log.h"
#include "lib/client/gettime.h"
#include "lib/clock/utc.h"
#include "peers_private.h"

#define STRATUM		10		/* default of the directive `stratum` */
#define REFID		0x54534354	/* NTP reference id "TSCT" */
#define PRECISION	-25	/* precision of the clock as stated in answers, 2^n s */
/* Longest time between service_refresh() calls, ns */
#define REFRESH_NS	(2 * NS_PER_S)
#define PHI_PPM		15	/* growth of NTP's root dispersion, ppm (RFC 5905) */
/* Number of measurements of the kernel's time to send a packet, before
 * send_outbox() uses the shortest of these times */
#define PACE_NR		64
/* Age of the last measurement from which on all measurements are dropped, ns */
#define PACE_NS		(10 * NS_PER_S)
/* Minimum time between log lines about requests refused for the same reason, ns */
#define LOG_NS		(10 * NS_PER_S)

/* Measured time that the kernel needs per packet when one call sends many
 * packets. Each call that sends a full outbox is a measurement. A measurement
 * period has at least PACE_NR measurements, and lasts at least 1 s. */
struct send_pace {
	__u64 before;			/* minimum time to send one packet, in the
					 * previous measurement period, cycles; 0:
					 * unknown */
	__u64 least;			/* minimum time to send one packet, in the
					 * present measurement period, cycles */
	unsigned int nr;		/* number of measurements in the present
					 * measurement period */
	__s64 since_ns;			/* start time of the measurement period, ns */
	__s64 seen_ns;			/* time of the last measurement, ns */
};

/* Outbox: answers that one system call will send */
struct outbox {
	struct net_answer answer[NET_TOGETHER];
	unsigned int nr;
	bool is_open;			/* true: answers are collected in the outbox,
					 * because a full batch of requests (NET_BATCH)
					 * was received, and more may be queued */
	struct send_pace pace;
};

/* ---- content of answers -------------------------------------------------- */

static void refresh_ntp(struct peers *p, struct tsct_timeline *t)
{
	__u64 error_ns, kernel_ns = 0, now = timekeeper_cycles(p->timekeeper);
	struct timex timex = { .modes = 0 };
	struct tsct_utc utc;
	__u64 since_restore_ns;
	bool known;
	__s64 ns;
	int result;

	known = packet_clock_real(&p->clock, now, &ns, &error_ns);
	if (known && !p->config->stratum) {
		/* Reads the kernel's bound of the error of CLOCK_REALTIME; a sandbox
		 * may deny adjtimex(2). */
		since_restore_ns = disruption_since_restore_ns(&p->timekeeper->disruption);
		result = adjtimex(&timex);
		tsct_utc_from_kernel(result, &timex, since_restore_ns, &utc);
		known = utc.source;
		kernel_ns = utc.error_ns;
	}
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
	tsct_cluster_timeline(p->cluster, timekeeper_cycles(p->timekeeper), t);
	refresh_ntp(p, t);
}

/* ---- callbacks of the responder ----------------------------------------- */

static __u64 now_cycles(void *ctx)
{
	return timekeeper_cycles(((const struct peers *)ctx)->timekeeper);
}

static __s64 real_ns(void *ctx, __u64 cycles)
{
	return packet_clock_estimate_ns(&((const struct peers *)ctx)->clock,
					cycles);
}

/* Returns the time for the rate limit, us, which is the same for all packets of a dispatch. */
static __u64 now_us(void *ctx)
{
	return (__u64)((const struct peers *)ctx)->service.now_ns / 1000;
}

/* ---- requests of members ------------------------------------------------- */

/* Handles the extension field of a member's request: see struct tsct_responder_ops. */
static void member_request(void *ctx, const struct tsct_responder_request *request)
{
	struct peers *p = ctx;
	const struct config_child *child = members_find_child(p->config, request->from,
							      request->key_id);
	__u32 interval_us = p->config->ratelimit.interval_us;
	__s64 now_ns = tsct_monotonic_ns();

	/* The sender may use this node as a source even if the sender is not a member. */
	if (request->proven)
		tsct_cluster_set_polled(p->cluster, timekeeper_cycles(p->timekeeper),
					request->poll);
	if (!child && p->config->nr_children)
		return;			/* the sender of the request is not a member */
	members_add(p, request, child, now_ns);
	if (p->barrier)
		barrier_member_request(p, &request->request, request->below);
	tsct_schedule_request(p->members.schedule, &request->request,
			      request->reply, (__u64)now_ns / 1000);
	/* An allowed but untrusted node has the rate limit of an unknown client,
	 * so its next request in a session must not come before its next token. */
	if (!request->trusted && request->reply->turn_us &&
	    request->reply->turn_us < interval_us)
		request->reply->turn_us = interval_us;
	if (p->barrier)
		barrier_answer_member(p, request->reply);
	if (request->missing && p->barrier)
		barrier_missing(p, request->missing, TSCT_MISSING_TEXT + 1);
	else if (request->missing)
		snprintf(request->missing, TSCT_MISSING_TEXT + 1,
			 "%s (built without daemon/collective)",
			 *p->config->name ? p->config->name : "its master");
	members_join_session(p);
}

/* ---- answering requests -------------------------------------------------- */

/* Logs requests whose key is missing or wrong, each reason at most once in LOG_NS,
 * because anyone can send such requests. */
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
	    tsct_ntp_parse(packet->bytes, packet->len, &ntp))
		return;
	*logged_ns = now_ns;
	tsct_address_print(&packet->from, text, sizeof(text));
	if (ntp.has_mac)
		log_warning("request from %s with key %u: %s", text, ntp.key_id,
			    tsct_answers[answer].text);
	else
		log_warning("request from %s: %s", text,
			    tsct_answers[answer].text);
}

/*
 * Sends all collected answers by one call. The kernel sends the answers one
 * after another. The transmit time in an answer must not be later than the
 * time of sending: otherwise clients could receive the answer before its
 * transmit time. So the assumed time between two answers is three quarters
 * of the shortest time measured recently, or 0 if no time was measured.
 */
static void send_outbox(struct peers *p, struct net_socket *socket)
{
	struct outbox *out = p->service.out;
	struct send_pace *pace = &out->pace;
	__s64 now_ns = p->service.now_ns;
	__u64 each = 0, at;
	unsigned int i;

	if (now_ns - pace->seen_ns > PACE_NS)
		*pace = (struct send_pace) { .since_ns = now_ns };
	if (pace->before || pace->nr >= PACE_NR)
		each = (pace->before && pace->before < pace->least ?
			pace->before : pace->least) / 4 * 3;
	at = timekeeper_cycles(p->timekeeper);
	for (i = 0; i < out->nr; i++)
		tsct_ntp_set_transmit(out->answer[i].bytes, tsct_ntp_from_ns(
				      real_ns(p, at + i * each)));
	net_send_together(socket, out->answer, out->nr);
	if (out->nr == NET_TOGETHER) {
		each = (timekeeper_cycles(p->timekeeper) - at) / NET_TOGETHER;
		pace->seen_ns = now_ns;
		if (each < pace->least || !pace->nr)
			pace->least = each;
		if (++pace->nr >= PACE_NR && now_ns - pace->since_ns >= NS_PER_S)
			*pace = (struct send_pace) {
				.before = pace->least, .least = pace->least,
				.since_ns = now_ns, .seen_ns = now_ns,
			};
	}
	out->nr = 0;
}

static void read_tx_times(struct peers *p, struct net_socket *socket)
{
	unsigned int left = 2 * NET_BATCH;
	struct tsct_packet_time tx;
	__u32 ticket;

	while (net_sent(socket, &p->clock, &left, &ticket, &tx))
		tsct_responder_sent(p->service.responder, ticket, tx);
}

/*
 * Answers a request immediately, and requests the answer's transmit time from the
 * kernel if the next answer can report it. If more requests wait than can be received
 * by one call, answers in NTP's basic mode without a MAC are collected and sent
 * together.
 */
static void answer_request(struct peers *p, struct net_socket *socket,
			   const struct net_packet *packet)
{
	struct service *s = &p->service;
	struct net_answer *collected = &s->out->answer[s->out->nr];
	enum tsct_answer result;
	__u8 reply[TSCT_NTP_MAX];
	size_t len = 0;
	__u32 ticket = 0;

	p->members.packet = packet;
	result = tsct_responder_answer(s->responder, &s->timeline,
				       &packet->from, packet->bytes,
				       packet->len, packet->time, reply, &len,
				       &ticket);
	if (!len) {
		log_refused(p, packet, result, s->now_ns);
		return;
	}
	if (!ticket && len == TSCT_NTP_HEADER && s->out->is_open) {
		collected->to = packet;
		collected->len = len;
		memcpy(collected->bytes, reply, len);
		if (++s->out->nr == NET_TOGETHER)
			send_outbox(p, socket);
		return;
	}
	net_send(socket, packet, reply, len, ticket ? ticket : NET_NO_COOKIE,
		 &p->clock, NULL);
	/* Reads the answer's transmit time now: the kernel usually has the time
	 * already, and the next answer to this client reports the time. */
	if (ticket)
		read_tx_times(p, socket);
}

/* Handles one batch of packets only, so that timers, programs, answers to
 * this node's requests and other sockets are served under any load. */
void service_dispatch(struct peers *p, unsigned int nr)
{
	struct net_socket *socket = &p->service.socket[nr];
	int i, got;

	p->service.now_ns = tsct_monotonic_ns();
	packet_clock_refresh(&p->clock);
	if (socket->nr_waiting)
		read_tx_times(p, socket);
	got = net_receive(socket, &p->clock, p->batch);
	p->service.out->is_open = got == NET_BATCH;
	for (i = 0; i < got; i++)
		answer_request(p, socket, &p->batch[i]);
	if (p->service.out->nr)
		send_outbox(p, socket);
	/* A transmit time that no packet awaits any more makes the socket readable, too. */
	if (socket->nr_waiting || got <= 0)
		read_tx_times(p, socket);
}

/* ---- sockets of the service ---------------------------------------------- */

/*
 * Opens a second socket, which receives the packets of configured children only: packets
 * from their addresses or, for children without an address, with their key ids. So
 * packets of other senders cannot fill this socket's buffer.
 */
static void add_filtered(struct peers *p, struct service *s,
			 struct net_socket *server)
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
					&p->clock, &s->socket[s->nr]);
	free(address);
	free(key);
	if (!err)
		s->nr++;
	else if (err != -ENOENT)
		log_warning("children: cannot open a separate socket for children: %s; "
			    "requests of other clients may crowd out requests of "
			    "children",
			    strerror(-err));
}

/* Opens a server socket. @is_any: @address is a wildcard, and this host
 * may lack its IP version */
static int add_socket(struct peers *p, struct service *s,
		      struct tsct_address address, bool is_any)
{
	char text[CONFIG_NAME_MAX];
	int err;

	address.port = p->config->port;
	err = net_open_server(&address, &p->clock, &s->socket[s->nr]);
	if (err == -EAFNOSUPPORT && is_any)
		return 0;
	if (err) {
		tsct_address_print(&address, text, sizeof(text));
		log_error("listen %s, port %u: %s; %s", text, address.port,
			  strerror(-err), err == -EADDRINUSE ?
			  "stop the other NTP server on this port, or set "
			  "another 'port'" : err == -EACCES ?
			  "run tsctraced as root, or set 'port' above 1023" :
			  "set 'listen' to an address of this machine");
		return err;
	}
	s->nr++;
	if (p->config->nr_children)
		add_filtered(p, s, &s->socket[s->nr - 1]);
	return 0;
}

static int create_ratelimit(struct peers *p, struct service *s)
{
	const struct config *config = p->config;
	unsigned int i;
	int err = 0;

	s->ratelimit = tsct_ratelimit_new(&config->ratelimit, net_random());
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
		.now_us = now_us, .member_request = member_request,
	};
	static const struct tsct_address any[2] = {
		/* Wildcard addresses: IPv4, then IPv6 */
		{ .ip = { [10] = 0xff, [11] = 0xff } },
	};
	const struct config *config = p->config;
	unsigned int i, nr = config->nr_listen ? config->nr_listen : 2;
	int err;

	memset(ret, 0, sizeof(*ret));
	if (!config->serve)
		return 0;
	ret->responder = tsct_responder_new(&ops);
	ret->out = calloc(1, sizeof(*ret->out));
	err = ret->responder && ret->out ? create_ratelimit(p, ret) : -ENOMEM;
	for (i = 0; i < nr && !err; i++)
		err = add_socket(p, ret, config->nr_listen ? config->listen[i] :
				 any[i], !config->nr_listen);
	if (err) {
		service_close(ret);
		return err;
	}
	tsct_responder_use(ret->responder, config->keys, ret->ratelimit);
	return 0;
}

void service_close(struct service *s)
{
	unsigned int i;

	for (i = 0; i < s->nr; i++)
		net_close(&s->socket[i]);
	tsct_responder_free(s->responder);
	tsct_ratelimit_free(s->ratelimit);
	free(s->out);
	memset(s, 0, sizeof(*s));
}

// SPDX-License-Identifier: MIT
/* Whom we answer: sockets, rules, and what we say. */
#include <errno.h>
#include <string.h>
#include <sys/timex.h>

#include "log.h"
#include "now.h"
#include "peers_private.h"

#define STRATUM		10		/* where nobody said another */
#define REFID		0x54534354	/* "TSCT" */
#define PRECISION	-25		/* 2^n s: what reading the counter takes */
#define REFRESH_NS	(2 * NS_PER_S)	/* a timeline is made anew before that */
#define PHI_PPM		15
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
	__u64 error_ns, kernel_ns = 0, now = netclock_now(&p->clock);
	__s64 ns;
	bool known = netclock_real(&p->clock, now, &ns, &error_ns);

	if (known && !p->conf->stratum)
		known = ask_kernel(&kernel_ns);
	t->leap = known ? 0 : TSCT_NTP_UNSYNCED;
	t->stratum = !known ? 0 : p->conf->stratum ?
		(__u8)p->conf->stratum : STRATUM;
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
	t->status = tsct_cluster_timeline(p->cluster, netclock_now(&p->clock),
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

	return netclock_now(&p->clock);
}

/* Of what the page does not know: as long ago as the counter has it */
static __s64 real_ns(void *ctx, __u64 ticks)
{
	struct peers *p = ctx;
	double hz = (double)netclock_ticks(&p->clock, NS_PER_S);
	struct timespec ts;
	__u64 error_ns;
	__s64 ns;

	if (netclock_real(&p->clock, ticks, &ns, &error_ns))
		return ns;
	tsct_gettime(CLOCK_REALTIME, &ts);
	ns = (__s64)((double)(__s64)(netclock_now(&p->clock) - ticks) *
		     (double)NS_PER_S / hz);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec - ns;
}

static __u64 now_us(void *ctx)
{
	(void)ctx;
	return (__u64)tsct_now_ns() / 1000;
}

/* ---- open --------------------------------------------------------------- */

static int add_socket(struct peers *p, struct service *s,
		      const struct tsct_address *address, bool v6)
{
	char text[CONF_NAME_MAX];
	int err = net_open_server(address, v6, p->conf->port, &p->clock,
				  &s->socket[s->nr]);

	if (err == -EAFNOSUPPORT && !address)
		return 0;
	if (err) {
		log_error("%s port %u: %s; %s",
			  address ? peers_name(address, text, sizeof(text)) :
			  v6 ? "IPv6" : "IPv4", p->conf->port, strerror(-err),
			  err == -EADDRINUSE ? "somebody serves there: give "
			  "'port' another one, or stop that" :
			  err == -EACCES ? "run it as root, or give 'port' one "
			  "above 1023" : "give 'listen' an address of this "
			  "machine");
		return err;
	}
	s->nr++;
	return 0;
}

static int open_sockets(struct peers *p, struct service *s)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < p->conf->nr_listen && !err; i++)
		err = add_socket(p, s, &p->conf->listen[i], false);
	if (!p->conf->nr_listen) {
		err = add_socket(p, s, NULL, false);
		if (!err)
			err = add_socket(p, s, NULL, true);
	}
	return err;
}

static int make_guard(struct peers *p, struct service *s)
{
	const struct conf *conf = p->conf;
	__u64 random[2];
	unsigned int i;
	int err = 0;

	peers_random(random);
	s->guard = tsct_guard_new(&conf->ratelimit, random[0]);
	if (!s->guard)
		return -ENOMEM;
	for (i = 0; i < conf->nr_rules && !err; i++)
		err = tsct_guard_rule(s->guard, conf->rule[i].prefix,
				      conf->rule[i].allow);
	for (i = 0; i < conf->nr_children && !err; i++)
		err = tsct_guard_child(s->guard, conf->child[i].has_address ?
				       &conf->child[i].address : NULL,
				       conf->child[i].key);
	return err;
}

int service_open(struct peers *p, struct service *ret)
{
	const struct tsct_responder_ops ops = {
		.ctx = p, .now = now_ticks, .real_ns = real_ns,
		.now_us = now_us, .asked = members_asked,
	};
	unsigned int i;
	int err;

	memset(ret, 0, sizeof(*ret));
	if (!p->conf->serve)
		return 0;
	ret->responder = tsct_responder_new(&ops);
	err = ret->responder ? make_guard(p, ret) : -ENOMEM;
	if (!err)
		err = open_sockets(p, ret);
	for (i = 0; i < ret->nr && !err; i++)
		err = peers_watch(p, ret->socket[i].fd, PEERS_SERVER, i);
	if (err) {
		service_close(p, ret);
		return err;
	}
	tsct_responder_use(ret->responder, p->conf->keys, ret->guard);
	return 0;
}

void service_close(struct peers *p, struct service *s)
{
	unsigned int i;

	(void)p;
	for (i = 0; i < s->nr; i++)
		net_close(&s->socket[i]);
	tsct_responder_free(s->responder);
	tsct_guard_free(s->guard);
	memset(s, 0, sizeof(*s));
}

/* ---- requests ----------------------------------------------------------- */

/* The log is for who runs this node: strangers write a line in a while. */
static void tell(struct peers *p, const struct net_packet *packet,
		 enum tsct_answer answer, __s64 now_ns)
{
	__s64 *told_ns = &p->service.told_ns[answer];
	struct tsct_ntp_packet ntp;
	char text[CONF_NAME_MAX];

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
			    tsct_responder_why(answer));
	else
		log_warning("request from %s: %s", text,
			    tsct_responder_why(answer));
}

static void answer(struct peers *p, struct net_socket *socket,
		   const struct net_packet *packet, __s64 now_ns)
{
	struct service *s = &p->service;
	enum tsct_answer result;
	__u8 reply[TSCT_NTP_MAX];
	size_t len = 0;
	__u64 before;
	__u32 ticket = 0;

	p->members.packet = packet;
	p->members.socket = (unsigned int)(socket - s->socket);
	result = tsct_responder_answer(s->responder, &s->timeline,
				       &packet->from, packet->bytes,
				       packet->len, packet->stamp, reply, &len,
				       &ticket);
	if (len)
		net_send(socket, packet, reply, len, ticket ? ticket :
			 NET_NO_COOKIE, &p->clock, &before);
	tell(p, packet, result, now_ns);
}

static void read_stamps(struct peers *p, struct net_socket *socket)
{
	struct tsct_stamp stamp;
	__u32 ticket;
	int i;

	for (i = 0; i < 2 * NET_BATCH; i++) {
		if (!net_sent(socket, &p->clock, &ticket, &stamp))
			return;
		if (stamp.kernel)
			tsct_responder_sent(p->service.responder, ticket,
					    stamp);
	}
}

void service_dispatch(struct peers *p, unsigned int nr)
{
	struct net_socket *socket = &p->service.socket[nr];
	__s64 now_ns = tsct_now_ns();
	int i, got;

	netclock_round(&p->clock);
	read_stamps(p, socket);
	got = net_receive(socket, &p->clock, p->batch);
	for (i = 0; i < got; i++)
		answer(p, socket, &p->batch[i], now_ns);
	read_stamps(p, socket);
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Messages between machines: TCP segments with data and UDP datagrams, when they
 * are sent and when they are received.
 *
 * A message is identified by contents of its packet that sender and receiver both
 * see. TCP: addresses, ports, the sequence number of the first byte, and the
 * timestamp option, which makes a retransmitted segment another message. UDP has
 * no sequence numbers: addresses, ports, length and the first bytes.
 *
 * The programs attach where a socket passes a packet to IP, and where it receives
 * one from IP. So each packet is seen once, whatever bridges, tunnels and network
 * namespaces it passes, and forwarded packets are not seen. A packet there may
 * consist of several (TSO, GSO, GRO); each of these has its own event, because
 * sender and receiver combine them differently.
 */
#include <linux/bpf.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>

#include "net_kernel.h"
#include "net_packet.h"
#include "tracked.h"

/* Sockets of tracked processes; a connection inherits it from the listener. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, __u8);
} ours SEC(".maps");

/* The last segment received for a listening socket on this CPU */
struct handshake {
	u64 skb;
	u64 flow;
	u32 sequence;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct handshake);
} last_handshake SEC(".maps");

/* TCP timestamp option, with the two NOPs that usually precede it */
struct tcp_timestamp {
	__be32 kind;
	__be32 value;
};
#define TIMESTAMP	0x0101080a

/* ---- tracked sockets --------------------------------------------------- */

SEC("fexit/sock_init_data")
int BPF_PROG(mark_socket, struct socket *unused, struct sock *sk)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	u16 family = BPF_CORE_READ(sk, __sk_common.skc_family);
	__u8 one = 1;

	if ((family == AF_INET || family == AF_INET6) &&
	    bpf_map_lookup_elem(&tracked, &tgid))
		bpf_sk_storage_get(&ours, sk, &one, BPF_SK_STORAGE_GET_F_CREATE);
	return 0;
}

static __always_inline bool wanted(struct sock *sk)
{
	return whole_system || bpf_sk_storage_get(&ours, sk, NULL, 0);
}

/*
 * By the interface index, which is the same in each network namespace. The flag
 * IFF_LOOPBACK is also set for the device of deleted routes.
 */
static __always_inline bool is_loopback(const struct net_device *dev)
{
	return dev && BPF_CORE_READ(dev, ifindex) == LOOPBACK_IFINDEX;
}

/* ---- packet contents ----------------------------------------------------- */

static __always_inline void set_remote(struct packet *p, const void *address,
				       bool v6, u16 port)
{
	long len;

	if (v6)
		len = BPF_SNPRINTF(p->event.remote, sizeof(p->event.remote),
				   "[%pI6]:%u", address, port);
	else
		len = BPF_SNPRINTF(p->event.remote, sizeof(p->event.remote),
				   "%pI4:%u", address, port);
	if (len < 1 || len > (long)sizeof(p->event.remote))
		len = 1;
	p->event_size = sizeof(p->event) - sizeof(p->event.remote) + len;
}

/* Both addresses and ports, as they are in the packet */
struct ends {
	u64 from[2], to[2];
	__be16 from_port, to_port;
	bool v6;
};

static __always_inline void set_ends(struct packet *p, const struct ends *ends,
				     bool sent)
{
	u64 hash = hash64(p->udp ? UDP : TCP, p->tcp_timestamp);
	u16 from = bpf_ntohs(ends->from_port), to = bpf_ntohs(ends->to_port);

	hash = hash64(hash64(hash, ends->from[0]), ends->from[1]);
	hash = hash64(hash64(hash, ends->to[0]), ends->to[1]);
	p->flow = hash64(hash, (u64)from << 16 | to);
	__builtin_memcpy(p->event.protocol, p->udp ? "udp" : "tcp", 4);
	p->event_id = sent ? net_send_id : net_receive_id;
	p->event.local_port = sent ? from : to;
	set_remote(p, sent ? ends->to : ends->from, ends->v6, sent ? to : from);
}

/* The payload of @p->bytes begins @headers bytes after @at. */
static __always_inline void set_payload(struct packet *p,
					const struct sk_buff *skb, u64 at,
					u32 headers)
{
	u64 head = (u64)BPF_CORE_READ(skb, head);
	struct skb_shared_info *info = (void *)(head +
						BPF_CORE_READ(skb, end));
	u64 end = (u64)BPF_CORE_READ(skb, data) + BPF_CORE_READ(skb, len) -
		BPF_CORE_READ(skb, data_len);

	p->payload = at + headers;
	p->linear = end > p->payload ? end - p->payload : 0;
	p->nr_fragments = BPF_CORE_READ(info, nr_frags);
	p->fragments = (u64)info +
		bpf_core_field_offset(struct skb_shared_info, frags);
	p->size = BPF_CORE_READ(info, gso_size);
	if (!p->size)
		p->size = p->bytes ? p->bytes : 1;
	if (p->bytes > p->size * MAX_SEGMENTS)
		p->bytes = p->size * MAX_SEGMENTS;
}

/*
 * Parses the TCP header at @at. The sequence number does not change on the way.
 * A timestamp option elsewhere in the header is ignored, at both ends alike.
 */
static __always_inline bool set_tcp(struct packet *p, const struct sk_buff *skb,
				    u64 at, struct ends *ends)
{
	struct tcp_timestamp option = {};
	struct tcphdr th;
	u64 all = (u64)BPF_CORE_READ(skb, data) + BPF_CORE_READ(skb, len) - at;

	if (bpf_probe_read_kernel(&th, sizeof(th), (void *)at) ||
	    all <= th.doff * 4)
		return false;
	if (th.doff * 4 >= sizeof(th) + sizeof(option))
		bpf_probe_read_kernel(&option, sizeof(option),
				      (void *)(at + sizeof(th)));
	ends->from_port = th.source;
	ends->to_port = th.dest;
	p->sequence = bpf_ntohl(th.seq);
	p->bytes = all - th.doff * 4;
	p->tcp_timestamp = option.kind == bpf_htonl(TIMESTAMP) ? option.value : 0;
	set_payload(p, skb, at, th.doff * 4);
	return true;
}

static __always_inline bool set_udp(struct packet *p, const struct sk_buff *skb,
				    u64 at, struct ends *ends)
{
	struct udphdr uh;
	u64 all = (u64)BPF_CORE_READ(skb, data) + BPF_CORE_READ(skb, len) - at;

	if (bpf_probe_read_kernel(&uh, sizeof(uh), (void *)at) ||
	    all < sizeof(uh))
		return false;
	ends->from_port = uh.source;
	ends->to_port = uh.dest;
	p->udp = true;
	p->bytes = all - sizeof(uh);
	set_payload(p, skb, at, sizeof(uh));
	return true;
}

/* Raw sockets may have these protocols, but receive other sockets' packets. */
static __always_inline bool set_received(struct packet *p,
					 const struct sock *sk,
					 const struct sk_buff *skb, u64 at,
					 struct ends *ends)
{
	u16 protocol = BPF_CORE_READ(sk, sk_protocol);
	u16 type = BPF_CORE_READ(sk, sk_type);

	if (protocol == TCP && type == SOCK_STREAM)
		return set_tcp(p, skb, at, ends);
	return protocol == UDP && type == SOCK_DGRAM &&
	       set_udp(p, skb, at, ends);
}

/* Reads the addresses from the IP header; sets @ends->v6. */
static __always_inline bool read_addresses(const struct sk_buff *skb,
					   bool v6, struct ends *ends)
{
	u64 at = (u64)BPF_CORE_READ(skb, head) +
		BPF_CORE_READ(skb, network_header);

	ends->v6 = v6;
	if (!v6)
		return !bpf_probe_read_kernel(&ends->from, 4, (void *)(at + 12)) &&
		       !bpf_probe_read_kernel(&ends->to, 4, (void *)(at + 16));
	return !bpf_probe_read_kernel(&ends->from, 16, (void *)(at + 8)) &&
	       !bpf_probe_read_kernel(&ends->to, 16, (void *)(at + 24));
}

static __always_inline u64 transport_of(const struct sk_buff *skb)
{
	return (u64)BPF_CORE_READ(skb, head) +
		BPF_CORE_READ(skb, transport_header);
}

/* ---- TCP transmit -------------------------------------------------------- */

/* There is no IP header yet; the route is the socket's cached one. */
static __always_inline int send_tcp(struct sock *sk, struct sk_buff *skb,
				    struct ends *ends)
{
	struct packet p = {};

	if (BPF_CORE_READ(sk, sk_protocol) != TCP ||
	    is_loopback(BPF_CORE_READ(sk, sk_dst_cache, dev)) ||
	    !set_tcp(&p, skb, transport_of(skb), ends))
		return 0;
	set_ends(&p, ends, true);
	emit_segments(&p);
	return 0;
}

SEC("fentry/ip_queue_xmit")
int BPF_PROG(on_tcp4_send, struct sock *sk, struct sk_buff *skb)
{
	struct ends ends = {};

	if (!wanted(sk))
		return 0;
	ends.from[0] = BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr);
	ends.to[0] = BPF_CORE_READ(sk, __sk_common.skc_daddr);
	return send_tcp(sk, skb, &ends);
}

SEC("fentry/inet6_csk_xmit")
int BPF_PROG(on_tcp6_send, struct sock *sk, struct sk_buff *skb)
{
	struct ends ends = { .v6 = true };

	if (!wanted(sk))
		return 0;
	BPF_CORE_READ_INTO(&ends.from, sk, __sk_common.skc_v6_rcv_saddr);
	BPF_CORE_READ_INTO(&ends.to, sk, __sk_common.skc_v6_daddr);
	return send_tcp(sk, skb, &ends);
}

/* ---- UDP transmit -------------------------------------------------------- */

static __always_inline int send_udp(struct sk_buff *skb, bool v6)
{
	unsigned long route = BPF_CORE_READ(skb, _skb_refdst) & ~NO_REFERENCE;
	struct packet p = {};
	struct ends ends = {};
	struct sock *sk = skb->sk;

	if (!sk || !wanted(sk) || BPF_CORE_READ(sk, sk_protocol) != UDP ||
	    is_loopback(BPF_CORE_READ((struct dst_entry *)route, dev)) ||
	    !read_addresses(skb, v6, &ends) ||
	    !set_udp(&p, skb, transport_of(skb), &ends))
		return 0;
	set_ends(&p, &ends, true);
	emit_datagrams(&p);
	return 0;
}

SEC("fentry/ip_send_skb")
int BPF_PROG(on_udp4_send, struct net *net, struct sk_buff *skb)
{
	return send_udp(skb, false);
}

SEC("fentry/ip6_send_skb")
int BPF_PROG(on_udp6_send, struct sk_buff *skb)
{
	return send_udp(skb, true);
}

/* ---- receive --------------------------------------------------------------- */

/*
 * Does the kernel deliver the same segment a second time? The segment that ends a
 * handshake is delivered to the listening socket. If another CPU creates the new
 * socket at this moment, the kernel delivers the segment again, to the new socket,
 * on this CPU. No other segment is received in between, even if it takes
 * milliseconds because the CPU is a guest's.
 */
static __always_inline bool is_redelivered(const struct sock *sk,
					   const struct sk_buff *skb,
					   const struct packet *p)
{
	__u32 zero = 0;
	struct handshake *last = bpf_map_lookup_elem(&last_handshake, &zero);
	bool listens, redelivered;

	if (!last)
		return false;
	listens = BPF_CORE_READ(sk, __sk_common.skc_state) == BPF_TCP_LISTEN;
	redelivered = !listens && last->skb == (u64)skb && last->flow == p->flow &&
		last->sequence == p->sequence;
	last->skb = 0;
	if (listens) {
		last->skb = (u64)skb;
		last->flow = p->flow;
		last->sequence = p->sequence;
	}
	return redelivered;
}

/* Attached to the socket filter, which sees the packets for a socket, in order */
SEC("fentry/sk_filter_trim_cap")
int BPF_PROG(on_receive, struct sock *sk, struct sk_buff *skb)
{
	u16 family = BPF_CORE_READ(sk, __sk_common.skc_family);
	struct packet p = {};
	struct ends ends = {};

	if ((family != AF_INET && family != AF_INET6) || !wanted(sk) ||
	    is_loopback(BPF_CORE_READ(skb, dev)) ||
	    !read_addresses(skb, BPF_CORE_READ(skb, protocol) ==
			    bpf_htons(ETH_P_IPV6), &ends) ||
	    !set_received(&p, sk, skb, transport_of(skb), &ends))
		return 0;
	set_ends(&p, &ends, false);
	if (p.udp)
		return emit_datagrams(&p);
	return is_redelivered(sk, skb, &p) ? 0 : emit_segments(&p);
}

char bpf_license[] SEC("license") = "Dual MIT/GPL";

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Network events: TCP segments with data and UDP datagrams, when they are sent and when
 * they are received.
 *
 * A message is identified by parts of the packet that do not change on the way. TCP:
 * addresses, ports, the sequence number of the first byte, and the timestamp option,
 * which makes a retransmitted segment another message. UDP: addresses, ports, length
 * and the first bytes.
 *
 * The programs attach where a socket passes a packet to IP, and where a socket receives
 * a packet from IP. So each packet has one event at its sender and one at its receiver,
 * even if it passes bridges, tunnels and network namespaces. Forwarding a packet causes
 * no event. A large buffer (TSO, GSO, GRO) has an event for each packet in it, because
 * sender and receiver combine packets differently.
 */
#include <linux/tcp.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>

#include "tools/bpf/progs/buffers.h"
#include "tools/bpf/progs/conditions.h"
#include "tools/bpf/progs/kernel.h"
#include "tools/bpf/progs/second.h"
#include "tools/bpf/progs/stack.h"

#define HASHED		64	/* number of bytes of a datagram that are hashed */
#define MAX_FRAGMENTS	17
/* largest number of packets in an sk_buff: 512 KiB / 536 bytes */
#define MAX_SEGMENTS	1024

/* Constants that the loader sets before it loads the program */
const volatile __u32 net_send_id;
const volatile __u32 net_receive_id;
const volatile bool send_stacks;	/* net_send has the field `stack` */
const volatile __u32 nr_where;
const volatile struct where_condition where[2 * WHERE_MAX];

struct event_limit send_limit, receive_limit;

/* The packets in one sk_buff: one packet, or several of the same connection */
struct packet {
	u64 flow;		/* hash of protocol, TCP timestamp, addresses, ports */
	u64 payload;		/* kernel address of the linear part of the payload */
	u32 linear;		/* size of the linear part of the payload, bytes */
	u32 nr_fragments;	/* number of fragments after the linear part */
	u64 fragments;		/* kernel address of the array of fragments */
	u32 bytes;		/* sum of the payload sizes of all packets in the
				 * sk_buff, bytes */
	u32 size;		/* payload size of each packet except the last, bytes */
	u32 sequence;		/* TCP: sequence number of the first byte */
	u32 tcp_timestamp;	/* TCP: value of the timestamp option, or 0 */
	bool udp;
	bool sent;
	u32 event_size;
};

/* ---- payloads ------------------------------------------------------------ */

/* Addresses of the kernel's array of struct page and of its direct map of memory. Kernels without
 * variables for the addresses have these values; on other kernels, find_memory() sets them. */
__u64 pages = 0xffffea0000000000ULL;
__u64 memory = 0xffff888000000000ULL;

struct net_unknown unknown;	/* read by the loader */

/*
 * Reads the variable @name of the kernel into @base. Leaves @base unchanged if there is
 * no such variable. Returns false if the variable may exist, but cannot be read:
 * kernels without KALLSYMS_ALL list no variable, not even @init_task.
 */
static __always_inline bool read_base(const char *name, int len, __u64 *base)
{
	static const char init_task[] = "init_task";
	long err;
	u64 address;

	err = bpf_kallsyms_lookup_name(name, len, 0, &address);
	if (!err)
		return !bpf_probe_read_kernel(base, sizeof(*base), (void *)address);
	return err == -ENOENT &&
		!bpf_kallsyms_lookup_name(init_task, sizeof(init_task), 0, &address);
}

/* Finds the addresses of the kernel's array of struct page and of its direct map. Runs
 * once, before the other programs are attached. */
SEC("syscall")
int find_memory(void *unused)
{
	static const char array[] = "vmemmap_base", start[] = "page_offset_base";

	unknown.memory = !read_base(array, sizeof(array), &pages) ||
		!read_base(start, sizeof(start), &memory);
	return 0;
}

/* Number of calls, recorded or not, for which only the second programs ran */
__u64 second_runs;

/*
 * Defines three programs for a kernel function. While a program runs, the kernel does not run it
 * again on the same CPU, so calls in interrupts have a program of their own, and calls in processes
 * have two (see second.h). The second one comes first, as the kernel calls the fentry program that
 * was attached last before the others. @call may use `context`: the context of the BPF program, or
 * NULL in interrupts.
 */
#define NET_PROGRAM(name, function, condition, ctx_or_null, call, ...)		\
	SEC("fentry/" function)							\
	int BPF_PROG(name, __VA_ARGS__)						\
	{									\
		void *const context = ctx_or_null;				\
										\
		return condition ? call : 0;					\
	}
#define NET_PROGRAMS(name, function, call, ...)					\
	NET_PROGRAM(name##_second, function, !serves_interrupt() &&		\
		    second_run(FIRST_NET, &second_runs), ctx, call, __VA_ARGS__) \
	NET_PROGRAM(name, function, !serves_interrupt() && first_run(FIRST_NET), \
		    ctx, call, __VA_ARGS__)					\
	NET_PROGRAM(name##_interrupt, function, serves_interrupt(), NULL, call,	\
		    __VA_ARGS__)

static __always_inline u64 page_address(u64 page)
{
	return memory + (page - pages) / bpf_core_type_size(struct page) * 4096;
}

/* Returns the address of part @i of the payload (0: linear part; else: fragment @i - 1), or 0
 * for a missing part, device memory or an unknown address. *len: size of the part, bytes */
static __always_inline u64 find_part(const struct packet *p, u32 i, u64 *len)
{
	struct fragment f;

	*len = p->linear;
	if (!i)
		return p->payload;
	*len = 0;
	if (i > p->nr_fragments ||
	    bpf_probe_read_kernel(&f, sizeof(f), (void *)(p->fragments +
					(i - 1) * sizeof(f))) ||
	    f.page & NO_PAGE)
		return 0;
	*len = f.len;
	if (unknown.memory)
		return 0;
	return page_address(f.page) + f.offset;
}

struct payload_copy {
	struct packet *packet;
	u64 skip;		/* number of payload bytes to skip first */
	u64 want;		/* number of bytes to copy */
	u64 done;		/* number of bytes copied so far */
	/* Copied payload, at most HASHED bytes. The array has twice this size, because for the
	 * BPF verifier, offset and length of a copy may both be HASHED. */
	u64 words[2 * HASHED / 8];
};

static long copy_part(u32 i, struct payload_copy *c)
{
	u64 len, at = c->skip, done = c->done;
	u64 from = find_part(c->packet, i, &len);

	if (at >= len) {
		c->skip = at - len;
		return i >= MAX_FRAGMENTS;
	}
	c->skip = 0;
	if (done >= c->want)
		return 1;
	len -= at;
	if (len > c->want - done)
		len = c->want - done;
	opaque(len);
	opaque(done);
	if (!from || len > HASHED || done >= HASHED ||
	    bpf_probe_read_kernel((char *)c->words + done, len, (void *)(from + at)))
		return 1;
	c->done = done + len;
	return c->done >= c->want;
}

/* Returns the message number of a datagram, a hash of its flow, size and first bytes, or 0 if these
 * bytes cannot be read. The datagram begins @skip bytes into the payload. Fragments of the payload
 * do not affect the hash. */
static __always_inline u64 number_datagram(struct packet *p, u32 skip, u32 bytes)
{
	struct payload_copy c = { .packet = p, .skip = skip };
	u64 hash = bytes;
	int i;

	c.want = bytes < HASHED ? bytes : HASHED;
	bpf_loop(MAX_FRAGMENTS + 1, copy_part, &c, 0);
	if (c.done < c.want)
		return 0;
#pragma unroll
	for (i = 0; i < HASHED / 8; i++)
		hash = hash64(hash, c.words[i]);
	return hash64(p->flow, hash);
}

/* ---- events -------------------------------------------------------------- */

/* Emits the event of a packet. @buffer: the event, still without `message` and `bytes`.
 * @message: number of the message; 0: unknown */
static __always_inline long emit_one(const struct packet *p, struct buffer *buffer, u32 bytes,
				     u64 message)
{
	struct net_event *event = (void *)buffer->payload;
	const u32 event_id = p->sent ? net_send_id : net_receive_id;
	u64 size = p->event_size;

	event->message = message;
	event->bytes = bytes;
	opaque(size);
	if (size > sizeof(*event) + sizeof(u64))
		return 1;
	if (payload_holds(where, nr_where, 2 * WHERE_MAX, event_id, event) &&
	    within_rate(p->sent ? &send_limit : &receive_limit)) {
		emit(event_id, &buffer->record, size);
		if (!message)
			__sync_fetch_and_add(&unknown.messages, 1);
	}
	return 0;
}

/* Returns the payload size of the packet that begins @skip bytes into the whole payload. */
static __always_inline u32 packet_bytes(const struct packet *p, u32 skip)
{
	return p->bytes - skip < p->size ? p->bytes - skip : p->size;
}

/* Context of a bpf_loop() callback, which the verifier requires on the program's stack */
struct emit_loop {
	struct packet *packet;
	struct buffer *buffer;
};

static long emit_segment(u32 i, struct emit_loop *loop)
{
	struct packet *p = loop->packet;
	u32 skip = i * p->size;

	return emit_one(p, loop->buffer, packet_bytes(p, skip),
			hash64(p->flow, p->sequence + skip));
}

static long emit_datagram(u32 i, struct emit_loop *loop)
{
	struct packet *p = loop->packet;
	u32 skip = i * p->size, bytes = packet_bytes(p, skip);

	return emit_one(p, loop->buffer, bytes, number_datagram(p, skip, bytes));
}

/* Emits an event for each TCP segment. The verifier checks a __noinline function only once. */
__noinline int emit_segments(struct packet *p, struct buffer *buffer)
{
	struct emit_loop loop = { p, buffer };

	if (p && buffer && p->size)
		bpf_loop((p->bytes + p->size - 1) / p->size, emit_segment,
			 &loop, 0);
	return 0;
}

/* Emits an event for each datagram, even if it has no payload. */
__noinline int emit_datagrams(struct packet *p, struct buffer *buffer)
{
	struct emit_loop loop = { p, buffer };

	if (p && buffer && p->size)
		bpf_loop(p->bytes ? (p->bytes + p->size - 1) / p->size : 1,
			 emit_datagram, &loop, 0);
	return 0;
}

/* Sockets of tracked processes. With BPF_F_CLONE, a socket that is accepted from a listening
 * socket in this map also gets an entry. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, __u8);
} ours SEC(".maps");

/* The last segment that a listening socket received on this CPU */
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

/* TCP timestamp option: two NOPs, kind and length in one word, then the timestamp */
struct tcp_timestamp {
	__be32 kind;
	__be32 value;
};
#define TIMESTAMP	0x0101080a

/* ---- tracked sockets --------------------------------------------------- */

static __always_inline int mark(struct sock *sk)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	u16 family = BPF_CORE_READ(sk, __sk_common.skc_family);
	__u8 one = 1;

	if ((family == AF_INET || family == AF_INET6) &&
	    bpf_map_lookup_elem(&tracked, &tgid))
		bpf_sk_storage_get(&ours, sk, &one, BPF_SK_STORAGE_GET_F_CREATE);
	return 0;
}

SEC("fexit/sock_init_data")
int BPF_PROG(mark_socket, struct socket *unused, struct sock *sk)
{
	return mark(sk);
}

/* For calls that mark_socket misses (see second.h). A socket may be marked twice. */
SEC("fexit/sock_init_data")
int BPF_PROG(mark_socket_second, struct socket *unused, struct sock *sk)
{
	return mark(sk);
}

static __always_inline bool wanted_socket(struct sock *sk)
{
	return filter.all_processes || bpf_sk_storage_get(&ours, sk, NULL, 0);
}

/*
 * Returns true for the loopback device. Its interface index is the same in each network
 * namespace; the flag IFF_LOOPBACK is also set for the device of deleted routes.
 */
static __always_inline bool is_loopback(const struct net_device *dev)
{
	return dev && BPF_CORE_READ(dev, ifindex) == LOOPBACK_IFINDEX;
}

/* ---- packet contents ----------------------------------------------------- */

/* Addresses and ports of a packet, in network byte order */
struct ends {
	u64 from[2], to[2];
	__be16 from_port, to_port;
	bool v6;
};

/* Sets p->flow from the protocol, the addresses, the ports and the TCP timestamp. */
static __always_inline void set_flow(struct packet *p, const struct ends *ends)
{
	u64 hash = hash64(p->udp ? UDP : TCP, p->tcp_timestamp);

	hash = hash64(hash64(hash, ends->from[0]), ends->from[1]);
	hash = hash64(hash64(hash, ends->to[0]), ends->to[1]);
	p->flow = hash64(hash, (u64)bpf_ntohs(ends->from_port) << 16 |
			 bpf_ntohs(ends->to_port));
}

/* Writes the peer's address into the field `remote`. Returns its size with the NUL, bytes. */
static __always_inline u32 append_remote(struct net_event *event, const void *address,
					 bool v6, u16 port)
{
	long len;

	if (v6)
		len = BPF_SNPRINTF(event->remote, sizeof(event->remote), "[%pI6]:%u", address,
				   port);
	else
		len = BPF_SNPRINTF(event->remote, sizeof(event->remote), "%pI4:%u", address,
				   port);
	return len < 1 || len > (long)sizeof(event->remote) ? 1 : len;
}

/*
 * Emits the events of the packets in an sk_buff. @context: context of the program, or
 * NULL in an interrupt, where no stack is taken, because the stack would be that of an
 * unrelated thread. Takes no stack if interrupts cannot be told from threads.
 */
static __always_inline int emit_packets(void *context, struct packet *p,
					const struct ends *ends, bool sent)
{
	const u16 from = bpf_ntohs(ends->from_port), to = bpf_ntohs(ends->to_port);
	struct buffer *buffer = take_buffer();
	struct net_event *event;

	if (!buffer)
		return 0;
	event = (void *)buffer->payload;
	__builtin_memcpy(event->protocol, p->udp ? "udp" : "tcp", 4);
	event->local_port = sent ? from : to;
	p->sent = sent;
	p->event_size = sizeof(*event) - sizeof(event->remote) +
		append_remote(event, sent ? ends->to : ends->from, ends->v6, sent ? to : from);
	if (sent && send_stacks)
		p->event_size = append_stack(buffer, p->event_size,
					     context && filter.preempt_count ?
					     take_stack(context, true) : 0);
	if (p->udp)
		emit_datagrams(p, buffer);
	else
		emit_segments(p, buffer);
	give_buffer(buffer);
	return 0;
}

/* Sets the payload of @p: p->bytes bytes, which begin @headers bytes after address @at. */
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
 * Parses the TCP header at @at. Returns false if the segment has no data. Sender and
 * receiver both ignore a timestamp option that is not the first option.
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

/* Sets @p to a received packet. Returns false if the packet must not be recorded,
 * because it is a copy, for a raw socket, of a packet for another socket. */
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

/* Reads the addresses from the IP header (@v6: of IPv6). Returns false if they are unreadable. */
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

/* The packet has no IP header yet. Its addresses are in @ends; its route is in the socket. */
static __always_inline int send_tcp(void *context, struct sock *sk, struct sk_buff *skb,
				    struct ends *ends)
{
	struct packet p = {};

	if (BPF_CORE_READ(sk, sk_protocol) != TCP ||
	    is_loopback(BPF_CORE_READ(sk, sk_dst_cache, dev)) ||
	    !set_tcp(&p, skb, transport_of(skb), ends))
		return 0;
	set_flow(&p, ends);
	return emit_packets(context, &p, ends, true);
}

static __always_inline int send_tcp4(void *context, struct sock *sk, struct sk_buff *skb)
{
	struct ends ends = {};

	if (!wanted_socket(sk))
		return 0;
	ends.from[0] = BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr);
	ends.to[0] = BPF_CORE_READ(sk, __sk_common.skc_daddr);
	return send_tcp(context, sk, skb, &ends);
}

static __always_inline int send_tcp6(void *context, struct sock *sk, struct sk_buff *skb)
{
	struct ends ends = { .v6 = true };

	if (!wanted_socket(sk))
		return 0;
	BPF_CORE_READ_INTO(&ends.from, sk, __sk_common.skc_v6_rcv_saddr);
	BPF_CORE_READ_INTO(&ends.to, sk, __sk_common.skc_v6_daddr);
	return send_tcp(context, sk, skb, &ends);
}

NET_PROGRAMS(on_tcp4_send, "ip_queue_xmit", send_tcp4(context, sk, skb), struct sock *sk,
	     struct sk_buff *skb)
NET_PROGRAMS(on_tcp6_send, "inet6_csk_xmit", send_tcp6(context, sk, skb), struct sock *sk,
	     struct sk_buff *skb)

/* ---- UDP transmit -------------------------------------------------------- */

static __always_inline int send_udp(void *context, struct sk_buff *skb, bool v6)
{
	unsigned long route = BPF_CORE_READ(skb, _skb_refdst) & ~NO_REFERENCE;
	struct packet p = {};
	struct ends ends = {};
	struct sock *sk = skb->sk;

	if (!sk || !wanted_socket(sk) || BPF_CORE_READ(sk, sk_protocol) != UDP ||
	    is_loopback(BPF_CORE_READ((struct dst_entry *)route, dev)) ||
	    !read_addresses(skb, v6, &ends) ||
	    !set_udp(&p, skb, transport_of(skb), &ends))
		return 0;
	set_flow(&p, &ends);
	return emit_packets(context, &p, &ends, true);
}

NET_PROGRAMS(on_udp4_send, "ip_send_skb", send_udp(context, skb, false), struct net *net,
	     struct sk_buff *skb)
NET_PROGRAMS(on_udp6_send, "ip6_send_skb", send_udp(context, skb, true), struct sk_buff *skb)

/* ---- receive --------------------------------------------------------------- */

/*
 * Returns true if the kernel delivers a segment for the second time. The segment that ends
 * a handshake is first delivered to the listening socket. If another CPU has just created
 * the connection's socket, the kernel then delivers the segment to the new socket, on the
 * same CPU, and without another segment in between.
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

static __always_inline int receive_packet(void *context, struct sock *sk, struct sk_buff *skb)
{
	u16 family = BPF_CORE_READ(sk, __sk_common.skc_family);
	struct packet p = {};
	struct ends ends = {};

	if ((family != AF_INET && family != AF_INET6) || !wanted_socket(sk) ||
	    is_loopback(BPF_CORE_READ(skb, dev)) ||
	    !read_addresses(skb, BPF_CORE_READ(skb, protocol) ==
			    bpf_htons(ETH_P_IPV6), &ends) ||
	    !set_received(&p, sk, skb, transport_of(skb), &ends))
		return 0;
	set_flow(&p, &ends);
	if (!p.udp && is_redelivered(sk, skb, &p))
		return 0;
	return emit_packets(context, &p, &ends, false);
}

/* The kernel calls this function for each packet before a socket gets the packet. */
NET_PROGRAMS(on_receive, "sk_filter_trim_cap", receive_packet(context, sk, skb), struct sock *sk,
	     struct sk_buff *skb)

char bpf_license[] SEC("license") = "Dual MIT/GPL";

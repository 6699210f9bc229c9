// SPDX-License-Identifier: MIT
/*
 * strangers ADDRESS PORT SECONDS RATE [KEY [SOURCE]] - flood an NTP server with requests
 *
 * Sends RATE requests per second (0: as many as possible) from random source addresses,
 * or from SOURCE. A quarter each: plain NTP; with an extension field as nodes send it;
 * with an invalid MAC that names KEY; random bytes. Prints the number of requests sent
 * and the duration. Needs root.
 */
#include <arpa/inet.h>
#include <netinet/ip.h>
#include <netinet/udp.h>

#include "helper.h"

#define BATCH	32
#define HEADER	48
#define FIELD	160
#define MAC	20

struct packet {
	struct iphdr ip;
	struct udphdr udp;
	unsigned char bytes[HEADER + FIELD + MAC];
} __attribute__((packed));

static struct packet packet[BATCH];
static struct iovec vec[BATCH];
static struct mmsghdr message[BATCH];
static struct sockaddr_in to = { .sin_family = AF_INET };
static uint32_t key, source;
static uint64_t state;

static uint64_t any(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void fill(unsigned char *at, size_t len)
{
	uint64_t number;

	for (size_t i = 0; i < len; i += 8) {
		number = any();
		memcpy(at + i, &number, len - i < 8 ? len - i : 8);
	}
}

/* Header of the extension field: type, length, magic, version, no flags */
static void put_field(unsigned char *at)
{
	static const unsigned char head[16] = {
		0xf5, 0xc7, 0, FIELD, 'T', 'S', 'C', 'T', 0, 1,
	};

	memset(at, 0, FIELD);
	memcpy(at, head, sizeof(head));
	fill(at + 16, 8);		/* node id of the extension field */
	fill(at + 40, 8);		/* nonce of the extension field */
}

static size_t make(unsigned char *at, unsigned int kind)
{
	uint32_t id = htonl(key);

	if (kind == 3) {
		fill(at, HEADER + MAC);
		return HEADER + MAC;
	}
	memset(at, 0, HEADER);
	at[0] = 0x23;			/* NTP version 4, mode 3 (client) */
	fill(at + 40, 8);
	if (!kind)
		return HEADER;
	put_field(at + HEADER);
	if (kind == 1)
		return HEADER + FIELD;
	memcpy(at + HEADER + FIELD, &id, sizeof(id));
	fill(at + HEADER + FIELD + 4, MAC - 4);
	return HEADER + FIELD + MAC;
}

/* Source addresses are in 11.0.0.0/8, which no test uses. */
static void prepare(struct packet *p, struct iovec *v, unsigned int kind)
{
	size_t len = make(p->bytes, kind);

	p->ip = (struct iphdr) {
		.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_UDP,
		.daddr = to.sin_addr.s_addr,
		.saddr = source ? source :
			htonl(11U << 24 | (uint32_t)(any() & 0xffffff)),
	};
	p->udp = (struct udphdr) {
		.source = htons((uint16_t)(any() | 1024)),
		.dest = to.sin_port,
		.len = htons((uint16_t)(len + sizeof(p->udp))),
	};
	*v = (struct iovec) { p, len + sizeof(p->ip) + sizeof(p->udp) };
}

static int send_batch(int fd)
{
	for (int i = 0; i < BATCH; i++) {
		prepare(&packet[i], &vec[i], (unsigned int)i & 3);
		message[i].msg_hdr = (struct msghdr) {
			.msg_name = &to, .msg_namelen = sizeof(to),
			.msg_iov = &vec[i], .msg_iovlen = 1,
		};
	}
	return sendmmsg(fd, message, BATCH, 0);
}

static int run(int fd, double seconds, double rate)
{
	double begin = now_s(), end = begin + seconds, now;
	unsigned long long sent = 0;
	int nr;

	for (now = begin; now < end; now = now_s()) {
		if (rate > 0 && (double)sent > (now - begin) * rate) {
			usleep(50);
			continue;
		}
		nr = send_batch(fd);
		if (nr < 0 && errno != ENOBUFS && errno != EAGAIN) {
			perror("sendmmsg");
			return 1;
		}
		sent += nr > 0 ? (unsigned long long)nr : 0;
	}
	printf("%llu requests in %.1f s\n", sent, now - begin);
	return 0;
}

int main(int argc, char **argv)
{
	int fd;

	if (argc < 5 || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1 ||
	    (argc > 6 && inet_pton(AF_INET, argv[6], &source) != 1)) {
		fprintf(stderr, "usage: strangers ADDRESS PORT SECONDS RATE "
			"[KEY [SOURCE]]\n");
		return 2;
	}
	to.sin_port = htons((uint16_t)atoi(argv[2]));
	key = argc > 5 ? (uint32_t)atoi(argv[5]) : 1;
	state = (uint64_t)time(NULL) << 20 ^ (uint64_t)getpid() ^ 88172645463325252UL;
	printf("# seed %llu\n", (unsigned long long)state);
	fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
	if (fd < 0) {
		perror("a raw socket");
		return 1;
	}
	return run(fd, atof(argv[3]), atof(argv[4]));
}

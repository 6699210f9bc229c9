// SPDX-License-Identifier: MIT
/*
 * delay LINK... - carries IP packets between network namespaces, with a delay
 *
 * A LINK is NAMESPACE:DEVICE:MICROSECONDS=NAMESPACE:DEVICE:MICROSECONDS. In each of the two
 * namespaces, the link has a TUN device; the time is the delay of packets that are sent there.
 * Prints "ready" when all devices exist. Sleeps, unlike relay.c, so that many links share a
 * CPU: packets are up to a ms later than planned.
 */
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>

#include "helper.h"

#define ENDS_MAX	64
#define PACKET_MAX	2048

struct packet {
	struct packet *next;
	int64_t due_ns;
	ssize_t len;
	char bytes[PACKET_MAX];
};

/* One end of a link; the other one has the number with the lowest bit changed. */
struct end {
	int64_t delay_ns;	/* of packets that are sent here */
	struct packet *first, **last;	/* sent here, on their way */
};

static struct end ends[ENDS_MAX];
static struct pollfd fds[ENDS_MAX];
static nfds_t nr;

static int open_device(const char *namespace, const char *name)
{
	struct ifreq request = { .ifr_flags = IFF_TUN | IFF_NO_PI };
	char path[256];
	int ns, fd;

	snprintf(path, sizeof(path), "/run/netns/%s", namespace);
	ns = open(path, O_RDONLY);
	if (ns < 0 || setns(ns, CLONE_NEWNET))
		err(1, "%s", path);
	close(ns);
	fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &request))
		err(1, "%s: TUN device %s", namespace, name);
	return fd;
}

static void add_end(char *text)
{
	const char *namespace = strtok(text, ":"), *device = strtok(NULL, ":");
	const char *us = strtok(NULL, ":");

	if (!us || nr == ENDS_MAX)
		errx(1, "invalid link, or more than %d", ENDS_MAX / 2);
	fds[nr] = (struct pollfd) { .fd = open_device(namespace, device), .events = POLLIN };
	ends[nr].delay_ns = atoi(us) * 1000LL;
	ends[nr].last = &ends[nr].first;
	nr++;
}

static void take(nfds_t i)
{
	struct packet *p;

	for (;;) {
		p = malloc(sizeof(*p));
		if (!p)
			errx(1, "out of memory");
		p->len = read(fds[i].fd, p->bytes, sizeof(p->bytes));
		if (p->len <= 0)
			break;
		p->due_ns = now_ns(CLOCK_MONOTONIC) + ends[i].delay_ns;
		p->next = NULL;
		*ends[i].last = p;
		ends[i].last = &p->next;
	}
	free(p);
}

/* Delivers what is due. Returns the time until the next packet is, ms, rounded up; -1: there
 * is none. */
static int deliver(void)
{
	int64_t now = now_ns(CLOCK_MONOTONIC), wait = -1;
	struct packet *p;
	nfds_t i;

	for (i = 0; i < nr; i++) {
		while ((p = ends[i].first) && p->due_ns <= now) {
			if (write(fds[i ^ 1].fd, p->bytes, (size_t)p->len) < 0)
				warn("a packet is lost");
			ends[i].first = p->next;
			if (!p->next)
				ends[i].last = &ends[i].first;
			free(p);
		}
		if (p && (wait < 0 || p->due_ns - now < wait))
			wait = p->due_ns - now;
	}
	return wait < 0 ? -1 : (int)((wait + 999999) / 1000000);
}

int main(int argc, char **argv)
{
	char *other;
	nfds_t k;

	for (int i = 1; i < argc; i++) {
		other = strchr(argv[i], '=');
		if (!other)
			errx(1, "%s: not a link", argv[i]);
		*other++ = '\0';
		add_end(argv[i]);
		add_end(other);
	}
	puts("ready");
	fflush(stdout);
	for (;;) {
		poll(fds, nr, deliver());
		for (k = 0; k < nr; k++)
			if (fds[k].revents)
				take(k);
	}
}

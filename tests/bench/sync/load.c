// SPDX-License-Identifier: MIT
/*
 * load ADDRESS PORT SECONDS [RATE] - sends NTP requests as fast as one CPU can, or RATE
 * per second; prints the numbers of requests and answers
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BATCH	32
#define REQUEST	48

static unsigned char request[BATCH][REQUEST], answer[BATCH][512];
static struct mmsghdr out[BATCH], in[BATCH];
static struct iovec out_vec[BATCH], in_vec[BATCH];

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static void prepare(void)
{
	for (int i = 0; i < BATCH; i++) {
		request[i][0] = 0x23;		/* NTP version 4, mode 3: client */
		out_vec[i] = (struct iovec){ request[i], REQUEST };
		in_vec[i] = (struct iovec){ answer[i], sizeof(answer[i]) };
		out[i].msg_hdr = (struct msghdr){
			.msg_iov = &out_vec[i], .msg_iovlen = 1,
		};
		in[i].msg_hdr = (struct msghdr){
			.msg_iov = &in_vec[i], .msg_iovlen = 1,
		};
	}
}

static uint64_t collect(int fd)
{
	uint64_t sum = 0;
	int got;

	do {
		got = recvmmsg(fd, in, BATCH, MSG_DONTWAIT, NULL);
		sum += got > 0 ? (uint64_t)got : 0;
	} while (got == BATCH);
	return sum;
}

int main(int argc, char **argv)
{
	uint64_t sent = 0, answered = 0, nr = (uint64_t)getpid() << 40;
	double rate = argc > 4 ? atof(argv[4]) : 0, begin, now, end;
	struct sockaddr_in to = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	int room = 4 << 20, n, i;

	if (argc < 4)
		return 2;
	to.sin_port = htons((uint16_t)atoi(argv[2]));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	if (inet_pton(AF_INET, argv[1], &to.sin_addr) != 1 ||
	    connect(fd, (struct sockaddr *)&to, sizeof(to))) {
		perror(argv[1]);
		return 1;
	}
	prepare();
	begin = now_s();
	end = begin + atof(argv[3]);
	for (now = begin; now < end; now = now_s()) {
		answered += collect(fd);
		/* Without RATE: pauses while more than 512 requests are unanswered, so
		 * that the receive buffers do not overflow; only in the first 0.5 s, as
		 * lost requests would stop the sender for good. */
		if (rate > 0 ? (double)sent > (now - begin) * rate :
		    sent - answered > 512 && now - begin < 0.5) {
			usleep(50);
			continue;
		}
		/* Each request has a unique transmit timestamp. */
		for (i = 0; i < BATCH; i++, nr++)
			memcpy(request[i] + 40, &nr, sizeof(nr));
		n = sendmmsg(fd, out, BATCH, MSG_DONTWAIT);
		sent += n > 0 ? (uint64_t)n : 0;
	}
	usleep(20000);
	answered += collect(fd);
	printf("%llu sent, %llu answered, %.0f answers/s\n",
	       (unsigned long long)sent, (unsigned long long)answered,
	       (double)answered / (end - begin));
	return 0;
}

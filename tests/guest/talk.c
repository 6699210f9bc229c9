// SPDX-License-Identifier: MIT
/*
 * talk - exchange messages of known number and size over the network
 *
 *   talk serve ADDRESS PORT                  echo TCP and UDP messages, in the
 *                                            background; prints its process id
 *   talk tcp ADDRESS PORT COUNT SIZE         send COUNT messages of SIZE bytes, and
 *                                            wait for the echo of each message
 *   talk slow ADDRESS PORT COUNT SIZE        like tcp, with one message per line of
 *                                            standard input; print `answered` after
 *                                            each echo
 *   talk udp ADDRESS PORT COUNT SIZE         like tcp, with datagrams
 *   talk burst ADDRESS PORT COUNT SIZE       send COUNT datagrams in one system call,
 *                                            and wait for all echoes
 *   talk pages ADDRESS PORT SIZE             send the same datagram by write() from
 *                                            memory, then by sendfile() from a file
 *   talk offload DEVICE send|receive on|off  switch segmentation (send) or
 *                                            aggregation (receive) of packets
 *
 * All datagrams of a command differ, except those of `pages`.
 *
 * Each end of a TCP connection appends a line to the file $TALKED when it closes:
 * the kernel's counts of segments and bytes sent and received. Retransmitted
 * segments, as on a machine that was stopped for a while, are included.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <netinet/udp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT	103
#endif
#define MAX_SIZE	(4 << 20)

static char buffer[MAX_SIZE];

static void die(const char *what)
{
	fprintf(stderr, "talk: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int open_socket(const char *address, const char *port, int type,
		       int (*use)(int, const struct sockaddr *, socklen_t))
{
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	bool is_v4 = inet_pton(AF_INET, address, &v4.sin_addr) == 1;
	int fd = socket(is_v4 ? AF_INET : AF_INET6, type, 0), one = 1;

	v4.sin_port = v6.sin6_port = htons(atoi(port));
	errno = EINVAL;
	if (fd < 0 ||
	    (!is_v4 && inet_pton(AF_INET6, address, &v6.sin6_addr) != 1))
		die(address);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (is_v4 ? use(fd, (struct sockaddr *)&v4, sizeof(v4)) :
		    use(fd, (struct sockaddr *)&v6, sizeof(v6)))
		die(address);
	return fd;
}

static void write_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t n = write(fd, data, size);

		if (n < 0)
			die("write");
		data += n;
		size -= n;
	}
}

/* ---- end of a connection --------------------------------------------------- */

/* Waits until the connection is closed at both ends: its counts are final then. */
static void await_closed(int fd, struct tcp_info *info)
{
	socklen_t len = sizeof(*info);
	int tries = 30000;

	for (;;) {
		memset(info, 0, sizeof(*info));
		if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &len))
			die("TCP_INFO");
		if (info->tcpi_state == BPF_TCP_CLOSE)
			return;
		errno = ETIMEDOUT;
		if (!tries--)
			die("timeout: the other end does not close");
		usleep(1000);
	}
}

static void finish_stream(int fd, const char *who, const char *port)
{
	const char *file = getenv("TALKED");
	struct tcp_info info;
	char line[200];
	ssize_t len;
	int out;

	shutdown(fd, SHUT_WR);
	if (read(fd, buffer, sizeof(buffer)))
		die("data after the end of the messages");
	await_closed(fd, &info);
	if (!file)
		return;
	len = snprintf(line, sizeof(line), "%s %s %u %u %llu %llu\n", who, port,
		       info.tcpi_data_segs_out, info.tcpi_data_segs_in,
		       (unsigned long long)info.tcpi_bytes_sent,
		       (unsigned long long)info.tcpi_bytes_retrans);
	out = open(file, O_WRONLY | O_APPEND | O_CREAT, 0666);
	if (out < 0 || write(out, line, len) != len)
		die(file);
	close(out);
}

/* ---- server ------------------------------------------------------------------ */

static void echo_stream(int listener, const char *port)
{
	ssize_t n;
	int fd;

	/* Waits, so that a message arrives before accept(). */
	usleep(20000);
	fd = accept(listener, NULL, NULL);
	if (fd < 0)
		die("accept");
	if (fork()) {
		close(fd);
		return;
	}
	while ((n = read(fd, buffer, sizeof(buffer))) > 0)
		write_all(fd, buffer, n);
	finish_stream(fd, "server", port);
	exit(0);
}

static void echo_datagram(int fd)
{
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	ssize_t n = recvfrom(fd, buffer, sizeof(buffer), 0,
			     (struct sockaddr *)&from, &len);

	if (n >= 0)
		sendto(fd, buffer, n, 0, (struct sockaddr *)&from, len);
}

/* Continues in a child; the parent exits, now that the sockets are open. */
static void continue_in_background(void)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid) {
		printf("%d\n", pid);
		exit(0);
	}
	if (!freopen("/dev/null", "w", stdout))
		die("/dev/null");
}

static void serve(const char *address, const char *port)
{
	struct pollfd fds[2] = {
		{ .fd = open_socket(address, port, SOCK_STREAM, bind),
		  .events = POLLIN },
		{ .fd = open_socket(address, port, SOCK_DGRAM, bind),
		  .events = POLLIN },
	};

	if (listen(fds[0].fd, 16))
		die("listen");
	continue_in_background();
	for (;;) {
		poll(fds, 2, -1);
		if (fds[1].revents)
			echo_datagram(fds[1].fd);
		if (fds[0].revents)
			echo_stream(fds[0].fd, port);
	}
}

/* ---- client ------------------------------------------------------------------ */

static void client_stream(int fd, int count, size_t size)
{
	ssize_t n;
	pid_t pid;
	int st;

	for (int i = 0; i < count; i++) {
		pid = size > 65536 ? fork() : 0;
		if (!pid)
			write_all(fd, buffer, size);
		if (!pid && size > 65536)
			exit(0);
		for (size_t got = 0; got < size; got += n) {
			n = read(fd, buffer, sizeof(buffer));
			if (n <= 0)
				die("read");
		}
		if (pid && (waitpid(pid, &st, 0) != pid || st))
			die("the writing child failed");
	}
}

static void client_slow(int fd, int count, size_t size)
{
	char line[100];

	while (count--) {
		if (!fgets(line, sizeof(line), stdin))
			die("standard input");
		client_stream(fd, 1, size);
		if (puts("answered") < 0 || fflush(stdout))
			die("standard output");
	}
}

static void await(int fd, size_t size)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	errno = ETIMEDOUT;
	if (poll(&p, 1, 60000) != 1)
		die("no answer");
	if (read(fd, buffer, sizeof(buffer)) != (ssize_t)size)
		die("wrong size of an answer");
}

static void client_datagrams(int fd, int count, size_t size)
{
	for (uint32_t i = 0; i < (uint32_t)count; i++) {
		memcpy(buffer, &i, sizeof(i));
		if (write(fd, buffer, size) != (ssize_t)size)
			die("send");
		await(fd, size);
	}
}

static void client_burst(int fd, int count, int size)
{
	if (setsockopt(fd, SOL_UDP, UDP_SEGMENT, &size, sizeof(size)))
		die("UDP_SEGMENT");
	for (uint32_t i = 0; i < (uint32_t)count; i++)
		memcpy(buffer + i * size, &i, sizeof(i));
	if (write(fd, buffer, (size_t)count * size) != (ssize_t)count * size)
		die("send");
	while (count--)
		await(fd, size);
}

static void client_pages(int fd, size_t size)
{
	int file = memfd_create("datagram", 0);
	off_t offset = 0;

	memset(buffer, 'x', size);
	write_all(file, buffer, size);
	if (write(fd, buffer, size) != (ssize_t)size)
		die("send");
	await(fd, size);
	if (sendfile(fd, file, &offset, size) != (ssize_t)size)
		die("sendfile");
	await(fd, size);
}

/* ---- devices ------------------------------------------------------------------ */

static void set_offload(const char *device, bool send, bool on)
{
	struct ethtool_value value = { .data = on };
	static const __u32 sending[] = { ETHTOOL_STSO, ETHTOOL_SGSO, 0 };
	static const __u32 receiving[] = { ETHTOOL_SGRO, 0 };
	struct ifreq request = { .ifr_data = (void *)&value };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", device);
	for (const __u32 *at = send ? sending : receiving; *at; at++) {
		value.cmd = *at;
		if (ioctl(fd, SIOCETHTOOL, &request))
			die(device);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 3 ? argv[1] : "";
	int type = !strcmp(what, "tcp") || !strcmp(what, "slow") ?
		SOCK_STREAM : SOCK_DGRAM;
	int count = argc > 4 ? atoi(argv[4]) : 0, fd;
	size_t size = argc > 5 ? strtoul(argv[5], NULL, 0) : 0;

	signal(SIGCHLD, SIG_DFL);
	if (!strcmp(what, "serve")) {
		signal(SIGCHLD, SIG_IGN);
		serve(argv[2], argv[3]);
	}
	if (!strcmp(what, "offload") && argc == 5) {
		set_offload(argv[2], !strcmp(argv[3], "send"),
			    !strcmp(argv[4], "on"));
		return 0;
	}
	if (size > MAX_SIZE || argc < 5) {
		fputs("talk: invalid arguments; its source lists them\n", stderr);
		return 2;
	}
	fd = open_socket(argv[2], argv[3], type, connect);
	if (!strcmp(what, "tcp"))
		client_stream(fd, count, size);
	else if (!strcmp(what, "slow"))
		client_slow(fd, count, size);
	else if (!strcmp(what, "udp"))
		client_datagrams(fd, count, size);
	else if (!strcmp(what, "burst"))
		client_burst(fd, count, size);
	else
		client_pages(fd, count);
	if (type == SOCK_STREAM)
		finish_stream(fd, "client", argv[3]);
	return 0;
}

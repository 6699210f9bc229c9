// SPDX-License-Identifier: MIT
/*
 * relay [OPTION...] CLIENT SERVER - delays IP packets between two network namespaces
 *
 *   --path NAME		a path of tests/world/paths.c
 *   --request TEXT		changes the direction from CLIENT to SERVER, or the other one:
 *   --answer TEXT		members of struct network_path, as "floor=50,exp=20"
 *   --seed NUMBER		seed of the random numbers (default 1)
 *   --cpu NUMBER		CPU to run on (default: the last one)
 *   --log FILE			log of all packets, written at SIGTERM or SIGINT
 *   --list			prints the names and titles of all paths
 *
 * Each namespace has a TUN device "relay0". The relay reads each packet that a namespace
 * sends by it, draws a delay from the model that the simulator has (network_send()), and
 * writes the unchanged packet to the other namespace after that delay. So no address
 * changes, no queue of the kernel lies between the two readings of the counter in the log,
 * and the kernel takes both packet time stamps of a packet next to them: as it hands the
 * packet to the relay, and as it gets it from the relay. Never sleeps. Prints "ready".
 *
 * A line of the log: direction (request, answer), mode of the NTP packet (0: another
 * packet), counter at arrival, counter at departure (0: the packet was lost), planned
 * delay in ns. Lines with "#": counter's frequency, and what delayed the relay itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include "tests/world/paths.h"

#define PACKET_MAX	2048
#define NTP_PORT	123
#define NTP_BYTES	48	/* least size of an NTP packet */
#define HELD_MAX	1024	/* most packets that the relay holds at a time */
#define LOG_MAX		(1 << 20)
#define SOON_US		10	/* time before a departure in which the relay reads no
				 * packet, but keeps the code of its departure in the
				 * caches */
#define NEXT_US		2	/* time before a departure in which the relay only
				 * reads the counter */
#define STALL_US	50	/* a longer turn of the loop is a stall */
#define CALIBRATION_NS	200000000

enum direction { REQUEST, ANSWER };

struct logged {
	enum direction direction;
	unsigned int mode;	/* mode of the NTP packet; 0: another packet */
	uint64_t arrived, departed;	/* counter; departed is 0 if the packet is lost */
	double planned_us;
};

struct held {
	uint64_t due;		/* counter at the planned departure */
	struct logged *logged;
	ssize_t len;
	unsigned char bytes[PACKET_MAX];
};

struct relay {
	int fd[2];		/* TUN devices: of CLIENT, of SERVER */
	struct network_path path[2];
	struct random random;
	double hz;		/* frequency of the counter */
	uint64_t begin;		/* counter at the relay's time 0 */
	struct held *held[HELD_MAX], *unused[HELD_MAX];	/* held: by planned departure,
							 * the earliest last */
	unsigned int nr_held, nr_unused;
	struct logged *log;
	unsigned int nr_logged;
	unsigned long long overflows;	/* packets lost because the relay was full */
	unsigned long long stalls;
	double stalled_us, stall_max_us;
};

static volatile sig_atomic_t stop;

static void on_signal(int)
{
	stop = 1;
}

static void die(const char *format, ...)
	__attribute__((format(printf, 1, 2), noreturn));
static void die(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "relay: ");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\n");
	exit(1);
}

static uint64_t cycles(void)
{
	unsigned int cpu;

	return __rdtscp(&cpu);
}

static double us_between(const struct relay *relay, uint64_t from, uint64_t to)
{
	return (double)(int64_t)(to - from) * 1e6 / relay->hz;
}

/* ---- setup ---------------------------------------------------------------- */

static int open_tun(const char *namespace)
{
	struct ifreq request = { .ifr_flags = IFF_TUN | IFF_NO_PI };
	int fd = open(namespace, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die("%s: %s; give the file of a network namespace", namespace,
		    strerror(errno));
	close(fd);
	strcpy(request.ifr_name, "relay0");
	fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &request))
		die("%s: relay0: %s; make it by `ip tuntap add dev relay0 mode tun`",
		    namespace, strerror(errno));
	return fd;
}

static uint64_t raw_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static double measure_hz(void)
{
	uint64_t begin_ns = raw_ns(), begin = cycles(), ns;

	do
		ns = raw_ns() - begin_ns;
	while (ns < CALIBRATION_NS);
	return (double)(cycles() - begin) / (double)ns * 1e9;
}

/*
 * Gives the relay as much of a CPU as possible. Without the right to a higher priority the
 * relay runs anyway, and its log has the stalls. Where the scheduler groups processes by
 * session, a session of its own gets the priority. Not SCHED_FIFO: the kernel stops a
 * process that never sleeps for 50 ms in each second.
 */
static void get_cpu(int cpu)
{
	int group;
	cpu_set_t set;

	if (setsid() >= 0 &&
	    (group = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC)) >= 0) {
		if (write(group, "-20", 3) != 3)
			fprintf(stderr, "relay: autogroup: %s\n", strerror(errno));
		close(group);
	}
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("CPU %d: %s", cpu, strerror(errno));
	if (setpriority(PRIO_PROCESS, 0, -20))
		fprintf(stderr, "relay: no higher priority: %s\n", strerror(errno));
	if (mlockall(MCL_CURRENT))
		fprintf(stderr, "relay: pages not locked: %s\n", strerror(errno));
}

static void set_up(struct relay *relay, char **namespaces, int cpu)
{
	struct held *held = calloc(HELD_MAX, sizeof(*held));

	relay->log = calloc(LOG_MAX, sizeof(*relay->log));
	if (!relay->log || !held)
		die("no memory");
	for (unsigned int i = 0; i < HELD_MAX; i++)
		relay->unused[relay->nr_unused++] = &held[i];
	for (unsigned int i = 0; i < 2; i++)
		relay->fd[i] = open_tun(namespaces[i]);
	get_cpu(cpu);
	relay->hz = measure_hz();
	relay->begin = cycles();
}

/* ---- packets -------------------------------------------------------------- */

/* Mode of an NTP packet in UDP over IPv4 or IPv6; 0: another packet */
static unsigned int ntp_mode(const unsigned char *ip, ssize_t len)
{
	ssize_t head = ip[0] >> 4 == 4 ? (ip[0] & 15) * 4 : 40;
	unsigned int protocol = ip[0] >> 4 == 4 ? ip[9] : ip[6];
	const unsigned char *udp = ip + head;

	if (len < head + 8 + NTP_BYTES || protocol != IPPROTO_UDP ||
	    ((udp[0] << 8 | udp[1]) != NTP_PORT && (udp[2] << 8 | udp[3]) != NTP_PORT))
		return 0;
	return udp[8] & 7;
}

static void hold(struct relay *relay, struct held *held)
{
	unsigned int i = relay->nr_held++;

	for (; i && (int64_t)(relay->held[i - 1]->due - held->due) <= 0; i--)
		relay->held[i] = relay->held[i - 1];
	relay->held[i] = held;
}

/* Reads a packet, if there is one. */
static void take(struct relay *relay, enum direction direction)
{
	struct held *held = relay->unused[relay->nr_unused - 1];
	ssize_t len = read(relay->fd[direction], held->bytes, PACKET_MAX);
	uint64_t now = cycles();
	double delay_us[NETWORK_COPIES_MAX] = { 0 };
	struct logged *logged;

	if (len <= 0)
		return;
	if (relay->nr_unused == 1 || relay->nr_logged == LOG_MAX) {
		relay->overflows++;
		return;
	}
	logged = &relay->log[relay->nr_logged++];
	*logged = (struct logged) {
		.direction = direction, .mode = ntp_mode(held->bytes, len), .arrived = now,
	};
	/* Of a duplicated packet, only the first copy is sent. */
	if (!network_send(&relay->path[direction], &relay->random,
			  us_between(relay, relay->begin, now) * 1e-6, delay_us))
		return;
	logged->planned_us = delay_us[0];
	relay->nr_unused--;
	held->due = now + (uint64_t)(delay_us[0] * 1e-6 * relay->hz);
	held->logged = logged;
	held->len = len;
	hold(relay, held);
}

/* Returns the device to which the packet goes that is due first. */
static int departure_fd(const struct relay *relay)
{
	const struct held *held = relay->held[relay->nr_held - 1];

	return relay->fd[held->logged->direction == REQUEST ? ANSWER : REQUEST];
}

static void forward(struct relay *relay)
{
	int fd = departure_fd(relay);
	struct held *held = relay->held[--relay->nr_held];

	held->logged->departed = cycles();
	if (write(fd, held->bytes, (size_t)held->len) != held->len)
		relay->overflows++;
	relay->unused[relay->nr_unused++] = held;
}

static void note_stall(struct relay *relay, double us)
{
	if (us <= STALL_US)
		return;
	relay->stalls++;
	relay->stalled_us += us;
	relay->stall_max_us = fmax(relay->stall_max_us, us);
}

/* Writes what is no IP packet to a device: the kernel drops it late in tun_get_user(). After
 * a pause, a write without such a write before took 4 us more until the time stamp. */
static void warm_up(int fd)
{
	static const unsigned char none[90];

	if (write(fd, none, sizeof(none)) >= 0)
		die("the kernel forwards packets of no IP version");
}

static void read_packets(struct relay *relay, double s)
{
	for (unsigned int i = 0; i < 2; i++) {
		take(relay, i);
		network_advance(&relay->path[i], &relay->random, s);
	}
}

static void run(struct relay *relay)
{
	uint64_t last = cycles();

	while (!stop) {
		uint64_t now = cycles();
		double left_us = relay->nr_held ?
			us_between(relay, now, relay->held[relay->nr_held - 1]->due) :
			INFINITY;

		note_stall(relay, us_between(relay, last, now));
		last = now;
		if (left_us <= 0)
			forward(relay);
		else if (left_us > SOON_US)
			read_packets(relay, us_between(relay, relay->begin, now) * 1e-6);
		else if (left_us > NEXT_US)
			warm_up(departure_fd(relay));
	}
}

/* ---- the log -------------------------------------------------------------- */

static void write_log(const struct relay *relay, const char *path)
{
	FILE *to = path ? fopen(path, "w") : stdout;

	if (!to)
		die("%s: %s", path, strerror(errno));
	fprintf(to, "# hz %.0f\n# overflows %llu\n# stalls %llu, %.0f us of %.0f us, "
		"longest %.0f us\n", relay->hz, relay->overflows, relay->stalls,
		relay->stalled_us, us_between(relay, relay->begin, cycles()),
		relay->stall_max_us);
	for (unsigned int i = 0; i < relay->nr_logged; i++) {
		const struct logged *l = &relay->log[i];

		fprintf(to, "%s %u %llu %llu %.0f\n",
			l->direction == REQUEST ? "request" : "answer", l->mode,
			(unsigned long long)l->arrived,
			(unsigned long long)l->departed, l->planned_us * 1e3);
	}
	if (fclose(to))
		die("%s: %s", path, strerror(errno));
}

static void parse_direction(const char *option, const char *text,
			    struct network_path *path)
{
	const char *wrong = paths_parse(text, path);

	if (wrong)
		die("--%s '%s' is wrong from '%s' on; use MEMBER=NUMBER,... of: %s",
		    option, text, wrong, paths_members());
}

static void parse_path(const char *name, struct relay *relay)
{
	const struct named_path *path = paths_find(name);

	if (!path)
		die("unknown path '%s'; see --list", name);
	relay->path[REQUEST] = path->request;
	relay->path[ANSWER] = path->answer;
}

static void __attribute__((noreturn)) list(void)
{
	for (unsigned int i = 0; i < PATH_NR; i++)
		printf("%-8s %s\n", named_paths[i].name, named_paths[i].title);
	exit(0);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "path", required_argument, NULL, 'p' },
		{ "request", required_argument, NULL, 'r' },
		{ "answer", required_argument, NULL, 'a' },
		{ "seed", required_argument, NULL, 's' },
		{ "cpu", required_argument, NULL, 'c' },
		{ "log", required_argument, NULL, 'l' },
		{ "list", no_argument, NULL, 'L' },
		{ NULL, 0, NULL, 0 },
	};
	static struct relay relay;
	int cpu = (int)sysconf(_SC_NPROCESSORS_ONLN) - 1, option;
	const char *log = NULL;
	uint64_t seed = 1;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'p': parse_path(optarg, &relay); break;
		case 'r': parse_direction("request", optarg, &relay.path[REQUEST]); break;
		case 'a': parse_direction("answer", optarg, &relay.path[ANSWER]); break;
		case 's': seed = strtoull(optarg, NULL, 0); break;
		case 'c': cpu = atoi(optarg); break;
		case 'l': log = optarg; break;
		case 'L': list();
		default: return 2;
		}
	}
	if (argc - optind != 2)
		die("give two namespaces: CLIENT SERVER");
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	relay.random = random_stream(seed, 1);
	set_up(&relay, argv + optind, cpu);
	printf("ready\n");
	fflush(stdout);
	run(&relay);
	write_log(&relay, log);
	return 0;
}

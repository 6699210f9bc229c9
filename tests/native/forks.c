// SPDX-License-Identifier: MIT
/*
 * forks COUNT FILE [PID_MAX]: makes children at random in three pid namespaces, each inside
 * the one before, and in this one. Each child, and a thread of every fourth, has a name at
 * random, and emits an event with a number of its own. Meanwhile this process, in the
 * outermost namespace, reads in /proc which process it is, and writes to FILE, for each
 * event: number, tid, tgid, name. PID_MAX: limit of process IDs in the inner namespaces,
 * so that they are used again, where the kernel has a limit for each namespace. In the
 * outermost one, the IDs begin again after each ROUND children, where that is permitted.
 */
#include <dirent.h>
#include <sys/mount.h>
#include <sys/un.h>

#include <tsctrace/tsctrace.h>

#include "helper.h"

#define LEVELS	4
#define ROUND	500

/* A child's message to this process, after its event */
struct hello {
	uint64_t number;
	pid_t tid;		/* in the child's namespace */
};

static struct tsct_channel *channel;
static int event_id;
static int commands[LEVELS][2];
static struct sockaddr_un addr = { .sun_family = AF_UNIX };

static void report(uint64_t number)
{
	const struct hello hello = { number, (pid_t)syscall(SYS_gettid) };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	char go;

	tsct_emit(channel, event_id, &number, sizeof(number));
	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    send(fd, &hello, sizeof(hello), 0) != sizeof(hello) ||
	    recv(fd, &go, 1, 0) != 1)
		_exit(1);
	close(fd);
}

static void *thread(void *arg)
{
	char name[16];

	snprintf(name, sizeof(name), "thread-%lu", (uintptr_t)arg * 7919 % 100000);
	prctl(PR_SET_NAME, name);
	report((uintptr_t)arg);
	return NULL;
}

static void child(uint64_t number)
{
	pthread_t other;
	char name[16];

	snprintf(name, sizeof(name), "child-%lu", number * 104729 % 100000);
	prctl(PR_SET_NAME, name);
	report(number);
	if (number % 8 == 0 && !pthread_create(&other, NULL, thread, (void *)(number + 1)))
		pthread_join(other, NULL);
	_exit(0);
}

/* Process 1 of a namespace: forks a child for each number that it reads. */
__attribute__((noreturn))
static void spawn(int level, const char *pid_max)
{
	uint64_t number;
	FILE *to;

	signal(SIGCHLD, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (level && pid_max && !unshare(CLONE_NEWNS)) {
		mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
		mount("proc", "/proc", "proc", 0, NULL);
		to = fopen("/proc/sys/kernel/pid_max", "w");
		if (to) {
			fputs(pid_max, to);
			fclose(to);
		}
	}
	/* All children of a process that made a namespace are in that. */
	if (level + 1 < LEVELS && !fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (unshare(CLONE_NEWPID))
			err(1, "unshare");
		if (!fork())
			spawn(level + 1, pid_max);
		pause();
	}
	while (read(commands[level][0], &number, sizeof(number)) == sizeof(number))
		if (!fork())
			child(number);
	_exit(0);
}

/* Returns the number after the last tab of a line of /proc/PID/status; 0: no such line */
static long status_number(const char *path, const char *name)
{
	FILE *from = fopen(path, "r");
	char line[256], *tab;
	long n = 0;

	while (from && fgets(line, sizeof(line), from))
		if (!strncmp(line, name, strlen(name))) {
			tab = strrchr(line, '\t');
			n = tab ? atol(tab + 1) : 0;
		}
	if (from)
		fclose(from);
	return n;
}

/* Finds a thread of a process by its number in its own namespace. */
static pid_t find_thread(pid_t tgid, pid_t tid)
{
	struct dirent *e;
	char path[300];
	pid_t found = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", tgid);
	dir = opendir(path);
	while (dir && !found && (e = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%d/task/%.20s/status", tgid, e->d_name);
		if (status_number(path, "NSpid:") == tid)
			found = atoi(e->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

static void answer(int listener, FILE *to)
{
	char path[64], name[32] = "";
	struct hello hello;
	struct ucred cred;
	socklen_t len = sizeof(cred);
	FILE *comm;
	pid_t tid;
	int fd = accept(listener, NULL, NULL);

	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) ||
	    recv(fd, &hello, sizeof(hello), 0) != sizeof(hello))
		errx(1, "a child said nothing");
	tid = find_thread(cred.pid, hello.tid);
	snprintf(path, sizeof(path), "/proc/%d/comm", tid);
	comm = fopen(path, "r");
	if (!comm || !fgets(name, sizeof(name), comm))
		errx(1, "%s: cannot be read", path);
	fclose(comm);
	fprintf(to, "%lu %d %d %s", hello.number, tid, cred.pid, name);
	if (send(fd, "", 1, 0) != 1)
		errx(1, "a child has ended");
	close(fd);
}

/* Makes the kernel give the IDs after @last again. */
static void set_last_pid(pid_t last)
{
	FILE *to = fopen("/proc/sys/kernel/ns_last_pid", "w");

	if (!to)
		return;
	fprintf(to, "%d", last);
	fclose(to);
}

int main(int argc, char **argv)
{
	struct tsct_channel_options options = { .roles = TSCT_ROLE_WRITE };
	uint64_t count = argc > 2 ? strtoull(argv[1], NULL, 0) : 0, number;
	FILE *to = argc > 2 ? fopen(argv[2], "w") : NULL;
	int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0), level;
	pid_t first;

	if (!to)
		errx(2, "usage: forks COUNT FILE [PID_MAX]");
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%.90s.socket", argv[2]);
	if (bind(listener, (struct sockaddr *)&addr, sizeof(addr)) || listen(listener, 64))
		err(1, "%s", addr.sun_path);
	if (tsct_channel_open(&options, &channel))
		errx(1, "%s", tsct_channel_error(channel));
	event_id = tsct_event_define(channel, "child", TSCT_KIND_INSTANT, "number:u64");
	for (level = 0; level < LEVELS; level++)
		if (pipe(commands[level]))
			err(1, "pipe");
	srandom(1);
	first = fork();
	if (!first)
		spawn(0, argv[3]);
	/* Numbers are multiples of 2: a child's thread has the one behind. */
	for (number = 0; number < 2 * count; number += 2) {
		level = (int)(random() % LEVELS);
		if (number % (2 * ROUND) == 0)
			set_last_pid(first);
		if (write(commands[level][1], &number, sizeof(number)) < 0)
			err(1, "write");
		answer(listener, to);
		if (number % 8 == 0)
			answer(listener, to);
	}
	unlink(addr.sun_path);
	kill(first, SIGKILL);
	waitpid(first, NULL, 0);
	return fclose(to) != 0;
}

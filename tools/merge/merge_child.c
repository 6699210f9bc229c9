// SPDX-License-Identifier: MIT
/*
 * Runs libotf2 in a child process. libotf2 trusts lengths and counts in its
 * files, which can make it access invalid memory. If the child crashes, the
 * parent prints an error and removes the result.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd_merge.h"
#include "tools/common/progress.h"

#define LOOK_NS		100000000L
/* Seconds of CPU time without an event, a definition, or a chunk of a file */
#define STUCK_S		30

static size_t status_size(int nr)
{
	return sizeof(struct tsct_otf2_status) +
		nr * sizeof(struct tsct_otf2_merged);
}

struct tsct_otf2_status *merge_status_new(int nr_inputs)
{
	void *at = mmap(NULL, status_size(nr_inputs), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

void merge_status_free(struct tsct_otf2_status *status, int nr_inputs)
{
	munmap(status, status_size(nr_inputs));
}

/* ---- the child ------------------------------------------------------------------------ */

/* Address space in use, bytes */
static uint64_t taken(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long long pages = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%llu", &pages) != 1)
		pages = 0;
	fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/*
 * Keeps a count in a file of 100 bytes from taking the machine's memory. (The
 * shadow memory of sanitizers exceeds any limit.)
 */
static void limit_memory(uint64_t memory)
{
#ifndef __SANITIZE_ADDRESS__
	struct rlimit limit;

	memory += taken();
	if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur <= memory)
		return;
	limit.rlim_cur = memory;
	setrlimit(RLIMIT_AS, &limit);
#else
	(void)memory;
	(void)taken;
#endif
}

/* A full disk is an error, not a signal. The parent reports crashes, not libc. */
static void settle(pid_t parent, uint64_t memory)
{
	const struct rlimit none = { 0, 0 };
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_CORE, &none);
	limit_memory(memory);
#ifndef __SANITIZE_ADDRESS__
	fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		dup2(fd, STDERR_FILENO);
#else
	(void)fd;
#endif
}

/* A result is 0 or a negative errno, which fits an exit status. */
static void run(pid_t parent, int (*work)(void *arg), void *arg,
		uint64_t memory)
{
	int ret;

	settle(parent, memory);
	ret = work(arg);
	_exit(ret < 0 && ret > -256 ? -ret : ret ? EIO : 0);
}

/* ---- the parent ----------------------------------------------------------------------- */

struct watch {
	pid_t child;
	struct tsct_otf2_status *status;
	uint64_t beat;		/* the last value */
	time_t cpu_s;		/* the child's CPU time at that value */
	struct progress progress;
};

static time_t cpu_of(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	return clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t) ?
		0 : t.tv_sec;
}

static bool is_stuck(struct watch *w)
{
	uint64_t beat = w->status->beat + w->status->done;
	time_t now_s = cpu_of(w->child);

	if (beat != w->beat) {
		w->beat = beat;
		w->cpu_s = now_s;
	}
	return now_s - w->cpu_s > STUCK_S;
}

static int stop(struct watch *w, int ret)
{
	kill(w->child, SIGKILL);
	waitpid(w->child, NULL, 0);
	return ret;
}

static int stuck(struct watch *w)
{
	stop(w, 0);
	snprintf(w->status->why, sizeof(w->status->why),
		 "damaged: libotf2 makes no progress with it");
	return -EBADMSG;
}

static int over(struct watch *w, int how)
{
	struct tsct_otf2_status *s = w->status;

	if (WIFEXITED(how))
		return -WEXITSTATUS(how);
	/* SIGKILL comes from the kernel when memory is short. */
	if (WTERMSIG(how) == SIGKILL) {
		s->file[0] = '\0';
		snprintf(s->why, sizeof(s->why), "killed, possibly for its use of memory");
		return -ENOMEM;
	}
	snprintf(s->why, sizeof(s->why), "damaged: libotf2 crashed on it (%s)",
		 strsignal(WTERMSIG(how)));
	return -EBADMSG;
}

static int wait_for_thread(struct watch *w, const sigset_t *set)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	int sig, how;
	pid_t pid;

	for (;;) {
		sig = sigtimedwait(set, NULL, &pause);
		if (sig > 0 && sig != SIGCHLD)
			return stop(w, -EINTR);
		do
			pid = waitpid(w->child, &how, WNOHANG);
		while (pid < 0 && errno == EINTR);
		if (pid == w->child)
			return over(w, how);
		if (is_stuck(w))
			return stuck(w);
		if (w->status->total)
			progress_show(&w->progress, (double)w->status->done /
				      (double)w->status->total,
				      w->status->done, "events");
	}
}

int merge_run_child(int (*work)(void *arg), void *arg, uint64_t memory,
		struct tsct_otf2_status *status, bool quiet)
{
	struct watch w = { .status = status };
	pid_t parent = getpid();
	sigset_t set, old;
	int ret;

	merge_signals(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &old);
	fflush(NULL);
	w.child = fork();
	if (!w.child)
		run(parent, work, arg, memory);
	progress_begin(&w.progress, quiet);
	ret = w.child < 0 ? -errno : wait_for_thread(&w, &set);
	progress_clear(&w.progress);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return ret;
}

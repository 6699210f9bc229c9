// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/common/progress.h"
#include "worker.h"

#define POLL_NS		100000000L
#define STUCK_S		30	/* default of worker.stuck_s */

/* No memory limit with AddressSanitizer, which reserves terabytes of address space */
#ifndef __SANITIZE_ADDRESS__
/* Limits the address space to @more bytes above its present size, against wrong counts
 * in files. */
static void limit_memory(uint64_t more)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long long pages = 0;
	struct rlimit limit;

	if (file && fscanf(file, "%llu", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	more += pages * (uint64_t)sysconf(_SC_PAGESIZE);
	if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur <= more)
		return;
	limit.rlim_cur = more;
	setrlimit(RLIMIT_AS, &limit);
}
#endif

/* Runs the work in the child process, which exits with 0 or with the errno of an error. */
static void run_child(pid_t parent, const struct worker *w)
{
	const struct rlimit none = { 0, 0 };
	int ret;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	/* Above the file size limit, let write() fail instead of ending the process. */
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_CORE, &none);
#ifndef __SANITIZE_ADDRESS__
	limit_memory(w->memory);
	/* Discards libc's messages about a crash, because the parent reports the crash. */
	ret = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (ret >= 0)
		dup2(ret, STDERR_FILENO);
#endif
	ret = w->run(w->arg);
	_exit(ret < 0 && ret > -256 ? -ret : ret ? EIO : 0);
}

static int kill_child(pid_t child, int ret)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return ret;
}

static int wait_for_child(pid_t child, const sigset_t *set, const struct worker *w,
			  struct progress *progress)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	uint64_t beat = 0;
	time_t beat_s = 0;	/* child's CPU time at its last progress, s */
	struct timespec cpu;
	clockid_t clock;
	int sig, how;
	pid_t pid;

	for (;;) {
		sig = sigtimedwait(set, NULL, &pause);
		if (sig > 0 && sig != SIGCHLD)
			return kill_child(child, -EINTR);
		do
			pid = waitpid(child, &how, WNOHANG);
		while (pid < 0 && errno == EINTR);
		if (pid == child)
			break;
		if (pid < 0)
			return -errno;
		if (clock_getcpuclockid(child, &clock) || clock_gettime(clock, &cpu))
			cpu.tv_sec = 0;
		if (*w->beat + *w->done != beat) {
			beat = *w->beat + *w->done;
			beat_s = cpu.tv_sec;
		}
		if (cpu.tv_sec - beat_s > (time_t)(w->stuck_s ?: STUCK_S)) {
			kill_child(child, 0);
			snprintf(w->why, w->why_size,
				 "damaged: %s makes no progress when it reads "
				 "this %s", w->library, w->what);
			return -EBADMSG;
		}
		if (*w->total)
			progress_show(progress, (double)*w->done / (double)*w->total,
				      *w->done);
	}
	if (WIFEXITED(how))
		return -WEXITSTATUS(how);
	/* The kernel sends SIGKILL to a process when memory is short. */
	if (WTERMSIG(how) == SIGKILL) {
		*w->file = '\0';
		snprintf(w->why, w->why_size, "%s was killed, possibly because"
			 " memory was short; merge again with more free memory", w->library);
		return -ENOMEM;
	}
	snprintf(w->why, w->why_size, "damaged: %s crashed when it read this %s (%s)",
		 w->library, w->what, strsignal(WTERMSIG(how)));
	return -EBADMSG;
}

int worker_run(const struct worker *w)
{
	struct progress progress;
	pid_t parent = getpid(), child;
	/* An ignored SIGCHLD, which is inherited, would lose the exit status. */
	const struct sigaction plain = { .sa_handler = SIG_DFL };
	sigset_t set = w->signals, old;
	struct sigaction was;
	int ret;

	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &old);
	sigaction(SIGCHLD, &plain, &was);
	fflush(NULL);
	child = fork();
	if (!child)
		run_child(parent, w);
	progress_begin(&progress, w->quiet);
	ret = child < 0 ? -errno : wait_for_child(child, &set, w, &progress);
	progress_clear(&progress);
	sigaction(SIGCHLD, &was, NULL);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return ret;
}

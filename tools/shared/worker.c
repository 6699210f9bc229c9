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

/* With AddressSanitizer, which reserves terabytes of address space, memory is not limited. */
#ifndef __SANITIZE_ADDRESS__
/* Limits the address space to @more bytes above its present size, because wrong counts
 * in files may cause huge allocations. */
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
	/* Ignore SIGXFSZ: above the file size limit, write() fails with EFBIG. */
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
	struct worker_status *s = w->status;
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
		if (s->beat + s->done != beat) {
			beat = s->beat + s->done;
			beat_s = cpu.tv_sec;
		}
		if (cpu.tv_sec - beat_s > (time_t)(w->stuck_s ?: STUCK_S)) {
			kill_child(child, 0);
			return worker_fail(s, -EBADMSG, "damaged: %s makes no progress when it"
					   " reads this %s", w->library, w->what);
		}
		if (s->total)
			progress_show(progress, (double)s->done / (double)s->total, s->done);
	}
	if (WIFEXITED(how))
		return -WEXITSTATUS(how);
	/* The kernel sends SIGKILL to a process when memory is short. */
	if (WTERMSIG(how) == SIGKILL) {
		*s->file = '\0';
		return worker_fail(s, -ENOMEM, "%s was killed, possibly because memory was short;"
				   " merge again with more free memory", w->library);
	}
	return worker_fail(s, -EBADMSG, "damaged: %s crashed when it read this %s (%s)",
			   w->library, w->what, strsignal(WTERMSIG(how)));
}

int worker_run(const struct worker *w)
{
	struct progress progress;
	pid_t parent = getpid(), child;
	/* While SIGCHLD is ignored, which may be inherited, waitpid() gets no exit status. */
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

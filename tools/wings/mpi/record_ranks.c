// SPDX-License-Identifier: MIT
/*
 * Ranks of a parallel program on one host. A launcher (mpirun, srun) starts each
 * rank as "trace-ctl record --ranks". The lowest rank records; all other ranks run
 * their commands with the channel of the lowest rank. The ranks connect to an
 * abstract Unix socket, whose name is made from user and output directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/hash.h"
#include "lib/client/gettime.h"
#include "tools/common/error.h"
#include "tools/shared/message.h"
#include "tools/common/stop.h"
#include "tools/record/cmd_record.h"
#include "tools/record/record_mpi.h"

#define WAIT_NS		60000000000LL	/* maximum wait for all other ranks of the host, ns */
#define RETRY_US	20000		/* time between attempts to connect, us */

struct rank {
	int connection;		/* connection; -1: closed, after the channel was sent to the rank */
	int pidfd;		/* readable when the rank has ended, then closed; -1: closed */
};

struct rank_place {
	unsigned int local;	/* number of this rank among the host's ranks, from 0 */
	unsigned int size;	/* number of ranks on this host */
};

/* State in the rank that records: all other ranks of this host */
struct record_ranks {
	int listener;		/* listening socket; -1: not open */
	struct rank *at;	/* the other ranks that have connected */
	pid_t *pids;		/* process ids of the ranks in `at` */
	unsigned int nr, nr_others;	/* number of connected ranks, and of all other ranks */
	char *dir;		/* directory of this host's recording */
	int early;		/* pipe to the process that the launcher started; -1: closed */
	__s64 ended_ns;		/* CLOCK_MONOTONIC at the command's end; 0: not ended */
};

/* Environment variables that tell a program which channel to use */
static const char *const variables[] = {
	"TSCTRACE_CHANNEL", "TSCTRACE_SOCKET", "TSCTRACE_EVENTS",
};

/* ---- place ---------------------------------------------------------------------- */

/* Returns the number of tasks on node @node (from 0), from a list in Slurm's notation, such as
 * "4(x2),3" for 4, 4 and 3 tasks. Returns 0 if the list is invalid or too short. */
static unsigned int rank_tasks(const char *text, unsigned int node)
{
	unsigned long tasks, times;
	char *end;

	for (;; text = end + 1) {
		tasks = strtoul(text, &end, 10);
		if (*text < '0' || *text > '9' || !tasks || tasks > INT_MAX)
			return 0;
		times = 1;
		if (!strncmp(end, "(x", 2) && end[2] >= '0' && end[2] <= '9') {
			times = strtoul(end + 2, &end, 10);
			if (*end++ != ')')
				return 0;
		}
		if (node < times)
			return (unsigned int)tasks;
		node -= (unsigned int)times;
		if (*end != ',')
			return 0;
	}
}

/* Returns the value of an environment variable; -1 if it is missing or not a number. */
static long read_variable(const char *name)
{
	const char *text = getenv(name);
	char *end;
	long n = text ? strtol(text, &end, 10) : -1;

	return text && *text >= '0' && *text <= '9' && !*end && n <= INT_MAX ? n : -1;
}

/* Reads this process's number among the ranks of its host from the launcher's environment
 * variables. Returns 0, or -ENOENT if no known launcher has set these variables. */
static int rank_place(struct rank_place *ret)
{
	static const char *const names[][2] = {
		{ "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE" },	/* Open MPI */
		{ "MPI_LOCALRANKID", "MPI_LOCALNRANKS" },	/* MPICH, Intel MPI */
	};
	const char *tasks = getenv("SLURM_STEP_TASKS_PER_NODE");
	long local, size;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		local = read_variable(names[i][0]);
		size = read_variable(names[i][1]);
		if (local >= 0 && size > local) {
			*ret = (struct rank_place){ (unsigned int)local, (unsigned int)size };
			return 0;
		}
	}
	local = read_variable("SLURM_LOCALID");
	size = read_variable("SLURM_NODEID");
	size = tasks && size >= 0 ? rank_tasks(tasks, (unsigned int)size) : 0;
	if (local < 0 || size <= local)
		return -ENOENT;
	*ret = (struct rank_place){ (unsigned int)local, (unsigned int)size };
	return 0;
}

/* ---- socket ----------------------------------------------------------------------- */

/* Makes the socket's address from the user, the path of the directory, and the
 * ids that the launcher gave to the job. */
static socklen_t make_address(const char *dir, struct sockaddr_un *ret)
{
	static const char *const job[] = { "PMIX_NAMESPACE", "SLURM_JOB_ID", "SLURM_STEP_ID" };
	__u64 hash;
	char cwd[PATH_MAX] = "", path[2 * PATH_MAX];
	const char *text;
	size_t i;
	int len;

	if (*dir != '/' && !getcwd(cwd, sizeof(cwd)))
		*cwd = '\0';
	snprintf(path, sizeof(path), "%s/%s", cwd, dir);
	hash = tsct_hash(0, path, strlen(path));
	for (i = 0; i < sizeof(job) / sizeof(job[0]); i++) {
		text = getenv(job[i]);
		text = text ? text : "";
		hash = tsct_hash(hash, text, strlen(text));
	}
	memset(ret, 0, sizeof(*ret));
	ret->sun_family = AF_UNIX;
	len = snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1,
		       "tsctrace-ranks-%u-%016llx", geteuid(), (unsigned long long)hash);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

/* Returns the peer's pid, or -EPERM if the process belongs to another user: any
 * user can bind the name of an abstract socket. */
static pid_t check_peer(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		return -errno;
	return peer.uid == geteuid() && peer.pid > 0 ? peer.pid : -EPERM;
}

/* ---- the rank that records ----------------------------------------------------------- */

/* Opens the socket to which the other ranks connect. @dir: output directory.
 * Returns 0 or -errno; -EADDRINUSE: another run uses this directory */
static int ranks_listen(struct record_ranks *r, const char *dir)
{
	struct sockaddr_un address;
	socklen_t len = make_address(dir, &address);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&address, len) || listen(fd, SOMAXCONN)) {
		err = -errno;
		close(fd);
		return err;
	}
	r->listener = fd;
	return 0;
}

/* Accepts a rank's connection. Returns 0 or -errno. */
static int accept_rank(struct record_ranks *ranks)
{
	int fd = accept4(ranks->listener, NULL, NULL, SOCK_CLOEXEC);
	struct rank *more;
	pid_t *pids, pid;

	if (fd < 0)
		return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED ? 0 : -errno;
	pid = check_peer(fd);
	if (pid < 0) {
		close(fd);
		return 0;
	}
	more = tsct_array_next(&ranks->at, ranks->nr, sizeof(*more));
	pids = tsct_array_next(&ranks->pids, ranks->nr, sizeof(*pids));
	if (!more || !pids) {
		close(fd);
		return -ENOMEM;
	}
	/* The peer is connected, so the peer still runs and its pid is not reused. */
	*more = (struct rank){ fd, (int)syscall(SYS_pidfd_open, pid, 0) };
	if (more->pidfd < 0) {
		close(fd);
		return 0;
	}
	*pids = pid;
	ranks->nr++;
	return 0;
}

/* Waits until all other ranks have connected. Returns 0; -ETIMEDOUT; -EINTR
 * after a signal; or another -errno. */
static int ranks_await(struct record_ranks *ranks)
{
	struct pollfd fd = { .fd = ranks->listener, .events = POLLIN };
	const __s64 until = tsct_monotonic_ns() + WAIT_NS;
	int err = 0;

	while (!err && ranks->nr < ranks->nr_others) {
		if (stop_signals)
			return -EINTR;
		if (tsct_monotonic_ns() > until)
			return -ETIMEDOUT;
		if (poll(&fd, 1, 100) > 0)
			err = accept_rank(ranks);
	}
	return err;
}

/* Sends the environment variables of this process's channel to all other ranks. */
int record_ranks_release(const struct record_ranks *ranks)
{
	const long launcher = read_variable("PMI_FD");
	json_t *json = json_pack("{ss}", "type", "channel");
	struct byte_queue q = { 0 };
	unsigned int i;
	size_t len;
	int err;

	/* Only the command stays connected to MPICH's launcher: the rank ends with the command. */
	if (launcher > STDERR_FILENO)
		close((int)launcher);
	for (i = 0; json && i < sizeof(variables) / sizeof(variables[0]); i++)
		if (getenv(variables[i]))
			json_object_set_new(json, variables[i], json_string(getenv(variables[i])));
	err = message_add(&q, json, NULL, 0);
	len = byte_queue_len(&q);
	for (i = 0; !err && i < ranks->nr; i++) {
		if (send(ranks->at[i].connection, q.at + q.begin, len, MSG_NOSIGNAL) < 0)
			errno = 0;	/* the rank has ended; its pidfd also shows this */
		close(ranks->at[i].connection);
		ranks->at[i].connection = -1;
	}
	byte_queue_free(&q);
	return err;
}

/* Returns true if a rank still runs, without waiting. */
static bool ranks_running(struct record_ranks *ranks)
{
	struct pollfd fd = { .events = POLLIN };
	bool running = false;
	unsigned int i;

	for (i = 0; i < ranks->nr; i++) {
		fd.fd = ranks->at[i].pidfd;
		if (fd.fd < 0)
			continue;
		if (poll(&fd, 1, 0) > 0) {
			close(fd.fd);
			ranks->at[i].pidfd = -1;
		} else {
			running = true;
		}
	}
	return running;
}

/* ---- the other ranks ------------------------------------------------------------------ */

/* Connects to the rank that records. Returns a descriptor or -errno. */
static int connect_to(const char *dir)
{
	const __s64 until = tsct_monotonic_ns() + WAIT_NS;
	struct sockaddr_un address;
	socklen_t len = make_address(dir, &address);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return -errno;
	while (connect(fd, (struct sockaddr *)&address, len)) {
		err = -errno;
		if ((err != -ECONNREFUSED && err != -EINTR && err != -EAGAIN) ||
		    tsct_monotonic_ns() > until) {
			close(fd);
			return err == -ECONNREFUSED ? -ETIMEDOUT : err;
		}
		usleep(RETRY_US);
	}
	return fd;
}

/* Sets the environment variables in @json; removes those that are not in @json. */
static void take_variables(const json_t *json)
{
	const char *value;
	size_t i;

	for (i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		value = json_string_value(json_object_get(json, variables[i]));
		if (value)
			setenv(variables[i], value, 1);
		else
			unsetenv(variables[i]);
	}
}

/* In a rank that does not record: waits for the rank that records, and sets the
 * environment variables of its channel. Returns 0 or -errno. */
static int ranks_join(const char *dir)
{
	struct message_reader r = { 0 };
	struct control_message m;
	int fd = connect_to(dir), ret;
	char buffer[4096];
	pid_t peer;
	ssize_t n;

	if (fd < 0)
		return fd;
	peer = check_peer(fd);
	ret = peer < 0 ? (int)peer : 0;
	while (!ret) {
		n = read(fd, buffer, sizeof(buffer));
		if (n < 0 && errno == EINTR)
			continue;
		/* A connection that ends without a message means that the recorder has failed. */
		ret = n <= 0 ? -ECONNRESET : message_reader_add(&r, buffer, (size_t)n);
		if (!ret)
			ret = message_next(&r, &m);
	}
	if (ret > 0) {
		take_variables(m.json);
		json_decref(m.json);
	}
	message_reader_free(&r);
	close(fd);
	return ret > 0 ? 0 : ret;
}

/* ---- the recorder ------------------------------------------------------------------------ */

/* Runs the command of a rank that does not record. Returns only if this fails: -errno. */
static int run_rank(const struct record_options *o, const char *path)
{
	int err = ranks_join(o->dir);

	if (err)
		return ctl_fail(err, "--ranks: cannot wait for the lowest rank of this host, the"
				" one that records: %s", strerror(-err));
	err = o->mpi ? record_mpi_prepare(o->mpi) : 0;
	if (err)
		return err;
	execvp(path, o->command);
	return ctl_fail(-errno, "%s: %s", o->command[0], strerror(errno));
}

/* Time from the command's end with status 0 until the launcher is informed of this, even if
 * other ranks run, ns: the launcher may have to end ranks that wait for the command. */
#define GRACE_NS		5000000000LL

static volatile pid_t recorder;

static void pass_on(int number)
{
	kill(recorder, number);
}

/* Returns the exit status that shells give to a process with wait status @status. */
static int exit_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/*
 * Runs in the process that the launcher started, whose child is the recorder: forwards
 * signals to the recorder, and ends with the recorder's exit status, or earlier with
 * the wait status that is read from @early. Closes the descriptors of the launcher:
 * while they are open, the launcher cannot see that the command has ended.
 */
__attribute__((noreturn))
static void stand_in(int early)
{
	static const int numbers[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };
	size_t i;
	int status;
	ssize_t n;

	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (signal(numbers[i], pass_on) == SIG_IGN)
			signal(numbers[i], SIG_IGN);
	dup2(early, STDERR_FILENO + 1);
	syscall(SYS_close_range, STDERR_FILENO + 2, ~0U, 0);
	do
		n = read(STDERR_FILENO + 1, &status, sizeof(status));
	while (n < 0 && errno == EINTR);
	while (n <= 0 && waitpid(recorder, &status, 0) < 0 && errno == EINTR)
		;
	_exit(exit_status(status));
}

/*
 * If a job ends early, the launcher kills the processes that it started, and their process
 * groups. So the recorder continues in a child process with its own group, and the command,
 * which the launcher may kill, joins the launcher's group. If only the process of stand_in() is
 * killed, the recorder gets SIGTERM, and passes it on to the command. Returns 0 or -errno.
 */
static int leave_launcher(int *ret_early, pid_t *ret_group)
{
	const pid_t launched = getpid();
	int early[2];

	*ret_group = getpgrp();
	if (pipe2(early, O_CLOEXEC))
		return -errno;
	recorder = fork();
	if (recorder < 0)
		return -errno;
	if (recorder)
		stand_in(early[0]);
	close(early[0]);
	*ret_early = early[1];
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	return getppid() == launched ? 0 : -ESRCH;
}

int record_ranks_start(struct record_options *o, const char *path)
{
	struct record_ranks *r;
	struct rank_place place;
	struct utsname host;
	int err = rank_place(&place);

	if (err)
		return ctl_fail(err,
				"--ranks: neither mpirun nor srun started this process; see"
				" trace-ctl-record(1) for the supported launchers");
	if (place.local)
		return run_rank(o, path);
	r = o->ranks = calloc(1, sizeof(*r));
	if (!r)
		return ctl_fail(-ENOMEM, "--ranks: out of memory");
	r->nr_others = place.size - 1;
	r->listener = -1;
	err = leave_launcher(&r->early, &o->group) ?: ranks_listen(r, o->dir);
	if (!err && mkdir(o->dir, 0700) && errno != EEXIST)
		err = -errno;
	if (!err && uname(&host))
		err = -errno;
	if (!err && asprintf(&r->dir, "%s/%s", o->dir, host.nodename) < 0) {
		r->dir = NULL;
		err = -ENOMEM;
	}
	if (err)
		ctl_error("--ranks: %s: %s", o->dir, err == -EADDRINUSE ?
			     "another run records there; use another -o" : strerror(-err));
	else
		o->dir = r->dir;
	return err;
}

int record_ranks_await(struct record_ranks *r)
{
	int err = ranks_await(r);

	return !err ? 0 : ctl_fail(err, "--ranks: cannot wait for the %u other ranks of this host:"
				   " %s", r->nr_others, strerror(-err));
}

pid_t *record_ranks_roots(const struct record_ranks *r, pid_t root, unsigned int *ret_nr)
{
	pid_t *roots = malloc((r->nr + 1) * sizeof(*roots));

	if (!roots)
		return NULL;
	roots[0] = root;
	if (r->nr)
		memcpy(roots + 1, r->pids, r->nr * sizeof(*roots));
	*ret_nr = r->nr + 1;
	return roots;
}

bool record_ranks_running(struct record_ranks *r, int status)
{
	const __s64 now = tsct_monotonic_ns();

	if (!ranks_running(r))
		return false;
	r->ended_ns = r->ended_ns ? r->ended_ns : now;
	if (r->early >= 0 && (status || now - r->ended_ns > GRACE_NS)) {
		if (write(r->early, &status, sizeof(status)) < 0)
			errno = 0;	/* the launcher has killed the process that reads */
		close(r->early);
		r->early = -1;
	}
	return true;
}

void record_ranks_close(struct record_ranks *r)
{
	unsigned int i;

	/* After an error, waits until all ranks have connected: each of these
	 * ranks ends when its connection is closed. */
	if (r->listener >= 0) {
		ranks_await(r);
		close(r->listener);
	}
	for (i = 0; i < r->nr; i++) {
		if (r->at[i].connection >= 0)
			close(r->at[i].connection);
		if (r->at[i].pidfd >= 0)
			close(r->at[i].pidfd);
	}
	free(r->at);
	free(r->pids);
	free(r->dir);
	free(r);
}

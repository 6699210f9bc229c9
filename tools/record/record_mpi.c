// SPDX-License-Identifier: MIT
/*
 * Programs of MPI: the library that records their calls is loaded into the command (--mpi),
 * and one recorder records all ranks of a host (--ranks)
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cmd_record.h"
#include "record_mpi.h"
#include "tools/cluster/local_ranks.h"
#include "tools/common/error.h"
#include "tools/common/stop.h"

#define LIBRARY	"libtsctrace-mpi-%s.so"

/* ---- --mpi: calls ---------------------------------------------------------- */

/*
 * Finds the library in the folder lib beside that of this program, as installed and as
 * built; elsewhere the dynamic linker looks for its name. Returns a path, malloc'ed, or
 * NULL: no memory.
 */
static char *library_path(const char *mpi)
{
	char self[4096], *path;
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int i;

	self[len < 0 ? 0 : len] = '\0';
	for (i = 0; i < 2 && strrchr(self, '/'); i++)
		*strrchr(self, '/') = '\0';
	if (asprintf(&path, "%s/lib/" LIBRARY, self, mpi) < 0)
		return NULL;
	if (!access(path, R_OK))
		return path;
	free(path);
	return asprintf(&path, LIBRARY, mpi) < 0 ? NULL : path;
}

int record_mpi_prepare(const char *mpi)
{
	const char *others = getenv("LD_PRELOAD");
	char *path = library_path(mpi), *all = NULL;
	int err = -ENOMEM;

	if (path && asprintf(&all, "%s%s%s", others ? others : "",
			     others && *others ? ":" : "", path) >= 0)
		err = setenv("LD_PRELOAD", all, 1) ? -errno : 0;
	if (err)
		ctl_error("--mpi: %s", strerror(-err));
	free(path);
	free(all);
	return err;
}

/* ---- --ranks: the other ranks of this host ----------------------------------- */

struct record_ranks {
	unsigned int nr_others;
	struct ranks *others;	/* NULL: not listening */
	char *dir;		/* output directory of this host */
};

/* Runs the command of a rank that does not record. Returns only after an error: -errno. */
static int run_rank(const struct record_options *o, const char *path)
{
	int err = ranks_join(o->dir);

	if (err)
		return ctl_fail(err, "--ranks: waiting for the lowest rank of this host, which"
				" records: %s", strerror(-err));
	err = o->mpi ? record_mpi_prepare(o->mpi) : 0;
	if (err)
		return err;
	execvp(path, o->command);
	return ctl_fail(-errno, "%s: %s", o->command[0], strerror(errno));
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
				" trace-ctl-record(1) for those that are known");
	if (place.local)
		return run_rank(o, path);
	r = o->ranks = calloc(1, sizeof(*r));
	if (!r)
		return ctl_fail(-ENOMEM, "--ranks: out of memory");
	r->nr_others = place.size - 1;
	err = ranks_listen(o->dir, &r->others);
	if (!err && mkdir(o->dir, 0700) && errno != EEXIST)
		err = -errno;
	uname(&host);
	if (!err && asprintf(&r->dir, "%s/%s", o->dir, host.nodename) < 0) {
		r->dir = NULL;
		err = -ENOMEM;
	}
	if (err)
		ctl_error("--ranks: %s: %s", o->dir, err == -EADDRINUSE ?
			     "another run records there" : strerror(-err));
	else
		o->dir = r->dir;
	return err;
}

int record_ranks_await(const struct record_ranks *r)
{
	int err = r ? ranks_await(r->others, r->nr_others, &stop_signals) : 0;

	return !err ? 0 : ctl_fail(err, "--ranks: waiting for the other %u ranks of this host: %s",
				   r->nr_others, strerror(-err));
}

pid_t *record_ranks_roots(const struct record_ranks *r, pid_t root, unsigned int *ret_nr)
{
	unsigned int nr = 0;
	const pid_t *pids = r ? ranks_pids(r->others, &nr) : NULL;
	pid_t *roots = malloc((nr + 1) * sizeof(*roots));

	if (!roots)
		return NULL;
	roots[0] = root;
	if (nr)
		memcpy(roots + 1, pids, nr * sizeof(*roots));
	*ret_nr = nr + 1;
	return roots;
}

int record_ranks_release(const struct record_ranks *r)
{
	return r ? ranks_release(r->others) : 0;
}

bool record_ranks_running(const struct record_ranks *r)
{
	return r && ranks_running(r->others);
}

void record_ranks_close(struct record_ranks *r)
{
	if (!r)
		return;
	/* After an error, the other ranks end as soon as they lose their connection; some
	 * may be on their way. */
	if (r->others)
		ranks_await(r->others, r->nr_others, &stop_signals);
	ranks_close(r->others);
	free(r->dir);
	free(r);
}

// SPDX-License-Identifier: MIT
/* record --mpi: loads the library that records MPI calls into the recorded command */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/record/record_mpi.h"
#include "tools/common/error.h"

#define LIBRARY	"libtsctrace-mpi-%s.so"

/*
 * Returns the malloc'ed path of the library: in the folder lib beside this
 * program's folder, as built or installed. If the library is not there, returns
 * only its name, for which the dynamic linker searches. NULL: out of memory
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

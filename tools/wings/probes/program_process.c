// SPDX-License-Identifier: MIT
/* Checks which of several files with the same path a process has mapped */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe.h"

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) || stat(b, &y) || (x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

/* Returns true if the deleted file that was at @path is the process's program, not a library. */
static bool is_exe(const char *exe, const char *path)
{
	char target[sizeof(((struct probe *)0)->path) + sizeof(" (deleted)")];
	const ssize_t len = readlink(exe, target, sizeof(target) - 1);

	if (len < 0)
		return false;
	target[len] = '\0';
	return !strncmp(target, path, strlen(path)) &&
		!strcmp(target + strlen(path), " (deleted)");
}

static int check_mapping(const char *path, pid_t pid, const char *range, const char *name)
{
	const size_t len = strlen(path);
	char found[sizeof(((struct probe *)0)->path) + 64];

	if (strncmp(name, path, len))
		return 0;
	if (!strcmp(name + len, " (deleted)")) {
		snprintf(found, sizeof(found), "/proc/%d/exe", pid);
		if (!is_exe(found, path))
			snprintf(found, sizeof(found), "/proc/%d/map_files/%s", pid, range);
	} else {
		snprintf(found, sizeof(found), "/proc/%d/root%s", pid, path);
		if (name[len] || is_same_file(found, path))
			return 0;
	}
	return bpf_errors_fail(-ENOENT, "%s: process %d runs another %s with this path, "
			       "whose events would not be recorded; use FILE=%s", path, pid,
			       name[len] ? "(deleted) file" : "file of its mount namespace",
			       found);
}

int program_check_process(const char *path, pid_t pid)
{
	char maps[64], range[64], *line = NULL;
	size_t room = 0;
	int err = 0, at;
	FILE *file;

	snprintf(maps, sizeof(maps), "/proc/%d/maps", pid);
	file = fopen(maps, "re");
	while (!err && file && getline(&line, &room, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		at = 0;
		if (sscanf(line, "%63s %*s %*s %*s %*s %n", range, &at) == 1 && at)
			err = check_mapping(path, pid, range, line + at);
	}
	free(line);
	if (file)
		fclose(file);
	return err;
}

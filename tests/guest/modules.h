/* SPDX-License-Identifier: MIT */
/* Other modules than the one that is tested, and what they say of themselves. */
#ifndef TSCT_TEST_MODULES_H
#define TSCT_TEST_MODULES_H

#include <sys/syscall.h>

#include "device.h"

DEV_FN void mod_load(const char *path, const char *parameters)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || syscall(SYS_finit_module, fd, parameters, 0)) {
		perror(path);
		exit(1);
	}
	close(fd);
}

DEV_FN int mod_unload(const char *name)
{
	return (int)syscall(SYS_delete_module, name, O_NONBLOCK);
}

/* A parameter of a module; returns as write() does. */
DEV_FN int mod_set(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), err;

	if (fd < 0) {
		perror(path);
		exit(1);
	}
	err = (int)write(fd, value, strlen(value));
	close(fd);
	return err;
}

/* The same in a process of its own, which ends with 0 if it was accepted. */
DEV_FN pid_t mod_set_apart(const char *path, const char *value)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(mod_set(path, value) < 0);
	return pid;
}

/* What the parameter file says, in a static buffer. */
DEV_FN const char *mod_get(const char *path)
{
	static char text[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (len < 0) {
		perror(path);
		exit(1);
	}
	text[len] = '\0';
	close(fd);
	return text;
}

#endif

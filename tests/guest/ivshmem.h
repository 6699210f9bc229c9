/* SPDX-License-Identifier: MIT */
/* The memory of the host that boot.sh --out gives a guest: QEMU's ivshmem-plain device. It
 * needs no driver: sysfs maps it. */
#ifndef TSCT_TEST_IVSHMEM_H
#define TSCT_TEST_IVSHMEM_H

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool ivshmem_says(const char *dir, const char *name, const char *value)
{
	char path[512], text[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "r");
	if (!file)
		return false;
	if (!fgets(text, sizeof(text), file))
		text[0] = 0;
	fclose(file);
	return strncmp(text, value, strlen(value)) == 0;
}

/* Opens the device's memory. Returns a descriptor, or -1: there is no device. */
static int ivshmem_open(void)
{
	char path[512];
	glob_t devices;
	int fd = -1, enable;

	if (glob("/sys/bus/pci/devices/*", 0, NULL, &devices))
		return -1;
	for (size_t i = 0; i < devices.gl_pathc && fd < 0; i++) {
		const char *dir = devices.gl_pathv[i];

		if (!ivshmem_says(dir, "vendor", "0x1af4") ||
		    !ivshmem_says(dir, "device", "0x1110"))
			continue;
		/* Firmware may have left the device's memory switched off. */
		snprintf(path, sizeof(path), "%s/enable", dir);
		enable = open(path, O_WRONLY | O_CLOEXEC);
		if (enable >= 0 && write(enable, "1", 1) < 0)
			perror(path);
		close(enable);
		snprintf(path, sizeof(path), "%s/resource2", dir);
		fd = open(path, O_RDWR | O_CLOEXEC);
	}
	globfree(&devices);
	return fd;
}

#endif /* TSCT_TEST_IVSHMEM_H */

// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include <sys/mman.h>
int main(void)
{
	int fd = open("paths", O_RDONLY);
	char *at = mmap(NULL, 2 << 20, PROT_READ, MAP_PRIVATE, fd, 0);

	if (open(at, O_RDONLY) < 0 || rename(at + (1 << 20), "renamed"))
		return 1;
	madvise(at, 2 << 20, MADV_DONTNEED);
	return execl(at + (1 << 20) + 4096, "true", NULL);
}

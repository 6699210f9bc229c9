// SPDX-License-Identifier: MIT
/* A page whose faults take some ms: a copy of the kernel waits in its middle */
#include <linux/userfaultfd.h>

#include "fuzz.h"

void *fz_slow_page;
static int slow = -1;

void fz_slow_page_make(void)
{
	fz_slow_page = mmap(NULL, FZ_PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void *serve_slow(void *unused)
{
	struct uffd_msg msg;
	struct uffdio_zeropage zero = { .range = { (uintptr_t)fz_slow_page, FZ_PAGE } };

	while (read(slow, &msg, sizeof(msg)) == sizeof(msg)) {
		usleep(3000);
		ioctl(slow, UFFDIO_ZEROPAGE, &zero);
	}
	return NULL;
}

void fz_slow_page_serve(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.range = { (uintptr_t)fz_slow_page, FZ_PAGE },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	pthread_t thread;

	slow = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (slow < 0 || ioctl(slow, UFFDIO_API, &api) || ioctl(slow, UFFDIO_REGISTER, &reg) ||
	    pthread_create(&thread, NULL, serve_slow, NULL))
		slow = -1;
}

// SPDX-License-Identifier: MIT
/*
 * threads - threads that make system calls, for any C library, linked statically
 *
 * Waits for a byte on its standard input before and after, and prints a line between. Its exit
 * status is 7.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS	6
#define TURNS	300

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned long sum;

static void *work(void *number)
{
	const struct timespec pause = { .tv_nsec = 1000 };
	unsigned char byte;
	int fd;

	for (unsigned long i = 0; i < TURNS; i++) {
		syscall(SYS_getppid);
		fd = open("/dev/zero", O_RDONLY);
		if (fd < 0 || read(fd, &byte, 1) != 1 || close(fd))
			return NULL;
		if (i % 10 == 0)
			nanosleep(&pause, NULL);
		pthread_mutex_lock(&mutex);
		sum += i * (unsigned long)number + byte;
		if (i % 50 == 0)
			nanosleep(&pause, NULL);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	char byte;

	if (read(0, &byte, 1) != 1)
		return 1;
	for (unsigned long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)(i + 1)))
			return 2;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("sum %lu\n", sum);
	fflush(stdout);
	return read(0, &byte, 1) == 1 ? 7 : 1;
}

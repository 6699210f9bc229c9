// SPDX-License-Identifier: MIT
/*
 * Threads on both CPUs, their signal handlers and a forked child write; every
 * event is read once or counted lost, stamps never decrease in a ring.
 *
 * guest-test: boot=default,unstable
 * guest-test: parallel=yes timeout=90 rt=yes
 */
#include "lib.h"

/* Number of writers: an even writer is a thread; an odd writer is the signal handler of
 * the thread one number below */
#define WRITERS	8
#define EVENTS	6000

struct payload {
	uint32_t writer, seq;
	char fill[40];
};

static struct {
	uint32_t next[WRITERS];
	uint8_t written[WRITERS][EVENTS];
	uint64_t full, odd;
} *shared;

static struct tsct_channel *channel;
static struct tsct_reader *reader;
static uint8_t seen[WRITERS][EVENTS];
static uint64_t last_stamp[64], nr_read;
static int id;
static __thread unsigned int me;
static __thread timer_t timer;
static __thread volatile sig_atomic_t signalled = 1;

static bool emit_one(unsigned int w)
{
	struct payload payload = { w, shared->next[w], "" };
	int error;

	if (payload.seq == EVENTS)
		return false;
	memset(payload.fill, w + payload.seq, sizeof(payload.fill));
	error = tsct_emit(channel, id, &payload, 8 + payload.seq % 41);
	shared->written[w][payload.seq] = !error;
	if (error)
		__atomic_fetch_add(error == -ENOSPC ? &shared->full :
				   &shared->odd, 1, __ATOMIC_RELAXED);
	shared->next[w]++;
	return !error;
}

static void on_signal(int sig)
{
	if (me)
		emit_one(me);
	signalled = 1;
}

static void make_timer(void)
{
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1,
	};

	event._sigev_un._tid = gettid();
	timer_create(CLOCK_MONOTONIC, &event, &timer);
}

/*
 * Sends the next signal only after the previous signal was handled: periodic signals
 * would use up the time of a busy machine.
 */
static void send_signal_soon(void)
{
	struct itimerspec once = { .it_value.tv_nsec = 50000 };

	if (!signalled)
		return;
	signalled = 0;
	timer_settime(timer, 0, &once, NULL);
}

/* Emits the events of a thread. Threads 0 and 4 stay on CPU 0; threads 2 and 6 move
 * between CPU 0 and CPU 1. */
static void *work(void *arg)
{
	unsigned int w = (uintptr_t)arg;

	me = w + 1;
	dev_pin(0);
	make_timer();
	while (shared->next[w] < EVENTS) {
		send_signal_soon();
		if (!emit_one(w))
			usleep(1000);
		if (w % 4 && shared->next[w] % 64 == 0)
			dev_pin(shared->next[w] / 64 % 2);
	}
	timer_delete(timer);
	return NULL;
}

static void work_twice(unsigned int first)
{
	pthread_t threads[2];
	uintptr_t i;

	for (i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work,
			       (void *)(first + 2 * i));
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void count_event(const struct tsct_event *event)
{
	const struct payload *payload = event->payload;

	nr_read++;
	if (event->cycles < last_stamp[event->cpu])
		t_check(event->cycles >= last_stamp[event->cpu]);
	last_stamp[event->cpu] = event->cycles;
	if (event->len < 8 || payload->writer >= WRITERS ||
	    payload->seq >= EVENTS ||
	    event->len != 8 + payload->seq % 41) {
		t_check(false, "an event without a writer");
		return;
	}
	for (unsigned int i = 0; i < payload->seq % 41; i++)
		if (payload->fill[i] != (char)(payload->writer + payload->seq))
			t_check(false, "a payload mixed of two events");
	if (seen[payload->writer][payload->seq]++)
		t_check(false, "read twice");
}

static void drain(void)
{
	struct tsct_event event;

	while (lib_next(reader, &event))
		count_event(&event);
	for (unsigned int cpu = 0; cpu < tsct_channel_info(channel)->nr_cpus; cpu++)
		tsct_reader_release(reader, cpu);
}

static void *work_here(void *arg)
{
	work_twice(0);
	__atomic_store_n((int *)arg, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void run(void)
{
	int status, child = 1, done = 0;
	pthread_t here;
	pid_t pid = fork();

	if (!pid) {
		work_twice(4);
		_exit(t_failures != 0);
	}
	pthread_create(&here, NULL, work_here, &done);
	while (child || !__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
		tsct_reader_wait(reader, 20);
		drain();
		if (child && waitpid(pid, &status, WNOHANG) == pid) {
			t_check(!status, "child: 0x%x", status);
			child = 0;
		}
	}
	pthread_join(here, NULL);
	drain();
}

int main(void)
{
	struct tsct_channel_options options = {
		.name = "lib_emit", .block_size = 4096, .blocks = 16,
		.roles = BOTH,
	};
	uint64_t tried = 0, wrong = 0;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	signal(SIGUSR1, on_signal);
	channel = lib_open(&options);
	reader = lib_reader(channel);
	id = tsct_event_define(channel, "e", 0, "writer:u32, seq:u32, rest:string");
	t_check(id >= TSCT_ID_FIRST, "%d", id);
	run();
	for (unsigned int w = 0; w < WRITERS; w++)
		for (unsigned int i = 0; i < shared->next[w]; i++, tried++)
			wrong += seen[w][i] != shared->written[w][i];
	t_check(!wrong, "%lu of %lu events", wrong, tried);
	t_check(tried >= 4 * EVENTS);
	t_check(shared->next[1] + shared->next[5] > 0, "no signals");
	t_check(last_stamp[0] && last_stamp[1], "one CPU only");
	t_check(!shared->odd);
	t_check(shared->full == lib_lost(reader, TSCT_LOST_FULL));
	t_check(nr_read + shared->full == tried, "%lu read, %lu full of %lu",
		nr_read, shared->full, tried);
	t_check(!tsct_channel_dropped(channel));
	printf("%s: %lu tried, %lu read, %lu full\n",
	       tsct_source_name(tsct_channel_info(channel)->source), tried, nr_read,
	       shared->full);
	tsct_reader_close(reader);
	tsct_channel_close(channel);
	return t_status();
}

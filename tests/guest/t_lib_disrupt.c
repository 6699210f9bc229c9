// SPDX-License-Identifier: MIT
/*
 * Every kind of clock disruption, one after the other, with daemon and module as
 * timekeepers: each is detected within two seconds, begins an epoch with its
 * cause, and the clock is synchronized again within three. At the end all cycles
 * taken meanwhile are converted: those reported as synchronized are within their
 * bounds, by the clock params of their time.
 * guest-test: timeout=240
 * guest-test: files=build/daemon/tsctraced
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timex.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <tsctrace/tsctrace.h>

#include "t.h"
#include "vmfork.h"

#define POINTS_MAX	20000
/* time limit for a detection, which takes milliseconds on an idle machine */
#define SEEN_S		(1.0 * slow())
/* time limit for synchronizing again, which takes about 0.5 s on an idle machine */
#define SYNC_S		(3.0 * slow())
/* limits of the field tick of struct timex, in us per jiffy */
#define TICK		10000

/* A counter reading between two readings of CLOCK_REALTIME */
struct point {
	uint64_t cycles;
	int64_t before_ns, after_ns;
};

static struct point points[POINTS_MAX];
static unsigned int nr_points;
static struct tsct_clock *clk;
static unsigned int live_checked;

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static int64_t real_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static bool inside(const struct point *p, const struct tsct_time *time)
{
	return time->ns + (int64_t)time->error_ns >= p->before_ns &&
		time->ns - (int64_t)time->error_ns <= p->after_ns;
}

static bool has_valid_time(const struct tsct_time *time)
{
	return time->status == TSCT_STATUS_SYNCHRONIZED ||
		time->status == TSCT_STATUS_HOLDOVER;
}

/* Adds a counter reading to `points`. @live: no disruption is under way, so the time
 * of this reading is also checked now. */
static void add_point(bool live)
{
	struct point p;
	struct tsct_time time;

	p.before_ns = real_ns();
	p.cycles = tsct_clock_cycles(clk);
	p.after_ns = real_ns();
	if (nr_points < POINTS_MAX)
		points[nr_points++] = p;
	if (!live || tsct_clock_cycles_to_time(clk, p.cycles, &time) || !has_valid_time(&time))
		return;
	live_checked++;
	t_check(inside(&p, &time), "%lld +- %llu, not from %lld to %lld",
		(long long)time.ns, (unsigned long long)time.error_ns,
		(long long)p.before_ns, (long long)p.after_ns);
}

static void add_points_for(double s, bool live)
{
	double end = now_s() + s;

	while (now_s() < end) {
		add_point(live);
		usleep(5000);
	}
}

static struct tsct_clock_state state(void)
{
	struct tsct_clock_state state = { 0 };

	tsct_clock_snapshot(clk, &state);
	return state;
}

/* ---- disruptions -------------------------------------------------------- */

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	t_check(fd >= 0 && write(fd, text, strlen(text)) > 0, "%s > %s: %m",
		text, path);
	close(fd);
}

static void step(long s)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	now.tv_sec += s;
	t_check(!clock_settime(CLOCK_REALTIME, &now), "%m");
}

static void an_hour_on(void)
{
	step(3600);
}

static void an_hour_back(void)
{
	step(-3600);
}

static void cpu_goes(void)
{
	write_file("/sys/devices/system/cpu/cpu1/online", "0");
}

static void cpu_comes(void)
{
	write_file("/sys/devices/system/cpu/cpu1/online", "1");
}

static void sleep_and_wake(void)
{
	write_file("/sys/power/pm_test", "processors");
	write_file("/sys/power/state", "mem");
}

/* Requests a disruption through the daemon's control socket, as trace-ctl does */
static void request_disruption(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX,
				    .sun_path = "/run/tsctrace/control.sock" };
	const char request[] = "fake-disruption\n";
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	char answer[200] = "";

	t_check(!connect(fd, (struct sockaddr *)&addr, sizeof(addr)), "%m");
	t_check(write(fd, request, strlen(request)) > 0, "%m");
	t_check(read(fd, answer, sizeof(answer) - 1) > 0, "%m");
	t_check(strstr(answer, "began"), "%s", answer);
	close(fd);
}

static void set_tick(long tick)
{
	struct timex timex = { .modes = ADJ_TICK, .tick = tick };

	t_check(adjtimex(&timex) >= 0, "%m");
}

static void slew_by_half(void)
{
	set_tick(TICK + 500);		/* a slew of 50,000 ppm */
}

static void slew_ends(void)
{
	set_tick(TICK);
}

static const struct event {
	const char *name;
	void (*happen)(void);
	uint32_t cause;
} events[] = {
	{ "an hour on", an_hour_on, TSCT_CAUSE_STEP },
	{ "an hour back", an_hour_back, TSCT_CAUSE_STEP },
	{ "a CPU goes", cpu_goes, TSCT_CAUSE_HOTPLUG },
	{ "a CPU comes", cpu_comes, TSCT_CAUSE_HOTPLUG },
	{ "by request", request_disruption, TSCT_CAUSE_FAKE },
	{ "sleep", sleep_and_wake, TSCT_CAUSE_SUSPEND },
	{ "a restored snapshot", vmfork_report, TSCT_CAUSE_MIGRATION },
	{ "an hour on once more", an_hour_on, TSCT_CAUSE_STEP },
};

/* ---- detection and recovery --------------------------------------------- */

/* Waits until @done returns true, at most @most_s seconds, and adds counter readings to
 * `points` meanwhile. Returns the duration, s; -1: timeout. */
static double await(bool (*done)(uint32_t epoch), uint32_t epoch, double most_s)
{
	double from = now_s();

	while (!done(epoch)) {
		if (now_s() - from > most_s)
			return -1;
		add_point(false);
		usleep(5000);
	}
	return now_s() - from;
}

static bool in_later_epoch(uint32_t epoch)
{
	return state().epoch > epoch;
}

static bool is_synchronized(uint32_t epoch)
{
	return state().epoch >= epoch &&
		state().status == TSCT_STATUS_SYNCHRONIZED;
}

/* Time limits for an idle machine are multiplied by this */
static double slow(void)
{
	return atof(getenv("TSCT_SLOW") ?: "1");
}

static void test_event(const struct event *event)
{
	uint32_t epoch = state().epoch;
	double seen, over;

	/* The daemon samples CLOCK_REALTIME every second. Once a disruption is
	 * detected, counter readings after the last sample before the disruption have
	 * no valid time. Readings over 1.5 s include some before that sample. */
	add_points_for(1.5, true);
	event->happen();
	seen = await(in_later_epoch, epoch, 3 * SEEN_S);
	t_check(seen >= 0 && seen <= SEEN_S, "%s: detected after %.3f s",
		event->name, seen);
	t_check(state().cause == event->cause, "%s: cause %u", event->name,
		state().cause);
	over = await(is_synchronized, epoch + 1, 5 * SYNC_S);
	t_check(over >= 0 && over <= SYNC_S, "%s: synchronized after %.3f s",
		event->name, over);
	printf("%s: detected after %.3f s, synchronized after %.3f s, epoch %u\n",
	       event->name, seen, over, state().epoch);
}

/* A slew of CLOCK_REALTIME by 50,000 ppm counts as repeated steps until the
 * slew ends. */
static void test_slew(void)
{
	uint32_t epoch = state().epoch;
	double seen, over;

	add_points_for(0.5, true);
	slew_by_half();
	seen = await(in_later_epoch, epoch, SEEN_S);
	t_check(seen >= 0, "the slew is not detected");
	add_points_for(1.5, false);
	slew_ends();
	add_points_for(1, false);
	over = await(is_synchronized, epoch + 1, 5 * SYNC_S);
	t_check(over >= 0, "not synchronized, status %u", state().status);
	printf("slew: detected after %.3f s, epochs %u to %u\n", seen, epoch,
	       state().epoch);
}

/* The library's clock follows a slew of CLOCK_REALTIME by 200 ppm in the same epoch. */
static void test_small_slew(void)
{
	struct timex timex = { .modes = ADJ_FREQUENCY, .freq = 200 << 16 };
	uint32_t epoch = state().epoch;

	t_check(adjtimex(&timex) >= 0, "%m");
	add_points_for(3, false);
	timex.freq = 0;
	adjtimex(&timex);
	add_points_for(2, false);
	t_check(state().epoch == epoch, "a small slew ended the epoch");
}

/* Converts all counter readings of the test to times, by the clock params that were in
 * force at each reading, and checks the times. */
static void convert_all(void)
{
	unsigned int i, good = 0, bad = 0, none = 0, disrupted = 0;
	uint32_t epochs = 0, last = 0;

	for (i = 0; i < nr_points; i++) {
		struct tsct_time time;

		if (tsct_clock_cycles_to_time(clk, points[i].cycles, &time)) {
			none++;
		} else if (!has_valid_time(&time)) {
			disrupted++;
		} else if (!inside(&points[i], &time)) {
			if (bad++ < 10)
				printf("%lld +- %llu, epoch %u, not from %lld "
				       "to %lld\n", (long long)time.ns,
				       (unsigned long long)time.error_ns,
				       time.epoch,
				       (long long)points[i].before_ns,
				       (long long)points[i].after_ns);
		} else {
			good++;
			epochs += time.epoch != last;
			last = time.epoch;
		}
	}
	printf("%u points in %u epochs: %u good, %u disrupted, %u cannot be "
	       "converted, %u wrong; %u were checked live\n", nr_points, epochs,
	       good, disrupted, none, bad, live_checked);
	t_check(!bad, "%u wrong times", bad);
	/* Usually two thirds of the counter readings have a valid time; fewer on a busy
	 * machine, where calibrations take longer. */
	t_check(good > nr_points / 3, "only %u of %u are good", good,
		nr_points);
	t_check(epochs > sizeof(events) / sizeof(events[0]));
}

static pid_t start_daemon(void)
{
	pid_t pid = fork();
	int log;

	if (pid)
		return pid;
	log = open("/tmp/tsctraced.log", O_WRONLY | O_CREAT, 0600);
	dup2(log, 2);
	execl("/usr/bin/tsctraced", "tsctraced", "-v", (char *)NULL);
	_exit(127);
}

static void open_clock(void)
{
	double from = now_s();

	do {
		usleep(100000);
		tsct_clock_close(clk);
		t_check(!tsct_clock_open(&clk));
	} while (strcmp(tsct_clock_origin(clk), "module") &&
		 now_s() - from < 20);
	t_check(!strcmp(tsct_clock_origin(clk), "module"), "%s",
		tsct_clock_reason(clk));
	t_check(await(is_synchronized, 0, 10) >= 0, "never synchronized");
}

static void show_log(void)
{
	char line[256];
	FILE *log = fopen("/tmp/tsctraced.log", "r");

	while (log && fgets(line, sizeof(line), log))
		if (!strstr(line, "clock synchronized"))
			fputs(line, stdout);
	if (log)
		fclose(log);
}

int main(void)
{
	unsigned int i;
	pid_t pid;

	mkdir("/run", 0755);
	pid = start_daemon();
	open_clock();
	add_points_for(1, true);
	for (i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		test_event(&events[i]);
	test_small_slew();
	test_slew();
	add_points_for(2, true);
	convert_all();
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
	show_log();
	return t_status();
}

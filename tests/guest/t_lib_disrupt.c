// SPDX-License-Identifier: MIT
/*
 * Every kind of clock disruption, one after the other, with daemon and module as
 * timekeepers: each is detected, begins an epoch with its cause, and the clock is
 * synchronized again. At the end all cycles taken meanwhile are converted: those reported as
 * synchronized are within their bounds, by the clock params of their time.
 * guest-test: timeout=240
 * guest-test: files=build/daemon/tsctraced
 */
#include <sys/un.h>

#include "clock.h"
#include "lib.h"
#include "vmfork.h"

#define POINTS_MAX	20000
/* the daemon's period, and a time that has at least one of its samples */
#define INTERVAL_MS	"200"
#define INTERVALS_S	0.5
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
static unsigned int live_checked, covered;

static bool inside(const struct point *p, const struct tsct_time *time)
{
	return time->ns + (int64_t)time->error_ns >= p->before_ns &&
		time->ns - (int64_t)time->error_ns <= p->after_ns;
}

/* Adds a counter reading to `points`. @live: no disruption is under way, so the time
 * of this reading is also checked now. */
static void add_point(bool live)
{
	struct point p;
	struct tsct_time time;

	p.before_ns = t_ns(CLOCK_REALTIME);
	p.cycles = tsct_clock_cycles(clk);
	p.after_ns = t_ns(CLOCK_REALTIME);
	if (nr_points < POINTS_MAX)
		points[nr_points++] = p;
	if (!live || tsct_clock_cycles_to_time(clk, p.cycles, &time) || !lib_has_bound(&time))
		return;
	live_checked++;
	t_check(inside(&p, &time), "%lld +- %llu, not from %lld to %lld",
		(long long)time.ns, (unsigned long long)time.error_ns,
		(long long)p.before_ns, (long long)p.after_ns);
}

static void add_points_for(double s, bool live)
{
	double end = t_now() + s;

	while (t_now() < end) {
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

/* Adds counter readings until a sample of the daemon covers the first ones, which so keep their
 * time in a disruption. */
static void add_covered_points(void)
{
	const unsigned int first = nr_points;
	uint64_t as_of;
	double end = t_now() + T_HANG_S;

	do {
		add_points_for(INTERVALS_S, true);
		as_of = state().real.as_of_cycles;
	} while (as_of < points[first].cycles && t_now() < end);
	for (unsigned int i = first; i < nr_points; i++)
		covered += points[i].cycles <= as_of;
}

/* ---- disruptions -------------------------------------------------------- */

static void an_hour_on(void)
{
	clk_step(3600000000);
}

static void an_hour_back(void)
{
	clk_step(-3600000000);
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

static const struct event {
	const char *name;
	void (*happen)(void);
	uint32_t cause;
} events[] = {
	{ "an hour on", an_hour_on, TSCT_CAUSE_STEP },
	{ "an hour back", an_hour_back, TSCT_CAUSE_STEP },
	{ "by request", request_disruption, TSCT_CAUSE_FAKE },
	{ "sleep", vmfork_sleep, TSCT_CAUSE_SUSPEND },
	{ "a restored snapshot", vmfork_report, TSCT_CAUSE_MIGRATION },
	{ "an hour on once more", an_hour_on, TSCT_CAUSE_STEP },
};

/* ---- detection and recovery --------------------------------------------- */

/* Adds counter readings to `points` until a condition holds. Returns false: a hang */
#define points_until(cond) ({						\
	double end_s = t_now() + T_HANG_S;				\
	while (!(cond) && t_now() < end_s) {				\
		add_point(false);					\
		usleep(5000);						\
	}								\
	t_check((cond));						\
})

static bool is_synchronized(uint32_t epoch)
{
	return state().epoch >= epoch && state().status == TSCT_STATUS_SYNCHRONIZED;
}

static void test_event(const struct event *event)
{
	const uint32_t epoch = state().epoch;
	struct tsct_clock_state now;
	double begin;

	add_covered_points();
	begin = t_now();
	event->happen();
	points_until((now = state()).epoch > epoch);
	t_check(now.cause == event->cause, "%s: cause %u", event->name, now.cause);
	printf("%s: detected after %.3f s", event->name, t_now() - begin);
	points_until(is_synchronized(epoch + 1));
	printf(", synchronized after %.3f s, epoch %u\n", t_now() - begin, state().epoch);
}

/* A slew of CLOCK_REALTIME by 50,000 ppm counts as repeated steps until the
 * slew ends. */
static void test_slew(void)
{
	uint32_t epoch = state().epoch;

	add_covered_points();
	set_tick(TICK + 500);
	points_until(state().epoch > epoch);
	add_points_for(INTERVALS_S, false);
	set_tick(TICK);
	add_points_for(INTERVALS_S, false);
	points_until(is_synchronized(epoch + 1));
	printf("slew: epochs %u to %u\n", epoch, state().epoch);
}

/* CPUs that go and come disrupt nothing. */
static void test_hotplug(void)
{
	uint32_t epoch = state().epoch;

	dev_online(false);
	add_points_for(2 * INTERVALS_S, true);
	dev_online(true);
	add_points_for(2 * INTERVALS_S, true);
	t_check(state().epoch == epoch, "hotplug ended the epoch");
}

/* The library's clock follows a slew of CLOCK_REALTIME by 200 ppm in the same epoch. */
static void test_small_slew(void)
{
	struct timex timex = { .modes = ADJ_FREQUENCY, .freq = 200 << 16 };
	uint32_t epoch = state().epoch;

	t_check(adjtimex(&timex) >= 0, "%m");
	add_points_for(3 * INTERVALS_S, false);
	timex.freq = 0;
	adjtimex(&timex);
	add_points_for(2 * INTERVALS_S, false);
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
		} else if (!lib_has_bound(&time)) {
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
	t_check(covered && good >= covered, "only %u are good, %u were covered", good, covered);
	t_check(epochs > sizeof(events) / sizeof(events[0]));
}

static void show_log(void)
{
	char line[256];
	FILE *log = fopen(LIB_LOG, "r");

	while (log && fgets(line, sizeof(line), log))
		if (!strstr(line, "clock synchronized"))
			fputs(line, stdout);
	if (log)
		fclose(log);
}

int main(void)
{
	pid_t pid = lib_start_daemon(INTERVAL_MS);

	t_until(lib_open_clock(&clk));
	points_until(is_synchronized(0));
	for (unsigned int i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		test_event(&events[i]);
	test_hotplug();
	test_small_slew();
	test_slew();
	add_points_for(2 * INTERVALS_S, true);
	convert_all();
	lib_stop_daemon(pid);
	show_log();
	return t_status();
}

// SPDX-License-Identifier: MIT
/*
 * The terminal of trace-ctl top: alternate screen, single keys, signals. The terminal
 * is restored when the program exits, and when a signal stops or ends it.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "lib/client/gettime.h"
#include "tools/common/json.h"
#include "tools/common/stop.h"
#include "top.h"

#define ENTER	"\033[?1049h\033[?25l"	/* switches to alternate screen, hides cursor */
#define LEAVE	"\033[?25h\033[?1049l"

static struct termios original;
static bool entered;		/* the alternate screen is in use */
static bool has_keys;		/* standard input is a terminal */
static bool keys;		/* keys are read, which needs the terminal's foreground */
static volatile sig_atomic_t stopped, resized;
static sigset_t waiting_mask;	/* signal mask while ppoll() waits */

static void on_signal(int number)
{
	if (number == SIGTSTP)
		stopped = 1;
	else
		resized = 1;
}

/*
 * Catches signals, and blocks them except while ppoll() waits: no signal is handled
 * between the check of the signals' flags and the wait.
 */
static void catch_signals(bool terminal)
{
	static const int end[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, 0 };
	const struct sigaction action = { .sa_handler = on_signal };
	sigset_t blocked;

	stop_catch(end, &waiting_mask);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTSTP);
	sigaddset(&blocked, SIGWINCH);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	if (terminal)
		sigaction(SIGTSTP, &action, NULL);
	sigaction(SIGWINCH, &action, NULL);
}

static void write_now(const char *text)
{
	fputs(text, stdout);
	fflush(stdout);
}

/* Shows the alternate screen. In the foreground, also reads keys without echo. */
static void enter_screen(void)
{
	struct termios raw;

	keys = has_keys && tcgetpgrp(STDIN_FILENO) == getpgrp();
	if (keys) {
		raw = original;
		raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		raw.c_cc[VMIN] = 0;
		raw.c_cc[VTIME] = 0;
		tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
	}
	write_now(ENTER);
	entered = true;
}

void top_term_close(void)
{
	if (!entered)
		return;
	entered = false;
	write_now(LEAVE);
	if (keys && tcgetpgrp(STDIN_FILENO) == getpgrp())
		tcsetattr(STDIN_FILENO, TCSADRAIN, &original);
}

/* Catches signals before it changes the terminal: their default action would not restore it. */
void top_term_open(bool screen)
{
	const char *kind = getenv("TERM");
	bool terminal = screen && isatty(STDOUT_FILENO) && kind && *kind &&
		strcmp(kind, "dumb");

	catch_signals(terminal);
	if (!terminal)
		return;
	has_keys = isatty(STDIN_FILENO) && !tcgetattr(STDIN_FILENO, &original);
	enter_screen();
	atexit(top_term_close);
}

bool top_term_is_open(void)
{
	return entered;
}

/* Draws @text from the top left corner, and clears the rest of the screen. Clears the rest of
 * each line, because clearing the whole screen first would flicker. */
static void draw(const char *text)
{
	const char *end;

	fputs("\033[H", stdout);
	for (; *text; text = *end ? end + 1 : end) {
		end = strchrnul(text, '\n');
		fprintf(stdout, "%.*s\033[K\r\n", (int)(end - text), text);
	}
	write_now("\033[J");
}

/* Draws a table in the size of the terminal: 80 columns, 24 rows if the size is unknown. */
static int draw_table(const json_t *table, top_print_fn print)
{
	struct winsize size = { 0 };
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	if (!to)
		return -ENOMEM;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col || !size.ws_row)
		size = (struct winsize) { .ws_row = 24, .ws_col = 80 };
	print(table, to, size.ws_col, size.ws_row);
	if (!fclose(to))
		draw(text);
	free(text);
	return 0;
}

int top_term_show(json_t *table, bool json, top_print_fn print)
{
	int failed = 0;

	json_object_set_new(table, "time_ns", json_integer(tsct_gettime_ns(CLOCK_REALTIME)));
	if (json || !table)
		failed = ctl_json_print_as(json_incref(table), TSCT_JSON_LINE);
	else if (entered)
		failed = draw_table(table, print);
	else
		print(table, stdout, 0, 0);
	json_decref(table);
	/* Flush each table, for a program that reads standard output from a pipe. */
	return failed || fflush(stdout) || ferror(stdout) ? -EIO : 0;
}

int top_term_wait(__s64 until_ns)
{
	struct pollfd fd = { .events = POLLIN };
	const bool was_entered = entered;
	struct timespec left;
	char key;
	__s64 ns;

	for (;;) {
		if (stop_signals)
			return 'q';
		if (stopped) {	/* SIGTSTP was received: Ctrl-Z */
			stopped = 0;
			top_term_close();
			raise(SIGSTOP);
			if (was_entered)
				enter_screen();
			return ' ';
		}
		if (resized) {
			resized = 0;
			return ' ';
		}
		ns = until_ns - tsct_monotonic_ns();
		if (ns <= 0)
			return 0;
		left.tv_sec = ns / 1000000000;
		left.tv_nsec = ns % 1000000000;
		fd.fd = keys ? STDIN_FILENO : -1;
		if (ppoll(&fd, 1, &left, &waiting_mask) != 1)
			continue;
		if (read(STDIN_FILENO, &key, 1) == 1)
			return key == 'Q' ? 'q' : key;
		keys = false;	/* end of standard input */
		return ' ';
	}
}

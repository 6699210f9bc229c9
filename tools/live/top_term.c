// SPDX-License-Identifier: MIT
/*
 * A terminal, taken over and given back as it was, also where a signal stops or
 * ends us. Its screen is the other one, so that what the user had stays.
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
#include "top.h"

#define TAKE	"\033[?1049h\033[?25l"	/* other screen, no cursor */
#define GIVE	"\033[?25h\033[?1049l"

static struct termios before;
static bool taken, keys, has_keys;
static volatile sig_atomic_t ended, stopped, resized;
static sigset_t waiting;	/* while we sleep, signals come through */

static void on_end(int number)
{
	ended = number;
}

static void on_stop(int number)
{
	(void)number;
	stopped = 1;
}

static void on_resize(int number)
{
	(void)number;
	resized = 1;
}

/*
 * All of them come through only where we sleep: none is missed between a look
 * and the sleep.
 */
static void catch_signals(bool terminal)
{
	struct sigaction end = { .sa_handler = on_end };
	struct sigaction stop = { .sa_handler = on_stop };
	struct sigaction resize = { .sa_handler = on_resize };
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGINT);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGHUP);
	sigaddset(&blocked, SIGQUIT);
	sigaddset(&blocked, SIGTSTP);
	sigaddset(&blocked, SIGWINCH);
	sigprocmask(SIG_BLOCK, &blocked, &waiting);
	sigaction(SIGINT, &end, NULL);
	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGHUP, &end, NULL);
	sigaction(SIGQUIT, &end, NULL);
	if (terminal)
		sigaction(SIGTSTP, &stop, NULL);
	sigaction(SIGWINCH, &resize, NULL);
}

static void put(const char *text)
{
	fputs(text, stdout);
	fflush(stdout);
}

/* Keys come one by one, and are not shown. In the background they do not. */
static void take(void)
{
	struct termios raw;

	keys = has_keys && tcgetpgrp(STDIN_FILENO) == getpgrp();
	if (keys) {
		raw = before;
		raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		raw.c_cc[VMIN] = 0;
		raw.c_cc[VTIME] = 0;
		tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
	}
	put(TAKE);
	taken = true;
}

static void give(void)
{
	if (!taken)
		return;
	taken = false;
	put(GIVE);
	if (keys && tcgetpgrp(STDIN_FILENO) == getpgrp())
		tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
}

/* Signals first: one that ends us must find somebody who gives it back. */
void top_term_open(void)
{
	const char *kind = getenv("TERM");
	bool terminal = isatty(STDOUT_FILENO) && kind && *kind &&
		strcmp(kind, "dumb");

	catch_signals(terminal);
	if (!terminal)
		return;
	has_keys = isatty(STDIN_FILENO) && !tcgetattr(STDIN_FILENO, &before);
	take();
	atexit(give);
}

void top_term_quiet(void)
{
	catch_signals(false);
}

bool top_term_is_open(void)
{
	return taken;
}

void top_term_close(void)
{
	give();
}

void top_term_size(int *ret_width, int *ret_height)
{
	struct winsize size;

	*ret_width = 80;
	*ret_height = 24;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col ||
	    !size.ws_row)
		return;
	*ret_width = size.ws_col;
	*ret_height = size.ws_row;
}

/* Each line wipes what is behind it: clearing first would flicker. */
void top_term_draw(const char *text)
{
	const char *end;

	fputs("\033[H", stdout);
	for (; *text; text = *end ? end + 1 : end) {
		end = strchrnul(text, '\n');
		fprintf(stdout, "%.*s\033[K\r\n", (int)(end - text), text);
	}
	put("\033[J");
}

/* As a shell expects it: give the terminal back, stop, and take it again. */
static void stop(void)
{
	const bool was = taken;

	stopped = 0;
	give();
	raise(SIGSTOP);
	if (was)
		take();
}

static int read_key(void)
{
	char key;

	if (read(STDIN_FILENO, &key, 1) == 1)
		return key == 'Q' ? 'q' : key;
	keys = false;		/* nobody is there any more */
	return ' ';
}

int top_term_wait(__s64 until_ns)
{
	struct pollfd fd = { .events = POLLIN };
	struct timespec left;
	__s64 ns;
	int n;

	for (;;) {
		if (ended)
			return 'q';
		if (stopped) {
			stop();
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
		n = ppoll(&fd, 1, &left, &waiting);
		if (n == 1)
			return read_key();
	}
}

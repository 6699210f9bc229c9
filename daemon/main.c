// SPDX-License-Identifier: MIT
/* tsctraced: keeps the clock, and holds channels where there is no module. */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tsctrace/version.h>
#include <unistd.h>

#include "clockpage.h"
#include "keeper.h"
#include "log.h"
#include "loop.h"
#include "provider.h"
#include "publish.h"
#include "rundir.h"
#include "usercheck.h"

/* Readers take a state older than 5 s for abandoned. */
#define INTERVAL_MS_MIN	100
#define INTERVAL_MS_MAX	2000

struct options {
	const char *run_dir;
	int interval_ms;
	bool no_module;
	bool verbose;
};

/* ---- options ------------------------------------------------------------ */

enum {
	OPT_RUN_DIR = 256,
	OPT_NO_MODULE,
	OPT_INTERVAL,
};

static const struct argp_option option_table[] = {
	{ "run-dir", OPT_RUN_DIR, "DIR", 0,
	  "Where clock file, socket and lock go (default $TSCTRACE_RUN_DIR, "
	  "else " TSCT_RUN_DIR ")", 0 },
	{ "no-module", OPT_NO_MODULE, NULL, 0,
	  "Do not publish to " TSCT_DEVICE_PATH, 0 },
	{ "interval-ms", OPT_INTERVAL, "MS", 0,
	  "Time between samples of the clock, 100 to 2000 (default 1000)", 0 },
	{ "verbose", 'v', NULL, 0, "Log every sample", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;
	char *end;
	long ms;

	switch (key) {
	case OPT_RUN_DIR:
		if (!*arg)
			argp_error(state, "--run-dir is empty; name a directory");
		options->run_dir = arg;
		return 0;
	case OPT_NO_MODULE:
		options->no_module = true;
		return 0;
	case OPT_INTERVAL:
		ms = strtol(arg, &end, 10);
		if (end == arg || *end || ms < INTERVAL_MS_MIN ||
		    ms > INTERVAL_MS_MAX)
			argp_error(state, "--interval-ms %s: give a number "
				   "from %d to %d", arg, INTERVAL_MS_MIN,
				   INTERVAL_MS_MAX);
		options->interval_ms = (int)ms;
		return 0;
	case 'v':
		options->verbose = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = option_table,
	.parser = parse_option,
	.doc = "Keeps the clock that tsctrace's stamps are converted by, and "
		"holds channels for programs where the kernel module does not. "
		"Runs in the foreground.",
};

/* The C library looks for it: the one name that must not be hidden. */
__attribute__((visibility("default")))
const char *argp_program_version = "tsctraced " TSCT_VERSION;

/* ---- the real environment ----------------------------------------------- */

struct real {
	struct publisher publisher;
	bool no_module;
};

static int real_choose(void *ctx, char *why, size_t size)
{
	struct real *real = ctx;

	return real->no_module ? tsct_source_choose_local(why, size) :
		tsct_source_choose(why, size);
}

static __u32 real_source_mark(void *ctx)
{
	struct tsct_check check = { .nr = 0 };

	(void)ctx;
	tsct_usercheck_quick(&check);
	return check.flags;
}

static const struct tsct_clock_ops *real_clock_ops(void *ctx, int source)
{
	(void)ctx;
	return tsct_clock_ops_real((unsigned int)source);
}

static int real_publish(void *ctx, const struct tsct_clock_state *state)
{
	struct real *real = ctx;

	return publisher_set(&real->publisher, state);
}

static void real_last(void *ctx, struct tsct_clock_state *ret_state)
{
	struct real *real = ctx;

	publisher_last(&real->publisher, ret_state);
}

static void real_give_up_module(void *ctx)
{
	struct real *real = ctx;

	real->publisher.use_module = false;
}

/* ---- start to stop ------------------------------------------------------ */

static int serve(struct real *real, const char *run_dir, int interval_ms)
{
	const struct env env = {
		.ctx = real,
		.choose = real_choose,
		.source_mark = real_source_mark,
		.clock_ops = real_clock_ops,
		.publish = real_publish,
		.last = real_last,
		.give_up_module = real_give_up_module,
	};
	struct tsct_server *server = NULL;
	struct keeper keeper;
	char path[4096];
	int err;

	err = keeper_start(&keeper, &env);
	if (err)
		return err;
	snprintf(path, sizeof(path), "%s/" TSCT_SOCKET_FILE, run_dir);
	err = tsct_server_start(path, "daemon", &server);
	if (err)
		log_error("%s: %s; %s", path, strerror(-err), rundir_fix(err));
	else
		err = loop_run(&keeper, server, interval_ms);
	tsct_server_stop(server);
	keeper_stop(&keeper);
	return err;
}

static int run(const struct options *options)
{
	const char *run_dir = options->run_dir ? options->run_dir :
		tsct_run_dir();
	struct real real = { .no_module = options->no_module };
	int dir, lock, err;

	err = rundir_open(run_dir, &dir, &lock);
	if (err)
		return err;
	err = publisher_open(&real.publisher, dir, run_dir,
			     !options->no_module);
	if (!err) {
		err = serve(&real, run_dir, options->interval_ms);
		publisher_close(&real.publisher);
	}
	close(lock);
	close(dir);
	return err;
}

/* Blocked before anything starts, taken by the loop: none is missed. */
static void block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
}

int main(int argc, char **argv)
{
	struct options options = { .interval_ms = 1000 };

	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &options);
	log_open(options.verbose);
	block_signals();
	umask(022);
	log_info("version %s", tsct_version());
	return run(&options) ? 1 : 0;
}

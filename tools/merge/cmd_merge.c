// SPDX-License-Identifier: MIT
/* trace-ctl merge: makes one trace from traces of many nodes */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/cmd.h"
#include "cmd_merge.h"
#include "tools/common/output_file.h"

enum { KEY_ALIGN = 256, KEY_FIT, KEY_AS_FITTED, KEY_RESOLUTION, KEY_FORCE, KEY_SALVAGE, KEY_JSON };

static const struct argp_option options[] = {
	{ "output", 'o', "OUT", 0, "write to OUT, a new or empty directory; NAME.otf2 makes an archive, also from recordings alone", 0 },
	{ "fit", KEY_FIT, "KIND", 0, "recordings: fit sync samples by KIND: " TSCT_FIT_KINDS " (default: by the kind that each recording names)", 0 },
	{ "as-fitted", KEY_AS_FITTED, NULL, 0, "recordings: do not shift nodes, even if messages are received before they were sent", 0 },
	{ "resolution", KEY_RESOLUTION, "HZ", 0, "recordings: make HZ ticks per second, such as 10G (default: 1G, nanoseconds)", 0 },
	{ "jobs", 'j', "N", 0, "recordings: use N threads (default: one per processor)", 0 },
	{ "align", KEY_ALIGN, "HOW", 0, "archives: align by the time of day at which each trace began (real), or let all begin at the same moment (text; default: real where both archives have it)", 0 },
	{ "force", KEY_FORCE, NULL, 0, "merge inputs that are refused otherwise: recordings without a common timeline (by each node's own clock), the same one twice", 0 },
	{ "salvage", KEY_SALVAGE, NULL, 0, "keep the readable part of damaged or incomplete inputs", 0 },
	{ "json", KEY_JSON, NULL, 0, "print the result as JSON", 0 },
	{ "quiet", 'q', NULL, 0, "print errors and losses only", 0 },
	{ 0 }
};

static void set_align(struct argp_state *state, struct merge *m, const char *arg)
{
	if (!strcmp(arg, "real"))
		m->align = TSCT_OTF2_ALIGN_REAL;
	else if (!strcmp(arg, "text"))
		m->align = TSCT_OTF2_ALIGN_TEXT;
	else
		argp_error(state, "--align: invalid value '%s'; use real or text", arg);
	m->aligned = true;
}

static void set_fit(struct argp_state *state, struct merge *m, const char *arg)
{
	m->fit = tsct_fit_kind_of(arg);
	if (m->fit < 0)
		argp_error(state, "--fit: invalid kind '%s'; use " TSCT_FIT_KINDS, arg);
}

/* Accepts 2596123456, 10G, 2500M. */
static void set_hz(struct argp_state *state, struct merge *m, const char *arg)
{
	uint64_t unit = 1;
	char *end;

	errno = 0;
	m->hz = strtoull(arg, &end, 10);
	if (*end == 'G' || *end == 'M')
		unit = *end++ == 'G' ? 1000000000 : 1000000;
	if (errno || *arg < '0' || *arg > '9' || *end ||
	    __builtin_mul_overflow(m->hz, unit, &m->hz) || m->hz < 1000000000)
		argp_error(state, "--resolution: '%s' is not a number of ticks per"
			   " second, from 1G on", arg);
}

static void set_jobs(struct argp_state *state, struct merge *m, const char *arg)
{
	unsigned long jobs;
	char *end;

	jobs = strtoul(arg, &end, 10);
	if (*arg < '0' || *arg > '9' || *end || !jobs || jobs > 1024)
		argp_error(state, "--jobs: '%s' is not a number from 1 to 1024", arg);
	m->jobs = (unsigned int)jobs;
}

static void check_all(struct argp_state *state, const struct merge *m)
{
	if (!m->nr)
		argp_error(state, "missing inputs; give recordings or OTF2 archives");
	if (!m->output)
		argp_error(state, "missing output directory; use -o DIR");
	else if (!*m->output)
		argp_error(state, "--output: empty name; give a directory");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct merge *m = state->input;

	switch (key) {
	case 'o': m->output = m->shown = arg; break;
	case 'j': set_jobs(state, m, arg); break;
	case KEY_FIT: set_fit(state, m, arg); break;
	case KEY_AS_FITTED: m->as_fitted = true; break;
	case KEY_RESOLUTION: set_hz(state, m, arg); break;
	case 'q': m->quiet = true; break;
	case KEY_ALIGN: set_align(state, m, arg); break;
	case KEY_FORCE: m->force = true; break;
	case KEY_SALVAGE: m->salvage = true; break;
	case KEY_JSON: m->json = true; break;
	case ARGP_KEY_ARG: m->input[m->nr++].given = arg; break;
	case ARGP_KEY_END: check_all(state, m); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	options, parse_option, "TRACE...",
	"Merge traces of many nodes into one: recordings into a recording, on the time of"
	" their cluster; OTF2 archives, and recordings beside them, into an archive, on the"
	" clock of the first."
	"\vA TRACE is a recording's directory, or an archive's file NAME.otf2, or the"
	" directory that it is in."
	" The exit status is 0, or 1 on failure (then there is no OUT), 2 for"
	" wrong usage, 3 if a part of the traces is not in OUT.",
	NULL, NULL, NULL
};

/*
 * Memory limits for the child, well above its needs, which follow from the
 * shortest form of a definition
 */
#define MEMORY_LEAST		(1ULL << 30)
#define MEMORY_PER_BYTE		256

static uint64_t memory_for(const struct merge *m)
{
	uint64_t memory = MEMORY_LEAST;
	int i;

	for (i = 0; i < m->nr; i++)
		memory += MEMORY_PER_BYTE * merge_input_definitions(&m->input[i]);
	return memory;
}

/* ---- the merge ----------------------------------------------------------- */

static int merge_otf2(void *arg)
{
	return tsct_otf2_merge(arg);
}

static int report(const struct merge *m, const struct tsct_otf2_status *status)
{
	int ret = EXIT_DONE;
	bool partial = merge_is_partial(m, status);

	if (!m->quiet || partial)
		merge_show_notes(m, status);
	if (m->json)
		ret = merge_show_json(m, status);
	else if (!m->quiet || partial)
		merge_otf2_report(m, status);
	return ret == EXIT_DONE && partial ? EXIT_LOST : ret;
}

static int merge_into(const struct merge *m, struct output_file *to,
		      const char **paths, struct tsct_otf2_status *status)
{
	struct tsct_otf2_merge work = {
		.path = paths, .nr = (uint32_t)m->nr, .dir = to->temporary,
		.align = m->align, .force = m->force, .salvage = m->salvage,
		.status = status,
	};
	int err = merge_run_child(merge_otf2, &work, memory_for(m), status, m->quiet);

	if (err) {
		merge_otf2_report_error(m, status, err);
		output_file_discard(to);
		return EXIT_FAILED;
	}
	return output_file_commit(to) ? EXIT_FAILED : report(m, status);
}

int merge_archives(const struct merge *m)
{
	struct tsct_otf2_status *status = merge_status_new(m->nr);
	const char **paths = calloc(m->nr, sizeof(*paths));
	int i, ret = EXIT_FAILED;
	struct output_file to;

	for (i = 0; paths && i < m->nr; i++)
		paths[i] = m->input[i].path;
	if (!status || !paths)
		merge_print("%s", strerror(ENOMEM));
	else if (output_file_open(&to, "merge", m->output, true))
		output_file_discard(&to);
	else
		ret = merge_into(m, &to, paths, status);
	free(paths);
	if (status)
		merge_status_free(status, m->nr);
	return ret;
}

static bool has_kind(const struct merge *m, enum merge_kind kind)
{
	int i;

	for (i = 0; i < m->nr; i++)
		if (m->input[i].kind == kind)
			return true;
	return false;
}

static bool is_archive(const char *output)
{
	size_t len = strlen(output);

	return len > 5 && !strcmp(output + len - 5, ".otf2");
}

/* True if the result is an archive: one is among the inputs, or was asked for */
static bool makes_archive(const struct merge *m)
{
	return has_kind(m, MERGE_OTF2) || is_archive(m->output);
}

/* Refuses options that do not apply to the inputs. */
static int check_options(const struct merge *m)
{
	const char *wrong = NULL, *what = "OTF2 archives";

	if (m->aligned && !has_kind(m, MERGE_OTF2)) {
		wrong = "--align";
		what = "recordings";
	} else if (m->hz && makes_archive(m)) {
		wrong = "--resolution";
	} else if (m->fit >= 0 && !has_kind(m, MERGE_RECORDING)) {
		wrong = "--fit";
	} else if (m->jobs && !has_kind(m, MERGE_RECORDING)) {
		wrong = "--jobs";
	}
	if (wrong)
		merge_print("%s does not apply to %s", wrong, what);
	return wrong ? -EINVAL : 0;
}

static int run(struct merge *m)
{
	int i;

	for (i = 0; i < m->nr; i++)
		if (merge_input_find(&m->input[i]))
			return EXIT_FAILED;
	if (check_options(m))
		return EXIT_USAGE;
	if (!has_kind(m, MERGE_RECORDING))
		return merge_archives(m);
	return makes_archive(m) ? merge_mixed(m) : merge_recordings(m);
}

void merge_signals(sigset_t *set)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction action;
	size_t i;

	sigemptyset(set);
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i], NULL, &action) ||
		    action.sa_handler != SIG_IGN)
			sigaddset(set, signals[i]);
}

int cmd_merge(int argc, char **argv)
{
	sigset_t set;
	struct merge m = {
		.input = calloc(argc, sizeof(*m.input)), .fit = -1,
	};
	int i, ret = EXIT_FAILED;

	if (!m.input) {
		merge_print("%s", strerror(ENOMEM));
		return EXIT_FAILED;
	}
	if (!argp_parse(&argp, argc, argv, 0, NULL, &m)) {
		merge_signals(&set);
		sigprocmask(SIG_BLOCK, &set, NULL);
		ret = run(&m);
	}
	for (i = 0; i < m.nr; i++)
		free(m.input[i].path);
	free(m.input);
	return ret;
}

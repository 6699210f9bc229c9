// SPDX-License-Identifier: MIT
/* trace-ctl merge: traces of many nodes as one */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "merge.h"
#include "outcome.h"

enum { KEY_ALIGN = 256, KEY_FORCE, KEY_SALVAGE, KEY_JSON };

static const struct argp_option options[] = {
	{ "output", 'o', "OUT", 0, "the result, a directory that is not there yet or empty", 0 },
	{ "align", KEY_ALIGN, "HOW", 0, "real: by the time of day at which each trace began; text: all begin at the same moment (default: real where both know it)", 0 },
	{ "force", KEY_FORCE, NULL, 0, "take the same trace twice, and leave out what has no place in the result", 0 },
	{ "salvage", KEY_SALVAGE, NULL, 0, "take of damaged event files what is before the damage", 0 },
	{ "json", KEY_JSON, NULL, 0, "say what came out as JSON", 0 },
	{ "quiet", 'q', NULL, 0, "say nothing but errors and what is missing", 0 },
	{ 0 }
};

static void set_align(struct argp_state *state, struct merge *m, const char *arg)
{
	if (!strcmp(arg, "real"))
		m->align = TSCT_OTF2_ALIGN_REAL;
	else if (!strcmp(arg, "text"))
		m->align = TSCT_OTF2_ALIGN_TEXT;
	else
		argp_error(state, "--align: %s is neither real nor text", arg);
}

static void check_all(struct argp_state *state, const struct merge *m)
{
	if (!m->nr)
		argp_error(state, "which traces? name them, the first is the one whose clock the result has");
	if (!m->output)
		argp_error(state, "where to? name a directory with -o");
	else if (!*m->output)
		argp_error(state, "--output is empty; name a directory");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct merge *m = state->input;

	switch (key) {
	case 'o': m->output = arg; break;
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
	"Merge OTF2 archives into one: on the clock of the first, with one set of"
	" definitions, each location's events in a file of its own."
	"\vA TRACE is an archive's file NAME.otf2, or the directory that it is in."
	" The exit status is 0, or 1 if it failed (then there is no OUT), 2 for"
	" wrong usage, 3 if something of the traces is not in OUT.",
	NULL, NULL, NULL
};

/* Much more than it takes, of which a definition's shortest form is the measure */
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

/* ---- the work -------------------------------------------------------------------- */

static int merge_otf2(void *arg)
{
	return tsct_otf2_merge(arg);
}

static int report(const struct merge *m, const struct tsct_otf2_status *status)
{
	int ret = EXIT_DONE;
	bool partial = merge_is_partial(m, status);

	if (!m->quiet || partial)
		merge_show_notes(status);
	if (m->json)
		ret = merge_show_json(m, status);
	else if (!m->quiet || partial)
		merge_show(m, status);
	return ret == EXIT_DONE && partial ? EXIT_LOST : ret;
}

static int merge_into(const struct merge *m, struct outcome *to,
		      const char **paths, struct tsct_otf2_status *status)
{
	struct tsct_otf2_merge work = {
		.path = paths, .nr = (uint32_t)m->nr, .dir = to->temporary,
		.align = m->align, .force = m->force, .salvage = m->salvage,
		.status = status,
	};
	int err = merge_guard(merge_otf2, &work, memory_for(m), status, m->quiet);

	if (err) {
		merge_show_error(m, status, err);
		outcome_drop(to);
		return EXIT_FAILED;
	}
	return outcome_commit(to) ? EXIT_FAILED : report(m, status);
}

static int run(const struct merge *m)
{
	struct tsct_otf2_status *status = merge_status_new(m->nr);
	const char **paths = calloc(m->nr, sizeof(*paths));
	int i, ret = EXIT_FAILED;
	struct outcome to;

	for (i = 0; paths && i < m->nr; i++)
		paths[i] = m->input[i].path;
	if (!status || !paths)
		merge_complain("%s", strerror(ENOMEM));
	else if (outcome_open(&to, "merge", m->output, true))
		outcome_drop(&to);
	else
		ret = merge_into(m, &to, paths, status);
	free(paths);
	if (status)
		merge_status_free(status, m->nr);
	return ret;
}

/* All of one kind, which can be merged */
static int find_inputs(struct merge *m)
{
	int i;

	for (i = 0; i < m->nr; i++) {
		if (merge_input_find(&m->input[i]))
			return -EINVAL;
		if (m->input[i].kind == MERGE_OTF2)
			continue;
		merge_complain("%s: is a recording; what can be merged are OTF2 archives, such as 'trace-ctl export -f otf2' makes of it",
			       m->input[i].given);
		return -ENOTSUP;
	}
	return 0;
}

int cmd_merge(int argc, char **argv)
{
	struct merge m = { .input = calloc(argc, sizeof(*m.input)) };
	int i, ret = EXIT_FAILED;

	if (!m.input) {
		merge_complain("%s", strerror(ENOMEM));
		return EXIT_FAILED;
	}
	if (!argp_parse(&argp, argc, argv, 0, NULL, &m) && !find_inputs(&m))
		ret = run(&m);
	for (i = 0; i < m.nr; i++)
		free(m.input[i].path);
	free(m.input);
	return ret;
}

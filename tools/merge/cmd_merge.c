// SPDX-License-Identifier: MIT
/* trace-ctl merge: makes one trace from the traces of several nodes */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/array.h"
#include "lib/base/text.h"
#include "lib/merge/ranks.h"
#include "tools/common/cmd.h"
#include "tools/common/options.h"
#include "cmd_merge.h"

enum { KEY_ALIGN = 256, KEY_INPUTS, KEY_FIT, KEY_RESOLUTION, KEY_MISSING };

#define FLAG(member)	OPTION_FLAG(struct merge, member)

static const struct argp_option options[] = {
	{ "output", 'o', "OUT", 0, "write to OUT, a new or empty directory; if OUT ends in .otf2,"
	  " write an OTF2 archive, even if all inputs are recordings", 0 },
	{ "inputs", KEY_INPUTS, "FILE", 0, "merge also the inputs that FILE names, one in a line;"
	  " - is the standard input", 0 },
	{ "fit", KEY_FIT, "KIND", 0, "recordings: kind of the function that is fitted to the sync"
	  " samples: " TSCT_FIT_KINDS " (default: the kind that is set in each recording)", 0 },
	{ "as-fitted", FLAG(options.as_fitted), NULL, 0, "recordings: do not shift the times of a"
	  " node, even if its messages are received before they were sent", 0 },
	{ "resolution", KEY_RESOLUTION, "HZ", 0, "recordings: write times in units of 1/HZ seconds,"
	  " such as 10G (default: 1G, nanoseconds)", 0 },
	{ "jobs", 'j', "N", 0, "recordings: use N threads (default: one per CPU)", 0 },
	{ "align", KEY_ALIGN, "real|text", 0, "archives: real: align by the time of day at which"
	  " each archive begins; text: let all archives begin at the same moment (default: real"
	  " where both archives have the time of day)", 0 },
	{ "force", FLAG(options.force), NULL, 0, "merge inputs that are refused otherwise:"
	  " recordings without a common timeline (by each node's own clock), the same trace given"
	  " twice", 0 },
	{ "salvage", FLAG(options.salvage), NULL, 0, "keep the readable part of damaged or"
	  " incomplete inputs", 0 },
	{ "missing", KEY_MISSING, "NODE: WHY", 0, "recordings: note in OUT that NODE ran, too, but"
	  " is missing from OUT, and WHY; may be repeated", 0 },
	{ "json", FLAG(json), NULL, 0, "print the result as JSON", 0 },
	{ "quiet", 'q', NULL, 0, "print errors and losses only", 0 },
	{ 0 }
};

/* ---- options ---------------------------------------------------------------- */

/* Parses a frequency in ticks per second, such as 2596123456, 10G or 2500M. */
static void set_hz(struct argp_state *state, struct merge *m, const char *arg)
{
	const char *end = arg;
	__u64 unit = 1, hz = 0;
	bool valid = tsct_digits_read(&end, UINT64_MAX, &hz);

	if (*end == 'G' || *end == 'M')
		unit = *end++ == 'G' ? 1000000000 : 1000000;
	if (!valid || *end || __builtin_mul_overflow(hz, unit, &hz) || hz < 1000000000)
		argp_error(state, "--resolution: '%s' is not a number of ticks per"
			   " second of at least 1G", arg);
	m->options.hz = hz;
}

static void add_input(struct argp_state *state, struct merge *m, const char *given)
{
	struct merge_input *more = tsct_array_next(&m->input, m->nr, sizeof(*more));

	if (!more || m->nr == INT_MAX - 1)
		argp_failure(state, EXIT_FAILED, ENOMEM, "%s", given);
	*more = (struct merge_input) { .given = given };
	m->nr++;
}

/* Adds the inputs that file @name lists: a command line is too short for thousands of names. */
static void add_named(struct argp_state *state, struct merge *m, const char *name)
{
	FILE *from = strcmp(name, "-") ? fopen(name, "re") : stdin;
	char *line = NULL, *given;
	size_t room = 0, len;

	/* MPI launchers connect the standard input only to rank 0. */
	if (from == stdin && m->options.ranks->nr > 1)
		argp_error(state, "--inputs: '-' does not work with several ranks; name a file");
	if (!from)
		argp_failure(state, EXIT_FAILED, errno, "%s", name);
	while (getline(&line, &room, from) >= 0) {
		len = strcspn(line, "\n");
		if (len >= PATH_MAX || (!line[len] && !feof(from)))
			argp_failure(state, EXIT_FAILED, ENAMETOOLONG, "%s", name);
		given = strndup(line, len);
		if (!given)
			argp_failure(state, EXIT_FAILED, ENOMEM, "%s", name);
		if (len)
			add_input(state, m, given);
		else
			free(given);
	}
	free(line);
	if (ferror(from))
		argp_failure(state, EXIT_FAILED, errno, "%s", name);
	if (from != stdin)
		fclose(from);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct merge *m = state->input;

	switch (key) {
	case 'o': m->output = m->shown = arg; break;
	case 'j':
		m->options.jobs = (unsigned int)option_number(state, "--jobs", arg, 1, 1024);
		break;
	case KEY_FIT:
		m->options.fit = tsct_fit_kind_of(arg);
		if (m->options.fit < 0)
			argp_error(state, "--fit: invalid kind '%s'; use " TSCT_FIT_KINDS, arg);
		break;
	case KEY_RESOLUTION: set_hz(state, m, arg); break;
	case 'q': m->quiet = true; break;
	case KEY_ALIGN:
		if (strcmp(arg, "real") && strcmp(arg, "text"))
			argp_error(state, "--align: invalid value '%s'; use real or text", arg);
		m->align = arg;
		break;
	case KEY_MISSING:
		if (tsct_recording_add_missing(&m->missing_nodes, arg))
			argp_failure(state, EXIT_FAILED, 0, "out of memory");
		break;
	case KEY_INPUTS: add_named(state, m, arg); break;
	case ARGP_KEY_ARG: add_input(state, m, arg); break;
	case ARGP_KEY_END:
		if (!m->nr)
			argp_error(state, "missing inputs; give recordings or OTF2 archives");
		if (!m->output)
			argp_error(state, "missing output directory; use -o DIR");
		else if (!*m->output)
			argp_error(state, "--output: empty name; give a directory");
		break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_child children[] = { { .argp = &merge_ctf_argp }, { 0 } };

static const struct argp argp = {
	options, parse_option, "[TRACE...]",
	"Merge traces of several nodes into one trace. If a TRACE is an OTF2 archive, the result"
	" is an archive, in the time of the first archive's clock. Otherwise the result is a"
	" recording (if OUT ends in .otf2, an archive), in the time of the nodes' cluster."
	"\vA TRACE is a recording (its directory), a CTF trace such as LTTng's (its directory), or"
	" an OTF2 archive (its file NAME.otf2, or the directory of that file). The exit status is"
	" 0; 1 on failure (then OUT is not created); 2 for wrong usage; or 3 if a part of the"
	" traces is missing from OUT.",
	children, NULL, NULL
};

/* ---- inputs ------------------------------------------------------------------- */

int merge_refuse(const struct merge_input *in, int err, const char *why)
{
	merge_print("%s: %s", in->given, why);
	return err;
}

/* Sets kind and path of an input. Prints errors. Returns 0, or -errno if @in cannot be merged. */
static int find_input(struct merge_input *in)
{
	size_t len = strlen(in->given);
	char metadata[PATH_MAX];
	struct stat st;
	int err;

	if (stat(in->given, &st))
		return merge_refuse(in, -errno, strerror(errno));
	err = merge_find_ctf ? merge_find_ctf(in) : 0;
	if (err || in->kind == MERGE_CTF)
		return err;
	if (!S_ISDIR(st.st_mode) &&
	    (!S_ISREG(st.st_mode) || !tsct_has_suffix(in->given, OTF2_ANCHOR)))
		return merge_refuse(in, -EINVAL, "not an OTF2 archive; give the directory of a"
				    " recording or a trace, or an archive's file *" OTF2_ANCHOR);
	while (S_ISDIR(st.st_mode) && len > 1 && in->given[len - 1] == '/')
		len--;
	in->path = strndup(in->given, len);
	if (!in->path)
		return merge_refuse(in, -ENOMEM, strerror(ENOMEM));
	if (!S_ISDIR(st.st_mode))
		return 0;
	if ((size_t)snprintf(metadata, sizeof(metadata), "%s/metadata", in->path) <
	    sizeof(metadata) && !stat(metadata, &st) && S_ISREG(st.st_mode))
		in->kind = MERGE_RECORDING;
	if (in->kind == MERGE_RECORDING)
		return 0;
	return merge_find_anchor ? merge_find_anchor(in) : merge_refuse(in, -EINVAL,
		"not a recording (no file named metadata), and " TSCT_WING_MISSING("otf2"));
}

/* ---- the merge ----------------------------------------------------------- */

static bool has_kind(const struct merge *m, enum merge_kind kind)
{
	int i;

	for (i = 0; i < m->nr; i++)
		if (m->input[i].kind == kind)
			return true;
	return false;
}

/* Sets kind and path of all inputs. With several ranks, all inputs must be recordings, and
 * each rank checks a part of them. */
static int find_inputs(const struct merge *m)
{
	const uint64_t rank = m->options.ranks->rank, nr = m->options.ranks->nr,
		inputs = (uint64_t)m->nr;
	struct merge_input *in;
	uint64_t i;
	int err = 0;

	for (i = 0; i < inputs && !err; i++) {
		in = &m->input[i];
		if (i >= inputs * rank / nr && i < inputs * (rank + 1) / nr) {
			err = find_input(in);
			if (!err && nr > 1 && in->kind == MERGE_OTF2)
				err = merge_refuse(in, -EINVAL, "is an OTF2 archive; merge"
						   " archives without MPI");
		} else {
			in->kind = MERGE_RECORDING;
			in->path = strdup(in->given);
			err = in->path ? 0 : -ENOMEM;
		}
	}
	return err;
}

static int run_merge(const struct merge *m)
{
	const __u64 nr = (__u64)m->nr;
	int err;

	/* Ranks on other nodes may have read another --inputs file, or another version
	 * of the file. */
	if (tsct_ranks_any(m->options.ranks, tsct_ranks_max(m->options.ranks, nr) != nr)) {
		merge_print("the ranks have different numbers of inputs; give all ranks the same"
			    " inputs");
		return EXIT_FAILED;
	}
	merge_begin_text();
	err = find_inputs(m);
	merge_end_text(m->options.ranks);
	if (tsct_ranks_any(m->options.ranks, err))
		return EXIT_FAILED;
	return has_kind(m, MERGE_CTF) ? merge_ctf(m) : merge_found(m);
}

int merge_found(const struct merge *m)
{
	const bool archives = has_kind(m, MERGE_OTF2), recordings = has_kind(m, MERGE_RECORDING);
	const bool to_archive = archives || tsct_has_suffix(m->output, OTF2_ANCHOR);
	const char *wrong = NULL, *what = "OTF2 archives";

	if (m->align && !archives) {
		wrong = "--align";
		what = "recordings";
	} else if (m->options.hz && to_archive) {
		wrong = "--resolution";
	} else if (m->options.fit >= 0 && !recordings) {
		wrong = "--fit";
	} else if (m->options.jobs && !recordings) {
		wrong = "--jobs";
	} else if (m->missing_nodes && to_archive) {
		wrong = "--missing";
	}
	if (wrong) {
		merge_print("%s does not apply to %s; remove it", wrong, what);
		return EXIT_USAGE;
	}
	if (to_archive && m->options.ranks->nr > 1) {
		merge_print("%s: with MPI, the result is a recording; convert it with trace-ctl"
			    " export -f otf2", m->output);
		return EXIT_USAGE;
	}
	if (to_archive && !merge_archives) {
		merge_print("%s: " TSCT_WING_MISSING("otf2"),
			    archives ? "OTF2 archives" : m->output);
		return EXIT_FAILED;
	}
	if (!recordings)
		return merge_archives(m);
	return to_archive ? merge_mixed(m) : merge_recordings(m);
}

int merge_main(int argc, char **argv, const struct tsct_ranks *ranks)
{
	static struct merge m;
	sigset_t set;

	m.options.fit = -1;
	m.options.ranks = ranks;
	if (options_parse(&argp, argc, argv, 0, &m))
		return EXIT_FAILED;
	merge_signals(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return run_merge(&m);
}

static int cmd_merge(int argc, char **argv)
{
	return merge_main(argc, argv, &tsct_ranks_alone);
}

COMMAND(180, merge,
	"merge recordings or OTF2 archives of several nodes into one");

// SPDX-License-Identifier: MIT
/* trace-ctl report: pages to look at */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"
#include "peers_view.h"
#include "report.h"
#include "sync_read.h"

static const char style[] =
	"body{font:15px system-ui,sans-serif;margin:2em auto;max-width:960px;"
	"padding:0 1em;color:#222;background:#fff}"
	"h1{font-size:1.5em}h2{font-size:1.2em;margin-top:2em}"
	"table{border-collapse:collapse;margin:1em 0}"
	"th{text-align:left;font-weight:normal;padding:.15em 2em .15em 0;"
	"color:#555}td{text-align:right;font-variant-numeric:tabular-nums}"
	"svg{width:100%;height:auto;margin:.5em 0}"
	".grid{stroke:#ddd;fill:none}.frame{stroke:#888;fill:none}"
	".tick{font-size:11px;fill:#555}.name{font-size:12px;fill:#333}"
	".title{font-size:14px;fill:#222}.bound{fill:#cfe3f7;stroke:none}"
	".fit{fill:none;stroke:#c0392b;stroke-width:1.5}"
	"circle.kept{fill:#1f5fa8}circle.dropped{fill:none;stroke:#999}"
	"span.kept{color:#1f5fa8}span.dropped{color:#777}"
	"@media(prefers-color-scheme:dark){body{background:#1b1d20;color:#ddd}"
	".grid{stroke:#333}.tick,.name,th{fill:#aaa;color:#aaa}.title{fill:#ddd}"
	".bound{fill:#24405c}circle.kept{fill:#6fb1f2}}";

void report_text(FILE *to, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '<':
			fputs("&lt;", to);
			break;
		case '>':
			fputs("&gt;", to);
			break;
		case '&':
			fputs("&amp;", to);
			break;
		case '\'':
			fputs("&#39;", to);
			break;
		case '"':
			fputs("&quot;", to);
			break;
		default:
			fputc(*text, to);
		}
	}
}

void report_begin(FILE *to, const char *title, const char *of)
{
	char when[64] = "";
	time_t now = time(NULL);
	struct tm tm;

	if (gmtime_r(&now, &tm))
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	fprintf(to, "<!DOCTYPE html>\n<html lang='en'>\n<head>\n"
		"<meta charset='utf-8'>\n<title>%s: ", title);
	report_text(to, of);
	fprintf(to, "</title>\n<style>%s</style>\n</head>\n<body>\n<h1>%s: ",
		style, title);
	report_text(to, of);
	fprintf(to, "</h1>\n<p>%s</p>\n", when);
}

void report_end(FILE *to)
{
	fputs("</body>\n</html>\n", to);
}

/* ---- the command --------------------------------------------------------------- */

struct wanted {
	const char *what, *path;
	const char *recording;		/* NULL: what the daemon remembers */
	int kind;			/* of fit; -1: as the recording says */
};

#define KEY_FIT	256

static const struct argp_option options[] = {
	{ "fit", KEY_FIT, "KIND", 0, "Of a recording, another fit than it says: "
	  "auto, linear, spline, hull, regression", 0 },
	{ "output", 'o', "FILE", 0,
	  "Where the page goes; default: standard output", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct wanted *wanted = state->input;

	switch (key) {
	case 'o':
		if (!*arg)
			argp_error(state, "--output is empty; name a file");
		wanted->path = arg;
		return 0;
	case KEY_FIT:
		wanted->kind = tsct_fit_kind_of(arg);
		if (wanted->kind < 0)
			argp_error(state, "--fit %s: give auto, linear, spline,"
				   " hull or regression", arg);
		return 0;
	case ARGP_KEY_ARG:
		if (!wanted->what && strcmp(arg, "sync"))
			argp_error(state, "%s: there is one report: sync", arg);
		if (wanted->recording)
			argp_error(state, "%s: one recording at a time", arg);
		*(wanted->what ? &wanted->recording : &wanted->what) = arg;
		return 0;
	case ARGP_KEY_END:
		if (wanted->kind >= 0 && !wanted->recording)
			argp_error(state, "--fit is for recordings; the daemon's"
				   " own is set in tsctraced.conf");
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "name a report: sync");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "sync [RECORDING]",
	.doc = "Write a page of HTML. sync: the exchanges with other nodes that "
	"the daemon remembers, or that are in a recording, the function made of "
	"them, and its bound.",
};

static int complain(const char *path, int err)
{
	fprintf(stderr, "trace-ctl report: %s: %s\n", path, strerror(err));
	return EXIT_FAILED;
}

static int write_all(int fd, const char *text, size_t len)
{
	ssize_t n;

	while (len) {
		n = write(fd, text, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

/* A page that is not whole is not left there; a device is. */
static int write_file(const char *path, const char *text, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	struct stat st;
	int err;

	if (fd < 0)
		return complain(path, errno);
	err = write_all(fd, text, len);
	if (err && !fstat(fd, &st) && S_ISREG(st.st_mode))
		unlink(path);
	if (close(fd) && !err)
		err = errno;
	return err ? complain(path, err) : EXIT_DONE;
}

/* NULL: no memory */
static char *make_page(const json_t *window, size_t *ret_len)
{
	char *text = NULL;
	FILE *to = open_memstream(&text, ret_len);
	int err = to ? report_sync(to, window) : -ENOMEM;

	if (to && fclose(to))
		err = -ENOMEM;
	if (!err)
		return text;
	free(text);
	return NULL;
}

/* NULL: failed, and said so */
static json_t *read_recording(const struct wanted *wanted, int *ret_damaged)
{
	struct sync_read r;
	json_t *window;

	if (sync_read_open("report", wanted->recording, &r))
		return NULL;
	window = report_recording(&r, wanted->kind);
	if (!window)
		complain(wanted->recording, ENOMEM);
	*ret_damaged = !r.rec->complete || tsct_trace_damage(r.trace) ?
		EXIT_LOST : EXIT_DONE;
	if (!r.rec->complete)
		fprintf(stderr, "trace-ctl report: %s: the recorder was ended"
			" before the recording was; samples of its last second"
			" may be missing\n", wanted->recording);
	sync_read_close(&r);
	return window;
}

int cmd_report(int argc, char **argv)
{
	struct wanted wanted = { .kind = -1 };
	int ret = EXIT_DONE, damaged = EXIT_DONE;
	json_t *window;
	size_t len;
	char *page;

	argp_parse(&argp, argc, argv, 0, NULL, &wanted);
	window = wanted.recording ? read_recording(&wanted, &damaged) :
		peers_ask("report", "exchanges");
	if (!window)
		return EXIT_FAILED;
	page = make_page(window, &len);
	json_decref(window);
	if (!page)
		return complain("the page", ENOMEM);
	if (wanted.path)
		ret = write_file(wanted.path, page, len);
	else
		fwrite(page, 1, len, stdout);
	free(page);
	return ret ? ret : damaged;
}

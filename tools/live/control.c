// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/client/control_client.h"
#include "control.h"
#include "tools/common/view.h"

static void complain(const char *verb, const char *path, int err)
{
	const char *fix = "";

	if (err == -ENOENT || err == -ECONNREFUSED)
		fix = "; start tsctraced";
	else if (err == -EACCES || err == -EPERM)
		fix = "; run as root";
	else if (err == -ETIMEDOUT)
		fix = "; is tsctraced stopped?";
	else if (err == -ENAMETOOLONG || err == -ENOTDIR)
		fix = "; set $TSCTRACE_RUN_DIR to tsctraced's --run-dir";
	fprintf(stderr, "trace-ctl %s: %s: %s%s\n", verb, path,
		err == -ENOENT || err == -ECONNREFUSED ?
		"no daemon is there" : strerror(-err), fix);
}

int ctl_control_ask(const char *verb, const char *request, char **ret_answer,
		    size_t *ret_len)
{
	static const char refusal[] = TSCT_CONTROL_ERROR;
	char path[256];
	int err;

	snprintf(path, sizeof(path), "%s/" TSCT_CONTROL_SOCKET, tsct_run_dir());
	err = tsct_control_request(path, request, ret_answer, ret_len);
	if (err) {
		complain(verb, path, err);
		return err;
	}
	if (strncmp(*ret_answer, refusal, sizeof(refusal) - 1))
		return 0;
	(*ret_answer)[strcspn(*ret_answer, "\n")] = '\0';
	fprintf(stderr, "trace-ctl %s: %s refuses: ", verb, path);
	view_print_plain(stderr, *ret_answer + sizeof(refusal) - 1);
	fprintf(stderr, "\n");
	free(*ret_answer);
	return -EREMOTEIO;
}

// SPDX-License-Identifier: MIT
/* Requests to the daemon on its control socket, with error messages and JSON answers */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"
#include "error.h"
#include "lib/client/control_client.h"

const char *control_path(void)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/" TSCT_CONTROL_SOCKET, tsct_run_dir());
	return path;
}

int control_error(int err, char *text, size_t size)
{
	const char *reason = strerror(-err), *advice = "";

	switch (err) {
	case -ENOENT:
	case -ECONNREFUSED:
		reason = "tsctraced is not running";
		advice = "; start it";
		break;
	case -ETIMEDOUT:
		reason = "no answer";
		advice = "; check whether tsctraced is stopped";
		break;
	case -EACCES:
	case -EPERM:
		advice = "; run as root";
		break;
	case -ENAMETOOLONG:
	case -ENOTDIR:
		advice = "; set $TSCTRACE_RUN_DIR to tsctraced's --run-dir";
		break;
	case -EINTR:
		reason = "interrupted";
		break;
	case -EPROTO:
		reason = "invalid answer";
		advice = "; use tsctraced and trace-ctl of the same version";
		break;
	}
	snprintf(text, size, "%s: %s%s", control_path(), reason, advice);
	return err;
}

int control_check(const char *answer, char *text, size_t size)
{
	const char *reason = answer + strlen(TSCT_CONTROL_ERROR);

	if (strncmp(answer, TSCT_CONTROL_ERROR, strlen(TSCT_CONTROL_ERROR)))
		return 0;
	snprintf(text, size, "%s: request rejected: %.*s", control_path(),
		 (int)strcspn(reason, "\n"), reason);
	return -EREMOTEIO;
}

int control_call(const char *request, char **ret_answer,
		 size_t *ret_len)
{
	char text[512];
	int err = tsct_control_request(control_path(), request, INT64_MAX, ret_answer,
				       ret_len, NULL);

	if (err) {
		control_error(err, text, sizeof(text));
	} else {
		err = control_check(*ret_answer, text, sizeof(text));
		if (!err)
			return 0;
		free(*ret_answer);
	}
	return ctl_fail(err, "%s", text);
}

json_t *control_call_json(const char *request)
{
	char *answer, text[512];
	json_t *json;
	size_t len;

	if (control_call(request, &answer, &len))
		return NULL;
	json = json_loadb(answer, len, 0, NULL);
	free(answer);
	if (!json) {
		control_error(-EPROTO, text, sizeof(text));
		ctl_error("%s", text);
	}
	return json;
}

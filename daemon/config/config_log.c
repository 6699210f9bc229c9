// SPDX-License-Identifier: MIT
#include "config.h"
#include "log.h"

static void complain(void *ctx, const char *text)
{
	(void)ctx;
	log_error("%s", text);
}

static void warn(void *ctx, const char *text)
{
	(void)ctx;
	log_warning("%s", text);
}

int conf_load_logged(const char *path, struct conf **ret_conf)
{
	const struct conf_say say = { NULL, complain, warn };

	return conf_load(path, &say, ret_conf);
}

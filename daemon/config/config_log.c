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

int config_load_logged(const char *path, struct config **ret_config)
{
	const struct config_say say = { NULL, complain, warn };

	return config_load(path, &say, ret_config);
}

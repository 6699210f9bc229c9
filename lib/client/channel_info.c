// SPDX-License-Identifier: MIT
/* What a handle says of itself, and what is said of it. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "channel.h"

static const char *const provider_names[] = {
	[TSCT_PROVIDER_NONE] = "none",
	[TSCT_PROVIDER_MODULE] = "module",
	[TSCT_PROVIDER_DAEMON] = "daemon",
	[TSCT_PROVIDER_EMBEDDED] = "embedded",
};

const char *tsct_provider_name(enum tsct_provider provider)
{
	if ((unsigned int)provider > TSCT_PROVIDER_EMBEDDED)
		return "?";
	return provider_names[provider];
}

enum tsct_provider tsct_channel_provider(const struct tsct_channel *t)
{
	return t->provider;
}

const char *tsct_channel_error(const struct tsct_channel *t)
{
	return t->why;
}

const struct tsct_channel_header *tsct_channel_info(const struct tsct_channel *t)
{
	return t->head_map ? &t->header : NULL;
}

uint64_t tsct_channel_dropped(const struct tsct_channel *t)
{
	return __atomic_load_n(&t->dropped, __ATOMIC_RELAXED);
}

void tsct_channel_add_error(struct tsct_channel *t, const char *format, ...)
{
	size_t used = strlen(t->why);
	va_list args;

	if (used)
		used += snprintf(t->why + used, sizeof(t->why) - used,
				 "; next: ");
	if (used >= sizeof(t->why))
		return;
	va_start(args, format);
	vsnprintf(t->why + used, sizeof(t->why) - used, format, args);
	va_end(args);
}

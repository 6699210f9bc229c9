// SPDX-License-Identifier: MIT
/*
 * A kernel module emits an event with an invalid payload, which ends its thread in the
 * middle of tsct_emit(): the ring of that CPU stays usable.
 */
#include "modules.h"

static void try_size(const char *parameters)
{
	const char *results;

	mod_load("/lib/modules/tsct-fault.ko", parameters);
	results = mod_get("/sys/module/tsct_fault/parameters/results");
	t_check(!strcmp(results, "0,0,0\n"), "%s: results %s", parameters, results);
	t_check(!mod_unload("tsct_fault"), "%m");
}

int main(void)
{
	dev_pin(0);
	try_size("size=8");
	try_size("size=24");
	try_size("size=2000");
	return t_status();
}

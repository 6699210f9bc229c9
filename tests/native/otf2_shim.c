// SPDX-License-Identifier: MIT
/*
 * A preloaded wrapper of libotf2's function that reads events: with OTF2_SHIM=crash it
 * crashes, with OTF2_SHIM=sleep it takes two seconds.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int OTF2_Reader_ReadLocalEvents(void *reader, void *events, uint64_t wanted,
				uint64_t *ret_read);

int OTF2_Reader_ReadLocalEvents(void *reader, void *events, uint64_t wanted,
				uint64_t *ret_read)
{
	int (*next)(void *, void *, uint64_t, uint64_t *);
	const char *how = getenv("OTF2_SHIM");

	if (how && !strcmp(how, "crash"))
		raise(SIGSEGV);
	if (how && !strcmp(how, "sleep"))
		sleep(2);
	*(void **)&next = dlsym(RTLD_NEXT, "OTF2_Reader_ReadLocalEvents");
	return next(reader, events, wanted, ret_read);
}

// SPDX-License-Identifier: MIT
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "payer.h"

/* Returns the id of the user @name, a name or a number; 0: root, or not in /etc/passwd */
static uid_t find_user(const char *name)
{
	FILE *file = fopen("/etc/passwd", "re");
	const struct passwd *user;
	uid_t uid = (uid_t)strtoul(name, NULL, 10);

	while (file && !uid && (user = fgetpwent(file)))
		if (!strcmp(user->pw_name, name))
			uid = user->pw_uid;
	if (file)
		fclose(file);
	return uid;
}

uid_t tsct_payer(uid_t uid)
{
	FILE *file = fopen("/etc/subuid", "re");
	unsigned int first, count;
	char line[512], owner[256];
	uid_t payer = uid;

	/* A line is "OWNER:FIRST:COUNT". */
	while (file && payer == uid && fgets(line, sizeof(line), file))
		if (sscanf(line, "%255[^:]:%u:%u", owner, &first, &count) == 3 &&
		    uid >= first && uid - first < count)
			payer = find_user(owner) ?: first;
	if (file)
		fclose(file);
	return payer;
}

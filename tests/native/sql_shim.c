// SPDX-License-Identifier: MIT
/* Preloaded: writes each statement that a program compiles with SQLite, without an error, to the
 * file $SQL_SHIM. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef int prepare(void *db, const char *sql, int size, void **stmt, const char **tail);

prepare sqlite3_prepare_v2;

int sqlite3_prepare_v2(void *db, const char *sql, int size, void **stmt, const char **tail)
{
	prepare *next = (prepare *)dlsym(RTLD_NEXT, "sqlite3_prepare_v2");
	const int err = next(db, sql, size, stmt, tail);
	FILE *to = err ? NULL : fopen(getenv("SQL_SHIM"), "a");

	if (to) {
		fprintf(to, "%s\n", sql);
		fclose(to);
	}
	return err;
}

// SPDX-License-Identifier: MIT
#include <string.h>

#include "near_name.h"

int near_name_distance(const char *a, const char *b)
{
	int row[NEAR_NAME_MAX + 1], n = strlen(b), diagonal, above, least, j;

	for (j = 0; j <= n; j++)
		row[j] = j;
	for (; *a; a++) {
		diagonal = row[0]++;
		for (j = 1; j <= n; j++) {
			above = row[j];
			least = diagonal + (*a != b[j - 1]);
			if (least > above + 1)
				least = above + 1;
			if (least > row[j - 1] + 1)
				least = row[j - 1] + 1;
			row[j] = least;
			diagonal = above;
		}
	}
	return row[n];
}

bool near_name(const char *name, const char *known)
{
	const int len = strlen(known);
	int distance;

	if (len > NEAR_NAME_MAX || strlen(name) > NEAR_NAME_MAX)
		return false;
	distance = near_name_distance(name, known);
	return distance <= 2 && 3 * distance <= len;
}

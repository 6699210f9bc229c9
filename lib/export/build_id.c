// SPDX-License-Identifier: MIT
#include <stdio.h>

#include "build_id.h"

void tsct_build_id_text(const __u8 *build_id, size_t len, char text[TSCT_BUILD_ID_TEXT])
{
	static const size_t usual[] = { 8, 16, 20 };	/* lld's fast hash; MD5, UUID; SHA-1 */
	size_t i, last = len < TSCT_BUILD_ID_MAX ? len : TSCT_BUILD_ID_MAX, end;

	while (last && !build_id[last - 1])
		last--;
	end = last;
	for (i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		if (last && last <= usual[i] && last + 4 > usual[i])
			end = usual[i];
	text[0] = '\0';
	for (i = 0; i < end; i++)
		sprintf(text + 2 * i, "%02x", i < last ? build_id[i] : 0);
}

size_t tsct_build_id_bytes(const char *text, __u8 build_id[TSCT_BUILD_ID_MAX])
{
	size_t len = 0;

	while (len < TSCT_BUILD_ID_MAX && sscanf(text + 2 * len, "%2hhx", &build_id[len]) == 1)
		len++;
	return len;
}

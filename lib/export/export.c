// SPDX-License-Identifier: MIT
#include <string.h>

#include "export.h"

const struct tsct_export_format *const tsct_export_formats[] = {
	&tsct_export_ctf, &tsct_export_otf2, &tsct_export_perfetto,
	&tsct_export_json, &tsct_export_text, &tsct_export_csv, &tsct_export_folded, NULL
};

const struct tsct_export_format *tsct_export_find(const char *name)
{
	const struct tsct_export_format *const *f;

	for (f = tsct_export_formats; *f; f++)
		if (!strcmp((*f)->name, name))
			return *f;
	return NULL;
}

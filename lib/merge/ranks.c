// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "ranks.h"

const struct tsct_ranks tsct_ranks_alone = { .nr = 1 };

/* ---- blobs ------------------------------------------------------------------------ */

int tsct_blob_add(struct tsct_blob *blob, const void *data, size_t size)
{
	if (tsct_array_reserve(&blob->data, &blob->room, blob->size + size, 1))
		return -ENOMEM;
	if (size)
		memcpy(blob->data + blob->size, data, size);
	blob->size += size;
	return 0;
}

int tsct_blob_combine(struct tsct_blob *left, const struct tsct_blob *right,
		      tsct_ranks_combine *combine)
{
	return combine && left->size && right->size ? combine(left, right) :
		tsct_blob_add(left, right->data, right->size);
}

void tsct_blob_free(struct tsct_blob *blob)
{
	free(blob->data);
	*blob = (struct tsct_blob) { NULL, 0, 0 };
}

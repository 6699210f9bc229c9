// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "otf2_error.h"

static char why[512];
static OTF2_ErrorCode heard;

/* Removes the full stop at the end of libotf2's messages. */
static void trim(char *text)
{
	size_t len = strlen(text);

	while (len && strchr("!. \n", text[len - 1]))
		text[--len] = '\0';
}

static OTF2_ErrorCode listen(void *data, const char *file, uint64_t line,
			     const char *function, OTF2_ErrorCode code,
			     const char *format, va_list args)
{
	size_t len = 0;

	(void)data;
	(void)file;
	(void)line;
	(void)function;
	if (why[0] || code == OTF2_SUCCESS || code == OTF2_WARNING ||
	    code == OTF2_DEPRECATED)
		return code;
	if (format && *format)
		vsnprintf(why, sizeof(why), format, args);
	trim(why);
	len = strlen(why);
	snprintf(why + len, sizeof(why) - len, "%s%s", len ? ": " : "",
		 OTF2_Error_GetDescription(code));
	trim(why);
	heard = code;
	return code;
}

void tsct_otf2_error_capture(void)
{
	OTF2_Error_RegisterCallback(listen, NULL);
	tsct_otf2_error_clear();
}

const char *tsct_otf2_error_text(void)
{
	return why;
}

void tsct_otf2_error_clear(void)
{
	why[0] = '\0';
	heard = OTF2_SUCCESS;
}

int tsct_otf2_error_errno(void)
{
	return tsct_otf2_errno(heard);
}

static bool is_of_place(int err)
{
	return err == -ENOSPC || err == -EFBIG || err == -EDQUOT || err == -EROFS;
}

int tsct_otf2_error_of_place(int err)
{
	if (is_of_place(err))
		return err;
	return is_of_place(tsct_otf2_error_errno()) ? tsct_otf2_error_errno() : 0;
}

int tsct_otf2_errno(OTF2_ErrorCode code)
{
	switch (code) {
	case OTF2_SUCCESS:
		return 0;
	case OTF2_ERROR_MEM_FAULT:
	case OTF2_ERROR_MEM_ALLOC_FAILED:
	case OTF2_ERROR_ENOMEM:
		return -ENOMEM;
	case OTF2_ERROR_ENOSPC:
		return -ENOSPC;
	case OTF2_ERROR_EFBIG:
		return -EFBIG;
	case OTF2_ERROR_EDQUOT:
		return -EDQUOT;
	case OTF2_ERROR_EROFS:
		return -EROFS;
	case OTF2_ERROR_ENOENT:
		return -ENOENT;
	case OTF2_ERROR_EACCES:
		return -EACCES;
	case OTF2_ERROR_INVALID_DATA:
	case OTF2_ERROR_INTEGRITY_FAULT:
		return -EBADMSG;
	default:
		return -EIO;
	}
}

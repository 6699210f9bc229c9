/* SPDX-License-Identifier: MIT */
/* Candidates for the values of options and for arguments, by the names in their help */
#ifndef COMPLETE_VALUES_H
#define COMPLETE_VALUES_H

#include <stdbool.h>

/* Prints a candidate, one line: @before (such as "--fit="), @text, and a tab and
 * @description, which may be NULL. */
void complete_print(const char *before, const char *text, const char *description);

/*
 * Prints candidates that begin with @word for a value that the help calls @name:
 * "CHANNEL", or alternatives such as "discard|overwrite". A line ":files",
 * ":directories" or ":commands" means that the shell completes these itself.
 * @is_argument: an argument, not the value of an option: "DIR" is a recording
 */
void complete_value(const char *name, bool is_argument, const char *before,
		    const char *word);

#endif /* COMPLETE_VALUES_H */

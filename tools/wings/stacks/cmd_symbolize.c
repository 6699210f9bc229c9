// SPDX-License-Identifier: MIT
/* trace-ctl __symbolize BUILD-ID: the unprivileged process that reads a file's symbols */
#include "symbolize_protocol.h"
#include "tools/common/cmd.h"

static int cmd___symbolize(int argc, char **argv)
{
	if (argc != 2)
		return EXIT_USAGE;
	tsct_symbolize_main(argv[1]);
}

COMMAND(1002, __symbolize, NULL);

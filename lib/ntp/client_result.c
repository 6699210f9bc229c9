// SPDX-License-Identifier: MIT
/* Why answers are dropped, in words */
#include "client.h"

static const char *const why[TSCT_CLIENT_NR] = {
	[TSCT_CLIENT_OK] = "it was taken",
	[TSCT_CLIENT_MALFORMED] = "it is not an NTP packet",
	[TSCT_CLIENT_NOT_OURS] =
		"it is not an answer: of another mode or version of NTP",
	[TSCT_CLIENT_DUPLICATE] = "the request it answers was answered already",
	[TSCT_CLIENT_NO_MAC] =
		"it has no MAC, and a key is set for this server: does the server "
		"have that key?",
	[TSCT_CLIENT_BAD_MAC] =
		"the MAC is wrong: compare number, type and text of the key in the "
		"key files of both sides",
	[TSCT_CLIENT_KISS] =
		"the server asks to be asked less, or not at all (kiss-o'-death)",
	[TSCT_CLIENT_UNSYNCED] = "the server does not know the time (yet)",
	[TSCT_CLIENT_IMPOSSIBLE] =
		"its time stamps contradict each other: sent before it was "
		"received, or a rate that no counter has",
	[TSCT_CLIENT_SELF] =
		"we asked ourselves: the address is one of this node's own",
	[TSCT_CLIENT_ZERO_ORIGIN] =
		"it says to no request that it is the answer (zero origin)",
	[TSCT_CLIENT_FOREIGN] =
		"it answers no request of ours: somebody guesses, or it was very "
		"late",
	[TSCT_CLIENT_REPLAY] =
		"it answers an earlier request: it was late, or recorded and sent "
		"again",
	[TSCT_CLIENT_EXTRA_MAC] =
		"it has a MAC, and no key is set for this server: set the key, or "
		"none on both sides",
	[TSCT_CLIENT_CRYPTO_NAK] =
		"the server could not check our MAC, it says: it needs the same "
		"key under the same number",
	[TSCT_CLIENT_NO_FIELD] =
		"the server speaks NTP only: write \"ntp ADDRESS\" in place of "
		"\"master ADDRESS\"; or its version is another",
	[TSCT_CLIENT_TOO_SOON] =
		"the server claims to have kept the request for longer than we "
		"waited for the answer",
	[TSCT_CLIENT_BACKWARDS] =
		"the server's counter has been further already: its clock was set "
		"back, or an old answer made to look new",
	[TSCT_CLIENT_LOOP] =
		"the server has its time from this node: two that follow each "
		"other follow nobody",
};

const char *tsct_client_result_text(enum tsct_client_result result)
{
	if ((unsigned int)result >= TSCT_CLIENT_NR)
		return "unknown";
	return why[result];
}

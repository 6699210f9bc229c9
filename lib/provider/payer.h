/* SPDX-License-Identifier: MIT */
/* Finds the user to whose limits the channels and connections of a user id count */
#ifndef TSCT_PAYER_H
#define TSCT_PAYER_H

#include <sys/types.h>

/*
 * Returns the user to whose limits the channels and connections of @uid count: @uid itself
 * or, if @uid is in a range of /etc/subuid, the owner of the range. The owner can use all
 * ids of the range: in user namespaces and, by set-user-id files made there, outside.
 *
 * The user namespace of a client cannot be used instead: to read it needs ptrace rights, which
 * the daemon does not have, and a process may change its namespace after it has connected.
 *
 * Returns the first id of the range if the owner is root, to whose limits containers do not
 * count, or if the owner is not in /etc/passwd: other user databases may take seconds to answer.
 */
uid_t tsct_payer(uid_t uid);

#endif /* TSCT_PAYER_H */

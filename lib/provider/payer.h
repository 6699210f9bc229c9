/* SPDX-License-Identifier: MIT */
/* Users whose limits count for other user ids */
#ifndef TSCT_PAYER_H
#define TSCT_PAYER_H

#include <sys/types.h>

/*
 * Returns the user whose limits count for the channels and connections of @uid: that user, or
 * the owner of the range of /etc/subuid that it is in. The owner can use the ids of its range, in
 * user namespaces and, by set-user-id files made there, outside.
 *
 * The user namespace of a client cannot be read instead: that needs ptrace rights, which the
 * daemon does not have, and the namespace of a process may change after it has connected.
 *
 * If the owner is root, whose own limits stay apart from those of its containers, or is not in
 * /etc/passwd, returns the first id of the range: other user databases may take seconds to answer.
 */
uid_t tsct_payer(uid_t uid);

#endif /* TSCT_PAYER_H */

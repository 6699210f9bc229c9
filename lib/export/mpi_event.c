// SPDX-License-Identifier: MIT
#include "mpi_event.h"

enum tsct_mpi_role tsct_mpi_role_of(const struct tsct_event_def *def)
{
#define COLLECTIVE(name, operation, role)	{ "MPI_" #name, TSCT_MPI_ROLE_##role },
	static const struct {
		const char *name;
		enum tsct_mpi_role role;
	} known[] = {
		{ "mpi_rank", TSCT_MPI_ROLE_RANK }, { "mpi_comm", TSCT_MPI_ROLE_COMM },
		{ "mpi_comm_name", TSCT_MPI_ROLE_COMM_NAME },
		{ "mpi_message", TSCT_MPI_ROLE_MESSAGE },
		{ "mpi_not_sent", TSCT_MPI_ROLE_NOT_SENT },
		{ "mpi_request", TSCT_MPI_ROLE_REQUEST },
		{ "mpi_complete", TSCT_MPI_ROLE_COMPLETE },
		TSCT_MPI_COLLECTIVES(COLLECTIVE)
	};
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].role < TSCT_MPI_ROLE_CALL ? !strcmp(def->name, known[i].name) :
		    tsct_mpi_is_call(def->name, known[i].name))
			return known[i].role;
	return strncmp(def->name, "MPI_", 4) ? TSCT_MPI_ROLE_NONE : TSCT_MPI_ROLE_CALL;
}

! SPDX-License-Identifier: MIT
! Calls of MPI from Fortran, by module mpi, on any number of processes: 10 messages from
! each to the next, of different lengths.
program mpi_fortran
	use mpi
	implicit none
	integer :: err, rank, size, i, requests(2), statuses(MPI_STATUS_SIZE, 2)
	integer :: status(MPI_STATUS_SIZE), room(64), values(64), counts(64), total

	values = 1
	call MPI_Init(err)
	call MPI_Comm_rank(MPI_COMM_WORLD, rank, err)
	call MPI_Comm_size(MPI_COMM_WORLD, size, err)
	do i = 1, 5
		call MPI_Irecv(room, 64, MPI_INTEGER, MPI_ANY_SOURCE, 1, &
			MPI_COMM_WORLD, requests(1), err)
		call MPI_Isend(values, i, MPI_INTEGER, mod(rank + 1, size), 1, &
			MPI_COMM_WORLD, requests(2), err)
		call MPI_Waitall(2, requests, statuses, err)
		call MPI_Sendrecv(values, 10 + i, MPI_INTEGER, mod(rank + 1, size), 2, &
			room, 64, MPI_INTEGER, mod(rank + size - 1, size), 2, &
			MPI_COMM_WORLD, status, err)
	end do
	counts = 1
	call MPI_Allgatherv(values, 1, MPI_INTEGER, room, counts, [(i, i = 0, 63)], MPI_INTEGER, &
		MPI_COMM_WORLD, err)
	call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, err)
	call MPI_Finalize(err)
end program

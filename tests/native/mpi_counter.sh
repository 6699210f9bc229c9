#!/bin/bash
# SPDX-License-Identifier: MIT
# mpi_counter.sh LIBMPI OUT.c - writes a library that counts calls of MPI, with nothing in
# common with libtsctrace-mpi: each function MPI_X that LIBMPI has adds 1 and jumps to
# PMPI_X, whatever its arguments are. Sends also count their messages, if they have a
# receiver. At exit the process writes "NAME COUNT" lines to $MPI_COUNTS/PID.
set -euo pipefail

sends='Send Bsend Ssend Rsend'
four=
symbols=$(nm -D --defined-only "$1")
! grep -q ' MPI_Isendrecv$' <<<"$symbols" ||
	four='Isend_c Sendrecv_c Isendrecv Isendrecv_replace'
{
	cat <<-'EOF'
	#include <mpi.h>
	#include <stdio.h>
	#include <stdlib.h>
	#include <unistd.h>
	static unsigned long messages, bytes;
	extern unsigned long tally_Type_size __attribute__((visibility("hidden")));
	static void count(int n, MPI_Datatype type, int dest)
	{
		int size = 0;

		if (dest == MPI_PROC_NULL)
			return;
		/* A call by this name is one of a tool, which is recorded, too. */
		PMPI_Type_size(type, &size);
		__atomic_fetch_add(&tally_Type_size, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&messages, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&bytes, (unsigned long)n * size, __ATOMIC_RELAXED);
	}
	#define TALLY(x) __attribute__((visibility("hidden"))) unsigned long tally_##x;
	#define JUMP(x) TALLY(x) \
		asm(".globl MPI_" #x "\n.type MPI_" #x ",@function\nMPI_" #x ":\n" \
		    "endbr64\nlock incq tally_" #x "(%rip)\njmp PMPI_" #x "@PLT\n");
	#define SEND(x) TALLY(x) int MPI_##x(const void *b, int n, MPI_Datatype t, int d, \
					     int g, MPI_Comm c) \
	{ \
		__atomic_fetch_add(&tally_##x, 1, __ATOMIC_RELAXED); \
		count(n, t, d); \
		return PMPI_##x(b, n, t, d, g, c); \
	}
	#define ISEND(x) TALLY(x) int MPI_##x(const void *b, int n, MPI_Datatype t, int d, \
					      int g, MPI_Comm c, MPI_Request *r) \
	{ \
		__atomic_fetch_add(&tally_##x, 1, __ATOMIC_RELAXED); \
		count(n, t, d); \
		return PMPI_##x(b, n, t, d, g, c, r); \
	}
	/* A started request counts as what its MPI_Send_init was. */
	static struct { MPI_Request r; int n, d; MPI_Datatype t; } made[64];
	static int nr_made;
	static void started(MPI_Request r)
	{
		int i;

		for (i = 0; i < nr_made; i++)
			if (made[i].r == r)
				count(made[i].n, made[i].t, made[i].d);
	}
	TALLY(Send_init)
	int MPI_Send_init(const void *b, int n, MPI_Datatype t, int d, int g, MPI_Comm c,
			  MPI_Request *r)
	{
		int err = PMPI_Send_init(b, n, t, d, g, c, r);

		__atomic_fetch_add(&tally_Send_init, 1, __ATOMIC_RELAXED);
		made[nr_made].r = *r;
		made[nr_made].n = n;
		made[nr_made].t = t;
		made[nr_made++].d = d;
		return err;
	}
	TALLY(Start)
	int MPI_Start(MPI_Request *r)
	{
		__atomic_fetch_add(&tally_Start, 1, __ATOMIC_RELAXED);
		started(*r);
		return PMPI_Start(r);
	}
	TALLY(Startall)
	int MPI_Startall(int n, MPI_Request *r)
	{
		int i;

		__atomic_fetch_add(&tally_Startall, 1, __ATOMIC_RELAXED);
		for (i = 0; i < n; i++)
			started(r[i]);
		return PMPI_Startall(n, r);
	}
	TALLY(Sendrecv)
	int MPI_Sendrecv(const void *b, int n, MPI_Datatype t, int d, int g, void *rb, int rn,
			 MPI_Datatype rt, int s, int rg, MPI_Comm c, MPI_Status *u)
	{
		__atomic_fetch_add(&tally_Sendrecv, 1, __ATOMIC_RELAXED);
		count(n, t, d);
		return PMPI_Sendrecv(b, n, t, d, g, rb, rn, rt, s, rg, c, u);
	}
	TALLY(Sendrecv_replace)
	int MPI_Sendrecv_replace(void *b, int n, MPI_Datatype t, int d, int g, int s, int rg,
				 MPI_Comm c, MPI_Status *u)
	{
		__atomic_fetch_add(&tally_Sendrecv_replace, 1, __ATOMIC_RELAXED);
		count(n, t, d);
		return PMPI_Sendrecv_replace(b, n, t, d, g, s, rg, c, u);
	}
	EOF
	for name in $sends; do
		echo "SEND($name) ISEND(I${name,})"
	done
	[ -z "$four" ] || cat <<-'EOF'
	#define BUFFERS const void *b, N n, MPI_Datatype t, int d, int g, void *rb, N rn, \
		MPI_Datatype rt, int s, int rg, MPI_Comm c
	#define CALL(x, ...) \
	{ \
		__atomic_fetch_add(&tally_##x, 1, __ATOMIC_RELAXED); \
		count(n, t, d); \
		return PMPI_##x(__VA_ARGS__); \
	}
	TALLY(Isend_c)
	int MPI_Isend_c(const void *b, MPI_Count n, MPI_Datatype t, int d, int g, MPI_Comm c,
			MPI_Request *r) CALL(Isend_c, b, n, t, d, g, c, r)
	TALLY(Sendrecv_c)
	#define N MPI_Count
	int MPI_Sendrecv_c(BUFFERS, MPI_Status *u)
		CALL(Sendrecv_c, b, n, t, d, g, rb, rn, rt, s, rg, c, u)
	#undef N
	#define N int
	TALLY(Isendrecv)
	int MPI_Isendrecv(BUFFERS, MPI_Request *r)
		CALL(Isendrecv, b, n, t, d, g, rb, rn, rt, s, rg, c, r)
	TALLY(Isendrecv_replace)
	int MPI_Isendrecv_replace(void *b, int n, MPI_Datatype t, int d, int g, int s, int rg,
				  MPI_Comm c, MPI_Request *r)
		CALL(Isendrecv_replace, b, n, t, d, g, s, rg, c, r)
	EOF
	names=$(nm -D --defined-only "$1" | sed -n 's/.* [TWi] MPI_\([A-Z][A-Za-z_0-9]*\)$/\1/p' |
		grep -vxE "I?[BSRbsr]?[Ss]end|Sendrecv|Sendrecv_replace|Send_init|Start|Startall|Pcontrol|T_.*|.*(c2f|f2c|f08).*|.*_FN${four:+|${four// /|}}")
	for name in $names; do
		echo "JUMP($name)"
	done
	echo '__attribute__((destructor)) static void report(void)'
	echo '{ char path[4096]; FILE *to; const char *dir = getenv("MPI_COUNTS");'
	echo 'if (!dir || !tally_Init + !tally_Init_thread == 2) return;'
	echo 'snprintf(path, sizeof(path), "%s/%d", dir, getpid()); to = fopen(path, "w");'
	echo 'if (!to) return; fprintf(to, "messages %lu\nbytes %lu\n", messages, bytes);'
	for name in $names Sendrecv Sendrecv_replace Send_init Start Startall $sends Isend Ibsend Issend Irsend $four; do
		echo "if (tally_$name) fprintf(to, \"MPI_$name %lu\\n\", tally_$name);"
	done
	echo 'fclose(to); }'
} >"$2"

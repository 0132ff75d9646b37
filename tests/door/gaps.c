/* Derived types on device memory: bytes between the typed ones are never written, also where the message is shorter
 * than the buffer or another part of the memory changes while a receive is open; absolute addresses; freed requests. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "tutti/tutti.h"

enum { ROWS = 50, COLUMNS = 7 };
static int wrong, rank;

static void check(int good, const char *what)
{
    if (!good && wrong++ < 5)
        fprintf(stderr, "rank %d: wrong: %s\n", rank, what);
}

static int cell(int who, int row, int column)
{
    return who * 1000000 + row * 100 + column;
}

static void fill(int *matrix, int who)
{
    for (int r = 0; r < ROWS; r++) {
        for (int c = 0; c < COLUMNS; c++)
            matrix[r * COLUMNS + c] = cell(who, r, c);
    }
}

/* Column 2 is received from the peer while the program changes column 4. `rows`: as many as are sent. */
static void column(int *device, int rows, int peer)
{
    int host[ROWS * COLUMNS], other[ROWS];
    MPI_Datatype type, sent;
    MPI_Request request;
    MPI_Status status;
    MPI_Type_vector(ROWS, 1, COLUMNS, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Type_vector(rows, 1, COLUMNS, MPI_INT, &sent);
    MPI_Type_commit(&sent);
    fill(host, rank);
    tutti_copy(device, host, sizeof host);
    MPI_Irecv(device + 2, 1, type, peer, 1, MPI_COMM_WORLD, &request);
    for (int r = 0; r < ROWS; r++) {
        other[r] = -r;
        tutti_copy(device + r * COLUMNS + 4, &other[r], sizeof other[r]);
    }
    /* From memory of its own, since the receive is open in the other. */
    int *from = device + ROWS * COLUMNS;
    tutti_copy(from, host, sizeof host);
    MPI_Send(from + 2, 1, sent, peer, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    int n = -1;
    MPI_Get_elements(&status, type, &n);
    check(n == rows, "number of elements received");
    tutti_copy(host, device, sizeof host);
    for (int r = 0; r < ROWS; r++) {
        for (int c = 0; c < COLUMNS; c++) {
            int want = c == 2 && r < rows ? cell(peer, r, c) : c == 4 ? -r : cell(rank, r, c);
            check(host[r * COLUMNS + c] == want, c == 2   ? "received column"
                                                 : c == 4 ? "column of the program"
                                                          : "rest");
        }
    }
    MPI_Type_free(&type);
    MPI_Type_free(&sent);
}

static void absolute(int *device, int peer)
{
    int host[ROWS * COLUMNS], length = ROWS;
    MPI_Aint in, out;
    MPI_Datatype from, to;
    fill(host, rank);
    tutti_copy(device, host, sizeof host);
    MPI_Get_address(device, &in);
    MPI_Get_address(device + 2 * ROWS, &out);
    MPI_Type_create_hindexed(1, &length, &in, MPI_INT, &from);
    MPI_Type_create_hindexed(1, &length, &out, MPI_INT, &to);
    MPI_Type_commit(&from);
    MPI_Type_commit(&to);
    MPI_Sendrecv(MPI_BOTTOM, 1, from, peer, 2, MPI_BOTTOM, 1, to, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    tutti_copy(host, device, sizeof host);
    for (int i = 0; i < ROWS; i++)
        check(host[2 * ROWS + i] == cell(peer, i / COLUMNS, i % COLUMNS), "absolute addresses");
    MPI_Type_free(&from);
    MPI_Type_free(&to);
}

static void freed(int *device, int peer)
{
    int host[ROWS], got[ROWS];
    MPI_Request request;
    for (int i = 0; i < ROWS; i++)
        host[i] = cell(rank, i, 9);
    tutti_copy(device, host, sizeof host);
    MPI_Isend(device, ROWS, MPI_INT, peer, 3, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    check(request == MPI_REQUEST_NULL, "freed request");
    MPI_Recv(device + ROWS, ROWS, MPI_INT, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    tutti_copy(got, device + ROWS, sizeof got);
    for (int i = 0; i < ROWS; i++)
        check(got[i] == cell(peer, i, 9), "message of a freed request");
}

int main(int argc, char **argv)
{
    int size;
    void *device = NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int peer = rank ^ 1;
    if (peer < size && tutti_alloc(2 * ROWS * COLUMNS * sizeof(int), &device) == 0) {
        column(device, ROWS, peer);
        column(device, ROWS / 3, peer);
        absolute(device, peer);
        freed(device, peer);
    }
    check(peer >= size || device != NULL, "tutti_alloc");
    MPI_Finalize();
    if (device)
        tutti_free(device);
    return wrong != 0;
}

/* An attribute of datatypes whose copies and deletions are counted: a library that duplicates a program's type would
 * run the program's callbacks. For one source a program. */
#ifndef TUTTI_TESTS_TYPE_ATTRIBUTE_H
#define TUTTI_TESTS_TYPE_ATTRIBUTE_H

#include <mpi.h>

static int attribute, attributes_copied, attributes_deleted;

static int attribute_on_copy(MPI_Datatype type, int key, void *extra, void *from, void *to, int *flag)
{
    (void)type, (void)key, (void)extra;
    *(void **)to = from;
    *flag = 1;
    attributes_copied++;
    return MPI_SUCCESS;
}

static int attribute_on_delete(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type, (void)key, (void)value, (void)extra;
    attributes_deleted++;
    return MPI_SUCCESS;
}

static void attribute_open(void)
{
    MPI_Type_create_keyval(attribute_on_copy, attribute_on_delete, &attribute, NULL);
}

static void attribute_close(void)
{
    MPI_Type_free_keyval(&attribute);
}

#endif

#ifndef TUTTI_TESTS_SAME_NAME_H
#define TUTTI_TESTS_SAME_NAME_H

struct same_name_comm;
struct same_name_info;
struct same_name_request;

/* The arguments of the last call. */
extern struct same_name_call {
    const void *send;
    void *receive;
    int count;
    long type, op;
    struct same_name_comm *comm;
    struct same_name_info *info;
    struct same_name_request **request;
} same_name_call;

int MPIX_Allreduce_init(const void *send, void *receive, int count, long type, long op, struct same_name_comm *comm,
                        struct same_name_info *info, struct same_name_request **request);

#endif

/* Part of <tutti/mpix.h>, which includes it. */
#ifndef TUTTI_MPIX_PREQUEST_H
#define TUTTI_MPIX_PREQUEST_H

#include <tutti/prequest.h>

/* Partitioned requests in kernels, of requests of MPI_Psend_init(), MPI_Precv_init() and of partitioned collectives,
 * whose MPIX_Pbuf_prepare() returns at once. Errors are raised on the request's communicator, or on MPI_COMM_WORLD for
 * another request: MPI_ERR_REQUEST for another request, or for one in the wrong state.
 *
 * Not local: both sides of a message call MPIX_Pbuf_prepare() in the same round, after MPI_Start(). At the sender it
 * returns when the receive of this round has been started. At the receiver it returns when the two requests are
 * matched: at once after the first time. A rank that has started its requests may prepare them in any order.
 * MPIX_Pbuf_prepareall() is the same for several requests. */
TUTTI_MPIX_CALL(MPIX_Pbuf_prepare, (MPI_Request request), (request))
TUTTI_MPIX_CALL(MPIX_Pbuf_prepareall, (int count, MPI_Request requests[]), (count, requests))
#define MPIX_Pbuf_prepare    tutti_MPIX_Pbuf_prepare
#define MPIX_Pbuf_prepareall tutti_MPIX_Pbuf_prepareall
/* Local. A device request of a partitioned request, before or after MPI_Start(), for kernels of the current GPU. The
 * program passes it to kernels by value in all rounds, and frees it before the request, while that is not active. A
 * request has one at a time. Some slides have the parameters in the other order. tutti/device/prequest.h has the calls
 * of kernels. */
TUTTI_MPIX_CALL(MPIX_Prequest_create, (MPI_Request request, MPIX_Prequest *prequest), (request, prequest))
TUTTI_MPIX_CALL(MPIX_Prequest_free, (MPIX_Prequest * prequest), (prequest))
#define MPIX_Prequest_create tutti_MPIX_Prequest_create
#define MPIX_Prequest_free   tutti_MPIX_Prequest_free

#endif

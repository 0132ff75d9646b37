/* Parameters in the environment by which programs ask the MPI for its own CUDA support. */
#ifndef TUTTI_MPI_FRONT_ASKED_H
#define TUTTI_MPI_FRONT_ASKED_H

/* Local, around the MPI's own initialisation. An MPI without CUDA support does not see the parameters in between. */
void tutti_asked_hide(void);
void tutti_asked_show(void);

#endif

# Kinds of things that random programs do: programs.cmake, and on_gpu.cmake for real GPUs.

# Messages of all sorts.
set(messages "send,ssend,bsend,rsend,isend,irecv,persistent,sendrecv,replace,self,anytag,anysource,cancel,longer,types")
string(APPEND messages ",freetypes,device,host,large,late,reqfree,any,some,test,getstatus,dup,split,idup,freeopen,barrier")
string(APPEND messages ",blocking,arenas,null,freeinit,probe,iprobe,mprobe,packed")

# Collective calls: blocking ones, and nonblocking ones of one sort.
set(around "device,host,large,late,vector,inplace,any,some,test,skew,types")
set(moved "bcast,gather,scatter,allgather,alltoall,barrier")
set(reduced "reduce,allreduce,redscat,scan")

# Collectives with neighbours.
set(neighbours "cart,graph,neighbor")

# All of them together: messages, and collectives blocking and not, some open over the others.
set(together ${messages},${moved},${reduced},${around},fresh,icoll,lag)

# Blocking collectives between groups while nonblocking reductions are open.
set(beside ${neighbours},inter,${moved},${reduced},${around},dup,split,idup,icoll,blocking)

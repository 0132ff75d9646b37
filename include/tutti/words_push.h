/* Plain words of the headers of the address space, which may be macros of the program: see words_pop.h.
 * Made by tests/laws/words.py: do not change it by hand. */
/* clang-format off */
_Pragma("push_macro(\"ALLTOALL\")") _Pragma("push_macro(\"AMO\")") _Pragma("push_macro(\"AND\")")
_Pragma("push_macro(\"BARRIER\")") _Pragma("push_macro(\"BFLOAT16\")") _Pragma("push_macro(\"BROADCAST\")")
_Pragma("push_macro(\"COLLECT\")") _Pragma("push_macro(\"COMPLEXD\")") _Pragma("push_macro(\"COMPLEXF\")")
_Pragma("push_macro(\"CONTEXT\")") _Pragma("push_macro(\"DOUBLE\")") _Pragma("push_macro(\"EQ\")")
_Pragma("push_macro(\"FCOLLECT\")") _Pragma("push_macro(\"FLOAT\")") _Pragma("push_macro(\"G\")")
_Pragma("push_macro(\"GE\")") _Pragma("push_macro(\"GET\")") _Pragma("push_macro(\"GET_BLOCKS\")")
_Pragma("push_macro(\"GRID\")") _Pragma("push_macro(\"GT\")") _Pragma("push_macro(\"HALF\")")
_Pragma("push_macro(\"INTEGER\")") _Pragma("push_macro(\"LE\")") _Pragma("push_macro(\"LIST\")")
_Pragma("push_macro(\"LONGDOUBLE\")") _Pragma("push_macro(\"LT\")") _Pragma("push_macro(\"MAX\")")
_Pragma("push_macro(\"MIN\")") _Pragma("push_macro(\"NE\")") _Pragma("push_macro(\"OR\")") _Pragma("push_macro(\"P\")")
_Pragma("push_macro(\"PROD\")") _Pragma("push_macro(\"PUT\")") _Pragma("push_macro(\"PUT_BLOCKS\")")
_Pragma("push_macro(\"PUT_SIGNAL\")") _Pragma("push_macro(\"QUIET\")") _Pragma("push_macro(\"REDUCE\")")
_Pragma("push_macro(\"REDUCESCATTER\")") _Pragma("push_macro(\"REQUEST\")") _Pragma("push_macro(\"ROW\")")
_Pragma("push_macro(\"Rest\")") _Pragma("push_macro(\"SCAN\")") _Pragma("push_macro(\"SIGNAL\")")
_Pragma("push_macro(\"SIGNAL_WAIT\")") _Pragma("push_macro(\"STREAM\")") _Pragma("push_macro(\"SUM\")")
_Pragma("push_macro(\"WAIT\")") _Pragma("push_macro(\"XOR\")") _Pragma("push_macro(\"abort\")")
_Pragma("push_macro(\"add\")") _Pragma("push_macro(\"address\")") _Pragma("push_macro(\"adds\")")
_Pragma("push_macro(\"alignment\")") _Pragma("push_macro(\"alltoall\")") _Pragma("push_macro(\"alltoalls\")")
_Pragma("push_macro(\"alltoallsmem\")") _Pragma("push_macro(\"and\")") _Pragma("push_macro(\"and_reduce\")")
_Pragma("push_macro(\"and_reducescatter\")") _Pragma("push_macro(\"answer\")") _Pragma("push_macro(\"area\")")
_Pragma("push_macro(\"area_bytes\")") _Pragma("push_macro(\"arrived\")") _Pragma("push_macro(\"atomic_\")")
_Pragma("push_macro(\"atomic_add\")") _Pragma("push_macro(\"atomic_and\")")
_Pragma("push_macro(\"atomic_compare_swap\")") _Pragma("push_macro(\"atomic_compare_swap_nbi\")")
_Pragma("push_macro(\"atomic_fetch\")") _Pragma("push_macro(\"atomic_fetch_\")")
_Pragma("push_macro(\"atomic_fetch_add\")") _Pragma("push_macro(\"atomic_fetch_add_nbi\")")
_Pragma("push_macro(\"atomic_fetch_and\")") _Pragma("push_macro(\"atomic_fetch_and_nbi\")")
_Pragma("push_macro(\"atomic_fetch_inc\")") _Pragma("push_macro(\"atomic_fetch_inc_nbi\")")
_Pragma("push_macro(\"atomic_fetch_nbi\")") _Pragma("push_macro(\"atomic_fetch_or\")")
_Pragma("push_macro(\"atomic_fetch_or_nbi\")") _Pragma("push_macro(\"atomic_fetch_xor\")")
_Pragma("push_macro(\"atomic_fetch_xor_nbi\")") _Pragma("push_macro(\"atomic_inc\")")
_Pragma("push_macro(\"atomic_or\")") _Pragma("push_macro(\"atomic_set\")") _Pragma("push_macro(\"atomic_swap\")")
_Pragma("push_macro(\"atomic_swap_nbi\")") _Pragma("push_macro(\"atomic_xor\")") _Pragma("push_macro(\"atomics\")")
_Pragma("push_macro(\"bfloat16\")") _Pragma("push_macro(\"bits\")") _Pragma("push_macro(\"block\")")
_Pragma("push_macro(\"broadcast\")") _Pragma("push_macro(\"bsize\")") _Pragma("push_macro(\"busy\")")
_Pragma("push_macro(\"bytes\")") _Pragma("push_macro(\"call\")") _Pragma("push_macro(\"collect\")")
_Pragma("push_macro(\"comm\")") _Pragma("push_macro(\"compare\")") _Pragma("push_macro(\"comparison\")")
_Pragma("push_macro(\"completed\")") _Pragma("push_macro(\"completion\")") _Pragma("push_macro(\"complexd\")")
_Pragma("push_macro(\"complexf\")") _Pragma("push_macro(\"config\")") _Pragma("push_macro(\"consumed\")")
_Pragma("push_macro(\"context\")") _Pragma("push_macro(\"count\")") _Pragma("push_macro(\"ctx\")")
_Pragma("push_macro(\"cutover\")") _Pragma("push_macro(\"dest\")") _Pragma("push_macro(\"device\")")
_Pragma("push_macro(\"dst\")") _Pragma("push_macro(\"elements\")") _Pragma("push_macro(\"exclusive\")")
_Pragma("push_macro(\"expected\")") _Pragma("push_macro(\"failure\")") _Pragma("push_macro(\"far\")")
_Pragma("push_macro(\"fcollect\")") _Pragma("push_macro(\"fetch\")") _Pragma("push_macro(\"fetched\")")
_Pragma("push_macro(\"find\")") _Pragma("push_macro(\"first\")") _Pragma("push_macro(\"found\")")
_Pragma("push_macro(\"from\")") _Pragma("push_macro(\"g\")") _Pragma("push_macro(\"get\")")
_Pragma("push_macro(\"get_nbi\")") _Pragma("push_macro(\"give\")") _Pragma("push_macro(\"given\")")
_Pragma("push_macro(\"gpu\")") _Pragma("push_macro(\"grid_arrived\")") _Pragma("push_macro(\"half\")")
_Pragma("push_macro(\"heap\")") _Pragma("push_macro(\"heap_bytes\")") _Pragma("push_macro(\"here\")")
_Pragma("push_macro(\"hints\")") _Pragma("push_macro(\"holds\")") _Pragma("push_macro(\"ibget\")")
_Pragma("push_macro(\"ibput\")") _Pragma("push_macro(\"id\")") _Pragma("push_macro(\"iget\")")
_Pragma("push_macro(\"imag\")") _Pragma("push_macro(\"index\")") _Pragma("push_macro(\"indices\")")
_Pragma("push_macro(\"initialized\")") _Pragma("push_macro(\"int16\")") _Pragma("push_macro(\"int32\")")
_Pragma("push_macro(\"int64\")") _Pragma("push_macro(\"int8\")") _Pragma("push_macro(\"iput\")")
_Pragma("push_macro(\"kind\")") _Pragma("push_macro(\"level\")") _Pragma("push_macro(\"limit_ns\")")
_Pragma("push_macro(\"list\")") _Pragma("push_macro(\"lock\")") _Pragma("push_macro(\"longdouble\")")
_Pragma("push_macro(\"longlong\")") _Pragma("push_macro(\"made\")") _Pragma("push_macro(\"major\")")
_Pragma("push_macro(\"mask\")") _Pragma("push_macro(\"max\")") _Pragma("push_macro(\"max_reduce\")")
_Pragma("push_macro(\"max_reducescatter\")") _Pragma("push_macro(\"me\")") _Pragma("push_macro(\"min\")")
_Pragma("push_macro(\"min_reduce\")") _Pragma("push_macro(\"min_reducescatter\")") _Pragma("push_macro(\"minor\")")
_Pragma("push_macro(\"n\")") _Pragma("push_macro(\"name\")") _Pragma("push_macro(\"nblocks\")")
_Pragma("push_macro(\"near_first\")") _Pragma("push_macro(\"near_scale\")") _Pragma("push_macro(\"near_shift\")")
_Pragma("push_macro(\"nelems\")") _Pragma("push_macro(\"next\")") _Pragma("push_macro(\"noreturn\")")
_Pragma("push_macro(\"number\")") _Pragma("push_macro(\"op\")") _Pragma("push_macro(\"operation\")")
_Pragma("push_macro(\"options\")") _Pragma("push_macro(\"or\")") _Pragma("push_macro(\"or_reduce\")")
_Pragma("push_macro(\"or_reducescatter\")") _Pragma("push_macro(\"other\")") _Pragma("push_macro(\"own\")")
_Pragma("push_macro(\"p\")") _Pragma("push_macro(\"packets\")") _Pragma("push_macro(\"parent\")")
_Pragma("push_macro(\"part\")") _Pragma("push_macro(\"pe\")") _Pragma("push_macro(\"peer\")")
_Pragma("push_macro(\"pes\")") _Pragma("push_macro(\"pointer\")") _Pragma("push_macro(\"prefix\")")
_Pragma("push_macro(\"prod\")") _Pragma("push_macro(\"prod_reduce\")") _Pragma("push_macro(\"prod_reducescatter\")")
_Pragma("push_macro(\"progress\")") _Pragma("push_macro(\"provided\")") _Pragma("push_macro(\"ptrdiff\")")
_Pragma("push_macro(\"put\")") _Pragma("push_macro(\"put_nbi\")") _Pragma("push_macro(\"put_signal\")")
_Pragma("push_macro(\"put_signal_nbi\")") _Pragma("push_macro(\"ready\")") _Pragma("push_macro(\"real\")")
_Pragma("push_macro(\"request\")") _Pragma("push_macro(\"requested\")") _Pragma("push_macro(\"rest\")")
_Pragma("push_macro(\"result\")") _Pragma("push_macro(\"ring\")") _Pragma("push_macro(\"root\")")
_Pragma("push_macro(\"row\")") _Pragma("push_macro(\"schar\")") _Pragma("push_macro(\"second\")")
_Pragma("push_macro(\"sequence\")") _Pragma("push_macro(\"shift\")") _Pragma("push_macro(\"signal\")")
_Pragma("push_macro(\"size\")") _Pragma("push_macro(\"slots\")") _Pragma("push_macro(\"source\")")
_Pragma("push_macro(\"sst\")") _Pragma("push_macro(\"start\")") _Pragma("push_macro(\"state\")")
_Pragma("push_macro(\"status\")") _Pragma("push_macro(\"stream\")") _Pragma("push_macro(\"stride\")")
_Pragma("push_macro(\"sum\")") _Pragma("push_macro(\"sum_exscan\")") _Pragma("push_macro(\"sum_inscan\")")
_Pragma("push_macro(\"sum_reduce\")") _Pragma("push_macro(\"sum_reducescatter\")") _Pragma("push_macro(\"symbol\")")
_Pragma("push_macro(\"take\")") _Pragma("push_macro(\"taken\")") _Pragma("push_macro(\"team\")")
_Pragma("push_macro(\"test\")") _Pragma("push_macro(\"test_all\")") _Pragma("push_macro(\"test_all_vector\")")
_Pragma("push_macro(\"test_any\")") _Pragma("push_macro(\"test_any_vector\")") _Pragma("push_macro(\"test_some\")")
_Pragma("push_macro(\"test_some_vector\")") _Pragma("push_macro(\"to\")") _Pragma("push_macro(\"told\")")
_Pragma("push_macro(\"type\")") _Pragma("push_macro(\"uchar\")") _Pragma("push_macro(\"uint\")")
_Pragma("push_macro(\"uint16\")") _Pragma("push_macro(\"uint32\")") _Pragma("push_macro(\"uint64\")")
_Pragma("push_macro(\"uint8\")") _Pragma("push_macro(\"ulong\")") _Pragma("push_macro(\"ulonglong\")")
_Pragma("push_macro(\"unused\")") _Pragma("push_macro(\"unused_near\")") _Pragma("push_macro(\"used\")")
_Pragma("push_macro(\"ushort\")") _Pragma("push_macro(\"value\")") _Pragma("push_macro(\"value_type\")")
_Pragma("push_macro(\"values\")") _Pragma("push_macro(\"vector\")") _Pragma("push_macro(\"version\")")
_Pragma("push_macro(\"visibility\")") _Pragma("push_macro(\"wait_until\")") _Pragma("push_macro(\"wait_until_all\")")
_Pragma("push_macro(\"wait_until_all_vector\")") _Pragma("push_macro(\"wait_until_any\")")
_Pragma("push_macro(\"wait_until_any_vector\")") _Pragma("push_macro(\"wait_until_some\")")
_Pragma("push_macro(\"wait_until_some_vector\")") _Pragma("push_macro(\"way\")") _Pragma("push_macro(\"what\")")
_Pragma("push_macro(\"which\")") _Pragma("push_macro(\"who\")") _Pragma("push_macro(\"word\")")
_Pragma("push_macro(\"words\")") _Pragma("push_macro(\"world\")") _Pragma("push_macro(\"xconfig\")")
_Pragma("push_macro(\"xmask\")") _Pragma("push_macro(\"xor\")") _Pragma("push_macro(\"xor_reduce\")")
_Pragma("push_macro(\"xor_reducescatter\")") _Pragma("push_macro(\"xrange\")") _Pragma("push_macro(\"xteam\")")
_Pragma("push_macro(\"yconfig\")") _Pragma("push_macro(\"ymask\")") _Pragma("push_macro(\"yteam\")")
#undef ALLTOALL
#undef AMO
#undef AND
#undef BARRIER
#undef BFLOAT16
#undef BROADCAST
#undef COLLECT
#undef COMPLEXD
#undef COMPLEXF
#undef CONTEXT
#undef DOUBLE
#undef EQ
#undef FCOLLECT
#undef FLOAT
#undef G
#undef GE
#undef GET
#undef GET_BLOCKS
#undef GRID
#undef GT
#undef HALF
#undef INTEGER
#undef LE
#undef LIST
#undef LONGDOUBLE
#undef LT
#undef MAX
#undef MIN
#undef NE
#undef OR
#undef P
#undef PROD
#undef PUT
#undef PUT_BLOCKS
#undef PUT_SIGNAL
#undef QUIET
#undef REDUCE
#undef REDUCESCATTER
#undef REQUEST
#undef ROW
#undef Rest
#undef SCAN
#undef SIGNAL
#undef SIGNAL_WAIT
#undef STREAM
#undef SUM
#undef WAIT
#undef XOR
#undef abort
#undef add
#undef address
#undef adds
#undef alignment
#undef alltoall
#undef alltoalls
#undef alltoallsmem
#ifndef __cplusplus
#undef and
#endif
#undef and_reduce
#undef and_reducescatter
#undef answer
#undef area
#undef area_bytes
#undef arrived
#undef atomic_
#undef atomic_add
#undef atomic_and
#undef atomic_compare_swap
#undef atomic_compare_swap_nbi
#undef atomic_fetch
#undef atomic_fetch_
#undef atomic_fetch_add
#undef atomic_fetch_add_nbi
#undef atomic_fetch_and
#undef atomic_fetch_and_nbi
#undef atomic_fetch_inc
#undef atomic_fetch_inc_nbi
#undef atomic_fetch_nbi
#undef atomic_fetch_or
#undef atomic_fetch_or_nbi
#undef atomic_fetch_xor
#undef atomic_fetch_xor_nbi
#undef atomic_inc
#undef atomic_or
#undef atomic_set
#undef atomic_swap
#undef atomic_swap_nbi
#undef atomic_xor
#undef atomics
#undef bfloat16
#undef bits
#undef block
#undef broadcast
#undef bsize
#undef busy
#undef bytes
#undef call
#undef collect
#undef comm
#undef compare
#undef comparison
#undef completed
#undef completion
#undef complexd
#undef complexf
#undef config
#undef consumed
#undef context
#undef count
#undef ctx
#undef cutover
#undef dest
#undef device
#undef dst
#undef elements
#undef exclusive
#undef expected
#undef failure
#undef far
#undef fcollect
#undef fetch
#undef fetched
#undef find
#undef first
#undef found
#undef from
#undef g
#undef get
#undef get_nbi
#undef give
#undef given
#undef gpu
#undef grid_arrived
#undef half
#undef heap
#undef heap_bytes
#undef here
#undef hints
#undef holds
#undef ibget
#undef ibput
#undef id
#undef iget
#undef imag
#undef index
#undef indices
#undef initialized
#undef int16
#undef int32
#undef int64
#undef int8
#undef iput
#undef kind
#undef level
#undef limit_ns
#undef list
#undef lock
#undef longdouble
#undef longlong
#undef made
#undef major
#undef mask
#undef max
#undef max_reduce
#undef max_reducescatter
#undef me
#undef min
#undef min_reduce
#undef min_reducescatter
#undef minor
#undef n
#undef name
#undef nblocks
#undef near_first
#undef near_scale
#undef near_shift
#undef nelems
#undef next
#undef noreturn
#undef number
#undef op
#undef operation
#undef options
#ifndef __cplusplus
#undef or
#endif
#undef or_reduce
#undef or_reducescatter
#undef other
#undef own
#undef p
#undef packets
#undef parent
#undef part
#undef pe
#undef peer
#undef pes
#undef pointer
#undef prefix
#undef prod
#undef prod_reduce
#undef prod_reducescatter
#undef progress
#undef provided
#undef ptrdiff
#undef put
#undef put_nbi
#undef put_signal
#undef put_signal_nbi
#undef ready
#undef real
#undef request
#undef requested
#undef rest
#undef result
#undef ring
#undef root
#undef row
#undef schar
#undef second
#undef sequence
#undef shift
#undef signal
#undef size
#undef slots
#undef source
#undef sst
#undef start
#undef state
#undef status
#undef stream
#undef stride
#undef sum
#undef sum_exscan
#undef sum_inscan
#undef sum_reduce
#undef sum_reducescatter
#undef symbol
#undef take
#undef taken
#undef team
#undef test
#undef test_all
#undef test_all_vector
#undef test_any
#undef test_any_vector
#undef test_some
#undef test_some_vector
#undef to
#undef told
#undef type
#undef uchar
#undef uint
#undef uint16
#undef uint32
#undef uint64
#undef uint8
#undef ulong
#undef ulonglong
#undef unused
#undef unused_near
#undef used
#undef ushort
#undef value
#undef value_type
#undef values
#undef vector
#undef version
#undef visibility
#undef wait_until
#undef wait_until_all
#undef wait_until_all_vector
#undef wait_until_any
#undef wait_until_any_vector
#undef wait_until_some
#undef wait_until_some_vector
#undef way
#undef what
#undef which
#undef who
#undef word
#undef words
#undef world
#undef xconfig
#undef xmask
#ifndef __cplusplus
#undef xor
#endif
#undef xor_reduce
#undef xor_reducescatter
#undef xrange
#undef xteam
#undef yconfig
#undef ymask
#undef yteam

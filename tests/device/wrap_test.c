/* Streams of the program: found by their handle, used in order with their owner, not ended by the code that wraps them;
 * and the public calls on streams. wrap_test DEVICE */
#include "kit.h"

#include <string.h>

#include "tutti/tutti.h"

enum { BYTES = 40009, ROUNDS = 40 };

static void test_handle(void **state)
{
    (void)state;
    struct tutti_stream *own = NULL, *wrapped = NULL, *again = NULL, *wrong = NULL;
    void *handle = NULL, *same = NULL;
    int gpu = -7;
    assert_int_equal(device->stream.create(0, &own), TUTTI_OK);
    assert_int_equal(device->stream.identity(own, &gpu, &handle), TUTTI_OK);
    assert_int_equal(gpu, 0);
    assert_int_equal(device->stream.wrap(-1, handle, &wrapped), TUTTI_OK);
    assert_int_equal(device->stream.wrap(0, handle, &again), TUTTI_OK);
    assert_int_equal(device->stream.identity(wrapped, &gpu, &same), TUTTI_OK);
    assert_int_equal(gpu, 0);
    assert_ptr_equal(same, handle);
    if (device->gpu.count() > 1) {
        assert_int_equal(device->stream.wrap(1, handle, &wrong), TUTTI_ERR_ARGUMENT);
        assert_null(wrong);
    }
    assert_int_equal(device->stream.capturing(own), 0);
    assert_int_equal(device->stream.capturing(wrapped), 0);
    assert_int_equal(device->stream.destroy(wrapped), TUTTI_OK);
    assert_int_equal(device->stream.destroy(again), TUTTI_OK);
    assert_int_equal(device->stream.sync(own), TUTTI_OK);
    assert_int_equal(device->stream.destroy(own), TUTTI_OK);
    if (kit_is("host")) { /* elsewhere the program must not pass what is no stream */
        int local = 0;
        assert_int_equal(device->stream.wrap(-1, handle, &wrong), TUTTI_ERR_ARGUMENT); /* it has gone */
        assert_int_equal(device->stream.wrap(-1, &local, &wrong), TUTTI_ERR_ARGUMENT);
        assert_null(wrong);
    }
}

/* A null handle is one stream for all, which is not ended by those who have wrapped it. */
static void test_default(void **state)
{
    struct tutti_stream *one = NULL, *other = NULL, *made = NULL;
    (void)state;
    assert_int_equal(device->stream.create(0, &made), TUTTI_OK);
    assert_int_equal(device->stream.wrap(0, NULL, &one), TUTTI_OK);
    assert_int_equal(device->stream.order(one), TUTTI_STREAM_DEFAULT);
    assert_int_not_equal(device->stream.order(made), TUTTI_STREAM_DEFAULT);
    assert_int_equal(device->stream.destroy(one), TUTTI_OK);
    assert_int_equal(device->stream.wrap(0, NULL, &other), TUTTI_OK);
    assert_int_equal(device->stream.order(other), TUTTI_STREAM_DEFAULT);
    assert_int_equal(device->stream.sync(other), TUTTI_OK);
    assert_int_equal(device->stream.destroy(other), TUTTI_OK);
    assert_int_equal(device->stream.destroy(made), TUTTI_OK);
}

/* What its owner and those who have wrapped it put in is one sequence. */
static void test_order(void **state)
{
    (void)state;
    struct tutti_stream *own = NULL, *wrapped = NULL;
    struct tutti_event *event = NULL;
    void *handle = NULL;
    int gpu;
    unsigned char *a = kit_alloc(BYTES), *b = kit_alloc(BYTES), host[BYTES];
    assert_int_equal(device->stream.create(0, &own), TUTTI_OK);
    assert_int_equal(device->stream.identity(own, &gpu, &handle), TUTTI_OK);
    assert_int_equal(device->stream.wrap(0, handle, &wrapped), TUTTI_OK);
    assert_int_equal(device->event.create(0, &event), TUTTI_OK);
    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(device->stream.fill(own, a, i, BYTES), TUTTI_OK);
        assert_int_equal(device->stream.copy(wrapped, b, a, BYTES), TUTTI_OK);
        assert_int_equal(device->stream.fill(own, a, 255, BYTES), TUTTI_OK);
        assert_int_equal(device->event.record(event, wrapped), TUTTI_OK);
        assert_int_equal(device->stream.sync(i % 2 ? wrapped : own), TUTTI_OK);
        assert_int_equal(device->stream.query(wrapped), 1);
        assert_int_equal(device->event.query(event), 1);
        assert_int_equal(device->memory.copy_now(host, b, BYTES), TUTTI_OK);
        for (int k = 0; k < BYTES; k += 1009)
            assert_int_equal(host[k], i);
    }
    assert_int_equal(device->event.destroy(event), TUTTI_OK);
    assert_int_equal(device->stream.destroy(wrapped), TUTTI_OK);
    assert_int_equal(device->stream.destroy(own), TUTTI_OK);
    kit_free(a);
    kit_free(b);
}

static void test_public(void **state)
{
    (void)state;
    void *stream = NULL, *other = NULL;
    unsigned char *a = kit_alloc(BYTES), *b = kit_alloc(BYTES), in[BYTES], out[BYTES];
    int local = 0;
    assert_int_equal(tutti_stream_create(NULL), TUTTI_ERR_ARGUMENT);
    assert_int_equal(tutti_stream_create(&stream), TUTTI_OK);
    assert_int_equal(tutti_stream_create(&other), TUTTI_OK);
    assert_ptr_not_equal(stream, other);
    kit_pattern(in, BYTES, 5);
    for (int i = 0; i < ROUNDS; i++) {
        memset(out, 0, BYTES);
        in[i] = (unsigned char)(in[i] + 1);
        assert_int_equal(tutti_stream_copy(stream, a, in, BYTES), TUTTI_OK);
        assert_int_equal(tutti_stream_copy(stream, b, a, BYTES), TUTTI_OK);
        assert_int_equal(tutti_stream_copy(stream, out, b, BYTES), TUTTI_OK);
        assert_int_equal(tutti_stream_sync(stream), TUTTI_OK);
        assert_memory_equal(in, out, BYTES);
    }
    assert_int_equal(tutti_stream_copy(stream, NULL, NULL, 0), TUTTI_OK);
    assert_int_equal(tutti_stream_copy(stream, NULL, in, 1), TUTTI_ERR_ARGUMENT);
    assert_int_equal(tutti_stream_copy(&local, a, in, 1), TUTTI_ERR_ARGUMENT);
    assert_int_equal(tutti_stream_sync(&local), TUTTI_ERR_ARGUMENT);
    assert_int_equal(tutti_stream_destroy(&local), TUTTI_ERR_ARGUMENT);
    assert_int_equal(tutti_stream_destroy(NULL), TUTTI_OK);
    assert_int_equal(tutti_stream_destroy(stream), TUTTI_OK);
    assert_int_equal(tutti_stream_sync(stream), TUTTI_ERR_ARGUMENT);
    assert_int_equal(tutti_stream_destroy(other), TUTTI_OK);
    kit_free(a);
    kit_free(b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_handle),
        cmocka_unit_test(test_default),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_public),
    };
    int status = kit_open(argc > 1 ? argv[1] : "host");
    return status ? status : cmocka_run_group_tests(tests, NULL, NULL);
}

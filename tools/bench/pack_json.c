/* Results of tutti bench pack as JSON. */
#include "tools/bench/json.h"

#include "tools/bench/pack.h"

#ifdef TUTTI_JANSSON
static json_t *row_json(const struct pack_table *t, const struct pack_row *row)
{
    static const char *const calls[] = {"pack", "unpack"};
    json_t *out = json_pack("{s:o, s:o, s:I, s:I, s:I}", "layout", bench_json_text(row->layout), "description",
                            bench_json_text(row->description), "bytes", (json_int_t)row->bytes, "blocks",
                            (json_int_t)row->blocks, "sector_bytes", (json_int_t)row->touched);
    if (t->options->kind == PACK_COMMIT) {
        json_object_set_new(out, "commit_us", json_real(row->commit));
        json_object_set_new(out, "plain_commit_us", json_real(row->plain_commit));
        json_object_set_new(out, "ratio", json_real(row->plain_commit > 0 ? row->commit / row->plain_commit : 0));
        json_object_set_new(out, "whole_us", json_real(row->whole));
        json_object_set_new(out, "plain_whole_us", json_real(row->plain_whole));
        json_object_set_new(out, "whole_ratio", json_real(row->plain_whole > 0 ? row->whole / row->plain_whole : 0));
        json_object_set_new(out, "first_us", row->first < 0 ? json_null() : json_real(row->first));
        json_object_set_new(out, "iterations", json_integer((json_int_t)row->commits));
        return out;
    }
    for (int unpack = 0; unpack < 2; unpack++) {
        json_t *call = json_pack("{s:o}", "algorithm", bench_json_text(row->how[unpack]));
        for (int way = 0; way < PACK_WAYS; way++) {
            if (row->time[way][unpack].known)
                json_object_set_new(call, pack_way_title(way),
                                    bench_json_time(&row->time[way][unpack], &row->time[PACK_TUTTI][unpack]));
        }
        json_object_set_new(out, calls[unpack], call);
    }
    return out;
}

int pack_json_write(const void *written)
{
    const struct pack_table *table = written;
    const struct pack_options *o = table->options;
    json_t *all = bench_json_about(&o->bench, table->report.place), *rows = json_array(), *spreads = json_array();
    for (int i = 0; i < table->rows; i++)
        json_array_append_new(rows, row_json(table, &table->row[i]));
    for (int i = 0, next; o->kind != PACK_COMMIT && i < table->rows; i = next) {
        double pack = pack_spread(table, i, 0, &next), unpack = pack_spread(table, i, 1, &next);
        if (pack > 0)
            json_array_append_new(spreads, json_pack("{s:o, s:f, s:f}", "layout", bench_json_text(table->row[i].layout),
                                                     "pack", pack, "unpack", unpack));
    }
    json_object_set_new(all, "benchmark", json_string("pack"));
    json_object_set_new(all, "layouts", json_string(pack_kind_name(o->kind)));
    bench_json_report(all, &o->bench, &table->report);
    json_object_set_new(all, "rows", rows);
    json_object_set_new(all, "spreads", spreads);
    return bench_json_dump(all, o->bench.json);
}
#endif

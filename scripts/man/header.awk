# Pages out of a header, as text for scdoc: awk -f scdoc.awk -f header.awk -v pages=mpix -v folder=OUT -v version=1.0 mpix.h
# pages=tshmem: tshmem(7), an overview in the header's sections. pages=mpix: tutti-mpix(7), and one page for each call.
# pages=group, of a header that mpix.h includes, and of its list of calls: one page for all calls, by each of their names. about: what it
# is about.

function open_page(name, section, text) {
    page = folder "/" name "." section ".scd"
    printf "%s(%s) \"Tutti %s\" \"Tutti\"\n\n# NAME\n\n%s - %s\n", name, section, version, escape(name), escape(text) > page
}

function comment_line(line) {
    sub(/^\/\* ?/, "", line)
    sub(/ ?\*\/$/, "", line)
    sub(/^ \* ?/, "", line)
    said[++n] = line
}

# What the last comment says, as paragraphs, lists and literal blocks; `tab` before each line.
function text_of(tab,    i, line, literal, item) {
    for (i = 1; i <= n; i++) {
        line = said[i]
        if (literal && line !~ /^    /) {
            print tab "```" > page
            literal = 0
        }
        if (line == "") {
            item = 0
            print "" > page
        } else if (line ~ /^    /) {
            if (!literal)
                print tab "```" > page
            literal = 1
            print tab substr(line, 5) > page
        } else if (line ~ /^ ?- /) {
            if (!item && i > 1 && said[i - 1] != "")
                print "" > page
            item = line ~ /^ / ? 2 : 1
            sub(/^ ?- /, "", line)
            print tab "- " escape(line) > page
        } else {
            if (item == 2 && line !~ /^ /) { # the text behind a list whose items are indented
                item = 0
                print "" > page
            }
            sub(/^ +/, "", line)
            print tab (item ? "  " : "") escape(line) > page
        }
    }
    if (literal)
        print tab "```" > page
}

# A prototype on one line, without macros and attributes.
function prototype(text) {
    gsub(/(TUTTI_API|TSHMEM_CALL) /, "", text)
    gsub(/ __attribute__\(\(.*\)\)/, "", text)
    sub(/\/\*.*\*\//, "", text)
    gsub(/[ \n]+/, " ", text)
    sub(/ *; *$/, "", text)
    return text
}

# A prototype of at most 72 columns a line.
function wrapped(text,    all, at, line, i, parts) {
    i = split(text, parts, ", ")
    for (at = 1; at <= i; at++) {
        if (line != "" && length(line) + length(parts[at]) > 70) {
            all = all line "\n"
            line = "    "
        }
        line = line parts[at] (at < i ? ", " : "")
    }
    return all line
}

function mpix_page(name, parameters,    i) {
    if (name ~ /_c$/ || name in pages_of) { # the form with large counts stands on the page of the other
        print ".so man3/" substr(name, 1, length(name) - 2) ".3" > (folder "/" name ".3")
        synopsis = synopsis wrapped("int " name parameters ";") "\n"
        return
    }
    for (i = 1; i <= n; i++)
        kept[i] = said[i]
    kept_lines = n
    mpix_close()
    synopsis = wrapped("int " name parameters ";") "\n"
    text = name !~ /enqueue/ ? "streams of the program for MPI calls" : \
        name ~ /(send|recv|wait|Send|Recv|Wait)/ ? "messages in stream order" : "collectives in stream order"
    open_page(name, 3, name == "MPIX_Info_set_hex" ? "bytes as a value of an info object" : text)
    calls = calls (calls == "" ? "" : ", ") "*" escape(name) "*(3)"
    many = kept_lines
    for (i = 1; i <= many; i++)
        saved[i] = kept[i]
    pending = 1
}

function mpix_close(    i) {
    if (!pending)
        return
    print "\n# SYNOPSIS\n\n```\n#include <mpi.h>\n#include <tutti/mpix.h>\n\n" synopsis "```\n\n# DESCRIPTION\n" > page
    n = many
    for (i = 1; i <= n; i++)
        said[i] = saved[i]
    text_of("")
    if (page ~ /enqueue/) {
        print "\n# NOTES\n" > page
        n = general_lines
        for (i = 1; i <= n; i++)
            said[i] = general[i]
        text_of("")
    }
    print "\n# SEE ALSO\n\n*tutti-mpix*(7), *tutti-run*(1)" > page
    close(page)
    pending = 0
}

# The page has the name of the first call.
function group_call(name, parameters) {
    if (first_call == "")
        first_call = name
    else
        print ".so man3/" first_call ".3" > (folder "/" name ".3")
    gsub(/ \* /, " *", parameters)
    synopsis = synopsis wrapped("int " name parameters ";") "\n"
}

BEGIN {
    if (pages == "tshmem")
        open_page("tshmem", 7, "the global address space of Tutti: OpenSHMEM's calls over any MPI")
    head = 1
}

# The calls since the last comment, and what it says of them.
function flush_calls(    i, keep, count) {
    if (terms == 0)
        return
    print "" > page
    for (i = 1; i <= terms; i++)
        print "*" term[i] "*" (i < terms ? "++" : "") > page
    count = n
    for (i = 1; i <= count; i++)
        keep[i] = said[i]
    n = many
    for (i = 1; i <= n; i++)
        said[i] = saved[i]
    text_of("\t")
    n = count
    for (i = 1; i <= n; i++)
        said[i] = keep[i]
    terms = 0
}

# Comments at the beginning of a line.
/^\/\* ---- .* ---- \*\/$/ && pages == "tshmem" {
    sub(/^\/\* ---- /, "")
    sub(/ ---- \*\/$/, "")
    flush_calls()
    print "\n# " toupper($0) "\n" > page
    n = fresh = 0
    next
}
/^\/\*/ && !inside {
    if (pages == "mpix" && fresh) { # one comment behind another: the first is about all that follows
        general_lines = n
        for (i = 1; i <= n; i++)
            general[i] = said[i]
    }
    n = 0
    inside = 1
}
inside {
    comment_line($0)
    if (!/\*\/ *$/)
        next
    inside = 0
    fresh = 1
    if (head && pages == "tshmem") {
        print "\n# SYNOPSIS\n\n```\n#include <tutti/shmem.h>\n```\n\nLink with -ltutti-core.\n\n# DESCRIPTION\n" > page
        text_of("")
    } else if (pages == "mpix" && (head || (n > 5 && said[1] ~ /^Collectives in stream order/))) {
        for (i = 1; i <= n; i++)
            overview[++overview_lines] = said[i]
        overview[++overview_lines] = ""
    }
    if (pages == "group" && FILENAME ~ /\.h$/ && said[1] !~ /^Part of </) {
        if (overview_lines)
            overview[++overview_lines] = ""
        for (i = 1; i <= n; i++)
            overview[++overview_lines] = said[i]
    }
    head = 0
    next
}

# Calls.
pages == "tshmem" && /^(TUTTI_API|TSHMEM_CALL) / {
    call = $0
    while (call !~ /;/ && (getline more) > 0)
        call = call "\n" more
    if (call ~ /[ *]tshmem_[a-z0-9_]+\(/) {
        if (fresh)
            flush_calls()
        if (terms == 0) {
            for (i = 1; i <= n; i++)
                saved[i] = said[i]
            many = fresh ? n : 0
        }
        term[++terms] = escape(prototype(call))
    }
    fresh = 0
    next
}
pages != "tshmem" && (/^TUTTI_MPIX_CALL\(/ || /^static inline int tutti_MPIX_/) {
    call = $0
    while (call !~ /\)/ || (call ~ /^TUTTI_MPIX_CALL/ && call !~ /\), *(\n *)?\(.*\)\)$/)) {
        if ((getline more) <= 0)
            break
        call = call "\n" more
    }
    gsub(/[ \n]+/, " ", call)
    sub(/^(TUTTI_MPIX_CALL\(|static inline int tutti_)/, "", call)
    match(call, /^MPIX_[A-Za-z_]+/)
    name = substr(call, 1, RLENGTH)
    call = substr(call, RLENGTH + 1)
    sub(/^, /, "", call)
    match(call, /^\([^()]*\)/)
    if (pages == "mpix")
        mpix_page(name, substr(call, 1, RLENGTH))
    else
        group_call(name, substr(call, 1, RLENGTH))
    fresh = 0
    next
}
/^$/ || /^#/ { if (/^$/ && pages == "mpix") fresh = 0; next }
{ fresh = pages == "tshmem" ? fresh : 0 }

END {
    if (pages == "mpix") {
        mpix_close()
        open_page("tutti-mpix", 7, "MPI extensions of Tutti")
        print "\n# SYNOPSIS\n\n```\n#include <mpi.h>\n#include <tutti/mpix.h>\n```\n\n# DESCRIPTION\n" > page
        n = overview_lines
        for (i = 1; i <= n; i++)
            said[i] = overview[i]
        text_of("")
        print "\n# SEE ALSO\n\n" calls ", *MPIX\\_Queue\\_init*(3), *MPIX\\_Pbcast\\_init*(3), *MPIX\\_Pbuf\\_prepare*(3)" > page
    } else if (pages == "group") {
        open_page(first_call, 3, about)
        print "\n# SYNOPSIS\n\n```\n#include <mpi.h>\n#include <tutti/mpix.h>\n\n" synopsis "```\n\n# DESCRIPTION\n" > page
        n = overview_lines
        for (i = 1; i <= n; i++)
            said[i] = overview[i]
        text_of("")
        print "\n# SEE ALSO\n\n*tutti-mpix*(7), *tutti-run*(1)" > page
    } else {
        flush_calls()
        print "\n# SEE ALSO\n\n*tutti*(1), *tutti-run*(1), *oshcc*(1)" > page
    }
    close(page)
}

# The page of a command out of its --help: awk -f scdoc.awk -f help.awk -v name=tutti-run -v text=... -v version=... HELP
# With ARGP_HELP_FMT=rmargin=4000 every description is one line.
BEGIN {
    printf "%s(1) \"Tutti %s\" \"Tutti\"\n\n# NAME\n\n%s - %s\n\n# SYNOPSIS\n\n", name, version, escape(name), escape(text)
}

function section(title) {
    if (part != title)
        print "\n# " title "\n"
    part = title
}

# "  -n, --ranks=RANKS   text" or "  name   text"
function entry(line,    at, head) {
    sub(/^ +/, "", line)
    at = match(line, /  +/)
    head = at ? substr(line, 1, at - 1) : line
    print "\n*" escape(head) "*"
    if (at)
        print "\t" escape(substr(line, at + RLENGTH))
}

/^Usage: / {
    sub(/^Usage: /, "")
    print escape($0)
    part = "SYNOPSIS"
    next
}
/^Mandatory or optional arguments/ { skip = 1; next }
/^$/ { skip = 0; if (literal) { print "```"; literal = 0 } ; print ""; next }
skip { next }
/^Examples:$/ { section("EXAMPLES"); print "```"; literal = 1; next }
literal { sub(/^ +/, ""); print; next }
/^ +-/ { section("OPTIONS"); entry($0); next }
/^                    / { sub(/^ +/, ""); print "\t" escape($0); next }
/^  [A-Za-z-]/ && part == "SYNOPSIS" { section("COMMANDS") }
/^  [A-Za-z-]/ { entry($0); next }
part == "SYNOPSIS" { section("DESCRIPTION") }
part == "OPTIONS" || part == "COMMANDS" { section("DETAILS") }
{ print escape($0) }

END {
    if (literal)
        print "```"
    print "\n# SEE ALSO\n\n" see
}

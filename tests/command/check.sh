# shellcheck shell=bash
# Sourced by the tests of the command. `checks` counts what was looked at; `finish` fails where anything was wrong or where
# nothing was looked at.
checks=0 failures=0
export TUTTI_RULES_FILE=/dev/null # what was tuned on this machine is not looked at
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}
# expect STATUS TEXT COMMAND...: the command ends with STATUS and says TEXT (a fixed string) on one of its outputs.
expect() {
    local status=$1 text=$2 output got
    shift 2
    output=$("$@" 2>&1 </dev/null)
    got=$?
    checks=$((checks + 1))
    [ "$got" -eq "$status" ] || fail "status $got instead of $status: $* :: $output"
    case $output in
    *"$text"*) ;;
    *) fail "'$text' is not in what this says: $* :: $output" ;;
    esac
}
# holds TEXT PATTERN WHAT: a line of TEXT matches the extended regular expression.
holds() {
    checks=$((checks + 1))
    grep -qE -- "$2" <<<"$1" || fail "$3: no line matches '$2' in: $1"
}
lacks() {
    checks=$((checks + 1))
    grep -qE -- "$2" <<<"$1" && fail "$3: a line matches '$2' in: $1"
}
# quotients TEXT ROWS WHAT A/B=C...: in the lines of TEXT that match ROWS column C is A in units of B, within what the printed
# digits tell; at least `told` times (once) so that the other way round would be seen. eN: column N before the last.
quotients() {
    local text=$1 rows=$2 what=$3
    shift 3
    checks=$((checks + 1))
    awk -v rows="$rows" -v list="$*" -v least="${told:-1}" '
        function at(name) { return substr(name, 1, 1) == "e" ? NF - substr(name, 2) : name + 0 }
        function number(column) { sub(/^~/, "", $column); return $column + 0 }
        function unsure(column) { return index($column, ".") ? 0.6 / 10 ^ (length($column) - index($column, ".")) : 0.6 }
        $0 ~ rows {
            n = split(list, each, " ")
            for (i = 1; i <= n; i++) {
                split(each[i], c, /[\/=]/)
                x = number(at(c[1])); y = number(at(c[2])); r = number(at(c[3]))
                if (x <= 0 || y <= 0) { print "no times: " $0; bad++; continue }
                most = unsure(at(c[3])) + x / y * (unsure(at(c[1])) / x + unsure(at(c[2])) / y)
                if (r - x / y > most || x / y - r > most) { print each[i] ": " $0; bad++ }
                if (r - y / x > 2 * most || y / x - r > 2 * most) told++
            }
        }
        END { exit bad > 0 || told < least }' <<<"$text" || fail "$what: not the quotients that it says: $* in: $text"
}
finish() {
    echo "$checks checks, $failures failed"
    [ "$checks" -gt 0 ] && [ "$failures" -eq 0 ]
    exit
}

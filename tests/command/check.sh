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
finish() {
    echo "$checks checks, $failures failed"
    [ "$checks" -gt 0 ] && [ "$failures" -eq 0 ]
    exit
}

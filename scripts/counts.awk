# Of ctest's output: how many tests passed, failed, were skipped. One line a finished run of a test:
# "  3/24 Test  #7: name ....   Passed    0.01 sec", or ***Skipped, ***Failed, ***Timeout ...; without "3/24" where it is run once
# more. The last run of a test counts. again=1: says which passed at their second or third run, and no numbers.
/^ *([0-9]+\/[0-9]+ +)?Test +#[0-9]+: / {
    number = $0
    sub(/^[^#]*#/, "", number)
    sub(/:.*/, "", number)
    result = $0 ~ /\*\*\*Skipped/ ? "skipped" : $0 ~ / Passed +[0-9.]+ sec/ ? "passed" : "failed"
    full = $0
    sub(/^ *([0-9]+\/[0-9]+ +)?Test +#[0-9]+: +/, "", full)
    sub(/ .*/, "", full)
    if (last[number] == "failed" && result == "passed" && again)
        print "passed when it was run again: " full
    last[number] = result
}
END {
    for (number in last)
        count[last[number]]++
    if (!again)
        print count["passed"] + 0, count["failed"] + 0, count["skipped"] + 0
}

# Of ctest's output: how many tests passed, failed, were skipped. One line a finished test:
# "  3/24 Test  #7: name ....   Passed    0.01 sec", or ***Skipped, ***Failed, ***Timeout ...
/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / {
    if ($0 ~ /\*\*\*Skipped/) skipped++
    else if ($0 ~ / Passed +[0-9.]+ sec/) passed++
    else failed++
}
END { print passed + 0, failed + 0, skipped + 0 }

# Lines whose second word matches one of the regular expressions of `first` (blanks between them) come first, in the order of
# the expressions; the others keep their order behind them.
BEGIN { most = split(first, expressions, " ") }
{
    rank = most + 1
    for (i = 1; i <= most && rank > most; i++) if ($2 ~ expressions[i]) rank = i
    lines[rank] = lines[rank] $0 "\n"
}
END { for (i = 1; i <= most + 1; i++) printf "%s", lines[i] }

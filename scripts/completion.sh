#!/bin/bash
# Writes the completion of tutti for bash, out of the command's help: completion.sh TUTTI
set -eu
tutti=$1
export ARGP_HELP_FMT=rmargin=4000 LC_ALL=C

listed() { sed -nE 's/^  ([a-z_-]+) +[^ ].*$/\1/p' | grep -vx tutti; }
# The options of a command; those that take a value end with =.
options() { "$tutti" "$@" --help | sed -nE 's/^ +(-., )?(--[a-z-]+=?).*/\2/p'; }
words() { tr '\n' ' ' | sed 's/ $//'; }

commands=$("$tutti" --help | listed | words)
benches=$("$tutti" bench --help | listed | words)
calls=$("$tutti" energy --help | listed | words)
cat <<END
# Completion of tutti for bash: made by scripts/completion.sh from the command's help.
_tutti_options() { # COMMAND [BENCHMARK]
    case \$1:\$2 in
END
for command in $commands; do
    [ "$command" != help ] || continue
    if [ "$command" = bench ]; then
        for bench in $benches; do
            printf '    bench:%s) echo "%s" ;;\n' "$bench" "$(options bench "$bench" | words)"
        done
        echo '    bench:*) echo "--help" ;;'
    else
        if [ "$command" = energy ]; then
            for call in $calls; do
                printf '    energy:%s) echo "%s" ;;\n' "$call" "$(options energy "$call" | words)"
            done
        fi
        printf '    %s:*) echo "%s" ;;\n' "$command" "$(options "$command" | words)"
    fi
done
cat <<END
    esac
}

_tutti() {
    local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]} command=\${COMP_WORDS[1]-} bench=\${COMP_WORDS[2]-}
    local commands="$commands" benches="$benches" calls="$calls"
    COMPREPLY=()
    # --option=value comes as three words where = divides words.
    if [ "\$word" = = ]; then word=; elif [ "\$before" = = ]; then before=\${COMP_WORDS[COMP_CWORD - 2]}; fi
    case \$before in
    --device) mapfile -t COMPREPLY < <(compgen -W "auto cuda host none" -- "\$word") && return ;;
    --mpi) mapfile -t COMPREPLY < <(compgen -W "openmpi mpich impi" -f -- "\$word") && return ;;
    --order) mapfile -t COMPREPLY < <(compgen -W "host stream graph" -- "\$word") && return ;;
    --json | --plot | --csv | --output) mapfile -t COMPREPLY < <(compgen -f -- "\$word") && return ;;
    esac
    if [ "\$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "\$commands --help --version" -- "\$word")
    elif [ "\$COMP_CWORD" -eq 2 ] && [ "\$command" = bench ]; then
        mapfile -t COMPREPLY < <(compgen -W "\$benches --help" -- "\$word")
    elif [ "\$COMP_CWORD" -eq 2 ] && [ "\$command" = energy ] && [[ \$word != -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "\$calls" -c -f -- "\$word")
    elif [ "\$COMP_CWORD" -eq 2 ] && [ "\$command" = help ]; then
        mapfile -t COMPREPLY < <(compgen -W "\$commands" -- "\$word")
    elif [[ \$word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "\$(_tutti_options "\$command" "\$bench")" -- "\$word")
        [[ \${COMPREPLY[0]-} != *= ]] || compopt -o nospace 2>/dev/null
    elif [ "\$command" = run ] || [ "\$command" = energy ]; then
        mapfile -t COMPREPLY < <(compgen -c -f -- "\$word") # the program and its arguments
    fi
}
complete -o filenames -F _tutti tutti
END

# SPDX-License-Identifier: MIT
# Completion of trace-ctl for fish: trace-ctl itself prints the candidates.

function __trace_ctl_complete
    set -l program (commandline -opc)
    set -l word (commandline -ct)
    set -l words $program
    set -e words[1]
    for line in (eval (string escape -- $program[1]) __complete \
            (string escape -- $words $word) 2>/dev/null)
        switch $line
            case :files
                __fish_complete_path $word
            case :directories
                __fish_complete_directories $word ''
            case :commands
                complete -C $word
            case '*'
                echo $line
        end
    end
end

complete -c trace-ctl -f -a '(__trace_ctl_complete)'

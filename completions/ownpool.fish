# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_ownpool_global_optspecs
    string join \n h/help V/version
end

function __fish_ownpool_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_ownpool_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_ownpool_using_subcommand
    set -l cmd (__fish_ownpool_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c ownpool -n "__fish_ownpool_needs_command" -s h -l help -d 'Print help'
complete -c ownpool -n "__fish_ownpool_needs_command" -s V -l version -d 'Print version'
complete -c ownpool -n "__fish_ownpool_needs_command" -f -a "run" -d 'Run a program under the library'
complete -c ownpool -n "__fish_ownpool_needs_command" -f -a "check" -d 'Say whether the library would help a program, and why not'
complete -c ownpool -n "__fish_ownpool_needs_command" -f -a "report" -d 'Print what OWNPOOL_STATS wrote as tables, with the names of callers'
complete -c ownpool -n "__fish_ownpool_needs_command" -f -a "bench" -d 'Measure kernel, vDSO, ownpool and its peers on this machine'
complete -c ownpool -n "__fish_ownpool_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ownpool -n "__fish_ownpool_using_subcommand run" -l mode -d 'Who is served by a private generator: auto, always, vdso, observe or off' -r -f -a "auto\t''
always\t''
vdso\t''
observe\t''
off\t''"
complete -c ownpool -n "__fish_ownpool_using_subcommand run" -l rate -d 'Bytes per second that a thread may draw from the kernel for long' -r
complete -c ownpool -n "__fish_ownpool_using_subcommand run" -l burst -d 'Bytes that a thread may draw from the kernel at once' -r
complete -c ownpool -n "__fish_ownpool_using_subcommand run" -l bulk -d 'One request larger than this is heavy by itself' -r
complete -c ownpool -n "__fish_ownpool_using_subcommand run" -l forgive -d 'Seconds of light behaviour after which a thread returns to the kernel; 0: never' -r
complete -c ownpool -n "__fish_ownpool_using_subcommand run" -l reseed-bytes -d 'Bytes between reseeds from the kernel; 0: at every refill' -r
complete -c ownpool -n "__fish_ownpool_using_subcommand run" -l reseed-secs -d 'Age of a key at which it is reseeded all the same' -r
complete -c ownpool -n "__fish_ownpool_using_subcommand run" -l stats -d 'Report when the program ends, to FILE or, without =FILE, to standard error' -r -F
complete -c ownpool -n "__fish_ownpool_using_subcommand run" -l verbose -d 'One line on standard error with the settings in force'
complete -c ownpool -n "__fish_ownpool_using_subcommand run" -s h -l help -d 'Print help'
complete -c ownpool -n "__fish_ownpool_using_subcommand check" -l run -d 'Run it too, with these arguments, in mode observe: what is seen decides' -r
complete -c ownpool -n "__fish_ownpool_using_subcommand check" -l json -d 'JSON instead of text'
complete -c ownpool -n "__fish_ownpool_using_subcommand check" -s h -l help -d 'Print help'
complete -c ownpool -n "__fish_ownpool_using_subcommand report" -l json -d 'JSON instead of tables: one line a process, with the names of functions added'
complete -c ownpool -n "__fish_ownpool_using_subcommand report" -s h -l help -d 'Print help'
complete -c ownpool -n "__fish_ownpool_using_subcommand bench" -l threads -d 'Measure with up to so many threads [default: one a core]' -r
complete -c ownpool -n "__fish_ownpool_using_subcommand bench" -l json -d 'Write everything to FILE as JSON' -r -F
complete -c ownpool -n "__fish_ownpool_using_subcommand bench" -l svg -d 'Draw ns per call and GB/s of the main table to FILE' -r -F
complete -c ownpool -n "__fish_ownpool_using_subcommand bench" -l markdown -d 'Write tables to FILE as Markdown, into the regions marked for them, or at the end' -r -F
complete -c ownpool -n "__fish_ownpool_using_subcommand bench" -l quick -d 'Short rounds; ends within 20 seconds'
complete -c ownpool -n "__fish_ownpool_using_subcommand bench" -l scaling -d 'Measure how 64-byte calls scale with threads; the main table is left out'
complete -c ownpool -n "__fish_ownpool_using_subcommand bench" -l memory -d 'Measure what threads cost in memory; the main table is left out'
complete -c ownpool -n "__fish_ownpool_using_subcommand bench" -s h -l help -d 'Print help'
complete -c ownpool -n "__fish_ownpool_using_subcommand help; and not __fish_seen_subcommand_from run check report bench help" -f -a "run" -d 'Run a program under the library'
complete -c ownpool -n "__fish_ownpool_using_subcommand help; and not __fish_seen_subcommand_from run check report bench help" -f -a "check" -d 'Say whether the library would help a program, and why not'
complete -c ownpool -n "__fish_ownpool_using_subcommand help; and not __fish_seen_subcommand_from run check report bench help" -f -a "report" -d 'Print what OWNPOOL_STATS wrote as tables, with the names of callers'
complete -c ownpool -n "__fish_ownpool_using_subcommand help; and not __fish_seen_subcommand_from run check report bench help" -f -a "bench" -d 'Measure kernel, vDSO, ownpool and its peers on this machine'
complete -c ownpool -n "__fish_ownpool_using_subcommand help; and not __fish_seen_subcommand_from run check report bench help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'

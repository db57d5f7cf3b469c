# Completion of mcpcat for fish. Load it in config.fish, or write it to completions/mcpcat.fish beside that file:
#   mcpcat completion fish | source
function __mcpcat_complete
    set -l before (commandline -opc)
    set -l raw (commandline -ct)
    set -l current (string unescape -- "$raw" 2>/dev/null; or string trim --left --chars "'\"" -- "$raw")
    set -l program (string replace -r '^~/' "$HOME/" -- $before[1])
    set -l lines ($program __complete fish -- $before[2..-1] "$current" 2>/dev/null </dev/null)
    for line in $lines[2..-1]
        printf '%s\n' $line
    end
    set -l flag (string match -r '^-[^=]*=' -- "$current")
    set -l path (string replace -r '^-[^=]*=' '' -- "$current")
    switch "$lines[1]"
        case :files
            for file in (__fish_complete_path "$path")
                printf '%s%s\n' "$flag" $file
            end
        case :directories
            for file in (__fish_complete_directories "$path")
                printf '%s%s\n' "$flag" $file
            end
    end
end
complete -c mcpcat -e
complete -c mcpcat -f -a '(__mcpcat_complete)'

# Completion of ridealong for fish. Add to ~/.config/fish/config.fish:
# ridealong completion fish | source

function __ridealong_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l lines (ridealong __complete $words[2..-1] "$current" 2>/dev/null)
    set -l option (string match -r -- '^-[^=]*=' "$current")
    set -l value (string replace -r -- '^-[^=]*=' '' "$current")
    if test (count $lines) -gt 1
        printf '%s\n' "$option"$lines[1..-2]
        return
    end
    switch "$lines"
        case ':0'
            printf '%s\n' "$option"(__fish_complete_path "$value")
        case ':16'
            printf '%s\n' "$option"(__fish_complete_directories "$value" '')
    end
end

complete -c ridealong -f -a '(__ridealong_complete)'

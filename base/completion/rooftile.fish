# Completion of rooftile in fish. Now: rooftile completion fish | source; always: copy it to
# ~/.config/fish/completions/rooftile.fish
function __rooftile_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l before (string match -r -- '^--[^=]*=' "$typed")
    set -l path (string replace -r -- '^--[^=]*=' '' "$typed")
    for line in (command $words[1] completion words -- $words[2..-1] "$typed" 2>/dev/null)
        set -l found
        switch $line
            case ':folders'
                set found $path*/
            case ':files'
                set found $path*
            case ':files *'
                set found $path*/
                for ending in (string split ' ' -- (string replace ':files ' '' -- $line))
                    set -a found $path*.$ending
                end
            case '*'
                printf '%s\n' $line
        end
        for file in $found
            printf '%s\n' "$before$file"
        end
    end
end
complete -c rooftile -f -a '(__rooftile_complete)'

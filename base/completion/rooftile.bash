# Completion of rooftile in bash. Now: source <(rooftile completion bash); always: copy it to
# ~/.local/share/bash-completion/completions/rooftile
_rooftile() {
    local words=() word line ending path
    for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do # bash takes "--name=value" as three words
        [ "$word" = "=" ] || words+=("$word")
    done
    [ "${COMP_WORDS[COMP_CWORD]}" != "=" ] || words+=("")
    local typed=${words[${#words[@]} - 1]-}
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
        :folders)
            compopt -o filenames 2>/dev/null
            while IFS= read -r path; do COMPREPLY+=("$path"); done < <(compgen -d -- "$typed")
            ;;
        :files*)
            compopt -o filenames 2>/dev/null
            while IFS= read -r path; do
                for ending in ${line#:files}; do
                    [ -d "$path" ] || [ "$path" != "${path%."$ending"}" ] && COMPREPLY+=("$path") && break
                done
                [ "$line" != :files ] || COMPREPLY+=("$path")
            done < <(compgen -f -- "$typed")
            ;;
        *) COMPREPLY+=("${line%%$'\t'*}") ;;
        esac
    done < <("${COMP_WORDS[0]}" completion words -- "${words[@]}" 2>/dev/null)
}
complete -F _rooftile rooftile

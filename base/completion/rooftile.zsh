#compdef rooftile
# Completion of rooftile in zsh. Now: source <(rooftile completion zsh), after compinit; always: copy it as _rooftile
# into a folder of $fpath.
_rooftile() {
    local line
    local -a described endings
    for line in ${(f)"$(command $words[1] completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)"}; do
        case $line in
            :folders) [[ $PREFIX != --*=* ]] || compset -P '*='; _files -/ ;;
            :files*)
                endings=(${=line#:files})
                [[ $PREFIX != --*=* ]] || compset -P '*='
                if (( $#endings )); then _files -g "${(j: :)endings/#/*.}"; else _files; fi ;;
            *$'\t'*) described+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
            *) described+=("${line//:/\\:}") ;;
        esac
    done
    (( ! $#described )) || _describe rooftile described
}
if [[ $funcstack[1] == _rooftile ]]; then _rooftile "$@"; else compdef _rooftile rooftile; fi

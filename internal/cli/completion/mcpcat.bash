# Completion of mcpcat for bash 3.2 and newer. It needs no other package. Load it in ~/.bashrc:
#   source <(mcpcat completion bash)
_mcpcat() {
  local program=${COMP_WORDS[0]} line first=1
  COMPREPLY=()
  [[ $program == "~/"* ]] && program=$HOME/${program:2}
  # The program reads the line itself: bash splits words at characters that addresses have.
  while IFS= read -r line; do
    if [[ $first ]]; then
      first=
      case $line in
        :files) type compopt &>/dev/null && compopt -o default +o nospace ;;
        :directories) type compopt &>/dev/null && compopt -o dirnames +o nospace -o filenames ;;
      esac
    elif [[ $line ]]; then
      COMPREPLY+=("$line")
    fi
  done <<<"$("$program" __complete bash -- "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" "$COMP_TYPE" "${COLUMNS:-80}" 2>/dev/null </dev/null)"
}
if type compopt &>/dev/null; then
  complete -o nospace -F _mcpcat mcpcat
else
  complete -o nospace -o default -F _mcpcat mcpcat
fi

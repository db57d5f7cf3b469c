#compdef mcpcat
# Completion of mcpcat for zsh. Write it to a file _mcpcat in a directory of $fpath, or load it in ~/.zshrc behind compinit:
#   source <(mcpcat completion zsh)
_mcpcat() {
  local program=${(Q)words[1]} line value
  local -a lines whole wholeshown part partshown before
  [[ $program == '~/'* ]] && program=$HOME/${program#'~/'}
  (( CURRENT > 2 )) && before=("${(@Q)words[2,CURRENT-1]}")
  lines=("${(@f)$("$program" __complete zsh -- "${before[@]}" "${(Q)PREFIX}" 2>/dev/null </dev/null)}")
  for line in "${(@)lines[2,-1]}"; do
    value=${line%%$'\t'*}
    [[ -n $value ]] || continue
    if [[ $line == *$'\t'?* ]]; then
      line="$value  -- ${line#*$'\t'}"
    else
      line=$value
    fi
    if [[ $value == *[=/] ]]; then
      part+=("$value") partshown+=("$line")
    else
      whole+=("$value") wholeshown+=("$line")
    fi
  done
  (( $#whole )) && compadd -l -d wholeshown -a whole
  (( $#part )) && compadd -S '' -l -d partshown -a part
  case ${lines[1]} in
    :files)
      [[ $PREFIX == -*=* ]] && compset -P '*='
      _files
      ;;
    :directories)
      [[ $PREFIX == -*=* ]] && compset -P '*='
      _files -/
      ;;
  esac
}
if [[ $funcstack[1] == _mcpcat ]]; then
  _mcpcat "$@"
elif (( $+functions[compdef] )); then
  compdef _mcpcat mcpcat
fi

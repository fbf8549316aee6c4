#compdef ridealong
# Completion of ridealong for zsh. Add to ~/.zshrc, after compinit:
# source <(ridealong completion zsh)

_ridealong() {
  local line directive
  local -a before lines values suffix
  before=("${(@Q)words[2,CURRENT-1]}")
  lines=("${(@f)$(ridealong __complete "${before[@]}" "${(Q)PREFIX}" 2>/dev/null)}")
  directive=${lines[-1]#:}
  for line in "${(@)lines[1,-2]}"; do
    values+=("${${line%%$'\t'*}//:/\\:}${${(M)line:#*$'\t'*}:+:${line#*$'\t'}}")
  done
  [[ $PREFIX == -*=* ]] && compset -P '*='
  ((directive == 6)) && suffix=(-S '')
  if ((${#values})); then
    _describe ridealong values "${suffix[@]}"
  elif ((directive == 0)); then
    _files
  elif ((directive == 16)); then
    _files -/
  fi
}

# If zsh loads this file from fpath, the file is the body of the function _ridealong.
if [[ ${funcstack[1]} == _ridealong ]]; then
  _ridealong "$@"
else
  compdef _ridealong ridealong
fi

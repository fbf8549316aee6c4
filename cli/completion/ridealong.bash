# Completion of ridealong for bash. Add to ~/.bashrc: source <(ridealong completion bash)

# The line is split at blanks and is not evaluated, so that completion never runs typed commands.
_ridealong() {
  local line=${COMP_LINE:0:COMP_POINT} value directive=4
  local -a words
  read -ra words <<<"$line"
  [[ $line == *[[:blank:]] ]] && words+=('')
  COMPREPLY=()
  while IFS=$'\t' read -r value _; do
    if [[ $value == :* ]]; then
      directive=${value#:}
    else
      COMPREPLY+=("$value")
    fi
  done < <(ridealong __complete "${words[@]:1}" 2>/dev/null)
  case $directive in
    4) compopt +o default ;;
    6) compopt +o default -o nospace ;;
    16) compopt +o default -o dirnames ;;
  esac 2>/dev/null
}

complete -o default -F _ridealong ridealong

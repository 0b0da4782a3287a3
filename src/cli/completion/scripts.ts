/**
 * Scripts that ask `busgate complete` what the word under the cursor may become. They pass the words of the line as arguments
 * and evaluate none of them: a line may hold a command substitution that is not to run yet.
 */
export const scripts = {
  bash: String.raw`_busgate() {
  local value about
  COMPREPLY=()
  while IFS=$'\t' read -r value about; do
    if [[ $value == :files ]]; then
      compopt -o default
    else
      COMPREPLY+=("$value")
    fi
  done < <("$1" complete -- "${'$'}{COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null </dev/null)
}
complete -F _busgate busgate`,

  zsh: String.raw`#compdef busgate
_busgate() {
  local value about
  local -a found
  while IFS=$'\t' read -r value about; do
    if [[ $value == :files ]]; then
      [[ $PREFIX == --*=* ]] && compset -P '*='
      _files
      return
    fi
    found+=("${'$'}{value//:/\\:}:$about")
  done < <("${'$'}{(Q)words[1]}" complete -- "${'$'}{(@Q)words[2,CURRENT]}" 2>/dev/null </dev/null)
  _describe busgate found
}
if [[ $funcstack[1] == _busgate ]]; then
  _busgate
else
  compdef _busgate busgate
fi`,

  fish: String.raw`function __busgate_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l found ($words[1] complete -- $words[2..-1] "$current" 2>/dev/null </dev/null)
  if test "$found" = :files
    set -l flag (string match -r -- '^--[^=]*=' "$current")
    for path in (__fish_complete_path (string replace -- "$flag" '' "$current"))
      printf '%s\n' "$flag$path"
    end
  else
    printf '%s\n' $found
  end
end
complete -c busgate -f -a '(__busgate_complete)'`,
} as const

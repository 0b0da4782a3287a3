/** A word without a meaning to a shell. It ends with no punctuation mark, which could be one of the sentence around it. */
const plain = /^[\w@%+/](?:[\w@%+:,./-]*[\w@%+/-])?$/

/** Quotes a foreign value for a command line that a person copies into a POSIX shell, such as sh, bash or zsh. */
export function shellWord(value: string): string {
  if (plain.test(value)) return value
  return invisible.test(value) ? printed(value) : `'${value.replaceAll("'", String.raw`'\''`)}'`
}

/** A flag with a foreign value, which may begin with a hyphen. */
export const shellFlag = (name: string, value: string): string =>
  plain.test(value) ? `--${name} ${value}` : `--${name}=${shellWord(value)}`

/** Characters that would act on a terminal even within quotes, or change the order of the text around them. */
const invisible = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u

/** Lets printf write the bytes. A shell removes newlines at the end. */
function printed(value: string): string {
  const bytes = [...new TextEncoder().encode(value)].map(byte => {
    const character = String.fromCharCode(byte)
    return /\w/.test(character) ? character : `\\${byte.toString(8).padStart(3, '0')}`
  })
  return `"$(printf '${bytes.join('')}')"`
}

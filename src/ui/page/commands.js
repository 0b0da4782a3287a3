/** A word of a shell as busgate writes it (src/shell.ts): plain, in single quotes, or printed. */
const plain = String.raw`[\w@%+:,./-]*[\w@%+/-]`
const quoted = String.raw`(?:'[^'\p{Cc}]*'|\\')+|"\$\(printf '(?:\w|\\[0-7]{3})+'\)"`

/**
 * Matches a busgate command within a sentence: its name, flags and arguments. Only quoted words and words with a digit are
 * arguments (ids, offsets); others are the rest of the sentence.
 */
const commandLine = new RegExp(
  '(busgate (?:message|gateway status|doctor|dlq replay|topics create)' +
    String.raw`(?: (?:--[\w-]+(?:=(?:${quoted}|${plain}))?|${quoted}|[\w./@-]*\d[\w/@-]*))*)`,
  'u',
)

/** Splits a sentence; every second part is a busgate command. @param {string} text */
export const splitAtCommands = text => text.split(commandLine)

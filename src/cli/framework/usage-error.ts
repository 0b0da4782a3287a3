/** The command line was written wrongly: exit code 2. The message says what and what would be right. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

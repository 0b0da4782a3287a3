/**
 * Makes a decoder of standard input that takes it piece by piece and leaves out a byte order mark.
 * @throws Error where it is not UTF-8: what stands in for the lost letters would be sent and billed.
 */
export function strictUtf8(): (piece: Buffer, options?: { stream: boolean }) => string {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  return (piece, options) => {
    try {
      return decoder.decode(piece, options)
    } catch {
      throw new Error('standard input is not UTF-8: save it as UTF-8')
    }
  }
}

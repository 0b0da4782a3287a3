const everyMs = 1000

/** ProgressDisplay is what happens now, on standard error. */
export interface ProgressDisplay {
  say(line: string): void
  /** Says the parts every second until `stop`, and then once more. */
  show(parts: () => string[]): void
  stop(): void
}

export function createProgress(stream: NodeJS.WriteStream): ProgressDisplay {
  let sayParts = () => {}
  let timer: NodeJS.Timeout | undefined
  const say = (line: string) => stream.write(`${line}\n`)
  return {
    say,
    show(parts) {
      sayParts = () => say(`  ${parts().join('; ')}`)
      timer = setInterval(sayParts, everyMs)
    },
    stop() {
      clearInterval(timer)
      sayParts()
      sayParts = () => {}
    },
  }
}

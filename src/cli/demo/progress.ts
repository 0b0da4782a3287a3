const redrawMs = 100
const lineMs = 1000

/**
 * ProgressDisplay is what happens now, on standard error: some lines that are rewritten on a terminal, else a line
 * every second.
 */
export interface ProgressDisplay {
  /** A line that stays. */
  say(line: string): void
  /** Shows the parts again and again until `stop`. */
  show(parts: () => string[]): void
  stop(): void
}

export function createProgress(stream: NodeJS.WriteStream): ProgressDisplay {
  let parts: (() => string[]) | null = null
  let timer: NodeJS.Timeout | undefined
  let drawn = 0

  function clear(): void {
    if (drawn > 0) stream.write(`\x1b[${drawn}A\x1b[0J`)
    drawn = 0
  }

  function draw(): void {
    const lines = parts?.() ?? []
    if (!stream.isTTY) {
      stream.write(`  ${lines.map(line => line.trim().replace(/\s+/g, ' ')).join('; ')}\n`)
      return
    }
    clear()
    stream.write(lines.map(line => `  ${line.slice(0, (stream.columns || 80) - 3)}\n`).join(''))
    drawn = lines.length
  }

  return {
    say(line) {
      clear()
      stream.write(`${line}\n`)
      if (parts && stream.isTTY) draw()
    },
    show(next) {
      parts = next
      timer = setInterval(draw, stream.isTTY ? redrawMs : lineMs)
      if (stream.isTTY) draw()
    },
    stop() {
      clearInterval(timer)
      if (parts) draw()
      parts = null
      drawn = 0
    },
  }
}

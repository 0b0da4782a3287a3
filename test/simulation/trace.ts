/** Tells what happens, and to whom. */
export type Trace = (actor: string, text: string) => void

export interface Story {
  trace: Trace
  lines: string[]
}

/** Notes what happens with its virtual time; costs nothing when nobody is going to read it. */
export function createStory(wanted: boolean, now: () => number): Story {
  const lines: string[] = []
  const trace: Trace = (actor, text) => lines.push(`${now().toString().padStart(7)} ms  ${actor.padEnd(8)} ${text}`)
  return { trace: wanted ? trace : () => {}, lines }
}

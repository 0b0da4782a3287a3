/** Traces an event of an actor. */
export type Trace = (actor: string, text: string) => void

export interface Tracer {
  trace: Trace
  lines: string[]
}

/** Creates a trace of events with their virtual times. An unwanted trace costs nothing. */
export function createTracer(wanted: boolean, now: () => number): Tracer {
  const lines: string[] = []
  const trace: Trace = (actor, text) => lines.push(`${now().toString().padStart(7)} ms  ${actor.padEnd(8)} ${text}`)
  return { trace: wanted ? trace : () => {}, lines }
}

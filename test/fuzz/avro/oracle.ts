import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Json } from './type.ts'

/** What fastavro reads: a value in the form of oracle.py, or its error. */
export type Answer = ['ok', Json] | ['no', string]

/** fastavro, in its own process. */
export class Oracle {
  readonly #python: ChildProcess
  readonly #lines: AsyncIterator<string>
  readonly #told = new Set<string>()

  constructor() {
    const folder = execFileSync(new URL('../../../.ci/examples-fetch', import.meta.url).pathname, ['python'], {
      encoding: 'utf8',
    }).trim()
    this.#python = spawn('python3', [new URL('oracle.py', import.meta.url).pathname], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, PYTHONPATH: folder },
    })
    this.#lines = createInterface({ input: this.#python.stdout! })[Symbol.asyncIterator]()
  }

  async read(writer: Json, name: string, reader: Json, bodies: readonly Buffer[]): Promise<Answer[]> {
    const known = this.#told.has(name)
    this.#told.add(name)
    const hex = bodies.map(body => body.toString('hex'))
    this.#python.stdin!.write(`${JSON.stringify({ writer, name, reader: known ? null : reader, bodies: hex })}\n`)
    const { value, done } = await this.#lines.next()
    if (done) throw new Error('the oracle has ended')
    return JSON.parse(value)
  }

  stop(): void {
    this.#python.stdin!.end()
  }
}

const double = new DataView(new ArrayBuffer(8))

/** Whether a value that busgate read is the one that fastavro read. */
export function isSame(ours: unknown, theirs: Json): boolean {
  if (!Array.isArray(theirs)) return ours === theirs
  const [form, told, tagged] = theirs
  switch (form) {
    case 'i':
      return typeof ours === 'bigint' ? ours === BigInt(told) : ours === Number(told)
    case 'f':
      double.setBigUint64(0, BigInt(`0x${told}`))
      return ours === double.getFloat64(0) || Object.is(ours, double.getFloat64(0))
    case 'b':
      return Buffer.isBuffer(ours) && ours.toString('hex') === told
    case 'a':
      return Array.isArray(ours) && ours.length === told.length && ours.every((one, i) => isSame(one, told[i]))
    case 't': {
      // fastavro names the record in a union of the writer, busgate that in a union of the reader
      const tag = tagOf(ours)
      return tag === null ? isSame(ours, tagged) : tag === told && isSame((ours as Json)[tag], tagged)
    }
    default: {
      if (typeof ours !== 'object' || ours === null) return false
      const tag = tagOf(ours)
      const fields = (tag === null ? ours : (ours as Json)[tag]) as Record<string, unknown>
      return (
        Object.keys(fields).length === told.length &&
        told.every(([name, value]: [string, Json]) => Object.hasOwn(fields, name) && isSame(fields[name], value))
      )
    }
  }
}

/** The full name of the record that is the object's only property. No field or key of the cases has a dot. */
function tagOf(value: unknown): string | null {
  const names = typeof value === 'object' && value !== null ? Object.keys(value) : []
  return names.length === 1 && names[0]!.includes('.') ? names[0]! : null
}

import { type API, type Connection, createAPI, type Reader, Writer } from '@platformatic/kafka'
import { WireReader, WireWriter } from './fields.ts'

/** A kind of request in the versions that busgate speaks. */
export interface Api<Q, A> {
  name: string
  key: number
  versions: readonly [min: number, max: number]
  ask(connection: Connection, version: number, request: Q): Promise<A>
}

export interface ApiDefinition<Q, A> extends Omit<Api<Q, A>, 'ask'> {
  /** The first version with compact lengths and tags. */
  flexible: number
  write(to: WireWriter, request: Q, version: number): void
  /** Codes of partitions and the like stay in the answer; `errorCode` at its top makes an exception of it. */
  read(from: WireReader, version: number): A
}

/**
 * The API that tells what a broker speaks. The header of its answer is never flexible, so that every client can read
 * it.
 */
const apiVersionsKey = 18

export function defineApi<Q, A>({ flexible, write, read, ...api }: ApiDefinition<Q, A>): Api<Q, A> {
  const made = new Map<number, API<[Q], A>>()

  function make(version: number): API<[Q], A> {
    const isFlexible = version >= flexible
    const createRequest = (request: Q) => {
      const encoder = new WireWriter(isFlexible)
      write(encoder, request, version)
      const { bytes } = encoder.tags()
      const writer = Writer.create()
      return bytes.length > 0 ? writer.append(bytes) : writer
    }
    const parse = (_correlation: number, _key: number, _version: number, reader: Reader) =>
      read(new WireReader(reader.buffer.slice(reader.position), isFlexible), version)
    return createAPI<[Q], A>(
      api.key,
      version,
      createRequest,
      parse,
      isFlexible,
      isFlexible && api.key !== apiVersionsKey,
    )
  }

  return {
    ...api,
    ask(connection, version, request) {
      const known = made.get(version) ?? make(version)
      made.set(version, known)
      return known.async(connection, request)
    },
  }
}

import {
  type CommandHandle,
  type CommandProducer,
  createProducer,
  InvalidCommandError,
  type NewCommand,
} from '../../producer.ts'
import { parseJson, sendTypes } from '../../protocol/index.ts'
import { parseQuietly } from '../../protocol/json.ts'
import { deliveries, problemOfNew, sentenceOf } from '../../records/new-command.ts'
import { count } from '../../words.ts'
import { choiceFlag, command, given, textFlag, toggle, UsageError } from '../framework/command.ts'
import { strictUtf8 } from '../framework/terminal.ts'
import { durationFlag, untilFlag } from '../framework/times.ts'
import { onBus } from '../on-bus.ts'
import { configFlag } from '../settings.ts'
import { awaitResults } from './await-results.ts'

/** @throws UsageError */
export function commandOfFlags(flags: {
  id?: string
  phone?: string
  message?: string
  lane?: string
  extra?: string
}): NewCommand {
  const missing = ['id', 'phone', 'type', 'message'].filter(name => !Object.hasOwn(flags, name))
  if (missing.length > 0) throw new UsageError(`send needs --${missing.join(', --')} as well`)
  const { id = '', phone = '', message = '', lane = '', extra } = flags
  try {
    const command = {
      ...flags,
      ...(/^\d+$/.test(lane) ? { lane: Number(lane) } : {}),
      id: digits(id, '--id: expected a whole number without leading zeros'),
      phone: digits(phone, '--phone: expected digits only, in international format such as 380501234567'),
      message: parseQuietly(message, '--message is not valid JSON'),
      ...(extra !== undefined && { extra: parseQuietly(extra, '--extra is not valid JSON') }),
    }
    const problem = problemOfNew(command)
    if (problem !== null) throw new Error(problem)
    return command as unknown as NewCommand
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

/** Refuses a leading zero: without it, 0671234561 would be another person's number. */
function digits(text: string, complaint: string): unknown {
  if (/^[1-9]\d*$/.test(text)) return parseJson(text)
  throw new Error(complaint)
}

const copied = 'Copied to the result, and except for pipeline to the status events.'

export const send = command({
  about: [
    'Writes commands to the bus. One from flags:',
    `  busgate send --id 42 --phone 380501234567 --type sms --message '{"sms_message":"Hello","sms_signature":"Shop"}'`,
    'or, without flags, JSON lines from standard input, with the names of the Avro fields:',
    '  {"id":42,"phone":380501234567,"type":"sms","message":{"sms_message":"Hello","sms_signature":"Shop"}}',
    'If a line is invalid, it exits 1 and names the first line that was not written.',
    'With --wait it prints the final result of each message, as busgate tail results does, and exits 0 if all were SENT, else 1.',
  ].join('\n'),
  flags: {
    id: textFlag('ID', 'Your id of the message, unique for ever in its account.'),
    phone: textFlag('PHONE', 'Digits only, in international format.'),
    type: textFlag('TYPE', `Type of message: ${sendTypes.join(', ')}. Use pipeline for WhatsApp.`),
    message: textFlag('JSON', 'Its content, with the names of the Avro fields.'),
    account: textFlag('NAME', 'Account that sends it. Default: default.'),
    deadline: untilFlag('Not sent after this time.'),
    at: untilFlag('Not sent before this time.'),
    in: durationFlag('Not sent before this time has passed.', '366d'),
    hook: textFlag('URL', "Where the gateway reports the status. Default: busgate's receiver."),
    delivery: choiceFlag('RULE', deliveries, 'Delivery policy for a message in doubt. Default: DEFAULT.'),
    extra: textFlag('JSON', `Additional properties of the operation, each value JSON in a string: '{"priority":"5"}'.`),
    'correlation-id': textFlag('TEXT', copied),
    tenant: textFlag('TEXT', copied),
    campaign: textFlag('NAME', copied),
    lane: textFlag('TOPIC', 'Command topic, or its place in topics.commands: 0 is the most urgent. Default: by type.'),
    wait: toggle('Waits for the final results, and prints them.'),
    timeout: durationFlag('How long --wait waits. Default: 10m from when the last is due.', '30d'),
    json: toggle('Prints each result of --wait as one JSON object per line.'),
    config: configFlag,
  },
  async run({ config, wait = false, timeout: limitMs, json: asJson, 'correlation-id': correlationId, ...all }) {
    const { at, in: waitMs, ...flags } = all
    if (at !== undefined && waitMs !== undefined) throw new UsageError('give one of --at and --in')
    if (!wait && (limitMs !== undefined || asJson)) throw new UsageError('--timeout and --json go with --wait')
    const fields = given({ ...flags, correlationId, notBefore: waitMs === undefined ? at : Date.now() + waitMs })
    const one = Object.keys(fields).length > 0 ? commandOfFlags(fields) : null
    return onBus(config, async (bus, settings, ending) => {
      await using producer = await createProducer(settings, { bus })
      const written: CommandHandle[] = []
      const failure = await write(producer, one, written)
      if (failure && written.length === 0) throw failure
      const advice = one ? ` busgate message ${one.id} shows what becomes of it.` : ''
      process.stderr.write(`Wrote ${count(written.length, 'command')}.${wait ? '' : advice}\n`)
      const areSent = !wait || (await awaitResults(written, { ending, asJson, ...given({ limitMs }) }))
      if (failure) throw failure
      return areSent ? 0 : 1
    })
  },
})

/** Writes one command, or those of standard input. @param written gets those on the bus @returns what ended the writing */
async function write(
  producer: CommandProducer,
  one: NewCommand | null,
  written: CommandHandle[],
): Promise<Error | null> {
  if (one) {
    written.push(...(await producer.send([one])))
    return null
  }
  try {
    for await (const { first, lines } of batchesOf(process.stdin)) {
      try {
        for (const handle of await sendLines(producer, first, lines)) written.push(handle)
      } catch (error) {
        throw nothingFrom(first, error as Error)
      }
    }
    return null
  } catch (error) {
    return error as Error
  }
}

/** @param first number of the first line @throws Error that names the line and the field, never its content */
export async function sendLines(
  producer: CommandProducer,
  first: number,
  lines: readonly string[],
): Promise<CommandHandle[]> {
  const numbers = lines.flatMap((line, i) => (line.trim() === '' ? [] : [first + i]))
  const commands = numbers.map(number => parseQuietly(lines[number - first]!, `line ${number}: not valid JSON`))
  return await producer.send(commands as NewCommand[]).catch(error => {
    const [problem] = error instanceof InvalidCommandError ? error.problems : []
    throw problem ? new Error(`line ${numbers[problem.index]}: ${sentenceOf(problem)}`) : error
  })
}

/** Yields lines as they arrive; each chunk is one batch. */
async function* batchesOf(input: AsyncIterable<Buffer>): AsyncIterable<{ first: number; lines: string[] }> {
  const utf8 = strictUtf8()
  let rest = ''
  let first = 1
  try {
    for await (const chunk of input) {
      const lines = `${rest}${utf8(chunk, { stream: true })}`.split('\n')
      rest = lines.pop()!
      if (lines.length > 0) yield { first, lines }
      first += lines.length
    }
    rest += utf8(Buffer.alloc(0))
  } catch (error) {
    throw nothingFrom(first, error as Error)
  }
  if (rest !== '') yield { first, lines: [rest] }
}

const nothingFrom = (first: number, cause: Error): Error =>
  new Error(`${cause.message} (nothing was written from line ${first} on)`, { cause })

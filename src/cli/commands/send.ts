import { createProducer } from '../../producer.ts'
import { sendTypes } from '../../protocol/index.ts'
import { choiceFlag, command, given, textFlag, toggle, whole } from '../framework/command.ts'
import { commandOfFlags, commandOfLine, deliveries } from '../send/new-command.ts'
import { configFlag, settingsWithBrokers } from '../settings.ts'

export const send = command({
  about: [
    'Puts commands on the bus. One from flags:',
    `  busgate send --id 42 --phone 380501234567 --type sms --message '{"sms_message":"Hello","sms_signature":"Shop"}'`,
    'or, without flags, JSON lines from standard input, with the names of the Avro fields:',
    '  {"id":42,"phone":380501234567,"type":"sms","message":{"sms_message":"Hello","sms_signature":"Shop"}}',
    'At a line that is wrong it ends with exit code 1 and names the line from which on nothing was sent.',
  ].join('\n'),
  flags: {
    id: textFlag('ID', 'Your own id of the message, unique for ever in its account.'),
    phone: textFlag('PHONE', 'Digits only, international.'),
    type: choiceFlag('TYPE', sendTypes, 'What to send.'),
    message: textFlag('JSON', 'Its content, with the names of the Avro fields.'),
    account: textFlag('NAME', 'Account that sends it. Default: default.'),
    deadline: whole('MS', 'Never sent after this instant, milliseconds since 1970.', 0, Number.MAX_SAFE_INTEGER),
    hook: textFlag('URL', "Where the gateway reports the status. Default: busgate's receiver."),
    delivery: choiceFlag('RULE', deliveries, 'What to do when nobody can tell whether it was sent. Default: DEFAULT.'),
    extra: textFlag(
      'JSON',
      `Additional properties of the operation, each value a JSON text: '{"sms_lifetime":"3600"}'.`,
    ),
    'correlation-id': textFlag('TEXT', 'Carried to the result and to every status event.'),
    tenant: textFlag('TEXT', 'Carried likewise.'),
    urgent: toggle('Takes the urgent lane.'),
    config: configFlag,
  },
  async run({ config, 'correlation-id': correlationId, ...flags }) {
    const settings = settingsWithBrokers(config)
    const fields = given({ ...flags, correlationId })
    const one = Object.keys(fields).length > 0 ? commandOfFlags(fields) : null
    const producer = await createProducer(settings)
    try {
      let sent = 0
      for await (const { first, lines } of one ? [] : batchesOf(process.stdin)) {
        try {
          const commands = lines.map((line, i) => commandOfLine(line, first + i)).filter(command => command !== null)
          await producer.send(commands)
          sent += commands.length
        } catch (error) {
          throw new Error(`${(error as Error).message} (nothing from line ${first} on was sent)`, { cause: error })
        }
      }
      if (one) await producer.send([one])
      process.stderr.write(
        one
          ? `Sent 1 command. busgate message ${one.id} tells what becomes of it.\n`
          : `Sent ${sent} command${sent === 1 ? '' : 's'}.\n`,
      )
    } finally {
      await producer.close()
    }
    return 0
  },
})

/** Lines as they arrive: what came in one piece goes out in one batch. */
async function* batchesOf(input: NodeJS.ReadStream): AsyncIterable<{ first: number; lines: string[] }> {
  let rest = ''
  let first = 1
  for await (const chunk of input.setEncoding('utf8')) {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop()!
    if (lines.length > 0) yield { first, lines }
    first += lines.length
  }
  if (rest !== '') yield { first, lines: [rest] }
}

import { expect, test } from 'vitest'
import type { OutgoingRecord } from '../../src/bus/port.ts'
import { windowSize } from '../../src/bus/session/window.ts'
import type { SendCommand } from '../../src/records/generated.ts'
import { commandsFrom } from '../support/commands.ts'
import { buildPause, buildWithdrawal } from '../support/control.ts'
import { keySet, sealingKey } from '../support/sealing.ts'
import { startSendingWorld } from '../support/sending.ts'

/*
 * Whatever records somebody writes, a command behind more of them than the window holds is sent soon. What is documented to fill the
 * window is left out: slow, paused, denied and throttled accounts.
 */

type World = Awaited<ReturnType<typeof startSendingWorld>>
type Flood = (n: number, world: World) => Omit<OutgoingRecord, 'topic' | 'partition' | 'key'>

const many = windowSize * 1.5
const known = 5_000
const honest = 1_000_000
const hour = 3_600_000

const command =
  (commandOf: (n: number, world: World) => Partial<SendCommand>): Flood =>
  (n, world) => ({ value: world.encode({ id: BigInt(n + 1), ...commandOf(n, world) }) })

/** A command whose content nobody can open. */
const sealed = (n: number, kid: string): Partial<SendCommand> => {
  const names = { id: String(n + 1), account: 'default', phone: '380501234567', type: 'sms' }
  const header = Buffer.from(JSON.stringify({ alg: 'ECDH-ES', enc: 'A256GCM', kid, ...names })).toString('base64url')
  const content = {
    'io.busgate.Sealed': { type: 'sms', jwe: `${header}..AAAAAAAAAAAAAAAA.AAAA.AAAAAAAAAAAAAAAAAAAAAA` },
  }
  return { message: content as unknown as SendCommand['message'] }
}

function schema(id: number): { value: Buffer } {
  const value = Buffer.alloc(20, 2)
  value[0] = 0
  value.writeUInt32BE(id, 1)
  return { value }
}

const forged = (n: number) => ({ 'busgate.later.of': `bulk/0@${n}#${n}`, 'busgate.later': '["released"]' })

const floods: Record<string, Flood> = {
  'commands of an unknown account': command(() => ({ account: 'shop' })),
  'commands of unknown accounts': command(n => ({ account: `shop${n}` })),
  'commands without a valid phone': command(() => ({ phone: 1 })),
  'commands that are too late': command(() => ({ deadline: 1 })),
  'commands of one id': command(() => ({ id: 7n })),
  'commands of ids that a former worker has sent': command(n => ({ id: BigInt(honest + 1 + (n % known)) })),
  'commands for later': command((_, { clock }) => ({ notBefore: clock.now() + hour })),
  'commands for later of unknown accounts': command((n, { clock }) => ({
    ...{ account: `shop${n}`, notBefore: clock.now() + hour },
  })),
  'commands of a paused campaign': command(() => ({ campaign: 'paused' })),
  'commands of a withdrawn campaign': command(() => ({ campaign: 'withdrawn' })),
  'commands that claim to be copies': (n, world) => ({
    ...command(() => ({ deadline: 1 }))(n, world),
    headers: forged(n),
  }),
  'records that are no commands': () => ({ value: Buffer.from('a text') }),
  'records without a value': () => ({ value: null }),
  'records of unknown schemas': n => schema(1_000 + n),
}

/** For what may come within ten seconds. */
const awaited: Record<string, Flood> = {
  'records of an unknown schema': () => schema(1_000),
  'commands sealed with an unknown key': command(n => sealed(n, 'k2')),
  'commands sealed with unknown keys': command(n => sealed(n, `key-${n}`)),
}

/** @returns milliseconds until the gateway had the command behind the flood */
async function delayBehind(flood: Flood): Promise<number> {
  const world = await startSendingWorld({ settings: { sealing: { keys: keySet(sealingKey('k1').own) } } })
  world.put('bulk', commandsFrom(honest + 1, known))
  await world.pass(2_000)
  await world.takeOver()
  world.control(
    buildPause({ kind: 'campaign', name: 'paused' }),
    buildWithdrawal({ kind: 'campaign', name: 'withdrawn' }),
  )
  await world.pass(1_000)
  const records = Array.from({ length: many }, (_, n) => ({
    topic: 'bulk',
    partition: 0,
    key: null,
    ...flood(n, world),
  }))
  world.broker.append(records, world.clock.now())
  world.put('bulk', commandsFrom(honest, 1))
  let ms = 0
  for (; world.postsOf(honest) === 0 && ms < 60_000; ms += 250) await world.pass(250)
  return ms
}

test.each(Object.entries(floods))('%s do not delay what is behind them', async (_, flood) => {
  expect(await delayBehind(flood)).toBeLessThanOrEqual(2_000)
})

test.each(Object.entries(awaited))('%s delay what is behind them by ten seconds', async (_, flood) => {
  expect(await delayBehind(flood)).toBeLessThanOrEqual(12_000)
})

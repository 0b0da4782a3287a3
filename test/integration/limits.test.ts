import { expect, onTestFinished, test } from 'vitest'
import { createWorker } from '../../src/create-worker.ts'
import { busgate } from '../support/cli.ts'
import { buildCommandOf } from '../support/commands.ts'
import { environmentOf } from '../support/environment.ts'
import { describeOnKafka } from '../support/integration.ts'
import { startWorld } from '../support/worker.ts'

const [ukraine, sriLanka] = [380501234567, 94711234567]

describeOnKafka('limits of countries and parts', brokers => {
  test('refuse each command beyond them with one result that says why, send the others, and end with the settings', async () => {
    const settings = { gateway: { countries: 'UA', maxParts: 1 } }
    const world = await startWorld({ brokers, settings })
    const sms = (id: number, phone: number, sms_message: string) =>
      buildCommandOf('sms', { id: BigInt(id), phone }, { sms_message })
    const all = (first: number) => [
      sms(first, ukraine, 'Your code is 1234'),
      sms(first + 1, sriLanka, 'Your code is 1234'),
      sms(first + 2, ukraine, `${'It is ready. '.repeat(6)}It’s yours.`),
    ]
    await world.send(all(1))
    await world.finished(3)
    expect([1, 2, 3].map(id => world.resultOf(id))).toMatchObject([
      { outcome: 'SENT' },
      { outcome: 'INVALID', errorCode: 'COUNTRY', country: 'LK', attempts: 0, final: true },
      { outcome: 'INVALID', errorCode: 'PARTS', attempts: 0, final: true },
    ])
    expect(world.sandbox.stats().executed).toBe(1)
    const { stdout } = await busgate(['message', '3'], { env: environmentOf(world) })
    expect(stdout).toContain('it needs 2, because its character 81 (U+2019) is not in GSM-7')

    await world.worker.close()
    const none = { general: undefined, own: new Map() }
    const gateway = { ...world.settings.gateway, countries: none, maxParts: none }
    const worker = await createWorker({ ...world.settings, gateway }, { registry: world.registry })
    onTestFinished(() => worker.close())
    await world.send(all(11))
    await world.finished(6)
    expect([11, 12, 13].map(id => world.resultOf(id).outcome)).toEqual(['SENT', 'SENT', 'SENT'])
  })
})

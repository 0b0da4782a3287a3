import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createProducer } from '../../src/producer.ts'
import { canary, leaksIn } from '../support/canary.ts'
import { busgate } from '../support/cli.ts'
import { environmentOf } from '../support/environment.ts'
import { describeOnKafka } from '../support/integration.ts'
import { bytesOf, keySet, sealingKey } from '../support/sealing.ts'
import { startWorld } from '../support/worker.ts'

describeOnKafka('sealed content', brokers => {
  test('whose key is missing becomes a dead letter, whose replay is sent once the file has the key; nothing shows it', async () => {
    const [old, next] = [sealingKey('old'), sealingKey('next', 'P-256')]
    const folder = mkdtempSync(join(tmpdir(), 'busgate-keys-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const keysFile = join(folder, 'keys.json')
    writeFileSync(keysFile, keySet(old.own))
    const world = await startWorld({ brokers, settings: { sealing: { keysFile } } })
    const { settings, bus, registry } = world
    const message = { sms_signature: 'Shop', sms_message: canary.text }
    for (const [id, { shared }] of [old, next].entries()) {
      await using producer = await createProducer(settings, { bus, registry, seal: shared })
      await producer.send([{ id: id + 1, phone: 380501234567, type: 'sms', message }])
    }
    await world.finished(1)
    expect(world.resultOf(1).outcome).toBe('SENT')
    await vi.waitUntil(() => world.deadLetters().length === 1, { timeout: 60_000 })

    const env = environmentOf(world)
    const lost = await busgate(['message', '2'], { env })
    expect(lost.stdout).toContain('KEY_NOT_FOUND')
    expect(lost.stdout).toContain('Once sealing.keysFile has its key, busgate dlq replay')
    const shown = await Promise.all([
      lost,
      busgate(['message', '1'], { env }),
      busgate(['dlq', 'list'], { env }),
      busgate(['dlq', 'show', '--at', '0@0'], { env }),
      busgate(['status'], { env }),
    ])
    writeFileSync(keysFile, keySet(next.own, old.own))
    const replayed = await busgate(
      ['dlq', 'replay', '--all', '--code', 'KEY_NOT_FOUND', '--yes', '--reason', 'its key is there'],
      { env },
    )
    expect(replayed).toMatchObject({ code: 0 })
    await world.finished(2)
    expect(world.resultOf(2).outcome).toBe('SENT')
    expect([1, 2].map(id => world.sandbox.executions(id))).toEqual([1, 1])
    await world.quiet()
    const texts = [...shown, replayed].map(({ stdout, stderr }) => stdout + stderr)
    expect(leaksIn([...texts, await bytesOf(world)].join('\n'), ['Olena', 'code is'])).toEqual([])
  })
})

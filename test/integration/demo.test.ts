import { expect, test } from 'vitest'
import { busgate, startBusgate } from '../support/cli.ts'
import { describeOnKafka } from '../support/integration.ts'

describeOnKafka('the demo on a real Kafka', ({ brokers, registryUrl }) => {
  const env = { BUSGATE_KAFKA_BROKERS: brokers.join(','), BUSGATE_REGISTRY_URL: registryUrl }

  test('ends with success', async () => {
    const { code, stdout } = await busgate(['demo', '--count', '2000', '--json'], { env })
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, commands: 2000 })
    expect(code).toBe(0)
  })

  test('prints with --keep a command for another terminal, and the variables that it needs there', async () => {
    const demo = startBusgate(['demo', '--count', '20', '--keep'], { env })
    await expect.poll(demo.stderr, { timeout: 60_000 }).toContain('Ctrl-C ends.')
    const [, variables, line] = /\(with (\S+, \S+) as here: busgate (.*)\)/.exec(demo.stderr())!
    expect(variables!.split(', ')).toEqual(Object.keys(env))
    const { code, stdout } = await busgate([...line!.split(' '), '--from-beginning', '--limit', '20'], { env })
    expect(stdout).toContain('SENT')
    expect(code).toBe(0)
  })
})

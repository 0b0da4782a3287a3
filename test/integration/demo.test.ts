import { expect, test } from 'vitest'
import { busgate } from '../support/cli.ts'
import { describeOnKafka } from '../support/integration.ts'

describeOnKafka('the demo on a real Kafka', ({ brokers, registryUrl }) => {
  test('ends with success', async () => {
    const env = { BUSGATE_KAFKA_BROKERS: brokers.join(','), BUSGATE_REGISTRY_URL: registryUrl }
    const { code, stdout } = await busgate(['demo', '--count', '2000', '--json'], { env })
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, commands: 2000 })
    expect(code).toBe(0)
  }, 120_000)
})

import { expect, test } from 'vitest'
import { busgate } from '../support/cli.ts'
import { describeOnKafka } from '../support/integration.ts'

describeOnKafka('the demo on a real Kafka', ({ brokers, registryUrl }) => {
  test('with an answer lost and the worker killed half-way, nothing is missing and nothing is double', async () => {
    const env = { BUSGATE_KAFKA_BROKERS: brokers.join(','), BUSGATE_REGISTRY_URL: registryUrl }
    const { code, stdout, stderr } = await busgate(['demo', '--count', '5000', '--kill', '--json'], { env })
    expect(stderr).toContain('kill -9')
    const verdict = JSON.parse(stdout)
    expect(verdict).toMatchObject({
      ok: true,
      commands: 5000,
      results: { missing: 0, moreThanOneFinal: 0 },
      gateway: { billedTwice: 0, contradicted: 0 },
      statuses: { missing: 0 },
    })
    expect(Object.keys(verdict.results.afterDoubt)).not.toEqual([])
    expect(code).toBe(0)
  }, 120_000)
})

import { expect, test } from 'vitest'
import { publishAll } from '../support/bus.ts'
import { commandsFrom } from '../support/commands.ts'
import { describeOnKafka } from '../support/integration.ts'
import { startWorld } from '../support/worker.ts'

describeOnKafka('accounts that share a partition on Kafka', brokers => {
  test.each([1, 24])(
    'thousands of commands that may not be sent hold up no other account, and are all sent later: %i partitions',
    async partitions => {
      const world = await startWorld({
        brokers,
        partitions,
        settings: { gateway: { accounts: { late: { apiKey: 'late-key' } } } },
      })
      const topic = world.settings.topics.commands.at(-1)!
      const put = (commands: ReturnType<typeof commandsFrom>) =>
        publishAll(
          world.bus,
          commands.map(command => ({ topic, partition: 0, key: null, value: world.encode(command) })),
        )
      await put(commandsFrom(1, 6_000, { account: 'late' }))
      await put(commandsFrom(10_001, 10, { account: 'default' }))
      const healthy = await world.finished(10)
      expect(healthy.every(({ account }) => account === 'default')).toBe(true)
      world.sandbox.setKeys(['sandbox-key', 'late-key'])
      await world.finished(6_010)
      await world.quiet()
      expect(world.results().filter(({ outcome }) => outcome === 'SENT')).toHaveLength(6_010)
      expect(world.sandbox.stats()).toMatchObject({ executed: 6_010, billedTwice: 0 })
    },
    120_000,
  )
})

/**
 * Starts a broker and a registry with the dataset, to try a query by hand: npx node test/analytics/serve.ts
 * Prints the variables that the examples read, and runs until it is interrupted.
 */
import { startKafka } from '../../src/cli/local-kafka/kafka.ts'
import { startRegistry } from '../../src/cli/local-kafka/registry.ts'
import { writeDataset } from './topics.ts'

const [kafka, registry] = await Promise.all([startKafka(), startRegistry()])
const topics = { results: 'busgate.results', statuses: 'busgate.statuses' }
await writeDataset({ brokers: kafka.brokers, registryUrl: registry.url }, topics)
console.log(`export KAFKA_BROKERS=${kafka.brokers} REGISTRY_URL=${registry.url}`)
process.on('SIGINT', async () => {
  await Promise.all([kafka.stop(), registry.stop()])
  process.exit()
})

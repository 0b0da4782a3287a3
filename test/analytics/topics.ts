import { createEncoder } from '../../src/records/encoder.ts'
import type { SendResult, StatusEvent } from '../../src/records/generated.ts'
import { confluentRegistry, type SchemaRegistry } from '../../src/records/registry.ts'
import { type AvroRecord, schemas, subjectOf } from '../../src/records/schemas.ts'
import { createStatusWriter } from '../../src/records/status.ts'
import type { Brokers } from '../support/integration.ts'
import { createTopics, plainKafka } from '../support/kafka.ts'
import { addedFields, type DatasetRecord, dataset } from './dataset.ts'

export interface AnalyticsTopics {
  results: string
  statuses: string
}

/** The number of committed records on each topic of the dataset. */
export const committed = {
  results: dataset.filter(record => record.topic === 'results' && !record.aborted).length,
  statuses: dataset.filter(record => record.topic === 'statuses').length,
}

/** Creates the topics and writes the dataset to them, with the earlier and the current schemas. */
export async function writeDataset({ brokers, registryUrl }: Brokers, topics: AnalyticsTopics): Promise<void> {
  await createTopics(
    brokers,
    Object.values(topics).map(topic => ({ topic, partitions: 3 })),
  )
  const encode = await createWriter(topics, confluentRegistry({ url: registryUrl }))
  const producer = plainKafka(brokers).producer({ transactionalId: topics.results, idempotent: true })
  await producer.connect()
  for (const run of runsOf(dataset)) {
    const transaction = await producer.transaction()
    await transaction.sendBatch({
      topicMessages: run.map(record => ({ topic: topics[record.topic], messages: [encode(record)] })),
    })
    await (isAborted(run[0]!) ? transaction.abort() : transaction.commit())
  }
  await producer.disconnect()
}

async function createWriter(topics: AnalyticsTopics, registry: SchemaRegistry) {
  const encoders = async (old: boolean) => {
    const schemaOf = (name: 'results' | 'statuses') => {
      const schema = name === 'results' ? schemas.result : schemas.status
      return old ? without(schema, addedFields[name]) : schema
    }
    return {
      results: await createEncoder<SendResult>(subjectOf(topics.results), schemaOf('results'), registry),
      status: createStatusWriter(
        topics.statuses,
        await createEncoder<StatusEvent>(subjectOf(topics.statuses), schemaOf('statuses'), registry),
      ),
    }
  }
  const before = await encoders(true)
  const now = await encoders(false)
  return (record: DatasetRecord) => {
    const { results, status } = record.old ? before : now
    if (record.topic === 'results') return { key: String(record.value.id), value: results(record.value) }
    const { key, value } = status(record.value, null)
    return { key: String(key), value: value as Buffer }
  }
}

const without = (schema: AvroRecord, names: readonly string[]): AvroRecord => ({
  ...schema,
  fields: schema.fields.filter(({ name }) => !names.includes(name)),
})

const isAborted = (record: DatasetRecord) => record.topic === 'results' && record.aborted === true

/** Groups consecutive records that share a transaction. */
function runsOf(records: readonly DatasetRecord[]): DatasetRecord[][] {
  const runs: DatasetRecord[][] = []
  for (const record of records) {
    const run = runs.at(-1)
    if (run && isAborted(run[0]!) === isAborted(record)) run.push(record)
    else runs.push([record])
  }
  return runs
}

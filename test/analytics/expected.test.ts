import { expect, test } from 'vitest'
import { finalOf } from '../../src/consumer/final.ts'
import type { StatusEvent } from '../../src/records/generated.ts'
import { lifecycleAfter, newLifecycle, verdictOf } from '../../src/records/lifecycle.ts'
import { expected } from './answers.ts'
import { dataset } from './dataset.ts'

const results = dataset.flatMap(record =>
  record.topic === 'results' && !record.aborted ? [{ record, of: record.value }] : [],
)
const events = dataset.flatMap(record => (record.topic === 'statuses' ? [record.value as StatusEvent] : []))

test('the expected table agrees with finalOf and the life cycle of the library for each message', () => {
  const finals = results.map(({ of }) => of)
  for (const { account = '', id = '', outcome, delivery } of expected.messages) {
    const message = { account, id: BigInt(id) }
    const final = finalOf(finals, message)
    const result = results.find(({ of }) => of === final)
    const hooked = result?.record.old === true ? null : (result?.of.hooked ?? null)
    const life = events
      .filter(event => event.account === account && event.id === message.id)
      .reduce(lifecycleAfter, newLifecycle)
    expect({ ...message, outcome, delivery }).toEqual({
      ...message,
      outcome: final?.outcome ?? 'IN_DOUBT',
      delivery: verdictOf(life, { hooked }) ?? '',
    })
  }
})

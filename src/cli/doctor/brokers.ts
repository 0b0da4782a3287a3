import { tlsOf, variableOf } from '../../config/index.ts'
import { check, type Finding, skipped } from './check.ts'
import { placeOfBroker, reach, reached } from './reach.ts'

export const brokers = check({
  name: 'brokers',
  about: 'Name, connection and certificate of every broker in kafka.brokers. One that answers is enough to begin with.',
  needs: ['settings'],
  async look({ settings: { kafka } }) {
    if (!Array.isArray(kafka.brokers)) {
      return { findings: [skipped(`kafka.brokers is ${kafka.brokers ?? 'not set'}: there are none to look at`)] }
    }
    const tls = typeof kafka.ssl === 'boolean' ? kafka.ssl : tlsOf(kafka.ssl)
    const of = { tls, givenBy: variableOf('kafka.brokers'), caGivenBy: `${variableOf('kafka.ssl.ca')}_FILE` }
    const findings = await Promise.all(kafka.brokers.map(address => reach(placeOfBroker(address, of))))
    const answering = kafka.brokers.filter((_, i) => reached(findings[i]!))
    if (answering.length === 0) return { findings }
    return { findings: findings.map(tolerated), facts: { brokers: answering } }
  },
})

function tolerated(finding: Finding): Finding {
  return finding.state === 'failed' ? { ...finding, state: 'warning' } : finding
}

import {
  addOffsetsToTxn,
  addPartitionsToTxn,
  describeConfigs,
  endTxn,
  findCoordinator,
  heartbeat,
  initProducerId,
  joinGroup,
  leaveGroup,
  listOffsets,
  metadata,
  offsetFetch,
  syncGroup,
  txnOffsetCommit,
} from '../../bus/cluster/apis.ts'
import { fetchRecords } from '../../bus/read/fetch-api.ts'
import { produce } from '../../bus/write/produce-api.ts'
import { variableOf } from '../../config/index.ts'
import { codeOf, safeText } from '../../telemetry/error.ts'
import { count } from '../../words.ts'
import { type Cluster, connectCluster, type Spoken } from '../kafka/cluster.ts'
import { check, type Finding, failed, ok, skipped, warning } from './check.ts'

/** Kinds of requests that a worker makes. */
const spoken: readonly Spoken[] = [
  fetchRecords,
  listOffsets,
  metadata,
  offsetFetch,
  findCoordinator,
  joinGroup,
  heartbeat,
  leaveGroup,
  syncGroup,
  describeConfigs,
  produce,
  initProducerId,
  addPartitionsToTxn,
  addOffsetsToTxn,
  txnOffsetCommit,
  endTxn,
]
const enoughNodes = 3
const newEnough = 'use Apache Kafka 3.0 or newer'

export const cluster = check({
  name: 'cluster',
  about:
    'Signs in to one of kafka.brokers, and asks each broker at its advertised address which requests it supports (API versions).',
  needs: ['settings'],
  async look({ settings }) {
    const { brokers } = settings.kafka
    if (!Array.isArray(brokers)) {
      return { findings: [skipped(`kafka.brokers is ${brokers ?? 'not set'}: there are no brokers to check`)] }
    }
    try {
      const found = await connectCluster(settings, brokers)
      const findings = await Promise.all(found.nodes.map(node => ofNode(node, found)))
      if (found.nodes.length < enoughNodes) {
        const few = `the cluster has ${count(found.nodes.length, 'broker')}: if one breaks, its records are lost or unavailable`
        findings.push(warning(few, `give it ${enoughNodes}`))
      }
      return { findings, facts: { cluster: found } }
    } catch (error) {
      return { findings: [unusable(error as Error)] }
    }
  },
})

async function ofNode({ id, host, port }: Cluster['nodes'][number], found: Cluster) {
  const name = `broker ${id} at ${host}:${port}`
  try {
    const missing = await found.unspoken(id, spoken)
    if (missing.length === 0) return ok(`${name} supports all requests of busgate`)
    return failed(`${name} does not support ${missing.join(', ')}`, newEnough)
  } catch (error) {
    const mend = `check advertised.listeners of broker ${id}: clients connect to the address that it names`
    return failed(`${name} cannot be used: ${said(error as Error)}`, mend)
  }
}

function unusable(error: Error): Finding {
  if (codeOf(error) === 'UNSUPPORTED_VERSION') return failed(said(error), newEnough)
  const settings = ['kafka.brokers', 'kafka.ssl', 'kafka.sasl.mechanism', 'kafka.sasl.username'] as const
  return failed(
    `no broker can be used: ${said(error)}`,
    `check ${settings.map(variableOf).join(', ')} and its password`,
  )
}

function said(error: Error): string {
  const code = codeOf(error)
  return safeText(code ? `${error.message} (${code})` : error.message)
}

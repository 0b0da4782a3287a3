import { isObject, parseJson } from '../protocol/json.ts'
import type { AccountNow, PartitionNow, Pause, SourceState } from './now.ts'
import { stepMs, type Traffic } from './traffic.ts'

const answerMs = 1500
const mostBytes = 8 * 1024 * 1024

const counters = {
  busgate_commands_consumed_total: ({ topic }: Labels) => ['command', topic],
  busgate_results_published_total: ({ type, outcome, error_code }: Labels) => ['result', type, outcome, error_code],
  busgate_callbacks_total: ({ type, state }: Labels) => ['verdict', type, state],
  busgate_verdicts_found_total: ({ type, state }: Labels) => ['verdict', type, state],
  busgate_envelopes_total: ({ account }: Labels) => ['use', account],
}
const gauges = [
  'busgate_consumer_lag_records',
  'busgate_window_used_ratio',
  'busgate_rate_headroom_ratio',
  'busgate_rate_learnt_per_second',
  'busgate_breaker_state',
  'busgate_doubts_open',
]
const wanted: ReadonlySet<string> = new Set([...Object.keys(counters), ...gauges])

type Labels = Record<string, string>

/** The present state of accounts and partitions, as the workers' own pages tell it. */
export interface WorkersNow {
  accounts: Omit<AccountNow, 'perSecond' | 'rate'>[]
  pauses: Pause[]
  partitions: PartitionNow[]
  doubts: number | null
}

/** Asks workers for their metrics in Prometheus' format, and for their readiness. */
export class WorkerPages {
  readonly #pages: WorkerPage[]

  /** @param urls of their telemetry ports */
  constructor(urls: readonly URL[], traffic: Traffic) {
    this.#pages = urls.map(url => new WorkerPage(url, traffic))
  }

  /** Asks all of them at the same time. */
  async ask(): Promise<void> {
    await Promise.all(this.#pages.map(page => page.ask()))
  }

  get sources(): SourceState[] {
    return this.#pages.map(({ url, trouble, reasons }) => ({ name: url.host, kind: 'worker', trouble, reasons }))
  }

  now(): WorkersNow {
    const samples = this.#pages.flatMap(page => page.gauges)
    const doubts = of(samples, 'busgate_doubts_open')
    return {
      accounts: accountsOf(samples),
      pauses: this.#pages.flatMap(({ url, gauges, reasons }) => pausesOf(url.host, gauges, reasons)),
      partitions: partitionsOf(samples),
      doubts: doubts.length === 0 ? null : doubts.reduce((sum, { value }) => sum + value, 0),
    }
  }
}

/** One worker. What its counters say more than the time before is counted, and all they say after it began anew. */
class WorkerPage {
  readonly url: URL
  readonly #traffic: Traffic
  trouble: string | null = 'it was not asked yet'
  reasons: string[] = []
  gauges: Sample[] = []
  #counted: Map<string, number> | null = null
  #askedAt = 0

  constructor(url: URL, traffic: Traffic) {
    this.url = url
    this.#traffic = traffic
  }

  async ask(): Promise<void> {
    try {
      const metrics = await textAt(new URL('metrics', this.url))
      const samples = samplesIn(metrics, wanted)
      if (samples.length === 0)
        throw new Error('its /metrics has nothing of busgate: is this the telemetry port of a worker?')
      this.reasons = reasonsIn(await textAt(new URL('readyz', this.url)))
      this.gauges = samples.filter(({ name }) => gauges.includes(name))
      this.#count(samples)
      this.trouble = null
    } catch (error) {
      this.trouble = whyNot(this.url, error as Error)
      this.gauges = []
      this.reasons = []
    }
  }

  #count(samples: readonly Sample[]): void {
    const steps = Math.max(1, Math.round((performance.now() - this.#askedAt) / stepMs))
    const before = this.#counted
    this.#counted = new Map()
    this.#askedAt = performance.now()
    for (const { name, labels, value } of samples) {
      const nameOf = counters[name as keyof typeof counters]
      if (!nameOf) continue
      const key = [name, ...Object.values(labels)].join()
      this.#counted.set(key, value)
      const last = before?.get(key) ?? 0
      if (before) this.#traffic.add(nameOf(labels).map(String), value < last ? value : value - last, steps)
    }
  }
}

async function textAt(url: URL): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.timeout(answerMs), redirect: 'error' })
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length > mostBytes) throw new Error(`it answers more than ${mostBytes / 1024 / 1024} MiB`)
  }
  return text
}

/** Each tells what most often stands behind a failure to connect, and what to look at. */
const hints: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there. Does the worker run, and is this its telemetry.port?',
  ENOTFOUND: 'nobody here knows this name. Is it spelt right, and known on this machine?',
  EAI_AGAIN: 'the name cannot be looked up now. Does this machine reach its DNS?',
  EHOSTUNREACH: 'no way leads there. Is the worker in a network that this machine reaches?',
  ENETUNREACH: 'no way leads there. Is the worker in a network that this machine reaches?',
  ECONNRESET: 'it ended the connection. Is this the telemetry.port of a worker, and http or https as it speaks?',
  UND_ERR_SOCKET: 'it ended the connection. Is this the telemetry.port of a worker, and http or https as it speaks?',
}
const silent = `no answer within ${answerMs / 1000} s. Does the worker run, and does no firewall stand before its telemetry.port?`

/** Says which address was not reached, why, and what to look at; fetch hides the reason behind `fetch failed`. */
function whyNot(url: URL, { name, message, cause }: Error): string {
  const code = (cause as { code?: string } | undefined)?.code
  if (name !== 'TimeoutError' && code === undefined) return message
  const why = name === 'TimeoutError' ? silent : (hints[code!] ?? `the connection failed (${code}).`)
  return `its address ${url.origin} was not reached: ${why}`
}

/** The reasons in an answer of /readyz. */
function reasonsIn(text: string): string[] {
  try {
    const state = parseJson(text)
    return isObject(state) && Array.isArray(state.reasons) ? state.reasons.map(String) : []
  } catch {
    return []
  }
}

const of = (samples: readonly Sample[], name: string) => samples.filter(sample => sample.name === name)

const breakers = ['sending', 'probing', 'paused'] as const

function accountsOf(samples: readonly Sample[]): WorkersNow['accounts'] {
  const ofAccount = Map.groupBy(samples, ({ labels }) => labels.account)
  return [...ofAccount].flatMap(([account, own]) => {
    if (account === undefined) return []
    const values = (name: string) => of(own, name).map(({ value }) => value)
    const learnt = values('busgate_rate_learnt_per_second').reduce((sum, value) => sum + value, 0)
    const headrooms = values('busgate_rate_headroom_ratio')
    const worst = Math.max(0, ...values('busgate_breaker_state'))
    return [
      {
        account,
        headroom: headrooms.length === 0 ? null : Math.min(...headrooms),
        learnt: learnt > 0 ? learnt : null,
        state: breakers[worst] ?? null,
      },
    ]
  })
}

/** Each worker pauses by itself; its readiness says why. */
function pausesOf(worker: string, samples: readonly Sample[], reasons: readonly string[]): Pause[] {
  return of(samples, 'busgate_breaker_state').flatMap(({ labels: { account = '' }, value }) => {
    if (value === 0) return []
    const prefix = `account ${account} pauses: `
    const reason =
      reasons.find(one => one.startsWith(prefix))?.slice(prefix.length) ?? 'the gateway does not let it send'
    const state = value === 1 ? ', and probes with one message' : ''
    return [{ what: `account ${account}`, why: `${reason}${state} (worker ${worker})` }]
  })
}

/** While a partition changes hands two workers may tell of it. */
function partitionsOf(samples: readonly Sample[]): PartitionNow[] {
  const windows = new Map(of(samples, 'busgate_window_used_ratio').map(({ labels, value }) => [nameOf(labels), value]))
  const lags = new Map(of(samples, 'busgate_consumer_lag_records').map(sample => [nameOf(sample.labels), sample]))
  return [...lags].map(
    ([
      name,
      {
        labels: { topic = '', partition },
        value,
      },
    ]) => ({
      topic,
      partition: Number(partition),
      lag: value,
      window: windows.get(name) ?? 0,
    }),
  )
}

const nameOf = ({ topic, partition }: Labels) => `${topic}/${partition}`

/** One number of a page in Prometheus' text format. */
interface Sample {
  name: string
  labels: Record<string, string>
  value: number
}

const line = /^([a-zA-Z_:][\w:]*)(?:\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\})? (\S+)/
const label = /(\w+)="((?:[^"\\]|\\.)*)"/g
const escapes: Record<string, string> = { '\\n': '\n', '\\"': '"', '\\\\': '\\' }

/** The samples of those metrics, from a page in the text format of Prometheus; what is no sample is passed over. */
export function samplesIn(text: string, names: ReadonlySet<string>): Sample[] {
  return text.split('\n').flatMap(one => {
    const [, name = '', labels = '', value = ''] = line.exec(one) ?? []
    if (!names.has(name)) return []
    const pairs = [...labels.matchAll(label)].map(([, key = '', given = '']) => [
      key,
      given.replaceAll(/\\[n"\\]/g, pair => escapes[pair] ?? pair),
    ])
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }]
  })
}

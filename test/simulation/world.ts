import { partitionOf } from '../../src/bus/murmur2.ts'
import type { BusRecord, TopicPartition } from '../../src/bus/port.ts'
import { unpackCheckpoint } from '../../src/bus/session/checkpoint.ts'
import { type Change, nameOf, writeChange } from '../../src/control/change.ts'
import { finishedBy } from '../../src/records/doubt.ts'
import type { SendCommand } from '../../src/records/generated.ts'
import { copiedFrom, keyText, readLater } from '../../src/records/later.ts'
import { buildStatusEvent } from '../support/status-events.ts'
import { ObservedBroker } from './broker.ts'
import { Chaos } from './chaos.ts'
import { type Codec, sharedCodec } from './codec.ts'
import { phoneOf, policyOf, recordOf } from './commands.ts'
import { drawPlan } from './draw-plan.ts'
import { Fleet, textOf } from './fleet.ts'
import { type Operation, SimGateway } from './gateway.ts'
import type { Violation } from './judge/invariants.ts'
import { Judge } from './judge/judge.ts'
import type { CommandPlan, GrowthPlan, PausePlan, Plan, WithdrawalPlan } from './plan.ts'
import { Ports } from './ports.ts'
import { epoch, virtualClock } from './process.ts'
import { Random } from './random.ts'
import { Scheduler } from './scheduler.ts'
import { keysLagMs, sealContents } from './sealing.ts'
import { keys, settingsOf } from './settings.ts'
import { createTracer } from './trace.ts'

/** The outcome of one seed. */
export interface Outcome {
  violation: Violation | null
  /** The numbers of faults, POSTs, doubts and so on. */
  counts: Record<string, number>
  /** Empty unless asked for. */
  trace: string[]
}

/** How long everything may take after the faults, in virtual milliseconds. */
const timeToFinishMs = 300_000
/** How long a world runs after the last final result, in virtual milliseconds, to see what must not follow. */
const aftermathMs = 2_000

/** Runs the world of one seed to its end, or to the first violation. */
export async function runSeed(seed: number, { trace = false } = {}): Promise<Outcome> {
  return new World(seed, drawPlan(seed), await sharedCodec(), trace).run()
}

/** Milliseconds until a pause takes effect on every process that reads it. */
const pauseMs = 2_000

/** The default of commands.maxInFlight. */
const defaultMaxIntents = 6_400

class World {
  readonly #plan: Plan
  readonly #codec: Codec
  readonly #random: Random
  readonly #scheduler: Scheduler
  readonly #tracer: ReturnType<typeof createTracer>
  readonly #settings: ReturnType<typeof settingsOf>
  readonly #judge: Judge
  readonly #broker: ObservedBroker
  readonly #gateway: SimGateway
  readonly #ports: Ports
  readonly #fleet: Fleet
  readonly #chaos: Chaos
  #published = 0
  /** Sealed content by phone. */
  #sealed = new Map<number, SendCommand['message']>()

  constructor(seed: number, plan: Plan, codec: Codec, wantsTrace: boolean) {
    this.#plan = plan
    this.#codec = codec
    this.#settings = settingsOf(plan)
    this.#random = new Random(~seed)
    this.#scheduler = new Scheduler(this.#random)
    this.#tracer = createTracer(wantsTrace, () => this.#scheduler.now)
    this.#judge = this.#createJudge()
    this.#broker = this.#createBroker()
    this.#gateway = this.#createGateway()
    const shared = {
      plan,
      settings: this.#settings,
      random: this.#random,
      scheduler: this.#scheduler,
      judge: this.#judge,
      broker: this.#broker,
      gateway: this.#gateway,
      trace: this.#tracer.trace,
    }
    this.#ports = new Ports(shared)
    this.#fleet = new Fleet({
      ...shared,
      ports: this.#ports,
    })
    this.#chaos = new Chaos({
      ...shared,
      ports: this.#ports,
      fleet: this.#fleet,
      keys: [...keys.keys()],
      fence: () => this.#fence(),
      deleteRecords: () => this.#deleteRecords(),
      reset: () => this.#reset(),
    })
  }

  async run(): Promise<Outcome> {
    const { faults, workers, commands } = this.#plan
    this.#sealed = await sealContents(this.#plan)
    const scheduler = this.#scheduler
    const unhandled = (error: unknown) => this.#judge.report('the worker keeps running', `unhandled: ${textOf(error)}`)
    process.on('unhandledRejection', unhandled)
    for (const [i, command] of commands.entries()) {
      scheduler.add('world', null, 'publish', command.at, () => this.#publish(command, phoneOf(i)))
    }
    for (const pause of this.#plan.pauses) {
      scheduler.add('world', null, 'pause', pause.at, () => this.#pause(pause, true))
      scheduler.add('world', null, 'resume', pause.at + pause.lasts, () => this.#pause(pause, false))
    }
    for (const withdrawal of this.#plan.withdrawals) {
      scheduler.add('world', null, 'withdrawal', withdrawal.at, () => this.#withdraw(withdrawal))
    }
    for (const growth of this.#plan.growths) {
      scheduler.add('world', null, 'growth', growth.at, () => this.#grow(growth))
      if (growth.resetAt !== null) scheduler.add('world', null, 'stop', growth.resetAt, () => void this.#resetStopped())
    }
    scheduler.add('world', null, 'calm', faults.until, () => this.#endFaults())
    for (let i = 0; i < workers; i++) this.#fleet.start()
    await this.#runSteps()
    await new Promise(resolve => setImmediate(resolve)) // Node.js reports unhandled rejections before that
    process.off('unhandledRejection', unhandled)
    const { violation, counts } = this.#judge
    return {
      violation,
      counts: { commands: commands.length, ...counts, ...this.#chaos.counts },
      trace: this.#tracer.lines,
    }
  }

  async #runSteps(): Promise<void> {
    const { faults, commands, timeoutMs, settleMs } = this.#plan
    const judge = this.#judge
    const concluded = () => this.#ports.calm && this.#published === commands.length && judge.lives.allConcluded
    await this.#until(concluded, faults.until + timeToFinishMs)
    const end = this.#scheduler.now + timeoutMs + settleMs + aftermathMs
    await this.#until(() => this.#scheduler.now >= end, Number.POSITIVE_INFINITY)
    // without their results, or with deleted records, work may continue
    if (judge.lives.allConcluded && this.#chaos.counts.deletion === 0) this.#checkLeftovers()
    let stopped = false
    void Promise.all(this.#fleet.alive.map(one => this.#fleet.stop(one))).then(() => {
      stopped = true
    })
    await this.#until(() => stopped, this.#scheduler.now + timeToFinishMs)
    if (!stopped) judge.report('the worker keeps running', 'a planned stop does not end')
    if (!judge.violation) {
      judge.conclude(tp => this.#broker.committed(this.#settings.kafka.groupId, tp), this.#chaos.losses)
    }
  }

  #checkLeftovers(): void {
    for (const process of this.#fleet.staying) {
      const leftovers = process.leftovers()
      const report = (what: string) => this.#judge.report('nothing is left over', `${process.name}: ${what}`)
      if (leftovers.length > 0) report(leftovers.join(', '))
      process.telemetry.on('bus.log', ({ message }) => report(message)) // it stops with all outcomes committed
    }
  }

  async #until(condition: () => boolean, latest: number): Promise<void> {
    while (!this.#judge.violation && !condition() && this.#scheduler.now < latest) {
      if (!(await this.#scheduler.step())) return
      this.#judge.checkIntents()
    }
  }

  #createJudge(): Judge {
    const {
      attempts,
      maxAgeMs,
      sessionTimeoutMs,
      maxIntents,
      drainMs,
      timeoutMs,
      bus,
      commits = bus,
      http,
    } = this.#plan
    const isPrompt = bus.most === 0 && commits.most === 0
    return new Judge({
      now: () => epoch + this.#scheduler.now,
      leaseMs: Math.min(sessionTimeoutMs, 10_000),
      maxAgeMs,
      skewMs: this.#plan.skewMs,
      epoch,
      keysLagMs,
      keys: this.#plan.keys,
      strict: this.#plan.strict,
      attempts,
      rate: this.#plan.rate ?? Number.POSITIVE_INFINITY,
      drains: drainMs > timeoutMs + 100 && isPrompt && http.most === 0,
      maxIntents: maxIntents ?? defaultMaxIntents,
      releasesUnsent: isPrompt,
      wasDisturbed: () => this.#chaos.losses > 0,
      hasOnlyExplainedRefusals: !this.#plan.faults.posts.includes('refused'),
      pauseMs: pauseMs + 4 * bus.most,
      connectedSince: ({ cutUntil, frozenUntil }) => {
        const { calm, movedUntil } = this.#ports
        return epoch + Math.max(cutUntil, frozenUntil, movedUntil, calm ? this.#plan.faults.until : 0)
      },
    })
  }

  #createBroker(): ObservedBroker {
    const { topics } = this.#settings
    const { partitions } = this.#plan
    const all = new Map([
      ...[...topics.commands, topics.doubts].map(topic => [topic, partitions] as const),
      ...[topics.results, topics.statuses, topics.deadLetters].map(topic => [topic, 1] as const),
      [topics.later, this.#plan.laterPartitions],
    ])
    if (this.#plan.pauses.length + this.#plan.withdrawals.length > 0) all.set(topics.control, 1)
    const watched = [topics.results, topics.doubts, topics.deadLetters, topics.later, ...topics.commands]
    return new ObservedBroker(virtualClock(this.#scheduler), all, watched, {
      committed: (tp, offset, metadata) => {
        const owner = this.#scheduler.running!
        this.#judge.progress.committed(owner, tp, offset, metadata)
        this.#tracer.trace(owner.name, `commits ${tp.topic}/${tp.partition} ${windowText(offset, metadata)}`)
      },
      written: (place, record) => this.#checkRecord({ ...place, offset: record.offset }, record),
    })
  }

  /** Checks a record of the worker when it becomes readable. */
  #checkRecord(place: TopicPartition & { offset: number }, record: BusRecord): void {
    const { trace } = this.#tracer
    const { value, headers } = record
    const { results, doubts, later, commands } = this.#settings.topics
    if (place.topic === later) {
      const { key, state } = readLater(record)!
      trace('broker', `${later}/${place.partition}@${place.offset}: ${keyText(key)} ${state}`)
      this.#judge.outcomes.waits(key, state, place)
      return
    }
    if (commands.includes(place.topic)) {
      const copied = copiedFrom(record)
      if (!copied) return
      trace('broker', `${place.topic}/${place.partition}@${place.offset}: copy of ${keyText(copied.key)}`)
      this.#judge.outcomes.copied(copied.key, place, record)
      return
    }
    if (place.topic === results) {
      const result = this.#codec.result(value!)
      const { id, commandTopic, commandPartition, commandOffset, outcome, errorCode } = result
      trace(
        'broker',
        `result of ${id} (${commandTopic}/${commandPartition}@${commandOffset}): ${outcome} ${errorCode ?? ''}`,
      )
      this.#judge.outcomes.result(result)
    } else if (place.topic === doubts && finishedBy(record) !== null) {
      trace('broker', `${doubts}/${place.partition}@${finishedBy(record)} is finished`)
    } else if (place.topic === doubts) {
      const doubt = this.#codec.doubt(value!)
      const { topic, partition, offset, cause, attempts } = doubt
      trace(
        'broker',
        `${doubts}/${place.partition}@${place.offset} about ${topic}/${partition}@${offset}: ${cause}, attempts ${attempts}`,
      )
      this.#judge.outcomes.doubted(doubt, place)
    } else {
      trace('broker', `dead letter: ${headers['busgate.error.code']}`)
      this.#judge.outcomes.deadLetter(record)
    }
  }

  #createGateway(): SimGateway {
    const { commands, refusesDuplicates } = this.#plan
    const reactions = new Map(commands.map(({ reaction }, i) => [phoneOf(i), reaction]))
    return new SimGateway({
      random: this.#random,
      keys,
      reactionOf: phone => reactions.get(phone)!,
      refusesDuplicates,
      executed: (operation, msgId) => {
        this.#judge.posts.executed(operation.phone!)
        this.#scheduleStatuses(operation, msgId)
      },
    })
  }

  /** Schedules the statuses of an executed message: early, late, twice, out of order, some before the answer. */
  #scheduleStatuses({ id, phone, hook }: Operation, msgId: number): void {
    if (!hook) return
    const { account } = this.#judge.lives.withPhone(phone!).command.plan
    for (let count = this.#random.pick([1, 1, 2, 3]); count > 0; count--) {
      const status = this.#random.pick(['DELIVERED', 'READ', 'UNDELIVERABLE', 'EXPIRED'])
      const late = this.#random.int(0, this.#random.pick([5, 1500]))
      const receivedAt = this.#now + late
      const event = buildStatusEvent({ id: BigInt(id), msgId: String(msgId), account, status, receivedAt })
      const record = {
        topic: this.#settings.topics.statuses,
        key: String(id),
        value: this.#codec.writeStatus(event),
      }
      this.#scheduler.add('world', null, 'callback', late, () => this.#broker.append([record], this.#now))
    }
  }

  #publish(plan: CommandPlan, phone: number): void {
    const [urgent, bulk] = this.#settings.topics.commands as [string, string]
    const topic = plan.urgent ? urgent : bulk
    const now = epoch + this.#scheduler.now
    const deadline = plan.deadline === null ? null : now + plan.deadline
    const notBefore = plan.notBefore === null ? null : now + plan.notBefore
    const message = this.#sealed.get(phone)
    const fields = { deadline, notBefore, ...(message && { message }) }
    const record = recordOf(plan, phone, topic, fields, this.#codec.encode)
    const partition = partitionOf(record.key!, this.#partitionsAsKnown(topic))
    const offset = this.#broker.end({ topic, partition })
    const policy = policyOf(plan, this.#settings)
    this.#published++
    this.#judge.lives.published({
      plan,
      phone,
      topic,
      partition,
      offset,
      deadline,
      notBefore,
      policy,
      publishedAt: now,
      value: record.value,
    })
    this.#judge.refusals.published(plan)
    const { id, type, account, kind, reaction, kid } = plan
    const from = notBefore === null ? '' : ` from ${notBefore - epoch} ms`
    const until = deadline === null ? from : `${from} until ${deadline - epoch} ms`
    this.#tracer.trace(
      'upstream',
      `writes ${topic}/${partition}@${offset}: ${id} ${type} of ${account}, ${policy}, ${kind}, gateway ${reaction}${until}${kid ? `, sealed with ${kid}` : ''}`,
    )
    this.#broker.append([{ ...record, partition }], now)
  }

  /** A producer may not know of added partitions yet. */
  #partitionsAsKnown(topic: string): number {
    const count = this.#broker.partitions(topic)!
    return count === this.#plan.partitions ? count : this.#random.pick([this.#plan.partitions, count])
  }

  #pause({ effect, kind, name }: PausePlan, begins: boolean): void {
    this.#control({ effect, kind, name, begins, by: 'an operator', at: this.#now, until: null, reason: null })
  }

  #withdraw({ effect, kind, name, lasts }: WithdrawalPlan): void {
    const until = this.#now + lasts
    this.#control({ effect, kind, name, begins: true, by: 'an operator', at: this.#now, until, reason: 'a mistake' })
  }

  #control(change: Change): void {
    const record = writeChange(this.#settings.topics.control, change)
    this.#broker.append([{ ...record, partition: 0 }], change.at)
    this.#judge.posts.controlled(change)
    this.#tracer.trace(
      'operator',
      `*** ${nameOf(change)}: ${change.effect} ${change.begins ? 'from now on' : 'no more'}`,
    )
  }

  #grow({ topic, more }: GrowthPlan): void {
    const count = this.#broker.partitions(topic)! + more
    this.#broker.addPartitions(topic, count)
    this.#tracer.trace('operator', `*** ${topic} gets ${count} partitions`)
  }

  get #now(): number {
    return epoch + this.#scheduler.now
  }

  #reset(): void {
    const { topics, kafka } = this.#settings
    for (const topic of [...topics.commands, topics.doubts]) {
      for (let partition = 0; partition < this.#broker.partitions(topic)!; partition++) {
        const committed = this.#broker.committed(kafka.groupId, { topic, partition })
        if (!committed) continue
        this.#broker.resetOffset(kafka.groupId, { topic, partition }, 0)
        this.#judge.progress.reset({ topic, partition })
        this.#tracer.trace('broker', `*** reset ${topic}/${partition} from ${committed.offset}`)
      }
    }
  }

  /** Stops all processes, resets offsets unless another one runs by then, and starts one. */
  async #resetStopped(): Promise<void> {
    const working = this.#fleet.staying.filter(process => process.working)
    await Promise.all(working.map(process => this.#fleet.stop(process)))
    if (this.#fleet.alive.length === 0) this.#reset()
    if (this.#fleet.staying.length === 0) this.#fleet.start()
  }

  #fence(): void {
    const ids = [...this.#broker.ids]
    if (ids.length > 0) this.#broker.fence(this.#random.pick(ids))
  }

  #deleteRecords(): void {
    const topic = this.#random.pick(this.#settings.topics.commands)
    const tp = { topic, partition: this.#random.int(0, this.#broker.partitions(topic)! - 1) }
    const start = this.#random.int(this.#broker.start(tp), this.#broker.end(tp))
    this.#broker.cut(tp, { start })
    this.#judge.lives.deleted(tp, start)
  }

  /** Ends all faults: from then on everything must come to its end. */
  #endFaults(): void {
    this.#tracer.trace('world', '--- end of the faults')
    this.#ports.calm = true
    this.#ports.unreachableUntil = 0
    this.#ports.movedUntil = 0
    this.#gateway.deniedKeys.clear()
    this.#gateway.isDown = false
    this.#fleet.heal()
    if (this.#fleet.staying.length === 0) this.#fleet.start()
  }
}

const stateLetters = ['n', 'i', '.', '?']

/** A checkpoint as a trace shows it: n new, i intent, . done, ? in doubt. */
function windowText(offset: number, metadata: string | null): string {
  const { window } = unpackCheckpoint(offset, metadata)
  const states = Array.from({ length: window.length }, (_, i) => stateLetters[window.get(offset + i)])
  return `${offset}:${states.join('')}`
}

import { RateLimiter } from '../../src/accounts/limiter.ts'
import { GroupMember } from '../../src/bus/membership/member.ts'
import { MemoryBus } from '../../src/bus/memory/bus.ts'
import { MemoryGroup } from '../../src/bus/memory/group.ts'
import { Ledger } from '../../src/bus/session/ledger.ts'
import { Ownership } from '../../src/bus/session/ownership.ts'
import { PartitionSession } from '../../src/bus/session/session.ts'
import { IN_DOUBT, NEW, Window } from '../../src/bus/session/window.ts'
import { Controls } from '../../src/control/controls.ts'
import type { Answer, LastCheck } from '../../src/gateway/connection.ts'
import { Resolver } from '../../src/worker/doubts/resolver.ts'
import { Opener } from '../../src/worker/intake/opener.ts'
import { LaterTable } from '../../src/worker/later/table.ts'
import { WaitingRows } from '../../src/worker/later/waiting-rows.ts'
import { Delivery } from '../../src/worker/sending/delivery.ts'
import { Settler } from '../../src/worker/settler.ts'
import type { Invariant } from './judge/invariants.ts'
import { Ports } from './ports.ts'
import { epoch, MachineClock, SimProcess, type SimProcessOptions } from './process.ts'

/** A bug that is put into the running code on purpose, to see whether the simulation finds it. */
export interface Planted {
  name: string
  /** What goes wrong, in a sentence. */
  what: string
  /** Plants it. @returns a function that removes it */
  plant: () => () => void
}

/** The bugs by the invariant that they violate. They prove that each invariant is checked. */
export const planted: Readonly<Record<Invariant, readonly Planted[]>> = {
  'one final result': [
    {
      name: 'generation-is-not-checked',
      what: 'A process commits after the group has moved on without it.',
      plant: () => replace(MemoryGroup, 'checkCommit', () => () => {}),
    },
    {
      name: 'table-is-not-loaded',
      what: 'A take-over does not read what waits.',
      plant: () => replace(LaterTable, 'read', () => async () => {}),
    },
    {
      name: 'released-again-after-a-take-over',
      what: 'A take-over does not see that a copy was released.',
      plant: () =>
        replace(
          WaitingRows,
          'load',
          load =>
            function (this: WaitingRows, entry, offset) {
              if (entry.state !== 'released') load.call(this, entry, offset)
            },
        ),
    },
    {
      name: 'missing-key-is-awaited-for-ever',
      what: 'A sealed command waits for a key that never comes.',
      plant: () => replace(Opener, 'isAwaited', () => () => true),
    },
    {
      name: 'end-of-a-copy-is-committed-later',
      what: 'The end of a copy on the table is not part of the transaction with its outcome.',
      plant: () =>
        replace(
          PartitionSession,
          'attach',
          attach =>
            function (this: PartitionSession, offset, records, done) {
              attach.call(this, offset, [], () => {
                done()
                setImmediate(() => void this.committed().then(() => this.add(records)))
              })
            },
        ),
    },
  ],
  'at most once': [
    {
      name: 'timeout-is-not-sent',
      what: 'A time-out counts as not sent.',
      plant: () => answerWith(answer => (answer.kind === 'lost' && answer.cause === 'timeout' ? unsent : answer)),
    },
  ],
  'sent again only in doubt': [
    {
      name: 'ledger-is-not-asked',
      what: 'A reopened session sends what its process has in flight.',
      plant: () => replace(Ledger, 'has', () => () => false),
    },
    {
      name: 'foreign-intents-are-new',
      what: 'A take-over sends the intents of the earlier owner again.',
      plant: () =>
        replace(
          Window,
          'set',
          set =>
            function (this: Window, offset, state) {
              set.call(this, offset, state === IN_DOUBT ? NEW : state)
            },
        ),
    },
  ],
  'one POST at a time': [
    {
      name: 'doubt-is-not-left-to-settle',
      what: 'A command in doubt is sent again while its first POST may still be executed.',
      plant: () =>
        startWith(({ settings }) => ({
          settings: { ...settings, doubts: { ...settings.doubts, waitMs: 0 } },
        })),
    },
  ],
  'intent before POST': [
    {
      name: 'post-before-the-commit',
      what: 'A POST begins before the commit of its intent.',
      plant: () =>
        replace(
          Delivery,
          'intend',
          intend =>
            async function (this: Delivery, envelope) {
              void intend.call(this, envelope)
              return [...envelope.parts.keys()].every(({ open }) => open)
            },
        ),
    },
  ],
  'no POST before its time': [
    {
      name: 'wall-clock-is-ahead',
      what: 'Processes believe that it is later than it is.',
      plant: () =>
        replace(
          MachineClock,
          'now',
          now =>
            function (this: MachineClock) {
              return now.call(this) + 500
            },
        ),
    },
  ],
  'no POST after the deadline': [
    {
      name: 'wall-clock-stands-still',
      what: 'No deadline ever passes.',
      plant: () => replace(MachineClock, 'now', () => () => epoch),
    },
  ],
  'no POST after the lease': [
    {
      name: 'lost-partition-still-sends',
      what: 'Nothing is checked right before the first byte.',
      plant: () =>
        postWith((post, body, lastCheck, signal) => {
          const unchecked = () => {
            lastCheck()
            return null
          }
          return post(body, unchecked, signal)
        }),
    },
  ],
  'no POST after a stop': [
    {
      name: 'stop-lets-requests-begin',
      what: 'Requests begin after a process was asked to stop.',
      plant: () => replace(GroupMember, 'retire', () => () => {}),
    },
  ],
  'no POST above the rate': [
    {
      name: 'rate-is-not-kept',
      what: 'An account sends faster than its rate.',
      plant: () => replace(RateLimiter, 'wait', () => () => 0),
    },
  ],
  'no POST during a pause': [
    {
      name: 'start-misses-pauses',
      what: 'A process that starts does not see earlier pauses.',
      plant: () =>
        replace(
          MemoryBus,
          'read',
          read =>
            function (this: MemoryBus, topics, from, onRecords) {
              return read.call(this, topics, from === 'earliest' ? 'latest' : from, onRecords)
            },
        ),
    },
  ],
  'no POST after a withdrawal': [
    {
      name: 'withdrawals-are-missed',
      what: 'A worker ignores withdrawals.',
      plant: () => replace(Controls, 'withdrawing', () => () => null),
    },
  ],
  'no POST of what is refused': [
    {
      name: 'limits-are-ignored',
      what: 'A process sends what its settings refuse.',
      plant: () =>
        startWith(({ settings }) => ({
          settings: {
            ...settings,
            gateway: { ...settings.gateway, countries: { general: undefined, own: new Map() } },
            sealing: { ...settings.sealing, required: undefined },
          },
        })),
    },
  ],
  'the result tells the truth': [
    {
      name: 'missing-key-is-not-awaited',
      what: 'A sealed command whose key is missing becomes a dead letter at once.',
      plant: () => replace(Opener, 'isAwaited', () => () => false),
    },
    {
      name: 'server-error-is-not-sent',
      what: 'HTTP 500 counts as not sent.',
      plant: () => answerWith(answer => (answer.kind === 'response' && answer.status >= 500 ? unsent : answer)),
    },
  ],
  'a doubt ends SENT or UNRESOLVED': [
    {
      name: 'doubt-ends-rejected',
      what: 'A command in doubt ends REJECTED.',
      plant: () =>
        replace(
          Settler,
          'settle',
          settle =>
            function (this: Settler, pending, details, tally) {
              const outcome = details.outcome === 'UNRESOLVED' ? 'REJECTED' : details.outcome
              settle.call(this, pending, { ...details, outcome }, tally)
            },
        ),
    },
  ],
  'no doubt without a cause': [
    {
      name: 'drain-does-not-wait',
      what: 'A partition is handed over while its commands are in flight.',
      plant: () => replace(Ownership, 'joining', () => async () => {}),
    },
  ],
  'a kill leaves few doubts': [
    {
      name: 'intents-have-no-bound',
      what: 'More commands than commands.maxInFlight have intents.',
      plant: () =>
        startWith(({ settings }) => ({
          settings: { ...settings, commands: { ...settings.commands, maxInFlight: 100_000 } },
        })),
    },
  ],
  'nothing is left over': [
    {
      name: 'lost-doubts-are-counted',
      what: 'Doubts of a partition that another process has taken over still count as open.',
      plant: () => replace(Resolver, 'forget', () => () => 0),
    },
    {
      name: 'committed-outcomes-are-kept',
      what: 'A process keeps outcomes that it has committed.',
      plant: () => replace(Ledger, 'remove', () => () => {}),
    },
  ],
  'the worker keeps running': [
    {
      name: 'stop-never-ends',
      what: 'A planned stop waits for ever for its bus to close.',
      plant: () => replace(MemoryBus, 'close', () => () => new Promise(() => {})),
    },
  ],
}

const unsent: Answer = { kind: 'not_sent', cause: 'unreachable', message: 'no connection' }

/** Replaces a method with a wrong one. @returns a function that restores the right one */
function replace<T, K extends keyof T>(type: { prototype: T }, name: K, wrong: (right: T[K]) => T[K]): () => void {
  const right = type.prototype[name]
  type.prototype[name] = wrong(right)
  return () => {
    type.prototype[name] = right
  }
}

type Post = (body: string, lastCheck: LastCheck, signal?: AbortSignal) => Promise<Answer>

/** Gives processes a wrong connection to the gateway. */
function postWith(wrong: (post: Post, ...args: Parameters<Post>) => Promise<Answer>): () => void {
  return replace(
    Ports,
    'connection',
    connect =>
      function (this: Ports, owner) {
        const right = connect.call(this, owner)
        return { ...right, post: (...args) => wrong(right.post, ...args) }
      },
  )
}

const answerWith = (wrong: (answer: Answer) => Answer) => postWith(async (post, ...args) => wrong(await post(...args)))

/** Starts processes with wrong settings. */
function startWith(wrong: (options: SimProcessOptions) => Pick<SimProcessOptions, 'settings'>): () => void {
  return replace(
    SimProcess,
    'start',
    start =>
      function (this: SimProcess, options) {
        return start.call(this, { ...options, ...wrong(options) })
      },
  )
}

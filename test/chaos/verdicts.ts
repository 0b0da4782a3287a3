import { verdictOf } from '../../src/statuses/lifecycle.ts'
import type { Audit } from './audit.ts'
import { truthOf } from './messages.ts'
import type { StatusAudit } from './status-audit.ts'
import type { Traffic } from './traffic.ts'

interface Evidence {
  commands: number
  audit: Audit
  statuses: StatusAudit
  traffic: Traffic
  /** When callbacks come that are not late, milliseconds after sending. */
  latestMs: number
}

/** A callback that was answered is read by the reconciler so much later at most. */
const readMs = 500

/** What the topics and the gateway say of the verdicts: figures, and how often each promise was broken. */
export function judgeVerdicts({ commands, audit, statuses, traffic, latestMs }: Evidence) {
  const promises = {
    sentWithoutVerdict: 0,
    withFalseVerdict: 0,
    withTwoVerdictsOfReconciler: 0,
    callbackAnsweredButNoEvent: 0,
    /** Nobody may be asked about a message that was not sent. */
    notSentButPolled: 0,
  }
  const figures = {
    sent: 0,
    callbacksMissing: 0,
    callbacksLate: 0,
    callbacksRepeated: 0,
    verdictByCallback: 0,
    verdictByPoll: 0,
    polledAndCalledBackLater: 0,
    messagesPolled: 0,
    polls: 0,
    polledNeedlessly: 0,
  }
  for (let index = 0; index < commands; index++) {
    const told = statuses.told[index]!
    const accepted = traffic.accepted[index]!
    const acceptedAt = traffic.acceptedAt[index]!
    const polls = traffic.polls[index]!
    const verdict = verdictOf(told.life)
    if (told.callbacks < accepted) promises.callbackAnsweredButNoEvent++
    if (told.polled > 1) promises.withTwoVerdictsOfReconciler++
    if (told.false > 0 || (verdict !== null && verdict !== truthOf(index))) promises.withFalseVerdict++
    if (polls > 0) figures.messagesPolled++
    figures.polls += polls
    if (audit.outcomeOf(index) !== 'SENT') {
      if (polls > 0) promises.notSentButPolled++
      continue
    }
    figures.sent++
    if (verdict === null) promises.sentWithoutVerdict++
    if (accepted === 0) figures.callbacksMissing++
    if (accepted > 1) figures.callbacksRepeated++
    if (acceptedAt > audit.sentAt[index]! + latestMs + readMs) figures.callbacksLate++
    if (told.verdictFrom === 'CALLBACK') figures.verdictByCallback++
    if (told.verdictFrom === 'POLL') figures.verdictByPoll++
    if (told.verdictFrom === 'POLL' && told.callbacks > 0) figures.polledAndCalledBackLater++
    if (polls > 0 && accepted > 0 && acceptedAt + readMs < traffic.polledAt[index]!) figures.polledNeedlessly++
  }
  return { figures, promises }
}

import { isUnhooked } from '../../records/result.ts'
import { type Lifecycle, lifecycleAfter, newLifecycle, newUnhookedLifecycle } from '../../statuses/lifecycle.ts'
import type { Findings } from './findings.ts'

type Message = { id: bigint; account: string }

/**
 * Tells what is known of a message of which nothing but its sending is: its result tells whether it had a hook of its
 * own.
 */
export function sentLife({ results }: Findings, message: Message): Lifecycle {
  const ofMessage = results.filter(({ value }) => isOf(value, message))
  const unhooked = ofMessage.some(({ headers }) => isUnhooked(headers))
  return unhooked ? newUnhookedLifecycle : newLifecycle
}

/** Tells what all status events about the message come to. */
export function lifeOf(findings: Findings, message: Message): Lifecycle {
  const events = findings.statuses.map(({ value }) => value).filter(event => isOf(event, message))
  return events.reduce(lifecycleAfter, sentLife(findings, message))
}

const isOf = (one: Message, other: Message) => one.id === other.id && one.account === other.account

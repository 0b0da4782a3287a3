import type { NewCommand } from '../../producer.ts'
import { operations, type SendType, sendTypes } from '../../protocol/index.ts'
import { endingOf } from '../../sandbox/endings.ts'
import { messages } from './messages.ts'

/*
 * The demo's commands, each a function of its number, which begins with 0. The lengths of the cycles below have no
 * common divisor, so that every kind meets every ending.
 */

/** Every kind once, then the common ones. call/otp stays rare, for each takes an envelope of its own. */
const mix: readonly SendType[] = [
  ...sendTypes,
  ...repeated('sms', 12),
  ...repeated('viber', 5),
  ...repeated('viber+sms', 5),
  ...repeated('rcs', 4),
]
/**
 * Last digits of a phone that decide what becomes of a message (docs/sandbox.md): refused, undelivered, callbacks that
 * never come, come twice, come early.
 */
const lastDigits = [89, 90, 91, 92, 93, 94, 95, 96, 97, 99]
const silentEnding = 96
const everySoMany = 7
const plainEndings = 89
const tenants = ['shop', 'bank', 'clinic', 'school']
/** Throttled the first time. Once only: the whole account pauses for it. */
const throttled = { index: 500, ending: 98 }

export const idOf = (index: number): number => index + 1
export const indexOf = (id: bigint): number => Number(id) - 1

export function typeOf(index: number): SendType {
  return mix[index % mix.length]!
}

export function commandOf(index: number): NewCommand {
  const type = typeOf(index)
  const command = { id: idOf(index), phone: phoneOf(index), type, message: messages[type] }
  return { ...command, correlationId: `order-${idOf(index)}`, tenant: tenants[index % tenants.length] } as NewCommand
}

/** A command to a phone of which no callback comes. */
export function silentOf(index: number): NewCommand {
  return {
    ...commandOf(index),
    type: 'sms',
    message: messages.sms,
    phone: 380_670_000_000 + silentEnding,
  } as NewCommand
}

/** Tells how many callbacks the gateway owes for this command once it has executed it. */
export function callbacksOf(index: number): number {
  const type = typeOf(index)
  return operations[type].hook === 'none' ? 0 : endingOf(type, phoneOf(index)).callbacks
}

function phoneOf(index: number): number {
  return 380_670_000_000 + (index % 100_000) * 100 + lastDigitsOf(index)
}

function lastDigitsOf(index: number): number {
  if (index === throttled.index) return throttled.ending
  const special = Math.floor(index / everySoMany)
  return index % everySoMany === 3 ? lastDigits[special % lastDigits.length]! : index % plainEndings
}

function repeated(type: SendType, times: number): SendType[] {
  return Array.from({ length: times }, () => type)
}

import type { NewCommand } from '../../src/producer.ts'
import { stateOf } from '../../src/protocol/index.ts'
import { endings as sandboxEndings } from '../../src/sandbox/index.ts'
import { idOf, policyOf } from './ids.ts'

/** The last two digits of phones, in turn; they choose what becomes of a message (docs/sandbox.md). */
const endings = [
  ...['00', '01', '93', '02', '03', '89', '04', '05', '94', '06'],
  ...['07', '08', '95', '09', '10', '99', '11', '12', '90', '13'],
]
const endingOf = (index: number) => endings[index % endings.length]!

/** Messages of every fate; one in ten is of a type whose verdict is asked for early. */
export function buildMessage(index: number): NewCommand {
  const common = {
    id: idOf(index),
    phone: 380_670_000_000 + (index % 1000) * 100 + Number(endingOf(index)),
    delivery: policyOf(index),
  } as const
  if (index % 10 === 7) {
    const message = { viber_type: 'text', viber_message: 'Your order is on its way', viber_signature: 'Shop' } as const
    return { ...common, type: 'viber', message }
  }
  return { ...common, type: 'sms', message: { sms_message: 'Your order is on its way', sms_signature: 'Shop' } }
}

/** What the gateway knows to have become of a message that it took. */
export const truthOf = (index: number) => stateOf(sandboxEndings[endingOf(index)]?.status ?? 'DELIVERED').state

import { repliesTo } from '../callback.ts'
import type { Handler } from '../gateway.ts'
import { idText } from '../gateway.ts'
import { accepted, refused } from '../items.ts'
import { texts } from '../texts.ts'

export const balanceHandler: Handler = (_operation, { account, gateway }) =>
  accepted(JSON.stringify({ amount: Math.round(account.balance * 1e4) / 1e4, currency: gateway.settings.currency }))

/** The specification shows no shape; the public user interface lists a name and a status. */
export const senderHandler: Handler = (_operation, { gateway }) => {
  const names = [...(gateway.settings.senders ?? ['Sandbox'])]
  return accepted(JSON.stringify({ senders: names.map(name => ({ name, status: 'ACTIVE' })) }))
}

/** Tells a message's state, which is ACCEPTED before the final one. */
export const statusHandler: Handler = ({ id }, { account, gateway, now }) => {
  const message = account.executions.messageOf(id!)
  const echoed = idText(id!, gateway)
  if (!message) return refused(texts.notFound, echoed)
  const state = now < message.finalAt ? 'ACCEPTED' : message.status
  const replies = state === 'REPLIED' ? `,"replies":${JSON.stringify(repliesTo(message))}` : ''
  return accepted(`{"id":${echoed},"type":"${message.channel}","status":"${state}"${replies}}`)
}

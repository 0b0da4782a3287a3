import { stringifyJson } from '../../protocol/index.ts'
import type { ExecutedMessage } from '../accounts.ts'
import { acceptedItem, refusedItem, texts } from '../answers.ts'
import { repliesTo } from '../callback.ts'
import { type Exchange, echoOf, type Handler } from '../gateway.ts'
import type { Reading } from '../open-points.ts'

/** What an answer tells of a message. */
interface Told {
  /** The caller's identifier as a field, followed by a comma. */
  echo: string
  message: ExecutedMessage
  state: string
}

const rest = ({ message, state }: Told) =>
  `"type":"${message.channel}"${state === 'REPLIED' ? `,"replies":${stringifyJson(repliesTo(message))}` : ''}`

const fields = (told: Told) => `{${told.echo}${rest(told)},"status":"${told.state}"}`

/** The item of a known message, by the reading of `status`. */
const forms: Record<Reading<'status'>, (told: Told) => string> = {
  fields: told => acceptedItem(fields(told)),
  text: ({ state }) => acceptedItem(`"${state}"`),
  list: told => acceptedItem(`[${fields(told)}]`),
  object: told => acceptedItem(`{${told.echo}${rest(told)},"status":{"code":3,"text":"${told.state}"}}`),
  state: told => acceptedItem(`{${told.echo}${rest(told)},"state":"${told.state}"}`),
  beside: told => acceptedItem(`{${told.echo}${rest(told)}}`, `"status":"${told.state}",`),
  'foreign-id': told => acceptedItem(`{"id":${told.message.msgId},${rest(told)},"status":"${told.state}"}`),
  number: told => acceptedItem(`{${told.echo}${rest(told)},"status":3}`),
  empty: () => '{"success":true}',
}

const otherTexts: Readonly<Record<string, string>> = { ACCEPTED: 'IN_PROGRESS', DELIVERED: 'SENT' }

/** A message's state: ACCEPTED until the final one. */
export const statusHandler: Handler = ({ id }, exchange) => {
  const { account, gateway, now } = exchange
  const { open } = gateway.settings
  const echo = echoOf(id, gateway)
  if (open.statusRight === 'item-denied') return refusedItem(texts.accessDenied, echo)
  const message = account.executions.messageOf(id!)
  if (!message?.hasStatus) return unknownItem(echo, exchange)
  const listed = now < message.finalAt ? 'ACCEPTED' : message.status
  const state = open.statusTexts === 'other' ? (otherTexts[listed] ?? 'DONE') : listed
  return forms[open.status]({ echo, message, state })
}

function unknownItem(echo: string, { gateway }: Exchange): string {
  const items: Record<Reading<'unknownId'>, () => string> = {
    refused: () => refusedItem(texts.notFound, echo),
    unknown: () => acceptedItem(`{${echo}"status":"UNKNOWN"}`),
    empty: () => acceptedItem(`{${echo.slice(0, -1)}}`),
    text: () => acceptedItem(`{${echo}"status":"NOT FOUND"}`),
    envelope: () => refusedItem(texts.notFound, echo), // its envelope was refused before
  }
  return items[gateway.settings.open.unknownId]()
}

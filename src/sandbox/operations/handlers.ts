import { isSendType, type OperationType, partsOf, type SendType } from '../../protocol/index.ts'
import type { Template } from '../accounts.ts'
import { acceptedItem } from '../answers.ts'
import type { GivenOperation, Handler } from '../gateway.ts'
import type { Reading } from '../open-points.ts'
import { sendHandler } from './send.ts'
import { statusHandler } from './status.ts'

const balanceForms: Record<Reading<'balance'>, (amount: number) => object> = {
  fields: amount => ({ amount, currency: 'UAH' }),
  text: amount => ({ amount: `${amount} UAH` }),
  comma: amount => ({ amount: `1 ${String(amount).replace('.', ',')}`, currency: 'UAH' }),
  split: amount => ({ main: amount, bonus: 0 }),
}

const balanceHandler: Handler = (_operation, { account, gateway }) => {
  const amount = Math.round(account.balance * 1e4) / 1e4
  return acceptedItem(JSON.stringify(balanceForms[gateway.settings.open.balance](amount)))
}

/** The specification gives no shape; the public user interface lists name and status. */
const senderHandler: Handler = (_operation, { gateway }) => {
  const senders = [{ name: 'Sandbox', status: 'ACTIVE' }]
  return acceptedItem(JSON.stringify(gateway.settings.open.sender === 'list' ? senders : { senders }))
}

// The specification describes the content of these answers, but gives field names only for template/list.

const createSms: Handler = (operation, { account, now }) => {
  const { datetime: _, ...created } = smsRecord(account.smsTemplates.add(text(operation), label(operation.name), now))
  return acceptedItem(JSON.stringify(created))
}

const listSms: Handler = (_operation, { account }) =>
  acceptedItem(JSON.stringify(account.smsTemplates.list().map(smsRecord)))

const deleteSms: Handler = (operation, { account }) => deleted(account.smsTemplates.remove(criteria(operation)))

const createViber: Handler = (operation, { account, now }) => {
  const { id, status } = viberRecord(account.viberTemplates.add(text(operation), label(operation.signature), now))
  return acceptedItem(JSON.stringify({ id, status }))
}

const listViber: Handler = (_operation, { account }) =>
  acceptedItem(JSON.stringify({ templates: account.viberTemplates.list().map(viberRecord) }))

const deleteViber: Handler = (operation, { account }) => deleted(account.viberTemplates.remove(criteria(operation)))

function smsRecord({ id, label: name, text: template, created: datetime }: Template) {
  const { characters, parts } = partsOf(template)
  return { id, name, template, count: `${characters} / ${parts}`, datetime }
}

function viberRecord({ id, text: template, label: signature }: Template) {
  return { id, template, signature, status: 'MODERATION' }
}

function deleted(count: number): string {
  return acceptedItem(`{"deleted":${count}}`)
}

function criteria({ id, template }: GivenOperation): { id?: number; text?: string } {
  return {
    ...(id !== undefined && { id: Number(id) }),
    ...(typeof template === 'string' && { text: template }),
  }
}

const text = ({ template }: GivenOperation): string => String(template)
const label = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Handlers of operations other than sends. */
const handlers: Readonly<Record<Exclude<OperationType, SendType>, Handler>> = {
  balance: balanceHandler,
  sender: senderHandler,
  status: statusHandler,
  'template/create': createSms,
  'template/list': listSms,
  'template/delete': deleteSms,
  'template/viber/create': createViber,
  'template/viber/list': listViber,
  'template/viber/delete': deleteViber,
}

export const handlerOf = (type: OperationType): Handler => (isSendType(type) ? sendHandler : handlers[type])

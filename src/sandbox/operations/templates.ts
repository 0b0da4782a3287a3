import { segmentsOf } from '../../protocol/index.ts'
import { acceptedItem } from '../answers.ts'
import type { GivenOperation, Handler } from '../gateway.ts'
import type { Template } from '../templates.ts'

// The specification names the content of these answers, and the field names of template/list alone.

export const createSms: Handler = (operation, { account, now }) => {
  const { datetime: _, ...created } = smsRecord(account.smsTemplates.add(text(operation), label(operation.name), now))
  return acceptedItem(JSON.stringify(created))
}

export const listSms: Handler = (_operation, { account }) =>
  acceptedItem(JSON.stringify(account.smsTemplates.list().map(smsRecord)))

export const deleteSms: Handler = (operation, { account }) => deleted(account.smsTemplates.remove(criteria(operation)))

export const createViber: Handler = (operation, { account, now }) => {
  const { id, status } = viberRecord(account.viberTemplates.add(text(operation), label(operation.signature), now))
  return acceptedItem(JSON.stringify({ id, status }))
}

export const listViber: Handler = (_operation, { account }) =>
  acceptedItem(JSON.stringify({ templates: account.viberTemplates.list().map(viberRecord) }))

export const deleteViber: Handler = (operation, { account }) =>
  deleted(account.viberTemplates.remove(criteria(operation)))

function smsRecord({ id, label: name, text: template, created: datetime }: Template) {
  const { characters, parts } = segmentsOf(template)
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

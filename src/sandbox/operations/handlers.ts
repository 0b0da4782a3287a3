import { isSendType, type OperationType, type SendType } from '../../protocol/index.ts'
import type { Handler } from '../gateway.ts'
import { balanceHandler, senderHandler, statusHandler } from './account.ts'
import { sendHandler } from './send.ts'
import { createSms, createViber, deleteSms, deleteViber, listSms, listViber } from './templates.ts'

/** How the gateway answers what is no send. */
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

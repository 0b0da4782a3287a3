import type { OperationType } from '../../protocol/index.ts'
import type { Handler } from '../gateway.ts'
import { balance, sender, status } from './account.ts'
import { send } from './send.ts'
import { createSms, createViber, deleteSms, deleteViber, listSms, listViber } from './templates.ts'

export const handlers: Readonly<Record<OperationType, Handler>> = {
  balance,
  sender,
  status,
  sms: send,
  viber: send,
  'viber+sms': send,
  rcs: send,
  'rcs+sms': send,
  'rcs+viber+sms': send,
  telegram: send,
  voice: send,
  pipeline: send,
  'call/otp': send,
  hlr: send,
  'template/create': createSms,
  'template/list': listSms,
  'template/delete': deleteSms,
  'template/viber/create': createViber,
  'template/viber/list': listViber,
  'template/viber/delete': deleteViber,
}

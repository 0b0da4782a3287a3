import { operationTypes } from '../protocol/operation.ts'
import type { CommandList } from './framework/command.ts'

export const commands: CommandList = {
  run: {
    summary: 'Sends commands from the bus to the gateway, and its callbacks to the bus, until it is stopped.',
    load: async () => (await import('./commands/run.ts')).run,
  },
  demo: {
    summary: 'Shows all of it at work on this machine: nothing is needed, nobody is sent anything.',
    load: async () => (await import('./commands/demo.ts')).demo,
  },
  sandbox: {
    summary: 'Runs a gateway simulator.',
    load: async () => (await import('./commands/sandbox.ts')).sandbox,
  },
  send: {
    summary: 'Puts commands on the bus: one from flags, or JSON lines from standard input.',
    load: async () => (await import('./commands/send.ts')).send,
  },
  'tail results': {
    summary: 'Shows results as they come.',
    load: async () => (await import('./commands/tail.ts')).tailResults,
  },
  'tail statuses': {
    summary: 'Shows status events as they come.',
    load: async () => (await import('./commands/tail.ts')).tailStatuses,
  },
  'tail dead-letters': {
    summary: 'Shows dead letters as they come.',
    load: async () => (await import('./commands/tail.ts')).tailDeadLetters,
  },
  message: {
    summary: 'Shows what became of one message, from its command to its last status.',
    load: async () => (await import('./commands/message.ts')).message,
  },
  pause: {
    summary: 'Stops sending for an account, a topic or a tenant.',
    load: async () => (await import('./commands/pause.ts')).pause,
  },
  resume: {
    summary: 'Lets it go on.',
    load: async () => (await import('./commands/pause.ts')).resume,
  },
  withdraw: {
    summary: 'Takes back messages that were not sent yet: of a campaign, a tenant, a correlationId, or one.',
    load: async () => (await import('./commands/withdraw.ts')).withdraw,
  },
  status: {
    summary: 'Shows what is paused and withdrawn, and how much waits.',
    load: async () => (await import('./commands/status.ts')).status,
  },
  ui: {
    summary: 'Shows what goes on, and what became of a message, on a page of this machine.',
    load: async () => (await import('./commands/ui.ts')).ui,
  },
  'dlq list': {
    summary: 'Lists dead letters: records that could not be read.',
    load: async () => (await import('./commands/dlq.ts')).dlqList,
  },
  'dlq show': {
    summary: 'Shows one of them, decoded where that is possible.',
    load: async () => (await import('./commands/dlq.ts')).dlqShow,
  },
  'dlq replay': {
    summary: 'Sends them back where they came from.',
    load: async () => (await import('./commands/dlq.ts')).dlqReplay,
  },
  'topics create': {
    summary: 'Creates the topics that do not exist yet.',
    load: async () => (await import('./commands/topics.ts')).topicsCreate,
  },
  'schemas register': {
    summary: 'Registers the schemas of all topics, with their compatibility levels.',
    load: async () => (await import('./commands/schemas.ts')).schemasRegister,
  },
  'schemas check': {
    summary: 'Says where the registry differs from the local schemas.',
    load: async () => (await import('./commands/schemas.ts')).schemasCheck,
  },
  gateway: {
    summary: 'Asks the gateway itself, past the bus: balance, sender, status, sms, any of its 20 operations.',
    load: async () => (await import('./commands/gateway.ts')).gateway,
  },
  ...Object.fromEntries(
    operationTypes.map(type => [
      `gateway ${type}`,
      { summary: null, load: async () => (await import('./commands/gateway.ts')).gatewayOperation(type) },
    ]),
  ),
  'gateway whatsapp': {
    summary: null,
    load: async () => (await import('./commands/gateway.ts')).gatewayWhatsapp,
  },
  'hooks url': {
    summary: "Prints an account's callback address, to be entered at the gateway.",
    load: async () => (await import('./commands/hooks.ts')).hooksUrl,
  },
  'hooks secret': {
    summary: 'Prints a new random secret for callbacks.secret.',
    load: async () => (await import('./commands/hooks.ts')).hooksSecret,
  },
  doctor: {
    summary: 'Looks at everything that run needs, and says what is wrong and what mends it.',
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
  'config check': {
    summary: 'Says whether run could start with these settings.',
    load: async () => (await import('./commands/config.ts')).configCheck,
  },
  'config print': {
    summary: 'Prints the settings in effect, secrets as ***.',
    load: async () => (await import('./commands/config.ts')).configPrint,
  },
  'config explain': {
    summary: 'Says what a setting is for, what its value may be, and the variable that sets it.',
    load: async () => (await import('./commands/config.ts')).configExplain,
  },
}

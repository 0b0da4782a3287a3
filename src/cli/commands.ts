import { operationTypes } from '../protocol/operation.ts'
import type { CommandList } from './framework/command.ts'

export const commands: CommandList = {
  run: {
    summary: 'Runs the worker: commands from the bus to the gateway, its callbacks to the bus.',
    load: async () => (await import('./commands/run.ts')).run,
  },
  demo: {
    summary: 'Runs everything on this machine. Needs nothing else, and sends nothing to anyone.',
    load: async () => (await import('./commands/demo.ts')).demo,
  },
  sandbox: {
    summary: 'Runs a gateway simulator.',
    load: async () => (await import('./commands/sandbox.ts')).sandbox,
  },
  send: {
    summary: 'Writes commands to the bus: one from flags, or JSON lines from standard input.',
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
    summary: 'Stops sending for an account, a topic, a campaign or a tenant.',
    load: async () => (await import('./commands/control.ts')).pause,
  },
  resume: {
    summary: 'Resumes sending.',
    load: async () => (await import('./commands/control.ts')).resume,
  },
  withdraw: {
    summary: 'Takes back unsent messages of a campaign, a tenant or a correlationId, or one message.',
    load: async () => (await import('./commands/control.ts')).withdraw,
  },
  status: {
    summary: 'Shows what is paused and withdrawn, and the size of the queue.',
    load: async () => (await import('./commands/status.ts')).status,
  },
  ui: {
    summary: 'Serves a page that shows what happens now, and what became of a message.',
    load: async () => (await import('./commands/ui.ts')).ui,
  },
  'dlq list': {
    summary: 'Lists dead letters: records that could not be read.',
    load: async () => (await import('./commands/dlq.ts')).dlqList,
  },
  'dlq show': {
    summary: 'Shows one dead letter, decoded if possible.',
    load: async () => (await import('./commands/dlq.ts')).dlqShow,
  },
  'dlq replay': {
    summary: 'Writes dead letters back to their topics.',
    load: async () => (await import('./commands/dlq.ts')).dlqReplay,
  },
  'topics create': {
    summary: 'Creates missing topics.',
    load: async () => (await import('./commands/topics.ts')).topicsCreate,
  },
  'schemas register': {
    summary: 'Registers the schemas of all topics, with their compatibility levels.',
    load: async () => (await import('./commands/schemas.ts')).schemasRegister,
  },
  'schemas check': {
    summary: 'Shows where the registry differs from the local schemas.',
    load: async () => (await import('./commands/schemas.ts')).schemasCheck,
  },
  gateway: {
    summary: 'Calls the gateway directly, without the bus: balance, sender, status, sms, any of its operations.',
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
    summary: "Prints an account's callback address, which you enter at the gateway.",
    load: async () => (await import('./commands/hooks.ts')).hooksUrl,
  },
  'hooks secret': {
    summary: 'Prints a new random secret for callbacks.secret.',
    load: async () => (await import('./commands/hooks.ts')).hooksSecret,
  },
  'keys create': {
    summary: 'Creates a private key that opens sealed content.',
    load: async () => (await import('./commands/keys.ts')).keysCreate,
  },
  'keys public': {
    summary: 'Prints the public keys, with which producers seal content.',
    load: async () => (await import('./commands/keys.ts')).keysPublic,
  },
  'keys list': {
    summary: 'Lists the keys that open sealed content.',
    load: async () => (await import('./commands/keys.ts')).keysList,
  },
  doctor: {
    summary: 'Checks everything that run needs, and says how to repair what is wrong.',
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
  'config check': {
    summary: 'Checks whether run could start with these settings.',
    load: async () => (await import('./commands/config.ts')).configCheck,
  },
  'config print': {
    summary: 'Prints the effective settings, secrets as ***.',
    load: async () => (await import('./commands/config.ts')).configPrint,
  },
  'config explain': {
    summary: 'Describes a setting, its values and its variable.',
    load: async () => (await import('./commands/config.ts')).configExplain,
  },
  completion: {
    summary: 'Prints the script that completes busgate command lines in bash, zsh or fish.',
    load: async () => (await import('./commands/completion.ts')).completion,
  },
}

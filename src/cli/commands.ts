import { operationTypes } from '../protocol/operation.ts'
import type { Command } from './command.ts'

interface Entry {
  /** One line for the list of commands; null: not listed. */
  summary: string | null
  /** Commands are loaded when they are run: a sandbox needs no Kafka client. */
  load: () => Promise<Command>
}

export const commands: Record<string, Entry> = {
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
  'topics create': {
    summary: 'Creates the topics that do not exist yet.',
    load: async () => (await import('./commands/topics.ts')).topicsCreate,
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
  'hooks url': {
    summary: "Prints an account's callback address, to be entered at the gateway.",
    load: async () => (await import('./commands/hooks.ts')).hooksUrl,
  },
  'config check': {
    summary: 'Says whether run could start with these settings.',
    load: async () => (await import('./commands/config.ts')).configCheck,
  },
  'config print': {
    summary: 'Prints the settings in effect, secrets as ***.',
    load: async () => (await import('./commands/config.ts')).configPrint,
  },
}

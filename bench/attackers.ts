import { connect, type Socket } from 'node:net'

/** The attacker's only argument, as JSON. */
export interface Attack {
  kind: keyof typeof attacks
  port: number
  /** The path of a valid hook address. */
  valid: string
  /** The path of a forged hook address of the same length. */
  forged: string
}

interface Sender {
  /** The number of connections. Each is reopened a second after it was closed. */
  connections: number
  /** The first bytes on each connection. */
  first: (attack: Attack) => string
  /** Whether the same bytes are repeated without end, or after each answer. Default: not repeated. */
  repeats?: 'without end' | 'behind each answer'
}

const callback = '{"success":true,"id":"42","msg_id":"427","type":"sms","status":"DELIVERED"}'
const head = (path: string, length: number) => `POST ${path} HTTP/1.1\r\nHost: b\r\nContent-Length: ${length}\r\n\r\n`
const post = (path: string) => head(path, callback.length) + callback

/** Attacks by strangers, and by those who know a valid hook address. */
export const attacks = {
  'silent connections': { connections: 4500, first: () => '' },
  'headers that never end': {
    connections: 4500,
    first: ({ forged }) => `POST ${forged} HTTP/1.1\r\nHost: b\r\nX-Slow: ${'x'.repeat(15_500)}`,
  },
  'forged requests': { connections: 64, first: ({ forged }) => post(forged), repeats: 'behind each answer' },
  'forged requests in one write': {
    connections: 50,
    first: () => 'POST /hooks/x HTTP/1.1\r\nHost:b\r\n\r\n'.repeat(2000),
    repeats: 'without end',
  },
  'callbacks in one write': { connections: 50, first: ({ valid }) => post(valid).repeat(1000) },
  'bodies that never end': { connections: 300, first: ({ valid }) => head(valid, 60_000) + ' '.repeat(30_000) },
  gigabytes: { connections: 8, first: ({ valid }) => head(valid, 1e10) + ' '.repeat(65_536), repeats: 'without end' },
  'valid callbacks': { connections: 2000, first: ({ valid }) => post(valid), repeats: 'behind each answer' },
} satisfies Record<string, Sender>

function open(attack: Attack, { first, repeats }: Sender): Socket {
  const text = Buffer.from(first(attack))
  const socket = connect(attack.port, '127.0.0.1', () => socket.write(text)).on('error', () => {})
  const more = () => {
    while (socket.writable && socket.write(text));
  }
  if (repeats === 'without end') socket.on('connect', more).on('drain', more)
  return socket.on('data', () => repeats === 'behind each answer' && socket.write(text))
}

function keepOpen(attack: Attack, sender: Sender): void {
  open(attack, sender).on('close', () => setTimeout(keepOpen, 1000, attack, sender))
}

if (process.send) {
  const attack = JSON.parse(process.argv[2]!) as Attack
  const sender: Sender = attacks[attack.kind]
  let left = sender.connections
  process.once('message', () =>
    setInterval(() => {
      for (let i = 0; i < 100 && left > 0; i++, left--) keepOpen(attack, sender)
    }, 20),
  )
  process.on('disconnect', () => process.exit())
  process.send('ready')
}

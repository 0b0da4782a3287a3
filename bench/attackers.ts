import { connect, type Socket } from 'node:net'

/** The attacker's first argument, as JSON from its parent. */
export interface Attack {
  kind: keyof typeof attacks
  port: number
  /** Path of an address that opens. */
  valid: string
  /** Path of one that does not, as long as that. */
  forged: string
}

interface Sender {
  /** Open connections; each is reopened a second after it was closed. */
  connections: number
  /** What each of them says first. */
  says: (attack: Attack) => string
  /** What follows: the same without end, or the same behind each answer. Default: nothing. */
  goesOn?: 'without end' | 'behind each answer'
}

const callback = '{"success":true,"id":"42","msg_id":"427","type":"sms","status":"DELIVERED"}'
const head = (path: string, length: number) => `POST ${path} HTTP/1.1\r\nHost: b\r\nContent-Length: ${length}\r\n\r\n`
const post = (path: string) => head(path, callback.length) + callback

/** From strangers, and from holders of a valid hook address. */
export const attacks = {
  'silent connections': { connections: 4500, says: () => '' },
  'headers that never end': {
    connections: 4500,
    says: ({ forged }) => `POST ${forged} HTTP/1.1\r\nHost: b\r\nX-Slow: ${'x'.repeat(15_500)}`,
  },
  'forged requests': { connections: 64, says: ({ forged }) => post(forged), goesOn: 'behind each answer' },
  'forged requests in one write': {
    connections: 50,
    says: () => 'POST /hooks/x HTTP/1.1\r\nHost:b\r\n\r\n'.repeat(2000),
    goesOn: 'without end',
  },
  'callbacks in one write': { connections: 50, says: ({ valid }) => post(valid).repeat(1000) },
  'bodies that never end': { connections: 300, says: ({ valid }) => head(valid, 60_000) + ' '.repeat(30_000) },
  gigabytes: { connections: 8, says: ({ valid }) => head(valid, 1e10) + ' '.repeat(65_536), goesOn: 'without end' },
  'valid callbacks': { connections: 2000, says: ({ valid }) => post(valid), goesOn: 'behind each answer' },
} satisfies Record<string, Sender>

function open(attack: Attack, { says, goesOn }: Sender): Socket {
  const text = Buffer.from(says(attack))
  const socket = connect(attack.port, '127.0.0.1', () => socket.write(text)).on('error', () => {})
  const more = () => {
    while (socket.writable && socket.write(text));
  }
  if (goesOn === 'without end') socket.on('connect', more).on('drain', more)
  return socket.on('data', () => goesOn === 'behind each answer' && socket.write(text))
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

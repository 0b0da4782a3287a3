import { connect, type Socket } from 'node:net'

/** An attacker is told this by its parent, as JSON in its first argument. */
export interface Attack {
  kind: keyof typeof attacks
  port: number
  /** Its own addresses, which its connections take in turn: the loopback network has many. */
  from: string[]
  /** Path of an address that opens. */
  valid: string
  /** Path of one that does not, as long as that. */
  forged: string
}

type Begin = (attack: Attack) => void

const body = '{"success":true,"id":"42","msg_id":"427","type":"sms","status":"DELIVERED"}'
const post = (path: string, length: number, ...headers: string[]) =>
  [
    `POST ${path} HTTP/1.1`,
    'Host: b',
    'Content-Type: application/json',
    `Content-Length: ${length}`,
    ...headers,
    '',
    '',
  ].join('\r\n')

const told = { opened: 0, connected: 0, refused: 0, sent: 0, statuses: {} as Record<string, number> }

function open({ port, from }: Attack, opened: (socket: Socket) => void, closed: () => void = () => {}): void {
  const localAddress = from[told.opened++ % from.length]
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  socket.on('connect', () => {
    told.connected++
    opened(socket)
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    if (socket.bytesRead === 0) told.refused++
    closed()
  })
}

/** Counts what is answered; `each` is called with every answer. */
function listen(socket: Socket, each: () => void = () => {}): void {
  let rest = ''
  socket.on('data', piece => {
    rest += piece.toString('latin1')
    const heads = [...rest.matchAll(/HTTP\/1\.1 (\d+)/g)]
    for (const [, status = ''] of heads) {
      told.statuses[status] = (told.statuses[status] ?? 0) + 1
      each()
    }
    rest = rest.slice(-20).replaceAll(/HTTP\/1\.1 \d+/g, '')
  })
}

/** Writes as fast as the other side reads, for as long as it lives. */
function pour(socket: Socket, piece: Buffer): void {
  const more = () => {
    while (socket.writable && socket.write(piece));
  }
  socket.on('drain', more)
  more()
}

function many(count: number, begin: (i: number) => void): void {
  for (let i = 0; i < count; i++) begin(i)
}

/** Opens them a hundred at a time, and each anew when it has been closed for a second. */
function keep(count: number, begin: (again: () => void) => void): void {
  let left = count
  const more = setInterval(() => {
    const now = Math.min(100, left)
    left -= now
    many(now, () => {
      const one = () => begin(() => setTimeout(one, 1000))
      one()
    })
    if (left === 0) clearInterval(more)
  }, 20)
}

export const attacks = {
  /** Requests at a valid address, all written before an answer is read. */
  pipelined: attack =>
    many(50, () =>
      open(attack, socket => {
        listen(socket)
        socket.write((post(attack.valid, body.length) + body).repeat(1000))
        told.sent += 1000
      }),
    ),
  /** Sends such requests without end, to an address that is nobody's, in as few bytes as possible. */
  pipelinedForged: attack =>
    keep(50, again =>
      open(
        attack,
        socket => {
          listen(socket)
          pour(socket, Buffer.from('POST /hooks/x HTTP/1.1\r\nHost:b\r\n\r\n'.repeat(2000)))
        },
        again,
      ),
    ),
  /** A million forged ones, each as soon as the one before is answered. */
  forged: attack =>
    keep(64, again =>
      open(
        attack,
        socket => {
          const next = () => {
            if (told.sent++ < 1_000_000) socket.write(post(attack.forged, body.length) + body)
          }
          listen(socket, next)
          next()
        },
        again,
      ),
    ),
  /** Forged ones, each on a connection of its own, which is cut at once. */
  churned: attack =>
    many(200, () => {
      const one = () =>
        open(
          attack,
          socket => {
            told.sent++
            socket.write(post(attack.forged, body.length) + body, () => socket.resetAndDestroy())
          },
          () => setImmediate(one),
        )
      one()
    }),
  silent: attack => keep(4500, again => open(attack, () => {}, again)),
  slow: attack =>
    keep(300, again =>
      open(
        attack,
        socket => {
          socket.write(post(attack.valid, 60_000) + ' '.repeat(30_000))
          const drip = setInterval(() => socket.write(' '), 500)
          socket.on('close', () => clearInterval(drip))
        },
        again,
      ),
    ),
  /** Headers of nearly 16 KB that never end. */
  heads: attack =>
    keep(4500, again =>
      open(
        attack,
        socket => socket.write(`POST ${attack.forged} HTTP/1.1\r\nHost: b\r\nX-Slow: ${'x'.repeat(15_500)}`),
        again,
      ),
    ),
  /** Sends as many names and values as are looked at, nearly 16 KB of them, without an end. */
  fields: attack =>
    keep(4500, again =>
      open(
        attack,
        socket =>
          socket.write(
            `POST ${attack.forged} HTTP/1.1\r\nHost: b\r\n${Array.from({ length: 96 }, (_, i) => `X-${i}-${socket.localPort}: ${'x'.repeat(140)}\r\n`).join('')}`,
          ),
        again,
      ),
    ),
  /** Gigabytes, into a forged address and a valid one. */
  pouring: attack =>
    keep(8, again =>
      open(
        attack,
        socket => {
          listen(socket)
          socket.write(post(Math.random() < 0.5 ? attack.forged : attack.valid, 1e10))
          pour(socket, Buffer.alloc(65_536, ' '))
        },
        again,
      ),
    ),
  /** Sends valid requests, as many at a time as connections can be had. */
  valid: attack =>
    keep(2000, again =>
      open(
        attack,
        socket => {
          const next = () => {
            told.sent++
            socket.write(post(attack.valid, body.length) + body)
          }
          listen(socket, next)
          next()
        },
        again,
      ),
    ),
} satisfies Record<string, Begin>

if (process.send) {
  const attack = JSON.parse(process.argv[2] ?? '{}') as Attack
  process.once('message', () => {
    attacks[attack.kind](attack)
    process.once('message', () => process.send!(told, () => process.exit()))
  })
  process.send('ready')
}

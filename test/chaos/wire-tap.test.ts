import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../support/bus.ts'
import { openWireTap, type Rule } from '../support/wire-tap.ts'

const heartbeat = 12
const joinGroup = 11

/** A frame as Kafka's clients send it: length, api, version, correlation, and a text of so many bytes. */
function request(api: number, correlation: number, bytes = 10): Buffer {
  const frame = Buffer.alloc(12 + bytes, '.')
  frame.writeInt32BE(8 + bytes)
  frame.writeInt16BE(api, 4)
  frame.writeInt16BE(3, 6)
  frame.writeInt32BE(correlation, 8)
  return frame
}

/** A broker that answers each request with its correlation; a client that notes them, one after the other. */
async function setUp(rule?: Rule) {
  const broker = createServer(socket => answerAll(socket)).listen(0, '127.0.0.1')
  await once(broker, 'listening')
  const { port } = broker.address() as AddressInfo
  const tap = await openWireTap()
  tap.leadTo(`127.0.0.1:${port}`)
  if (rule) tap.addRule(rule)
  const socket = connect(tap.port, '127.0.0.1')
  const answers: number[] = []
  let cut = false
  socket.on('data', bytes => {
    for (let at = 0; at < bytes.length; at += 8) answers.push(bytes.readInt32BE(at + 4))
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    cut = true
  })
  onTestFinished(() => {
    socket.destroy()
    tap.close()
    broker.close()
  })
  return { tap, broker, port, socket, answers, cut: () => cut }
}

function answerAll(socket: Socket): void {
  let bytes = Buffer.alloc(0)
  socket.on('error', () => {})
  socket.on('data', chunk => {
    bytes = Buffer.concat([bytes, chunk])
    while (bytes.length >= 4 && bytes.length >= 4 + bytes.readInt32BE()) {
      const answer = Buffer.alloc(8)
      answer.writeInt32BE(4)
      answer.writeInt32BE(bytes.readInt32BE(8), 4)
      socket.write(answer)
      bytes = bytes.subarray(4 + bytes.readInt32BE())
    }
  })
}

test('requests and answers pass, however they are cut into pieces', async () => {
  const { socket, answers } = await setUp()
  const all = Buffer.concat([request(heartbeat, 1), request(heartbeat, 2, 300_000), request(heartbeat, 3)])
  for (let at = 0; at < all.length; at += at < 40 ? 1 : 70_000) {
    socket.write(all.subarray(at, at < 40 ? at + 1 : at + 70_000))
  }
  await until(() => expect(answers).toEqual([1, 2, 3]))
})

test('an answer is swallowed by the name of its request, and the connection lives on', async () => {
  const { socket, answers, cut } = await setUp(({ kind, api }) =>
    kind === 'answer' && api === 'JoinGroup' ? 'swallow' : undefined,
  )
  socket.write(Buffer.concat([request(joinGroup, 1), request(heartbeat, 2)]))
  await until(() => expect(answers).toEqual([2]))
  expect(cut()).toBe(false)
})

test('a request that is cut never reaches the broker and takes its connection with it', async () => {
  const { socket, answers, cut } = await setUp(({ kind, api }) =>
    kind === 'request' && api === 'JoinGroup' ? 'cut' : undefined,
  )
  socket.write(Buffer.concat([request(joinGroup, 1), request(heartbeat, 2)]))
  await until(() => expect(cut()).toBe(true))
  expect(answers).toEqual([])
})

test('what is held up holds up what is behind it, until it is let go', async () => {
  const held = Promise.withResolvers<undefined>()
  const seen: number[] = []
  const { socket, answers } = await setUp(({ kind, api, frame }) => {
    if (kind === 'request') seen.push(frame.readInt32BE(8))
    return kind === 'answer' && api === 'JoinGroup' ? held.promise : undefined
  })
  socket.write(Buffer.concat([request(joinGroup, 1), request(heartbeat, 2)]))
  await until(() => expect(seen).toEqual([1, 2]))
  expect(answers).toEqual([])
  held.resolve(undefined)
  await until(() => expect(answers).toEqual([1, 2]))
})

test('a tap refuses connections while its broker does, and accepts them again at the same port', async () => {
  const { tap, broker, port, socket } = await setUp()
  socket.destroy()
  broker.close()
  /** The error of a new connection, empty when it had none before it ended. */
  const errorOf = async () => {
    const attempt = connect(tap.port, '127.0.0.1').resume()
    let text = ''
    attempt.on('error', error => {
      text = error.message
    })
    await once(attempt, 'close').catch(() => {})
    return text
  }
  await until(async () => expect(await errorOf()).toContain('ECONNREFUSED'))
  broker.listen(port, '127.0.0.1')
  await until(async () => {
    const attempt = connect(tap.port, '127.0.0.1')
    await once(attempt, 'connect')
    attempt.destroy()
  })
})

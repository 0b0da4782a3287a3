import { once } from 'node:events'
import { createRequire } from 'node:module'
import net, { type AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { forgetHalfReadAnswers } from '../../src/bus/kafka/internals.ts'

const require = createRequire(import.meta.url)

interface Connection {
  chunks: Buffer[]
  bytesBuffered: number
  bytesNeeded: number
  connect(): Promise<unknown>
  disconnect(): Promise<unknown>
}

test('what a connection had read of an answer when it broke is forgotten by the next one', async () => {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  forgetHalfReadAnswers()
  const Connection = require('kafkajs/src/network/connection') as new (options: object) => Connection
  const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
  const connection = new Connection({
    host: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
    logger: { ...silent, namespace: () => silent },
    socketFactory: ({ host, port, onConnect }: { host: string; port: number; onConnect: () => void }) =>
      net.connect({ host, port }, onConnect),
    connectionTimeout: 1000,
    requestTimeout: 1000,
  })
  Object.assign(connection, { chunks: [Buffer.from('half of an ans')], bytesBuffered: 14, bytesNeeded: 300 })
  await connection.connect()
  expect(connection).toMatchObject({ chunks: [], bytesBuffered: 0, bytesNeeded: 4 })
  await connection.disconnect()
})

import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { freePorts } from '../../src/cli/local-kafka/ports.ts'

const wanted = (count: number) => Array.from({ length: count }, () => 0)
const module = new URL('../../src/cli/local-kafka/ports.ts', import.meta.url)

test('a free port is given once, though nobody listens there yet', async () => {
  const given: number[] = []
  for (let call = 0; call < 10; call++) given.push(...(await freePorts(wanted(30))))
  expect(new Set(given).size).toBe(300)
})

test('a free port that one process was given is not given to another', async () => {
  const own = await freePorts(wanted(300))
  const program = `const { freePorts } = await import('${module}')
    console.log(JSON.stringify(await freePorts(${JSON.stringify(wanted(300))})))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program])
  const others = JSON.parse(stdout) as number[]
  expect(others).toHaveLength(300)
  expect(others.filter(port => own.includes(port))).toEqual([])
})

test('a wanted port that is in use is named', async () => {
  const [port] = await freePorts([0])
  const server = createServer().listen(port, '127.0.0.1')
  await once(server, 'listening')
  await expect(freePorts([port!])).rejects.toThrow(`Port ${port} is in use`)
  server.close()
})

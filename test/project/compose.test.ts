import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { commands } from '../../src/cli/commands.ts'
import { findCommand } from '../../src/cli/framework/parse.ts'
import { loadSettings, requireRunnable } from '../../src/config/index.ts'

const root = new URL('../../', import.meta.url)
const read = (file: string) => readFileSync(new URL(file, root), 'utf8')

interface Service {
  image: string
  command?: string[]
  entrypoint?: string[]
  environment: Record<string, string | number>
  ports?: string[]
  volumes?: string[]
  stop_grace_period?: string
  healthcheck?: { test?: string[] }
  depends_on?: Record<string, { condition: string }>
}

const { services } = parse(read('docker-compose.yml'), { merge: true }) as { services: Record<string, Service> }
const own = Object.entries(services).filter(([, { image }]) => image.startsWith('busgate:'))
const roles = own.filter(([, { environment }]) => environment.BUSGATE_ROLES)

const settingsOf = ({ environment }: Service) =>
  loadSettings({ env: Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, String(value)])) })

describe('docker-compose.yml', () => {
  test.each(own)('%s: every variable is a setting of busgate, and fine', (_, service) => {
    expect(settingsOf(service).kafka.brokers).toEqual(['kafka:9094'])
  })

  test.each(roles)('%s: has what its role needs', (name, service) => {
    const settings = settingsOf(service)
    expect(settings.roles).toEqual([name])
    requireRunnable(settings)
  })

  test.each(roles)('%s: is given longer to stop than it may take', (_, service) => {
    const { kafka, gateway } = settingsOf(service)
    expect(Number.parseInt(service.stop_grace_period!, 10) * 1000).toBeGreaterThan(
      Math.max(kafka.drainMs, gateway.timeoutMs) + 15_000,
    )
  })

  test.each(own)('%s: runs a command that there is', (_, { command = ['run'], entrypoint }) => {
    const named = entrypoint
      ? [...command[0]!.matchAll(/bin\.js (\w+(?: \w+)?)/g)].map(([, words]) => words!)
      : [command.join(' ')]
    expect(named).not.toEqual([])
    for (const words of named) expect(findCommand(commands, words.split(' '))).toBeTruthy()
  })

  test('addresses name services that listen there', () => {
    const { gateway, callbacks, telemetry } = settingsOf(services.worker!)
    expect(gateway.url).toBe('http://sandbox:8090')
    expect(services.sandbox!.command![0]).toContain('--port 8090')
    expect(callbacks.publicUrl).toBe(`http://callbacks:${settingsOf(services.callbacks!).callbacks.port}`)
    expect(services.kafka!.environment.KAFKA_ADVERTISED_LISTENERS).toContain('DOCKER://kafka:9094')
    const { scrape_configs } = parse(read('compose/prometheus.yml'))
    const [{ names, port }] = scrape_configs[0].dns_sd_configs
    expect([...names].sort()).toEqual(roles.map(([name]) => name).sort())
    expect(port).toBe(telemetry.port)
  })

  test('nobody waits for a service that is not there, or whose health nobody checks', () => {
    const waits = Object.values(services).flatMap(({ depends_on = {} }) => Object.entries(depends_on))
    const vain = waits.filter(
      ([name, { condition }]) => condition === 'service_healthy' && !services[name]?.healthcheck,
    )
    expect([...vain, ...waits.filter(([name]) => !services[name])]).toEqual([])
    expect(waits).not.toEqual([])
  })

  test('topics and schemas are there before anything sends, reads or receives', () => {
    const { command, depends_on } = services.topics!
    expect(command![0]).toMatch(/bin\.js topics create .*&& node dist\/cli\/bin\.js schemas register$/)
    expect(depends_on!.registry).toEqual({ condition: 'service_healthy' })
    for (const [name, service] of [...roles, ['traffic', services.traffic!] as const]) {
      expect(service.depends_on?.topics, name).toEqual({ condition: 'service_completed_successfully' })
    }
  })

  test('the registry is healthy once it answers over HTTP', async () => {
    const server = createServer((_, response) => response.writeHead(status).end('[]')).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const [, ...check] = services.registry!.healthcheck!.test!
    const { port } = server.address() as AddressInfo
    const [program, ...args] = check.map(text => text.replaceAll('8080', String(port)).replaceAll('$$', '$'))
    const isHealthy = () => new Promise(resolve => execFile(program!, args, error => resolve(error === null)))
    let status = 503
    expect(await isHealthy()).toBe(false)
    status = 200
    expect(await isHealthy()).toBe(true)
  })

  test('the ports that its head names are those that workers have', () => {
    const [from, to] = /(\d+)-(\d+):/.exec(services.worker!.ports![0]!)!.slice(1)
    const [head] = read('docker-compose.yml').split('\nname:')
    expect(head).toContain(`127.0.0.1:${from}/readyz`)
    expect(head).toContain(`ports up to ${to}`)
  })

  test('every file that is mounted is there', () => {
    const files = Object.values(services).flatMap(({ volumes = [] }) => volumes.map(volume => volume.split(':')[0]!))
    const home = String(services.grafana!.environment.GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH)
    files.push(home.replace('/var/lib/grafana', 'helm'))
    expect(files.filter(file => !existsSync(new URL(file, root)))).toEqual([])
    expect(files.length).toBeGreaterThan(1)
  })
})

test('images of others are named by their digest, all but the registry, whose digest is not known', () => {
  const others = Object.values(services).flatMap(({ image }) => (image.startsWith('busgate:') ? [] : [image]))
  const [, base] = /^FROM (\S+) AS base$/m.exec(read('Dockerfile'))!
  const unpinned = [...others, base!].filter(image => !/@sha256:[0-9a-f]{64}$/.test(image))
  expect(unpinned).toEqual([services.registry!.image])
  expect(read('Dockerfile').match(/^FROM (?!base\b)/gm)).toHaveLength(1)
})

test('the image has the Node that everything is tested with', () => {
  const { devDependencies } = JSON.parse(read('package.json'))
  const versions = new Set([...read('Dockerfile').matchAll(/^FROM node:([\d.]+)/gm)].map(([, version]) => version))
  expect([...versions]).toEqual([devDependencies.node])
})

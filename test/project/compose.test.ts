import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { loadSettings, requireRunnable } from '../../src/config/index.ts'
import { problemOfNew } from '../../src/records/new-command.ts'

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

/** The ports of this machine in an entry of `ports`, such as 127.0.0.1:9470-9479:9464. */
function publishedPorts(entry: string): number[] {
  const [, from, to = from] = /(\d+)(?:-(\d+))?:[\d-]+$/.exec(entry)!
  return Array.from({ length: Number(to) - Number(from) + 1 }, (_, index) => Number(from) + index)
}

describe('docker-compose.yml', () => {
  test.each(own)('has only valid settings for the service %s', (_, service) => {
    expect(settingsOf(service).kafka.brokers).toEqual(['kafka:9094'])
  })

  test.each(roles)('has all settings that the role %s needs', (name, service) => {
    const settings = settingsOf(service)
    expect(settings.roles).toEqual([name])
    requireRunnable(settings)
  })

  test.each(roles)('gives the service %s a longer grace period than its stop can take', (_, service) => {
    const { gateway } = settingsOf(service)
    expect(Number.parseInt(service.stop_grace_period!, 10) * 1000).toBeGreaterThan(gateway.timeoutMs + 15_000)
  })

  test("names the workers' ports in its first comment", () => {
    const [from, to] = /(\d+)-(\d+):/.exec(services.worker!.ports![0]!)!.slice(1)
    const [head] = read('docker-compose.yml').split('\nname:')
    expect(head).toContain(`127.0.0.1:${from}/readyz`)
    expect(head).toContain(`ports up to ${to}`)
  })

  test('publishes each port for one service', () => {
    const published = Object.values(services).flatMap(({ ports = [] }) => ports.flatMap(publishedPorts))
    expect(published.length).toBeGreaterThan(10)
    expect(published.filter((port, index) => published.indexOf(port) < index)).toEqual([])
  })

  test('mounts only files that exist', () => {
    const files = Object.values(services).flatMap(({ volumes = [] }) => volumes.map(volume => volume.split(':')[0]!))
    const home = String(services.grafana!.environment.GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH)
    files.push(home.replace('/var/lib/grafana', 'helm'))
    expect(files.filter(file => !existsSync(new URL(file, root)))).toEqual([])
    expect(files.length).toBeGreaterThan(1)
  })
})

test("third-party images are pinned by digest, except the registry's, whose digest is unknown", () => {
  const others = Object.values(services).flatMap(({ image }) => (image.startsWith('busgate:') ? [] : [image]))
  const [, base] = /^FROM (\S+) AS base$/m.exec(read('Dockerfile'))!
  const unpinned = [...others, base!].filter(image => !/@sha256:[0-9a-f]{64}$/.test(image))
  expect(unpinned).toEqual([services.registry!.image])
  expect(read('Dockerfile').match(/^FROM (?!base\b)/gm)).toHaveLength(1)
})

test('the image has the Node version of the tests', () => {
  const { devDependencies } = JSON.parse(read('package.json'))
  const versions = new Set([...read('Dockerfile').matchAll(/^FROM node:([\d.]+)/gm)].map(([, version]) => version))
  expect([...versions]).toEqual([devDependencies.node])
})

test("the image's build context contains exactly what the Dockerfile copies", () => {
  const linesOf = (file: string) => read(file).split('\n')
  const given = linesOf('.dockerignore').flatMap(line => (line.startsWith('!') ? [line.slice(1)] : []))
  const copies = linesOf('Dockerfile').filter(line => /^COPY (?!--)/.test(line))
  expect(new Set(given)).toEqual(new Set(copies.flatMap(line => line.split(' ').slice(1, -1))))
})

test('everything that the traffic of docker-compose.yml sends is a valid command', async () => {
  const traffic = spawn(process.execPath, ['compose/traffic.mjs', '100'], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void traffic.kill())
  const lines: string[] = []
  for await (const line of createInterface(traffic.stdout)) if (lines.push(line) === 100) break
  const problems = lines.map(line => problemOfNew(JSON.parse(line)))
  expect(problems.filter(problem => problem !== null)).toEqual([])
})

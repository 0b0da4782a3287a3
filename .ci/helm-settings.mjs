// Asks busgate about the settings file, the variables and (made up) the secrets that each rendered Deployment gives it,
// and holds its answer against what the manifest says. Usage: node .ci/helm-settings.mjs MANIFESTS
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'

const objects = parseAllDocuments(readFileSync(process.argv[2], 'utf8')).map(document => document.toJS())
const named = (kind, name) => objects.find(object => object?.kind === kind && object.metadata.name === name)
const deployments = objects.filter(object => object?.kind === 'Deployment')
assert(deployments.length > 0, 'no Deployment was rendered')
/** What `busgate run` allows itself beyond kafka.drainMs (src/cli/commands/run.ts). */
const ownStopMs = 15_000
/** Stands for what the chart itself does not make: it is a key, a password and a signing key alike. */
const madeUp = 'k1:not-a-real-secret'
const folder = mkdtempSync(join(tmpdir(), 'busgate-chart-'))
try {
  for (const { spec } of deployments) checkPod(spec.template)
} finally {
  rmSync(folder, { recursive: true })
}

function checkPod({ metadata, spec }) {
  const { volumes, terminationGracePeriodSeconds } = spec
  const [container] = spec.containers
  const mounted = filesOf(volumes, container.volumeMounts)
  const settings = container.env.filter(({ name, value }) => value !== undefined && /^(BUSGATE|NODE)_/.test(name))
  const env = Object.fromEntries(settings.map(({ name, value }) => [name, onDisk(mounted, name, value)]))
  const ask = (...args) =>
    execFileSync('node', ['src/cli/main.ts', 'config', ...args], {
      env: { PATH: process.env.PATH, ...env },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', args[0] === 'check' ? 'pipe' : 'inherit'],
    })
  ask('check')
  const { kafka, gateway, callbacks, telemetry, roles } = JSON.parse(ask('print', '--json'))
  const ports = Object.fromEntries(container.ports.map(({ name, containerPort }) => [name, containerPort]))

  assert.deepEqual(roles, [container.name])
  assert.equal(ports.metrics, telemetry.port)
  assert.equal(ports.http, roles.includes('callbacks') ? callbacks.port : undefined)
  assert.equal(metadata.annotations['checksum/settings'], sha256Of(mounted.get('/etc/busgate/busgate.yaml').trimEnd()))
  const stopMs = kafka.drainMs + gateway.timeoutMs + ownStopMs
  assert(terminationGracePeriodSeconds * 1000 > stopMs, 'the grace period is too short for the drain')
}

function sha256Of(text) {
  return createHash('sha256').update(text).digest('hex')
}

/** The content of each file that the pod finds, by its path. */
function filesOf(volumes, mounts) {
  return new Map(
    volumes.flatMap(({ name, configMap, secret }) => {
      if (!configMap && !secret) return []
      const { mountPath } = mounts.find(mount => mount.name === name)
      const { items } = secret ?? configMap
      const data = items
        ? Object.fromEntries(items.map(({ path }) => [path, madeUp]))
        : named('ConfigMap', configMap.name).data
      return Object.entries(data).map(([file, content]) => [`${mountPath}/${file}`, content])
    }),
  )
}

/** The value of a variable; of one that names a file, the path of a copy here. */
function onDisk(mounted, name, value) {
  if (!value.startsWith('/')) return value
  assert(mounted.has(value), `${name} names ${value}, which is not mounted`)
  const copy = join(folder, value.replaceAll('/', '_'))
  writeFileSync(copy, mounted.get(value))
  return copy
}

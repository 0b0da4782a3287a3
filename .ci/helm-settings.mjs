// Runs busgate with the settings, variables and made-up secrets of each rendered container, and compares the settings in
// effect with the manifest. Usage: node .ci/helm-settings.mjs MANIFESTS
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { loadSettings } from '../src/config/load.ts'

const objects = parseAllDocuments(readFileSync(process.argv[2], 'utf8')).map(document => document.toJS())
const pods = objects.flatMap(object => {
  if (object?.kind === 'Pod') return [object]
  return object?.kind === 'Deployment' || object?.kind === 'Job' ? [object.spec.template] : []
})
assert(pods.length > 0, 'no pod was rendered')
/** The time that `busgate run` takes to stop in addition to requests in flight (src/cli/commands/run.ts). */
const ownStopMs = 15_000
/** A value for all secrets: valid as API key, password and signing key. */
const madeUp = 'k1:not-a-real-secret'
const folder = mkdtempSync(join(tmpdir(), 'busgate-chart-'))
try {
  for (const pod of pods) {
    const { containers, initContainers = [] } = pod.spec
    const own = ({ volumeMounts = [] }) => volumeMounts.some(({ name }) => name === 'settings')
    for (const container of [...initContainers, ...containers].filter(own)) checkContainer(container, pod)
  }
} finally {
  rmSync(folder, { recursive: true })
}

function checkContainer(container, pod) {
  const mounted = filesOf(pod, container.volumeMounts)
  const settings = container.env.filter(({ name, value }) => value !== undefined && /^(BUSGATE|NODE)_/.test(name))
  const env = Object.fromEntries(settings.map(({ name, value }) => [name, onDisk(mounted, name, value)]))
  const ask = (...args) =>
    execFileSync('node', ['src/cli/main.ts', ...args], {
      env: { PATH: process.env.PATH, ...env },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', args[1] === 'check' ? 'pipe' : 'inherit'],
    })
  // `config check` requires the gateway's address, which busgate ui does not need.
  ask('config', container.args[0] === 'ui' ? 'print' : 'check')
  if (container.args[0] === 'run') checkRole(container, pod, loadSettings({ env }))
  else ask(...container.args, '--help')
}

function checkRole(container, pod, { gateway, callbacks, telemetry, roles }) {
  const ports = Object.fromEntries(container.ports.map(({ name, containerPort }) => [name, containerPort]))
  assert.deepEqual([...roles], [container.name])
  assert.equal(ports.metrics, telemetry.port)
  assert.equal(ports.http, roles.includes('callbacks') ? callbacks.port : undefined)
  const stopMs = gateway.timeoutMs + ownStopMs
  assert(pod.spec.terminationGracePeriodSeconds * 1000 > stopMs, 'the grace period is too short for a stop')
}

/** The content of each file in the pod, by its path. */
function filesOf({ metadata, spec }, mounts) {
  return new Map(
    spec.volumes.flatMap(({ name, ...volume }) => {
      const { mountPath } = mounts.find(mount => mount.name === name) ?? {}
      return contentOf(volume, metadata).map(([file, content]) => [`${mountPath}/${file}`, content])
    }),
  )
}

function contentOf({ downwardAPI, secret, configMap }, { annotations }) {
  const ofPod = ({ path, fieldRef }) => [
    path,
    annotations[/^metadata\.annotations\['(.+)'\]$/.exec(fieldRef.fieldPath)[1]],
  ]
  if (downwardAPI) return downwardAPI.items.map(ofPod)
  return (secret ?? configMap)?.items.map(({ path }) => [path, madeUp]) ?? []
}

/** The value of a variable. If it names a file, the path of a local copy. */
function onDisk(mounted, name, value) {
  if (!value.startsWith('/')) return value
  assert(mounted.has(value), `${name} names ${value}, which is not mounted`)
  const copy = join(folder, value.replaceAll('/', '_'))
  writeFileSync(copy, mounted.get(value))
  return copy
}

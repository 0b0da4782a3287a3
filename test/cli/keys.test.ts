import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { busgate } from '../support/cli.ts'
import { sealingKey } from '../support/sealing.ts'

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'busgate-keys-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

const keysIn = (text: string): Record<string, string>[] => JSON.parse(text).keys

test('keys create puts each new key before the others, keys list shows them, keys public only what producers need', async () => {
  const file = join(newFolder(), 'keys.json')
  for (const kind of ['P-256', 'X25519', 'secret']) {
    const { code } = await busgate(['keys', 'create', '--file', file, '--kid', `of-${kind}`, '--kind', kind])
    expect(code).toBe(0)
  }
  const keys = keysIn(readFileSync(file, 'utf8'))
  expect(keys.map(({ kid }) => kid)).toEqual(['of-secret', 'of-X25519', 'of-P-256'])
  expect(statSync(file).mode & 0o777).toBe(0o600)

  const list = await busgate(['keys', 'list'], { env: { BUSGATE_SEALING_KEYS_FILE: file } })
  expect(list.stdout).toBe('of-secret  dir\nof-X25519  ECDH-ES  X25519\nof-P-256  ECDH-ES  P-256\n')

  const shown = await busgate(['keys', 'public', '--file', file])
  expect(keysIn(shown.stdout).map(({ kid }) => kid)).toEqual(['of-X25519', 'of-P-256'])
  const secrets = keys.flatMap(({ d, k }) => [d, k].filter(Boolean))
  expect(secrets).toHaveLength(3)
  expect(secrets.filter(secret => `${list.stdout}${shown.stdout}`.includes(secret!))).toEqual([])

  const one = await busgate(['keys', 'public', '--file', file, '--kid', 'of-P-256'])
  expect(keysIn(one.stdout)).toMatchObject([{ kid: 'of-P-256', kty: 'EC', alg: 'ECDH-ES', use: 'enc' }])
})

test('keys create without a file prints a set with a new key, another each time', async () => {
  const [one, other] = await Promise.all([busgate(['keys', 'create']), busgate(['keys', 'create'])])
  expect(keysIn(one.stdout)).toHaveLength(1)
  expect(keysIn(one.stdout)[0]!.d).not.toBe(keysIn(other.stdout)[0]!.d)
})

test('what is wrong with keys is said without them', async () => {
  const file = join(newFolder(), 'keys.json')
  const d = 'private-part-of-a-key-that-nobody-may-see'
  const set = (key: object) => JSON.stringify({ keys: [{ kid: 'a', kty: 'OKP', crv: 'X25519', ...key }] })
  const wrong = [
    '',
    `{"keys": [{"d": "${d}"`,
    set({ d }),
    set({ d, x: d }),
    set({ x: 'AA' }),
    set({ d, kid: d.repeat(4) }),
  ]
  for (const text of wrong) {
    writeFileSync(file, text)
    const list = await busgate(['keys', 'list', '--file', file])
    const run = await busgate(['config', 'check'], { env: { BUSGATE_SEALING_KEYS_FILE: file } })
    expect([list.code, run.code]).toEqual([2, 2])
    expect(run.stdout + run.stderr).toContain('sealing.keys')
    expect(`${list.stdout}${list.stderr}${run.stdout}${run.stderr}`).not.toContain(d.slice(0, 20))
  }
})

test('a secret has no public part, and no two keys may have the same kid', async () => {
  const file = join(newFolder(), 'keys.json')
  const create = () => busgate(['keys', 'create', '--file', file, '--kid', 's1', '--kind', 'secret'])
  await create()
  expect(await busgate(['keys', 'public', '--file', file])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('a secret has no public part'),
  })
  expect(await create()).toMatchObject({ code: 2, stderr: expect.stringContaining('two keys have the same kid') })
})

test.each(['P-256', 'X25519'] as const)(
  'a private key of %s with the public part of another one is refused',
  async kind => {
    const file = join(newFolder(), 'keys.json')
    const [{ own }, { shared }] = [sealingKey('a', kind), sealingKey('a', kind)]
    writeFileSync(file, JSON.stringify({ keys: [{ ...shared, d: own.d }] }))
    const run = await busgate(['config', 'check'], { env: { BUSGATE_SEALING_KEYS_FILE: file } })
    expect(run.code).toBe(2)
    expect(run.stdout + run.stderr).toContain('key 1: its parameters are no valid key')
  },
)

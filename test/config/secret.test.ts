import { mkdtempSync, rmSync, statSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { loadSettings, printableSettings, SettingsError } from '../../src/config/index.ts'
import { buildSettings } from '../support/settings.ts'

const folder = mkdtempSync(join(tmpdir(), 'busgate-secret-'))
const file = join(folder, 'key')

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
  writeFileSync(file, 'first-key\n')
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
  rmSync(file, { force: true })
})

function keyFromFile() {
  return loadSettings({ env: { BUSGATE_GATEWAY_API_KEY_FILE: file } }).gateway.accounts.get('default')!.apiKey
}

const rewrite = (text: string) => writeFileSync(file, text)

function warnings() {
  return vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
}

describe('a secret', () => {
  it('never prints its value', () => {
    const overrides = {
      gateway: { apiKey: 'key-of-default', accounts: { shop: { apiKey: 'key-of-shop' } } },
      kafka: { sasl: { mechanism: 'plain', username: 'u', password: 'pass-word' } },
      callbacks: { secret: 'k1:0123456789abcdef' },
    } as const
    const settings = buildSettings(overrides)
    const masked = printableSettings({ env: {}, overrides })
    const printed = [
      JSON.stringify(settings),
      inspect(settings, { depth: null, showHidden: true }),
      `${settings.gateway.accounts.get('shop')?.apiKey}`,
      JSON.stringify(masked),
    ].join('\n')
    for (const secret of ['key-of-default', 'key-of-shop', 'pass-word', '0123456789abcdef']) {
      expect(printed).not.toContain(secret)
    }
    expect(masked).toMatchObject({
      gateway: { apiKey: '***', accounts: { shop: { apiKey: '***' } } },
      kafka: { sasl: { mechanism: 'plain', username: 'u', password: '***' } },
      callbacks: { secret: '***' },
    })
  })

  it('follows changes of its file, checking at most once a second', () => {
    const key = keyFromFile()
    rewrite('second-key\n')
    vi.advanceTimersByTime(999)
    expect(key.reveal()).toBe('first-key')
    vi.advanceTimersByTime(1)
    expect(key.reveal()).toBe('second-key')
  })

  it('follows a change that keeps the time and size of its file', () => {
    const key = keyFromFile()
    const { atime, mtime } = statSync(file)
    writeFileSync(file, 'other-key\n')
    utimesSync(file, atime, mtime)
    vi.advanceTimersByTime(1000)
    expect(key.reveal()).toBe('other-key')
  })

  it('keeps its value, with one warning for each reason, while its file is missing or empty', () => {
    const warning = warnings()
    const key = keyFromFile()
    rewrite('\n')
    for (const change of [() => {}, () => unlinkSync(file)]) {
      change()
      vi.advanceTimersByTime(1000)
      expect(key.reveal()).toBe('first-key')
    }
    expect(warning.mock.calls.flat()).toEqual([
      'gateway.apiKeyFile has no valid value now (is empty); the last valid one stays in use',
      expect.stringContaining('gateway.apiKeyFile has no valid value now (there is none at the given path'),
    ])
    writeFileSync(file, 'third-key')
    vi.advanceTimersByTime(1000)
    expect(key.reveal()).toBe('third-key')
    expect(key.trouble()).toBeNull()
  })

  it('can be a list of keys for hook addresses, which stay in order', () => {
    writeFileSync(file, 'new:0123456789abcdef\nold:fedcba9876543210:with-colon\n')
    const { secret } = loadSettings({ env: { BUSGATE_CALLBACKS_SECRET_FILE: file } }).callbacks
    expect(secret?.reveal()).toEqual([
      { kid: 'new', secret: '0123456789abcdef' },
      { kid: 'old', secret: 'fedcba9876543210:with-colon' },
    ])
  })

  it('is refused if its file is empty at the start', () => {
    writeFileSync(file, '\n')
    expect(keyFromFile).toThrow('gateway.apiKey (BUSGATE_GATEWAY_API_KEY_FILE): cannot use the file: is empty')
  })

  const text = fc.stringMatching(/^[!-~А-я]{1,40}$/).filter(key => key !== '***')

  it.each([
    ['UTF-8', (key: string) => Buffer.from(key)],
    ['UTF-8 with a byte order mark', (key: string) => Buffer.from(`\ufeff${key}`)],
    ['UTF-16 of Windows', (key: string) => Buffer.from(`\ufeff${key}`, 'utf16le')],
    ['UTF-16, big-endian', (key: string) => Buffer.from(`\ufeff${key}`, 'utf16le').swap16()],
  ])('may come from a file in %s', (_, encode) => {
    fc.assert(
      fc.property(text, fc.constantFrom('', '\n', '\r\n'), (key, end) => {
        writeFileSync(file, encode(key + end))
        expect(keyFromFile().reveal()).toBe(key)
      }),
    )
  })

  it('loses a byte order mark in a variable too', () => {
    const { accounts } = loadSettings({ env: { BUSGATE_GATEWAY_API_KEY: '\ufeffa-key\n' } }).gateway
    expect(accounts.get('default')?.apiKey.reveal()).toBe('a-key')
  })

  it('is refused if its file holds anything but text, without quoting it', () => {
    const nothing = fc.constantFrom(
      Buffer.from([0]),
      Buffer.from([0xff]),
      Buffer.from([0xc3, 0x28]),
      Buffer.from('\ufffd'),
      Buffer.from([0xed, 0xa0, 0x80]),
    )
    fc.assert(
      fc.property(text, nothing, text, (before, bytes, after) => {
        writeFileSync(file, Buffer.concat([Buffer.from(`k3y${before}`), bytes, Buffer.from(after)]))
        expect(keyFromFile).toThrow(
          /^1 setting is wrong:\n {2}gateway\.apiKey .*: cannot use the file: has bytes that are no text/,
        )
        expect(keyFromFile).not.toThrow('k3y')
      }),
    )
    writeFileSync(file, Buffer.from('key', 'utf16le'))
    expect(keyFromFile).toThrow('has bytes that are no text')
  })

  it('is kept, with a warning that does not quote it, if a blank or nothing visible stands before or behind it', () => {
    const warning = warnings()
    const blanks = [' ', '\t', '\u00a0', '\u200b', '\u2028', '\u2060']
    for (const [i, blank] of blanks.entries()) {
      for (const [j, key] of [`${blank}a-key`, `a-key${blank}`].entries()) {
        const accounts = { [`blank${i}${j}`]: { apiKey: key } }
        const { gateway } = loadSettings({ env: {}, overrides: { gateway: { accounts } } })
        expect(gateway.accounts.get(`blank${i}${j}`)?.apiKey.reveal()).toBe(key)
      }
    }
    const told = warning.mock.calls.map(([text]) => String(text))
    expect(told).toHaveLength(2 * blanks.length)
    expect(told[1]).toBe(
      'gateway.accounts.blank01.apiKey begins or ends with a blank, which counts as a part of the secret: remove it if it is none',
    )
    expect(told.join()).not.toContain('a-key')
  })

  it('is refused if its file is missing, without quoting the path', () => {
    const missing = () => loadSettings({ env: { BUSGATE_GATEWAY_API_KEY_FILE: 'the-key-itself' } })
    expect(missing).toThrow('cannot use the file: there is none at the given path')
    expect(missing).not.toThrow('the-key-itself')
  })

  it('is refused if both the secret and its file are set', () => {
    const env = { BUSGATE_GATEWAY_API_KEY_FILE: file }
    const given = () => loadSettings({ env, overrides: { gateway: { apiKey: 'k' } } })
    expect(given).toThrow(SettingsError)
    expect(given).toThrow('give either the secret or its file, not both')
  })
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { dayMs, hookKey, hookSubject, noonMs, tokenBench } from '../support/callbacks.ts'

const text = fc.string({ unit: 'binary', maxLength: 60 })
const subjects = fc.record({
  account: text,
  id: fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }),
  type: text,
  correlationId: fc.option(text),
  tenant: fc.option(text),
  campaign: fc.option(text),
  country: fc.option(text),
  trace: fc.option(
    fc.record({
      traceId: fc.stringMatching(/^[0-9a-f]{32}$/),
      spanId: fc.stringMatching(/^[0-9a-f]{16}$/),
      flags: fc.integer({ min: 0, max: 255 }),
      state: fc.constant(null),
    }),
  ),
})

describe('a token of one message', () => {
  test('opens to its subject and its time of creation', () => {
    const { tokens } = tokenBench()
    fc.assert(
      fc.property(subjects, subject => {
        expect(tokens.open(tokens.issue(subject))).toEqual({ ok: true, subject: { ...subject, issuedAt: noonMs } })
      }),
    )
  })

  test('can contain a subject of many kilobytes', () => {
    const { tokens } = tokenBench()
    const subject = hookSubject({ correlationId: 'ü'.repeat(5000) })
    expect(tokens.open(tokens.issue(subject))).toMatchObject({ ok: true, subject })
  })

  test('can contain a subject of which each character takes the most bytes', () => {
    const { tokens } = tokenBench()
    const text = '€'.repeat(1_000)
    const trace = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', flags: 255, state: null }
    const texts = { account: text, type: text, correlationId: text, tenant: text, campaign: text, country: text }
    const subject = hookSubject({ id: 2n ** 63n - 1n, ...texts, trace })
    expect(tokens.open(tokens.issue(subject))).toMatchObject({ ok: true, subject })
  })

  test('reveals nothing of its subject', () => {
    const { tokens } = tokenBench()
    const long = fc.string({ unit: 'grapheme-ascii', minLength: 6, maxLength: 30 })
    const trace = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', flags: 1, state: null }
    const shown = fc.record({
      account: long,
      id: fc.bigInt({ min: 10n ** 8n, max: 2n ** 63n - 1n }),
      type: long,
      correlationId: long,
      tenant: long,
      campaign: long,
    })
    fc.assert(
      fc.property(shown, ({ id, ...texts }) => {
        const token = tokens.issue({ id, ...texts, country: 'UA', trace })
        const views = [token, ...(['latin1', 'hex'] as const).map(encoding => bytesOf(token).toString(encoding))]
        const idBytes = Buffer.alloc(8)
        idBytes.writeBigUInt64BE(id)
        const secrets = [
          ...Object.values(texts),
          trace.traceId,
          trace.spanId,
          String(id),
          idBytes.toString('hex'),
          idBytes.toString('latin1'),
        ]
        for (const view of views) for (const secret of secrets) expect(view).not.toContain(secret)
      }),
    )
  })

  test('is different each time, behind its unencrypted first bytes', () => {
    const { tokens } = tokenBench()
    const [first, second] = [bytesOf(tokens.issue(hookSubject())), bytesOf(tokens.issue(hookSubject()))]
    const [clear, sealed] = [6, 18]
    expect(first.subarray(0, clear)).toEqual(second.subarray(0, clear))
    expect(first.subarray(clear, sealed)).not.toEqual(second.subarray(clear, sealed))
    const same = first.subarray(sealed).filter((byte, at) => byte === second[sealed + at]).length
    expect(same).toBeLessThan(8)
  })

  test('uses each part of a keystream once: of equal subjects no two tokens have a block in common', () => {
    const benches = [tokenBench(), tokenBench()]
    const blocks = Array.from({ length: 3000 }, (_, i) => {
      const sealed = bytesOf(benches[i % 2]!.tokens.issue(hookSubject())).subarray(18, -16)
      return [0, 16].map(at => sealed.subarray(at, at + 16).toString('hex'))
    }).flat()
    expect(new Set(blocks).size).toBe(blocks.length)
  })

  test.each([0, 1, 7])('does not open if any bit was flipped, %i days after it was made', days => {
    const bench = tokenBench()
    const { tokens } = bench
    const token = bytesOf(tokens.issue(hookSubject()))
    bench.now += days * dayMs
    expect(tokens.open(token.toString('base64url'))).toMatchObject({ ok: true, subject: hookSubject() })
    for (let bit = 0; bit < token.length * 8; bit++) {
      const forged = Buffer.from(token)
      forged[bit >> 3]! ^= 1 << (bit & 7)
      expect(tokens.open(forged.toString('base64url'))).toMatchObject({ ok: false })
    }
  })

  test('does not open if cut, lengthened or re-encoded', () => {
    const { tokens } = tokenBench()
    const token = tokens.issue(hookSubject({ tenant: 'acme' }))
    for (let length = 0; length < token.length; length++) {
      expect(tokens.open(token.slice(0, length))).toMatchObject({ ok: false })
    }
    for (const spelled of [
      `${token}A`,
      `${token}=`,
      `${token} `,
      ` ${token}`,
      `${token.slice(0, 9)}.${token.slice(9)}`,
    ]) {
      expect(tokens.open(spelled)).toMatchObject({ ok: false })
    }
  })

  test.each(['', 'A', 'favicon.ico', '../../etc/passwd', '_'.repeat(5000)])(
    'is not found in the garbage %j',
    garbage => {
      expect(tokenBench().tokens.open(garbage)).toEqual({ ok: false, reason: 'malformed' })
    },
  )

  test('made by an earlier version opens', () => {
    const token =
      'AgJrMVAuhhCUyAb16UNPKQAAhOwxvdM6Kit96lERKH_HhMkqFHt9Rmg2aM0xGUsScPsDEZ6Pmaer90fRlJoOVQriKP0LSOjd8nQQzJFja4jy'
    const subject = { ...hookSubject(), issuedAt: noonMs }
    expect(tokenBench().tokens.open(token)).toEqual({ ok: true, subject })
  })

  test('expires exactly at the end of its life', () => {
    const bench = tokenBench()
    const token = bench.tokens.issue(hookSubject())
    bench.now = noonMs + 30 * dayMs
    expect(bench.tokens.open(token)).toMatchObject({ ok: true })
    bench.now += 1
    expect(bench.tokens.open(token)).toEqual({ ok: false, reason: 'expired' })
    bench.now += 400 * dayMs
    expect(bench.tokens.open(token)).toEqual({ ok: false, reason: 'expired' })
  })

  test('opens on the next day, and on a machine whose clock is a little behind', () => {
    const bench = tokenBench()
    bench.now = noonMs + dayMs / 2
    const token = bench.tokens.issue(hookSubject())
    bench.now -= 5_000
    expect(bench.tokens.open(token)).toMatchObject({ ok: true })
    bench.now += dayMs
    expect(bench.tokens.open(token)).toMatchObject({ ok: true })
  })
})

test('the reason of a refused token is told by its day, and a token of an account has none', () => {
  const bench = tokenBench()
  const { tokens } = bench
  const openedAfter = (days: number) => {
    bench.now = noonMs
    const token = tokens.issue(hookSubject())
    bench.keys = [] // so that only days can be judged
    bench.now = noonMs + days * dayMs
    const opened = tokens.open(token)
    bench.keys = [hookKey()]
    return opened
  }
  expect([-2, -1, 0, 30, 31].map(openedAfter)).toEqual(
    ['forged', 'unknown_key', 'unknown_key', 'unknown_key', 'expired'].map(reason => ({ ok: false, reason })),
  )
  bench.now = noonMs
  expect(tokens.openAccount('default', tokens.issue(hookSubject()))).toEqual({ ok: false, reason: 'malformed' })
})

test('a token from a future day is refused', () => {
  const bench = tokenBench()
  bench.now = noonMs + 3 * dayMs
  const token = bench.tokens.issue(hookSubject())
  bench.now = noonMs
  expect(bench.tokens.open(token)).toEqual({ ok: false, reason: 'forged' })
})

describe('token keys', () => {
  test('rotate without a restart: the first key creates tokens, all keys open them', () => {
    const bench = tokenBench([hookKey('old')])
    const before = bench.tokens.issue(hookSubject())
    bench.keys = [hookKey('new'), hookKey('old')]
    const after = bench.tokens.issue(hookSubject())
    expect(bench.tokens.open(before)).toMatchObject({ ok: true })
    expect(bench.tokens.open(after)).toMatchObject({ ok: true })
    bench.keys = [hookKey('new')]
    expect(bench.tokens.open(before)).toEqual({ ok: false, reason: 'unknown_key' })
    expect(bench.tokens.open(after)).toMatchObject({ ok: true })
  })

  test('with the same name but another secret open no token', () => {
    const bench = tokenBench()
    const token = bench.tokens.issue(hookSubject())
    bench.keys = [{ ...hookKey(), secret: 'another one' }]
    expect(bench.tokens.open(token)).toEqual({ ok: false, reason: 'forged' })
  })

  test('with the same secret but another name open no token', () => {
    const bench = tokenBench()
    const bytes = bytesOf(bench.tokens.issue(hookSubject()))
    bytes.write('k2', 2)
    bench.keys = [hookKey(), { kid: 'k2', secret: hookKey().secret }]
    expect(bench.tokens.open(bytes.toString('base64url'))).toEqual({ ok: false, reason: 'forged' })
  })

  test('are named in the error if there are none', () => {
    expect(() => tokenBench([]).tokens.issue(hookSubject())).toThrow('callbacks.secret holds no key')
  })
})

describe('a token of an account', () => {
  test('opens for that account, even years later', () => {
    const bench = tokenBench()
    const token = bench.tokens.issueAccount('shop')
    bench.now += 3000 * dayMs
    expect(bench.tokens.openAccount('shop', token)).toEqual({ ok: true })
  })

  test('made by an earlier version opens', () => {
    const token = 'AgJrMQAADYPSHAaEMaiX3AAAD6tcODwC2u-FDRb51Bgtlg'
    expect(tokenBench().tokens.openAccount('shop', token)).toEqual({ ok: true })
  })

  test('is refused as forged at the address of another account', () => {
    const { tokens } = tokenBench()
    expect(tokens.openAccount('shop2', tokens.issueAccount('shop'))).toEqual({ ok: false, reason: 'forged' })
  })

  test("does not open for the end of its account's name, with the beginning moved into the token", () => {
    const { tokens } = tokenBench()
    const token = bytesOf(tokens.issueAccount('shop'))
    const moved = Buffer.concat([token.subarray(0, -16), Buffer.from('sh'), token.subarray(-16)])
    expect(tokens.openAccount('op', moved.toString('base64url'))).toEqual({ ok: false, reason: 'forged' })
  })

  test('does not open if any bit was flipped', () => {
    const { tokens } = tokenBench()
    const token = bytesOf(tokens.issueAccount('shop'))
    for (let bit = 0; bit < token.length * 8; bit++) {
      const forged = Buffer.from(token)
      forged[bit >> 3]! ^= 1 << (bit & 7)
      expect(tokens.openAccount('shop', forged.toString('base64url'))).toMatchObject({ ok: false })
    }
  })

  test("does not open as a message's token, nor the other way round", () => {
    const { tokens } = tokenBench()
    expect(tokens.openAccount('default', tokens.issue(hookSubject()))).toMatchObject({ ok: false })
    expect(tokens.open(tokens.issueAccount('default'))).toMatchObject({ ok: false })
  })

  test('is refused as unknown after its key was removed', () => {
    const bench = tokenBench()
    const token = bench.tokens.issueAccount('shop')
    bench.keys = [hookKey('new')]
    expect(bench.tokens.openAccount('shop', token)).toEqual({ ok: false, reason: 'unknown_key' })
  })
})

function bytesOf(token: string): Buffer {
  return Buffer.from(token, 'base64url')
}

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { classify } from '../../src/gateway/classify.ts'
import type { Answer } from '../../src/gateway/connection.ts'
import { parseJson, stringifyJson } from '../../src/protocol/index.ts'
import { type AnyItem, answered, itemsAnswer, refusal, refusedItem, sentItem } from '../support/answers.ts'

const ids = ['1', '2', '3']
const inDoubt = { kind: 'in_doubt' }
const sent = (id: unknown) => ({ kind: 'sent', data: expect.objectContaining({ id }) })
const refused = (code: string, error: string) => ({ kind: 'refused', code, error })
const allInDoubt = (cause: string) => ({
  outcome: 'unknown',
  cause,
  error: expect.stringMatching(/./),
  items: [inDoubt, inDoubt, inDoubt],
})
const notSent = (reason: string, error: string, retryAfterMs: number | null = null) => ({
  outcome: 'not_sent',
  reason,
  error,
  retryAfterMs,
})

describe('a definite answer', () => {
  test('says of each operation whether it was sent or refused, and why', () => {
    expect(classify(ids, itemsAnswer(sentItem(1), refusedItem(2), sentItem(3)))).toEqual({
      outcome: 'answered',
      items: [sent(1), refused('SENDER_INVALID', 'Error in Alpha-name'), sent(3)],
    })
  })

  test.each<[string, (id: string) => unknown]>([
    ['all digits of a double', id => BigInt(Number(id))],
    ['the shortest digits', id => String(Number(id))],
    ['an exponent', id => Number(id).toExponential()],
  ])('takes ids that lost digits beyond 2^53 by their position, written with %s', (_, write) => {
    const long = ['1795961734155000001', '1795961734155000002', '9223372036854775807']
    const [first, second, third] = long.map(write)
    const items = [sentItem(first), refusedItem(second), sentItem(third), sentItem(17)]
    expect(classify([...long, '17'], itemsAnswer(...items))).toMatchObject({
      outcome: 'answered',
      items: [{ kind: 'sent' }, { kind: 'refused' }, { kind: 'sent' }, { kind: 'sent' }],
    })
  })

  test('takes no exact id that lies close to another beyond 2^53 for a rounded one', () => {
    expect(classify(['1795961734155000001'], itemsAnswer(sentItem(1795961734155000002n)))).toMatchObject({
      outcome: 'unknown',
      items: [{ kind: 'in_doubt' }],
    })
    // a program may print either for the same double
    const long = ['1795961734155000064', '1795961734155000000']
    const swapped = itemsAnswer(refusedItem(long[1]), sentItem(long[0]))
    expect(classify(long, swapped)).toMatchObject({
      outcome: 'unknown',
      items: [{ kind: 'sent' }, { kind: 'refused' }],
    })
  })

  test('distinguishes ids beyond 2^53, as texts or numbers', () => {
    const long = ['9007199254740993', '9007199254740992', '9223372036854775807']
    const items = [sentItem(long[0]), refusedItem(BigInt(long[1]!)), sentItem(BigInt(long[2]!))]
    expect(classify(long, itemsAnswer(...items))).toMatchObject({
      outcome: 'answered',
      items: [{ kind: 'sent' }, { kind: 'refused' }, { kind: 'sent' }],
    })
    const swapped = itemsAnswer(items[1], items[0], items[2])
    expect(classify(long, swapped)).toMatchObject({
      outcome: 'unknown',
      items: [{ kind: 'sent' }, { kind: 'refused' }, { kind: 'sent' }],
    })
  })

  test('matches items without an id by position, such as those of call/otp and hlr', () => {
    const otp = { success: true, data: { code: '0042', price: 0.5 } }
    const items = [otp, { success: false, error: 'Operator not supported' }, { success: true, data: [] }]
    expect(classify(ids, itemsAnswer(...items))).toEqual({
      outcome: 'answered',
      items: [
        { kind: 'sent', data: otp.data },
        refused('OPERATOR_UNSUPPORTED', 'Operator not supported'),
        { kind: 'sent', data: [] },
      ],
    })
  })

  test('gets error codes from gateway.errorTexts, and REJECTED for unknown texts', () => {
    const texts = { 'Слишком много запросов': 'THROTTLED', 'Error in Alpha-name': 'VALIDATION' } as const
    const items = ['слишком много запросов.', 'Error in Alpha-name', 'Kaput'].map((error, i) =>
      refusedItem(i + 1, error),
    )
    expect(classify(ids, itemsAnswer(...items), texts)).toMatchObject({
      items: [{ code: 'THROTTLED' }, { code: 'VALIDATION' }, { code: 'REJECTED', error: 'Kaput' }],
    })
  })

  test.each([
    [undefined, 'no reason given'],
    [null, 'no reason given'],
    ['', 'no reason given'],
    [17, '17'],
    [{ code: 5, text: 'Kaput' }, '{"code":5,"text":"Kaput"}'],
  ])('gives a reason even if the gateway gave %o', (error, text) => {
    const item = { success: false, error, data: { id: 1 } }
    expect(classify(['1'], itemsAnswer(item))).toEqual({
      outcome: 'answered',
      items: [refused('REJECTED', text)],
    })
  })
})

describe('a refusal of the whole envelope', () => {
  test.each(['Access denied', 'access denied.', 'IP_DENIED', 'API_DISABLE'])(
    'with "%s" means that the API key is refused',
    error => {
      expect(classify(ids, refusal(error))).toEqual({ outcome: 'denied', error })
    },
  )

  test.each(['Too many requests', 'THROTTLE', 'OVERLIMIT'])(
    'with "%s" means that the account is throttled and nothing was sent',
    error => {
      expect(classify(ids, refusal(error))).toEqual(notSent('throttled', error))
    },
  )

  test.each([
    ['Not enough money', 'INSUFFICIENT_FUNDS', true],
    ['Invalid message type', 'TYPE_INVALID', true],
    ['Kaput', 'REJECTED', false],
  ])('with "%s" means that nothing was sent, and halves of the envelope may pass', (error, code, known) => {
    expect(classify(ids, refusal(error))).toEqual({ outcome: 'refused', code, known, error })
  })

  test('with a text in gateway.errorTexts is a known refusal, whatever its code', () => {
    const classified = classify(ids, refusal('Kaput'), { kaput: 'REJECTED' })
    expect(classified).toMatchObject({ outcome: 'refused', code: 'REJECTED', known: true })
  })

  test('and of each of its items means that nothing was sent', () => {
    const answer = answered({ success: false, error: 'Kaput', data: [refusedItem(1), refusedItem(2), refusedItem(3)] })
    expect(classify(ids, answer)).toMatchObject({ outcome: 'refused' })
  })

  test('that contains an accepted item is a contradiction: all operations are in doubt', () => {
    const answer = answered({ success: false, error: 'Access denied', data: [refusedItem(1), sentItem(2)] })
    expect(classify(ids, answer)).toEqual(allInDoubt('contradiction'))
  })
})

describe('after an HTTP status of a proxy in front of the gateway', () => {
  const refusals = [
    400, 401, 402, 403, 404, 405, 406, 407, 410, 411, 412, 414, 415, 417, 421, 422, 425, 426, 428, 431, 451,
  ]
  test.each([300, 301, 302, 303, 304, 307, 308, ...refusals, 499])('such as %i, nothing was sent', status => {
    for (const body of ['', '<html>', '{"error":"no"}', { success: false, error: 'Kaput' }]) {
      const why = [401, 403, 407].includes(status)
        ? ': the gateway, or a proxy in front of it, refused the sign-in: check the API key and the proxy'
        : ''
      expect(classify(ids, answered(body, { status }))).toEqual(notSent('unreachable', `HTTP ${status}${why}`))
    }
  })

  test('that redirects, the reason names the target', () => {
    const answer = { ...answered('', { status: 308 }), location: 'https://new.example/api' } as Answer
    const reason = 'HTTP 308, a redirect to https://new.example/api: set gateway.url'
    expect(classify(ids, answer)).toEqual(notSent('unreachable', reason))
  })

  test.each([301, 401, 403])(
    'such as %i whose body says that something was sent, all operations are in doubt',
    status => {
      expect(classify(ids, { ...itemsAnswer(sentItem(1)), status } as Answer)).toEqual(allInDoubt('http_status'))
    },
  )

  test('of 429, nothing was sent, and Retry-After is honoured', () => {
    expect(classify(ids, answered('', { status: 429, retryAfterMs: 7_000 }))).toEqual(
      notSent('throttled', 'HTTP 429', 7_000),
    )
  })

  test('of 413, nothing was sent, and halves of the envelope may pass', () => {
    expect(classify(ids, answered('', { status: 413 }))).toMatchObject({ outcome: 'refused', error: 'HTTP 413' })
  })

  test.each([201, 202, 203, 204, 206, 408, 409, 500, 501, 502, 503, 504, 507, 520, 522, 524, 529, 599])(
    'such as %i, all operations are in doubt, whatever the body says',
    status => {
      const bodies = ['', '<html>', '{"success":false,"error":"Cannot be processed"}']
      const answers = [itemsAnswer(sentItem(1)), ...bodies.map(body => answered(body))]
      for (const answer of answers)
        expect(classify(ids, { ...answer, status } as Answer)).toEqual(allInDoubt('http_status'))
    },
  )
})

describe('without an answer', () => {
  test.each(['unreachable', 'timeout'] as const)(
    'nothing was sent if the connection failed before the request: %s',
    cause => {
      const answer: Answer = { kind: 'not_sent', cause, message: 'ECONNREFUSED' }
      expect(classify(ids, answer)).toEqual(notSent('unreachable', 'ECONNREFUSED'))
    },
  )

  test('nothing is known about the gateway if the last check withheld the request', () => {
    const answer: Answer = { kind: 'not_sent', cause: 'withheld', message: 'the partition was lost' }
    expect(classify(ids, answer)).toEqual(notSent('withheld', 'the partition was lost'))
  })

  test.each(['timeout', 'reset', 'response_too_large', 'response_cut'] as const)(
    'all operations are in doubt after %s',
    cause => {
      expect(classify(ids, { kind: 'lost', cause, message: 'ECONNRESET' })).toEqual(allInDoubt(cause))
    },
  )
})

describe('an answer that leaves operations in doubt', () => {
  test.each<[string, unknown]>([
    ['is empty', ''],
    ['is cut', '{"success":true,"data":[{"success":true,"data":{"id":1'],
    ['is a page of HTML', '<html><body>Service unavailable</body></html>'],
    ['is JSON without the fields of an answer', { status: 'ok' }],
    ['is a list', [sentItem(1)]],
    ['is null', null],
    ['is a number', 200],
    ['is nested too deeply to be parsed', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
    ['has a number as success', { success: 1, data: ids.map(id => sentItem(id)) }],
    ['has a text as success', { success: 'true', data: ids.map(id => sentItem(id)) }],
    ['has no success', { data: ids.map(id => sentItem(id)) }],
  ])('%s', (_, body) => {
    expect(classify(ids, answered(body))).toEqual(allInDoubt('foreign_body'))
  })

  test.each<[string, unknown]>([
    ['has no items', { success: true }],
    ['has an object instead of a list of items', { success: true, data: sentItem(1) }],
    ['has fewer items, without ids', { success: true, data: [{ success: true }, { success: true }] }],
    ['has more items, without ids', { success: true, data: Array(4).fill({ success: true }) }],
    ['has items that are not objects', { success: true, data: [null, 'x', []] }],
    [
      'has an item without success',
      { success: true, data: [{ data: { id: 9 } }, { success: true }, { success: true }] },
    ],
    ['has only unknown ids', { success: true, data: [sentItem(7), sentItem(8), sentItem(9)] }],
  ])('%s, and leaves all operations in doubt', (_, body) => {
    expect(classify(ids, answered(body))).toEqual(allInDoubt('items_differ'))
  })

  const [one, two, three] = [sentItem(1), refusedItem(2, 'Not enough money'), sentItem(3)]
  const refusedTwo = refused('INSUFFICIENT_FUNDS', 'Not enough money')
  test.each<[string, AnyItem[], unknown[]]>([
    ['has fewer items', [one, three], [sent(1), inDoubt, sent(3)]],
    ['has more items', [one, two, three, sentItem(4)], [sent(1), refusedTwo, sent(3)]],
    ['has the items in another order', [three, one, two], [sent(1), refusedTwo, sent(3)]],
    ['has one item twice', [one, one, three], [inDoubt, inDoubt, sent(3)]],
    [
      'has one item twice, with its id as text and as a number',
      [one, sentItem('1'), two],
      [inDoubt, refusedTwo, inDoubt],
    ],
    ['has one item three times', [one, one, one], [inDoubt, inDoubt, inDoubt]],
    ['has an unknown id at one place', [one, sentItem(7), three], [sent(1), inDoubt, sent(3)]],
    ['has an item without success', [one, { data: { id: 2 } }, three], [sent(1), inDoubt, sent(3)]],
    [
      'has an item without an id among items in another order',
      [{ success: true }, one, three],
      [sent(1), inDoubt, sent(3)],
    ],
  ])('%s: only the operations that match by id are definite', (_, items, answers) => {
    expect(classify(ids, itemsAnswer(...items))).toMatchObject({
      outcome: 'unknown',
      cause: 'items_differ',
      items: answers,
    })
  })

  test('does not mistake an id that lost digits for another id', () => {
    const answer = answered('{"success":true,"data":[{"success":true,"data":{"id":9007199254740993.0}}]}')
    expect(classify(['9007199254740993', '9007199254740992'], answer)).toMatchObject({ items: [inDoubt, inDoubt] })
  })
})

describe('for any mutation of a valid answer', () => {
  const anyId = fc.oneof(fc.integer({ min: 1, max: 6 }), fc.bigInt(1n, 2n ** 63n - 1n)).map(String)
  const anyIds = fc.uniqueArray(anyId, { minLength: 1, maxLength: 6 })
  const echo = (id: string) => fc.constantFrom<unknown>(id, BigInt(id))
  const validItem = (id: string): fc.Arbitrary<AnyItem> =>
    fc.oneof(
      echo(id).map(echoed => sentItem(echoed)),
      echo(id).map(echoed => refusedItem(echoed)),
      fc.constantFrom<AnyItem>({ success: true, data: { code: '0042' } }, { success: false, error: 'Kaput' }),
    )
  const foreign = fc.oneof(fc.jsonValue(), fc.constantFrom(sentItem(1), refusedItem(2), sentItem('3'), { success: 1 }))
  type Mutation = (items: unknown[]) => unknown[]
  const at = fc.nat({ max: 7 })
  const mutation: fc.Arbitrary<Mutation> = fc.oneof(
    at.map(
      (i): Mutation =>
        items =>
          items.toSpliced(i, 1),
    ),
    fc.tuple(at, at).map(
      ([i, j]): Mutation =>
        items =>
          items.toSpliced(i, 0, items[j % items.length]),
    ),
    fc.tuple(at, at).map(
      ([i, j]): Mutation =>
        items =>
          items.toSpliced(i, 1).toSpliced(j, 0, items[i]),
    ),
    fc.tuple(at, foreign).map(
      ([i, item]): Mutation =>
        items =>
          items.toSpliced(i, 0, item),
    ),
    fc.tuple(at, foreign).map(
      ([i, item]): Mutation =>
        items =>
          items.toSpliced(i, 1, item),
    ),
    fc.constant<Mutation>(items => items),
  )
  const mutated = anyIds.chain(sentIds =>
    fc.record({
      sentIds: fc.constant(sentIds),
      items: fc
        .tuple(fc.tuple(...sentIds.map(validItem)), fc.array(mutation, { maxLength: 3 }))
        .map(([items, mutations]) => mutations.reduce<unknown[]>((list, mutate) => mutate(list), items)),
    }),
  )

  const successOf = (item: unknown) => (item as AnyItem | null)?.success
  const echoed = (item: unknown) => {
    const id = ((item as AnyItem | null)?.data as AnyItem | null | undefined)?.id
    return ['string', 'number', 'bigint'].includes(typeof id) ? String(id) : undefined
  }

  test('an operation is sent or refused only if an item with its id says so, or its position if all ids fit', () => {
    fc.assert(
      fc.property(mutated, ({ sentIds, items }) => {
        const classified = classify(sentIds, itemsAnswer(...items))
        if (classified.outcome !== 'answered' && classified.outcome !== 'unknown') throw new Error(classified.outcome)
        expect(classified.items).toHaveLength(sentIds.length)
        const read = (parseJson(stringifyJson(items)) ?? []) as unknown[]
        const fits =
          read.length === sentIds.length && read.every((item, i) => [undefined, sentIds[i]].includes(echoed(item)))
        for (const [i, { kind }] of classified.items.entries()) {
          if (kind === 'in_doubt') continue
          const saying = fits ? [read[i]] : read.filter(item => echoed(item) === sentIds[i])
          expect(saying.map(successOf)).toEqual([kind === 'sent'])
        }
        if (classified.outcome === 'answered') {
          expect(fits).toBe(true)
          expect(classified.items.map(({ kind }) => kind)).not.toContain('in_doubt')
        }
      }),
      { numRuns: 2_000 },
    )
  })
})

test('an error that is nested thousands of levels deep is a refusal like any other', () => {
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
  const error = 'a reason that cannot be shown'
  expect(classify(['1'], answered(`{"success":false,"error":${deep}}`))).toMatchObject({ outcome: 'refused', error })
  const items = [{ kind: 'refused', code: 'REJECTED', error }]
  const body = `{"success":true,"data":[{"success":false,"error":${deep}}]}`
  expect(classify(['1'], answered(body))).toEqual({ outcome: 'answered', items })
})

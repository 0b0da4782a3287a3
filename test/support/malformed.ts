import { callback } from './callbacks.ts'

/** A body that can never become an event. */
export interface Malformed {
  what: string
  /** What its sender is told. */
  why: string
  body: Buffer
}

const noJson = 'the body is not JSON, or is compressed'
const noUtf8 = 'the body is not UTF-8, or is compressed'
const sameName = 'the body has an object with the same name twice'
const tooDeep = 'the body is nested too deeply'
const noCallback = 'the body is not a status callback: success (boolean) is required'

const whole = JSON.stringify(
  callback({
    error: 'späť',
    updated: '2026-03-14T12:00:00Z',
    replies: [{ message: 'yes', media: { url: 'https://b/a', filesize: 1 } }],
  }),
)
const text = (what: string, why: string, ...bodies: string[]): Malformed[] =>
  bodies.map(body => ({ what: `${what}: ${body.slice(0, 60)}`, why, body: Buffer.from(body) }))

/** Whether another reader of JSON takes it; the receiver has to say the same. */
function isJson(body: string): boolean {
  try {
    JSON.parse(body)
    return true
  } catch {
    return false
  }
}

/** A good body that ends too early, wherever that is. */
const cut = () => text('cut', noJson, ...Array.from(whole, (_, end) => whole.slice(0, end)))

/** A good body with each of its marks left out, twice there, or another one, where no JSON is left. */
function misspelt(): Malformed[] {
  const marks = '{}[],:"'
  const changed = [...whole].flatMap((char, at) =>
    marks.includes(char)
      ? ['', char + char, ...marks, '\n', '\\'].map(other => whole.slice(0, at) + other + whole.slice(at + 1))
      : [],
  )
  return text('misspelt', noJson, ...new Set(changed.filter(body => !isJson(body))))
}

/** Bytes that are no UTF-8, in a text, in a name and behind the end. */
function notUtf8(): Malformed[] {
  const sequences = ['80', 'bf', 'c0', 'c080', 'c1bf', 'c3', 'e08080', 'e28c', 'eda080', 'edbfbf', 'f0808080', 'f09f98']
  const further = ['f4908080', 'f5808080', 'f8888080', 'fc', 'fe', 'ff', 'fffe', 'feff', 'a0a1', 'c328']
  const places = ['{"success":true,"error":"@"}', '{"success":true,"@":1}', '{"success":true}@']
  return [...sequences, ...further].flatMap(hex =>
    places.map(place => {
      const [before = '', after = ''] = place.split('@')
      const body = Buffer.concat([Buffer.from(before), Buffer.from(hex, 'hex'), Buffer.from(after)])
      return { what: `not UTF-8: ${hex} in ${place}`, why: noUtf8, body }
    }),
  )
}

/** A name that stands twice in an object, spelt alike or not. */
function twice(): Malformed[] {
  const names = [
    'success',
    'id',
    'msg_id',
    'type',
    'status',
    'error',
    'updated',
    'reply',
    'request_id',
    'x',
    '',
    '__proto__',
  ]
  const spelt = (name: string) => [
    name,
    `\\u${(name.codePointAt(0) ?? 0x20).toString(16).padStart(4, '0')}${name.slice(1)}`,
  ]
  const value = (name: string) => (name === 'success' ? 'true' : '"42"')
  const tops = names.filter(Boolean).flatMap(name =>
    spelt(name).map(other => {
      const rest = name === 'success' ? '' : ',"success":true'
      return `{"${name}":${value(name)}${rest},"${other}":${value(name)}}`
    }),
  )
  const inner = names.flatMap(name => [
    `{"success":true,"replies":[{"${name}":1,"${name}":1}]}`,
    `{"success":true,"replies":[{"media":{"${name}":1,"z":{"${name}":1},"${name}":2}}]}`,
    `{"success":true,"x":[[],{"y":["${name}"],"${name}":"${name}" , "${name}" : 0}]}`,
  ])
  return text('twice', sameName, ...tops, ...inner, '{"":1,"success":true,"":2}')
}

const deep = () =>
  [21, 22, 100, 1000, 10_000].flatMap(depth => {
    const [open, close] = ['['.repeat(depth - 1), ']'.repeat(depth - 1)]
    const objects = `${'{"a":'.repeat(depth - 1)}1${'}'.repeat(depth - 1)}`
    return text(
      'deep',
      tooDeep,
      `{"success":true,"x":${open}${close}}`,
      `{"success":true,"x":${objects}}`,
      '['.repeat(depth),
    )
  })

/** JSON, but no callback. */
function foreign(): Malformed[] {
  const others = ['null', 'true', 'false', '0', '-1.5e3', '""', '"success"', '[]', '[true]', '[{"success":true}]', '{}']
  const successes = ['"true"', '"false"', '1', '0', 'null', '""', '[]', '{}', '[true]', '{"success":true}', '1e400']
  return [
    ...text(
      'foreign',
      noCallback,
      ...others,
      ...others.map(other => `{"data":${other}}`),
      '{"Success":true}',
      '{"success ":true}',
    ),
    ...text('success', noCallback, ...successes.map(value => `{"success":${value}}`)),
    ...text('success', noCallback, ...successes.map(value => `{"id":"42","status":"DELIVERED","success":${value}}`)),
  ]
}

/** Makes texts that look like JSON to some readers, or that senders take for it. */
function dialects(): Malformed[] {
  const values = [
    ...[
      'NaN',
      'Infinity',
      '-Infinity',
      'undefined',
      'True',
      'None',
      'yes',
      "'a'",
      '+1',
      '01',
      '.5',
      '5.',
      '0x1f',
      '1_000',
    ],
    ...[
      '1e',
      '--1',
      '"\\x41"',
      '"\\u12"',
      '"\\u{41}"',
      '"\\',
      '"a\nb"',
      '"a\tb"',
      '"\0"',
      '`a`',
      '1,',
      '/*x*/1',
      '1//x',
    ],
    ...[
      '[1,]',
      '[,1]',
      '[1 2]',
      '{a:1}',
      '{"a":1,}',
      '{"a" 1}',
      '{"a":}',
      '{,}',
      '{1:1}',
      '{null:1}',
      '<a/>',
      '\ufeff1',
    ],
  ]
  return [
    ...text('dialect', noJson, ...values.map(value => `{"success":true,"x":${value}}`)),
    ...text('dialect', noJson, ...values.map(value => `{"x":${value},"success":true}`)),
    ...text(
      'dialect',
      noJson,
      `${whole}${whole}`,
      `${whole},`,
      `[${whole}`,
      `${whole}]`,
      `${whole}\0`,
      `\0${whole}`,
      `(${whole})`,
    ),
    ...text(
      'dialect',
      noJson,
      `\ufeff\ufeff${whole}`,
      `)]}',\n${whole}`,
      `callback(${whole})`,
      `success=true&id=42`,
      whole.slice(1, -1),
    ),
    ...text(
      'dialect',
      noJson,
      encodeURIComponent(whole),
      `data=${whole}`,
      `--b\r\n\r\n${whole}\r\n--b--`,
      '<success>true</success>',
    ),
    ...text('blank', noJson, '', ' ', '\n', '\t \r\n', '\ufeff', '\0', '\0'.repeat(1000), ' '.repeat(60_000)),
    { what: 'UTF-16', why: noUtf8, body: Buffer.from(whole, 'utf16le') },
    { what: 'UTF-16 with its mark', why: noUtf8, body: Buffer.from(`\ufeff${whole}`, 'utf16le') },
    { what: 'Latin-1', why: noUtf8, body: Buffer.from(whole, 'latin1') },
    { what: 'base64', why: noJson, body: Buffer.from(Buffer.from(whole).toString('base64')) },
  ]
}

export const malformedBodies = (): Malformed[] => [
  ...cut(),
  ...misspelt(),
  ...notUtf8(),
  ...twice(),
  ...deep(),
  ...foreign(),
  ...dialects(),
]

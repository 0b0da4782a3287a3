import { createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import {
  isKid,
  type Jwk,
  kidExpected,
  lackOf,
  readSealingKeys,
  type SealingKey,
  secretBytes,
} from '../../config/index.ts'
import { choiceFlag, command, type Flag, textFlag, toggle, UsageError } from '../framework/command.ts'
import { newKid } from '../new-kid.ts'
import { configFlag, settingsFrom } from '../settings.ts'

const kinds = ['P-256', 'X25519', 'secret'] as const

const kidFlag = (help: string): Flag<string> => ({
  value: 'KID',
  help,
  read(given) {
    if (isKid(given)) return given
    throw new UsageError(`expected ${kidExpected}`)
  },
})

const fileFlag = (help: string): Flag<string> => ({ ...textFlag('FILE', help), values: () => 'files' })

export const keysCreate = command({
  about: [
    'Creates a private key that opens sealed content, for sealing.keysFile (docs/personal-data.md). Workers alone may have',
    'it; producers get its public part (busgate keys public).',
  ].join('\n'),
  flags: {
    file: fileFlag(
      'JWK Set to put it into, before the other keys; made if there is none. Default: a new set is printed.',
    ),
    kid: kidFlag('Name of the key. Default: year, month and four random characters, such as 2611x7q4.'),
    kind: choiceFlag('KIND', kinds, 'Curve of the key, or a secret that producers have too. Default: P-256.'),
  },
  async run({ file, kid = newKid(), kind = 'P-256' }) {
    const others = file === undefined ? [] : jwksIn(file)
    const set = { keys: [newKey(kid, kind), ...others] }
    readSealingKeysOf(set, '--kid')
    const text = `${JSON.stringify(set, null, 2)}\n`
    if (file === undefined) process.stdout.write(text)
    else {
      replaceFile(file, text)
      process.stderr.write(`${file} has the new key ${kid}\n`)
    }
    return 0
  },
})

export const keysPublic = command({
  about: 'Prints the public keys of sealing.keysFile, a JWK Set for producers: they seal with the first one.',
  flags: {
    kid: kidFlag('Only this key.'),
    file: fileFlag('JWK Set to read. Default: the one in the settings.'),
    config: configFlag,
  },
  async run({ kid, file, config }) {
    const all = keysOf(file, config)
    if (kid !== undefined && !all.some(key => key.kid === kid)) throw new UsageError(`--kid: there is no key ${kid}`)
    const keys = all.filter(key => key.alg === 'ECDH-ES' && (kid === undefined || key.kid === kid)).map(publicJwk)
    if (keys.length === 0) throw new UsageError('a secret has no public part: give producers the key itself')
    process.stdout.write(`${JSON.stringify({ keys }, null, 2)}\n`)
    return 0
  },
})

export const keysList = command({
  about: 'Lists the keys of sealing.keysFile: kid, algorithm and curve, nothing secret.',
  flags: {
    file: fileFlag('JWK Set to read. Default: the one in the settings.'),
    config: configFlag,
    json: toggle('One JSON object a line.'),
  },
  async run({ file, config, json }) {
    for (const { kid, alg, curve } of keysOf(file, config)) {
      const line = json ? JSON.stringify({ kid, alg, curve }) : [kid, alg, curve ?? ''].join('  ').trimEnd()
      process.stdout.write(`${line}\n`)
    }
    return 0
  },
})

function newKey(kid: string, kind: (typeof kinds)[number]): Jwk {
  if (kind === 'secret') {
    return { kid, kty: 'oct', alg: 'dir', use: 'enc', k: randomBytes(secretBytes).toString('base64url') }
  }
  const { privateKey } =
    kind === 'P-256' ? generateKeyPairSync('ec', { namedCurve: kind }) : generateKeyPairSync('x25519')
  return { kid, alg: 'ECDH-ES', use: 'enc', ...privateKey.export({ format: 'jwk' }) }
}

function publicJwk({ kid, alg, key }: SealingKey): Jwk {
  return { kid, alg, use: 'enc', ...createPublicKey(key).export({ format: 'jwk' }) }
}

/** @throws UsageError that says which keys are wrong, without their content */
function readSealingKeysOf(set: unknown, where: string): SealingKey[] {
  try {
    return readSealingKeys(set, 'open')
  } catch (error) {
    throw new UsageError(`${where}: ${(error as Error).message}`)
  }
}

/** @returns an empty list if there is no such file */
function jwksIn(file: string): Jwk[] {
  const text = textOf(file)
  if (text === null) return []
  const set = parsed(text)
  readSealingKeysOf(set, '--file')
  return (set as { keys: Jwk[] }).keys
}

function keysOf(file: string | undefined, config: string | undefined): readonly SealingKey[] {
  if (file === undefined) {
    const { keys } = settingsFrom(config).sealing
    if (!keys) throw lackOf('sealing.keys', 'is not set: name the file in sealing.keysFile, or use --file')
    return keys.reveal()
  }
  const text = textOf(file)
  if (text === null) throw new UsageError(`--file: there is no ${file}`)
  return readSealingKeysOf(parsed(text), '--file')
}

function textOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return null
    throw new UsageError(`--file: cannot read ${file} (${code})`)
  }
}

/** JSON.parse quotes the text, which has keys. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** Workers that read it at the same time see the old or the new keys. */
function replaceFile(file: string, text: string): void {
  const part = `${file}.${process.pid}.part`
  writeFileSync(part, text, { mode: 0o600 })
  renameSync(part, file)
}

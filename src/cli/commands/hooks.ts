import { randomBytes } from 'node:crypto'
import { accountHookUrl } from '../../callbacks/hook-url.ts'
import { tokensOf } from '../../callbacks/role.ts'
import { lackOf } from '../../config/index.ts'
import { command, type Flag, textFlag, UsageError } from '../framework/command.ts'
import { newKid } from '../new-kid.ts'
import { configFlag, requireAccount, settingsFrom } from '../settings.ts'

export const hooksUrl = command({
  about: [
    'Prints the callback address of an account. Enter it in the settings of the account at the gateway: statuses of',
    'messages whose own address the gateway does not keep (pipeline) go there. It is a secret: whoever has it can send',
    'statuses.',
  ].join('\n'),
  flags: { account: textFlag('NAME', 'Default: the account named default.'), config: configFlag },
  async run({ account = 'default', config }) {
    const settings = settingsFrom(config)
    const tokens = tokensOf(settings)
    const { publicUrl } = settings.callbacks
    if (!publicUrl || !tokens) {
      throw lackOf('callbacks.publicUrl', 'is not set; hook addresses need it and callbacks.secret')
    }
    requireAccount(account, settings)
    if (!/^[a-z0-9]+$/.test(account)) throw new UsageError('--account: expected lower-case letters and digits')
    process.stdout.write(`${accountHookUrl(publicUrl, tokens, account)}\n`)
    return 0
  },
})

const secretBytes = 32

export const hooksSecret = command({
  about: [
    'Prints a new secret for callbacks.secret: kid:secret, with 32 random bytes. It changes nothing. If there is',
    'a secret already, add the new one behind it everywhere, and only then move it to the front (docs/callbacks.md).',
  ].join('\n'),
  flags: {
    kid: kidFlag(
      'Name of the secret in hook addresses. Default: year, month and four random characters, such as 2611x7q4.',
    ),
  },
  async run({ kid = newKid() }) {
    process.stdout.write(`${kid}:${randomBytes(secretBytes).toString('base64url')}\n`)
    return 0
  },
})

function kidFlag(help: string): Flag<string> {
  const read = (given: string) => {
    if (/^[A-Za-z0-9_-]{1,8}$/.test(given)) return given
    throw new UsageError('expected 1 to 8 letters, digits, - or _')
  }
  return { value: 'KID', help, read }
}

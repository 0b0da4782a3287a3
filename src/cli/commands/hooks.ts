import { accountHookUrl } from '../../callbacks/hook-url.ts'
import { tokensOf } from '../../callbacks/role.ts'
import { type Settings, SettingsError, variableOf } from '../../config/index.ts'
import { command, text } from '../command.ts'
import { configFlag, settingsFrom, unknownAccount } from '../settings.ts'
import { UsageError } from '../usage-error.ts'

export const hooksUrl = command({
  about: [
    'Prints the callback address of an account, to be entered in its settings at the gateway: statuses of messages',
    'whose own address the gateway does not keep (pipeline) go there. Whoever has it can send statuses.',
  ].join('\n'),
  flags: { account: text('NAME', 'Default: the account named default.'), config: configFlag },
  async run({ account = 'default', config }) {
    const settings = settingsFrom(config)
    const tokens = tokensOf(settings)
    const { publicUrl } = settings.callbacks
    if (!publicUrl || !tokens) {
      throw new SettingsError([
        {
          path: 'callbacks.publicUrl',
          where: variableOf('callbacks.publicUrl'),
          what: 'is not set; an address needs it and callbacks.secret',
          example: 'https://hooks.example',
        },
      ])
    }
    requireKnown(account, settings)
    process.stdout.write(`${accountHookUrl(publicUrl, tokens, account)}\n`)
    return 0
  },
})

/** A receiver alone may have no account's key: then any name is good that can be one. */
function requireKnown(account: string, { gateway }: Settings): void {
  const known = [...gateway.accounts.keys()]
  if (known.includes(account)) return
  if (known.length > 0) throw unknownAccount(account, known)
  if (!/^[a-z0-9]+$/.test(account)) throw new UsageError('--account: expected lower-case letters and digits')
}

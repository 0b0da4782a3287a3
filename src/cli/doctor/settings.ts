import {
  loadSettings,
  longestQuietMinutes,
  runningRoles,
  type SettingPath,
  type Settings,
  SettingsError,
  valueFor,
  whyRoleIsOff,
} from '../../config/index.ts'
import { count } from '../../words.ts'
import { runnableSettings } from '../settings.ts'
import { check, type Facts, type Finding, named, ok, warning } from './check.ts'

export const settings = check({
  name: 'settings',
  about:
    'The settings, as `busgate config check` does: errors, and settings that `busgate run` needs. Quiet hours must be shorter than commands.maxAgeMs. Shows the [limits](limits.md) of each account.',
  needs: [],
  async look(_facts, sources) {
    try {
      const loaded = runnableSettings(sources)
      const running = runningRoles(loaded)
      const off = loaded.roles.filter(role => !running.includes(role)).map(role => `; ${role} is off: ${whyRoleIsOff}`)
      const valid = ok(`valid, for the roles ${running.join(', ')}${off.join('')}`)
      return { findings: [valid, ...limits(loaded), ...longQuietHours(loaded)], facts: { settings: loaded } }
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error
      return { findings: error.problems.map(finding), facts: usable() }
    }

    /** Reads incomplete settings, so that the other checks can run. */
    function usable(): Partial<Facts> {
      try {
        return { settings: loadSettings(sources) }
      } catch {
        return {}
      }
    }
  },
})

function finding({ path, where, variable, what, example }: SettingsError['problems'][number]): Finding {
  const finding: Finding = { state: 'failed', what: `${path} (${where}): ${what}` }
  if (example === undefined) return finding
  const name = variable === undefined ? path : `${path} (${variable})`
  return { ...finding, mend: `set ${name} to ${example}, for example` }
}

/** What each account may send, if that is limited. */
function limits({ gateway }: Settings): Finding[] {
  return [...gateway.accounts.keys()].flatMap(account => {
    const countries = valueFor(account, gateway.countries)
    const maxParts = valueFor(account, gateway.maxParts)
    const limits = [
      ...(countries ? [`only to ${countries.join(', ')}`] : []),
      ...(maxParts !== undefined ? [`SMS of at most ${count(maxParts, 'part')}`] : []),
    ]
    return limits.length > 0 ? [ok(`account ${account} sends ${limits.join(', and ')}`)] : []
  })
}

const hourMs = 3_600_000

/** Quiet hours in which every command that is written at their begin expires. */
function longQuietHours({ gateway, commands }: Settings): Finding[] {
  return [...gateway.quietHours].flatMap(([name, windows]) => {
    const longestMs = longestQuietMinutes(windows) * 60_000
    if (longestMs < commands.maxAgeMs) return []
    const [quiet, life] = [longestMs, commands.maxAgeMs].map(ms => `${Number((ms / hourMs).toFixed(1))} h`)
    const what = `account ${name} has quiet hours of ${quiet}, and commands live for ${life}: those written when the quiet hours begin expire unsent`
    return [
      warning(what, `set ${named('commands.maxAgeMs')} to ${longestMs + hourMs} or more, or shorten the quiet hours`),
    ]
  })
}

/** Length of 32 random bytes in base64. */
const strongLength = 43

export const safety = check({
  name: 'safety',
  about:
    'Plain text on the network (gateway or brokers without TLS; a password or token to registry or token endpoint with http), and a callbacks.secret below 32 random bytes in base64.',
  needs: ['settings'],
  async look({ settings }) {
    const findings = [...plainText(settings), ...weakKeys(settings)]
    const fine = ok('no key, password, phone or text leaves this machine in plain text; no secret is weak')
    return { findings: findings.length > 0 ? findings : [fine] }
  },
})

function plainText({ gateway, registry, kafka }: Settings): Finding[] {
  const findings: Finding[] = []
  const addWhereOpen = (path: SettingPath, url: string | undefined, what: string) => {
    if (url === undefined || !isOpen(url)) return
    const mend = `begin ${named(path)} with https, if the server uses TLS`
    findings.push(warning(`${path} begins with http: ${what} can be read on the network`, mend))
  }
  addWhereOpen('gateway.url', gateway.url, 'API keys, phones and texts')
  if (registry.password) addWhereOpen('registry.url', registry.url, 'registry.password')
  if (registry.token) addWhereOpen('registry.url', registry.url, 'registry.token')
  const { sasl, ssl, brokers } = kafka
  if (sasl?.mechanism === 'oauthbearer') {
    addWhereOpen('kafka.sasl.tokenEndpoint', sasl.tokenEndpoint, 'kafka.sasl.clientSecret')
  }
  if (!ssl && Array.isArray(brokers) && brokers.some(broker => isOpen(`http://${broker}`))) {
    const login = { plain: 'the password, ', oauthbearer: 'the token, ' }[sasl?.mechanism as string] ?? ''
    const what = `kafka.ssl is false: ${login}phones and texts can be read on the network`
    findings.push(warning(what, `set ${named('kafka.ssl')} to true, with a listener of the brokers that uses TLS`))
  }
  return findings
}

/** Whether requests leave this machine unencrypted. */
export function isOpen(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'http:' && !/^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname)
}

const makeOne = `busgate hooks secret, and add what it prints to ${named('callbacks.secret')} (docs/callbacks.md)`

function weakKeys({ callbacks }: Settings): Finding[] {
  const weak = (callbacks.secret?.reveal() ?? []).filter(({ secret }) => secret.length < strongLength)
  return weak.map(({ kid }) =>
    warning(`callbacks.secret: the secret of ${kid} is shorter than 32 random bytes`, makeOne),
  )
}

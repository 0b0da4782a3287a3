import { definitions, type SettingPath, type Settings, variableOf } from '../../config/index.ts'
import { check, type Finding, failed, ok, warning } from './check.ts'

/** So long are 32 random bytes in base64. */
const strongLength = 43

export const safety = check({
  name: 'safety',
  about:
    'Plain text on the network (http to the gateway; a password or token to brokers, registry or token endpoint without TLS), a callbacks.secret below 32 random bytes in base64, and secrets that are examples from the documentation.',
  needs: ['settings'],
  async look({ settings }) {
    const findings = [...plainText(settings), ...examples(settings), ...weakKeys(settings)]
    return {
      findings: findings.length > 0 ? findings : [ok('nothing is sent in plain text; no secret is weak or an example')],
    }
  },
})

function plainText({ gateway, registry, kafka }: Settings): Finding[] {
  const findings: Finding[] = []
  const addWhereOpen = (path: SettingPath, url: string | undefined, what: string) => {
    if (url === undefined || !isOpen(url)) return
    const mend = `begin ${variableOf(path)} with https, if the server uses TLS`
    findings.push(warning(`${path} begins with http: ${what} can be read on the network`, mend))
  }
  addWhereOpen('gateway.url', gateway.url, 'API keys, phones and texts')
  addWhereOpen('gateway.asyncUrl', gateway.asyncUrl, 'API keys, phones and texts')
  if (registry.password) addWhereOpen('registry.url', registry.url, 'registry.password')
  if (registry.token) addWhereOpen('registry.url', registry.url, 'registry.token')
  const { sasl, ssl, brokers } = kafka
  if (sasl?.mechanism === 'oauthbearer') {
    addWhereOpen('kafka.sasl.tokenEndpoint', sasl.tokenEndpoint, 'kafka.sasl.clientSecret')
  }
  const isReadable = sasl?.mechanism === 'plain' || sasl?.mechanism === 'oauthbearer'
  if (isReadable && !ssl && Array.isArray(brokers) && brokers.some(broker => isOpen(`http://${broker}`))) {
    const shown = sasl.mechanism === 'plain' ? 'the password' : 'the token'
    const what = `kafka.sasl.mechanism is ${sasl.mechanism} without TLS: ${shown} can be read on the network`
    findings.push(warning(what, `${variableOf('kafka.ssl')}=true, with a listener of the brokers that is SASL_SSL`))
  }
  return findings
}

/** Tells whether others than this machine see what is sent there. */
function isOpen(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'http:' && !/^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname)
}

/** Everybody can read these: the example of the setting, and the secret in docker-compose.yml. */
const exampleKeys = [definitions['callbacks.secret'].example.replace(/^k1:/, ''), 'nobody-outside-can-call']

function examples({ gateway, registry, kafka, callbacks }: Settings): Finding[] {
  const paths: string[] = []
  const addIfExample = (path: SettingPath, value: string | undefined, shown: string = path) => {
    if (value === definitions[path].example) paths.push(shown)
  }
  for (const [name, { apiKey }] of gateway.accounts) {
    addIfExample(
      'gateway.apiKey',
      apiKey.reveal(),
      name === 'default' ? 'gateway.apiKey' : `gateway.accounts.${name}.apiKey`,
    )
  }
  addIfExample('registry.password', registry.password?.reveal())
  addIfExample('registry.token', registry.token?.reveal())
  if (kafka.sasl?.mechanism === 'oauthbearer') addIfExample('kafka.sasl.clientSecret', kafka.sasl.clientSecret.reveal())
  else addIfExample('kafka.sasl.password', kafka.sasl?.password.reveal())
  if (callbacks.secret?.reveal().some(({ secret }) => exampleKeys.includes(secret))) paths.push('callbacks.secret')
  return paths.map(path => {
    const mend = path === 'callbacks.secret' ? makeOne : `put the real one into ${variableOf(path)}`
    return failed(`${path} is an example from the documentation, which everybody knows`, mend)
  })
}

const makeOne = `busgate hooks secret, and add what it prints to ${variableOf('callbacks.secret')} (docs/callbacks.md)`

function weakKeys({ callbacks }: Settings): Finding[] {
  const weak = (callbacks.secret?.reveal() ?? []).filter(
    ({ secret }) => !exampleKeys.includes(secret) && secret.length < strongLength,
  )
  return weak.map(({ kid }) =>
    warning(`callbacks.secret: the secret of ${kid} is shorter than 32 random bytes`, makeOne),
  )
}

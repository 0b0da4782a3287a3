import { expect, test } from 'vitest'
import { openInEditor } from '../support/editor.ts'

const code = `
import { GatewayClient, loadSettings } from '../../src/index.ts'

const overrides = { gateway: { lingerMs: 5 } }
const settings = loadSettings({ env: {}, overrides: { kafka: { drainMs: 5 }, gateway: { accounts: { shop: { rate: 5 } } } } })
console.log(settings.callbacks.secret, settings.gateway.errorTexts, settings.kafka.sasl, overrides)
const client = new GatewayClient({ url: 'https://gateway.example', apiKey: 'a-key' })
await client.sms({ id: 1, phone: 380671234567, sms_message: 'Hello', sms_signature: 'Shop', sms_lifetime: 3600 })
await client.pipeline({ phone: 380671234567, pipeline: ['viber'], viber: { message: 'Hello', signature: 'Shop', type: 'text' } })
await client.voice({ id: 2, phone: 380671234567, message: 'Hello', dtmf: true })
`

test('an editor shows what each setting and each field of an operation is for', async () => {
  const editor = await openInEditor('test/docs/written-in-an-editor.ts', code)
  const shown: [code: string, doc: string][] = [
    ['kafka: { drainMs', 'How long a rebalance waits for requests in flight; what is answered later is in doubt.'],
    ['shop: { rate', 'variable `BUSGATE_GATEWAY_ACCOUNTS_NAME_RATE`'],
    ['settings.callbacks.secret', 'Signs hook addresses'],
    ['settings.gateway.errorTexts', 'variable `BUSGATE_GATEWAY_ERROR_TEXTS`'],
    ['settings.kafka.sasl', 'The login at the brokers'],
    ['apiKey', 'Never part of an error'],
    ['client.sms({ id', "The caller's own unique id of the message."],
    ['sms_signature', 'Sender signature (alpha-name) of the SMS.'],
    ['sms_lifetime', 'a number of seconds from 3600 to 259200'],
    ['viber: { message', 'Text of the message.'],
    ['dtmf', 'the digit that the recipient presses'],
  ]
  for (const [place, doc] of shown) expect(await editor.hover(place), place).toContain(doc)
})

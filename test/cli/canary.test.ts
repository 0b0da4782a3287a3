import { rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { canary, leaksIn } from '../support/canary.ts'
import { busgate, type CliResult, startBusgate } from '../support/cli.ts'

const { key, secret, kafkaPassword, registryPassword, text, phone } = canary

const secrets = {
  BUSGATE_GATEWAY_API_KEY: key,
  BUSGATE_GATEWAY_ACCOUNTS_SHOP_API_KEY: `${key}-of-shop`,
  BUSGATE_CALLBACKS_SECRET: secret,
  BUSGATE_KAFKA_SASL_MECHANISM: 'plain',
  BUSGATE_KAFKA_SASL_USERNAME: 'busgate',
  BUSGATE_KAFKA_SASL_PASSWORD: kafkaPassword,
  BUSGATE_REGISTRY_USERNAME: 'busgate',
  BUSGATE_REGISTRY_PASSWORD: registryPassword,
}
const embedded = {
  ...secrets,
  BUSGATE_KAFKA_BROKERS: 'embedded',
  BUSGATE_GATEWAY_URL: 'http://127.0.0.1:1',
  BUSGATE_TELEMETRY_HOST: '127.0.0.1',
  BUSGATE_TELEMETRY_PORT: '0',
  BUSGATE_ROLES: 'worker',
}

const leaks = ({ stdout, stderr }: CliResult) => leaksIn(stdout + stderr)

test('wrong settings and valid ones are shown without secrets', async () => {
  const file = (name: string, yaml: string) => {
    const path = join(tmpdir(), `busgate-canary-${process.pid}-${name}.yaml`)
    writeFileSync(path, yaml)
    onTestFinished(() => rmSync(path))
    return ['--config', path]
  }
  const odd = file('odd', `gateway:\n  apiKey: [${key}]\ncallbacks:\n  secret: ${secret.slice(3)}\n`)
  const broken = file('broken', `gateway:\n  apiKey: "${key}\n  : ${kafkaPassword}`)
  const wrong = {
    ...secrets,
    BUSGATE_GATEWAY_API_KEY_FILE: key,
    BUSGATE_CALLBACKS_SECRET: secret.slice(3),
    BUSGATE_REGISTRY_URL: `http://busgate:${registryPassword}@registry`,
    BUSGATE_KAFKA_BROKERS: `busgate:${kafkaPassword}@broker:9092`,
    BUSGATE_GATEWAY_ERROR_TEXTS: text,
  }
  const runs = await Promise.all([
    busgate(['run'], { env: wrong }),
    busgate(['run'], { env: secrets }),
    busgate(['run', ...odd], { env: { BUSGATE_KAFKA_BROKERS: 'embedded' } }),
    busgate(['run', ...broken], { env: embedded }),
    busgate(['config', 'print'], { env: embedded }),
    busgate(['config', 'print', '--json'], { env: embedded }),
  ])
  expect(runs.map(({ code }) => code)).toEqual([2, 2, 2, 2, 0, 0])
  expect(runs.map(leaks)).toEqual(runs.map(() => []))
})

test('a crash is one log line that says where it happened, without the data that was being read', {
  timeout: 60_000,
}, async () => {
  const crash = "setInterval(()=>{if(process.listenerCount('uncaughtException'))JSON.parse(process.env.QUOTED)},20)"
  const run = startBusgate(['run'], {
    env: {
      ...embedded,
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(crash)}`,
      QUOTED: `{"phone":${phone},"text":${text}}`,
    },
  })
  const result = await run.ended
  const last = JSON.parse(result.stdout.trimEnd().split('\n').at(-1)!)
  expect(result).toMatchObject({ code: 1, stderr: '' })
  expect(last).toMatchObject({
    level: 'fatal',
    event: 'worker.crashed',
    error: { name: 'SyntaxError', message: 'not valid JSON' },
    frames: expect.arrayContaining([expect.stringMatching(/^at JSON\.parse/)]),
  })
  expect(leaks(result)).toEqual([])
})

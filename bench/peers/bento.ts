import { execFile } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { stringify } from 'yaml'
import { Processes } from '../processes.ts'
import type { Program, StartOptions } from '../program.ts'
import { type Job, jobOf } from './job.ts'

const advice =
  'install Bento 1.20.0 (https://github.com/warpstreamlabs/bento/releases) and set BENTO_BIN to the path of its binary'

/** Finds Bento, the stream processor in Go. @throws Error that says what to do if BENTO_BIN is not a Bento */
export async function findBento(): Promise<Program> {
  const { BENTO_BIN } = process.env
  if (!BENTO_BIN) throw new Error(`--peer bento: BENTO_BIN is not set; ${advice}`)
  const version = await versionOf(BENTO_BIN)
  return {
    name: `Bento ${version}`,
    does: ({ kinds, hooks }) => kinds === 'sms' && !hooks,
    start: async options => ({ processes: started(BENTO_BIN, options), commits: async () => null }),
  }
}

async function versionOf(binary: string): Promise<string> {
  const { stdout } = await promisify(execFile)(binary, ['--version']).catch((cause: unknown) => {
    throw new Error(`--peer bento: ${binary} (BENTO_BIN) cannot be run; ${advice}`, { cause })
  })
  const version = /^Version: (\S+)/m.exec(stdout)?.[1]
  if (!version) throw new Error(`--peer bento: ${binary} (BENTO_BIN) does not print a version of Bento; ${advice}`)
  return version
}

function started(binary: string, options: StartOptions): Processes {
  const folder = mkdtempSync(join(tmpdir(), 'busgate-bento-'))
  const file = join(folder, 'bento.yaml')
  writeFileSync(file, stringify(configOf(jobOf(options))))
  const commands = Array.from({ length: options.scenario.processes }, () => ({ command: binary, args: ['-c', file] }))
  return new Processes(commands, folder)
}

/**
 * A configuration tuned as by an expert: as many threads and output batches as requests in flight, plain JSON from Avro,
 * mappings that name their fields. The threads keep the commands in flight far below the checkpoint limit, at which the input
 * would pause a partition for up to a second.
 */
function configOf({ brokers, registryUrl, group, commands, results, url, inFlight, envelope, lingerMs }: Job) {
  return {
    http: { enabled: false },
    logger: { level: 'WARN' },
    metrics: { none: {} },
    shutdown_timeout: '5s',
    input: {
      kafka_franz: {
        seed_brokers: brokers,
        topics: commands,
        consumer_group: group,
        start_from_oldest: true,
        checkpoint_limit: 100_000,
        batching: { count: envelope, period: `${lingerMs}ms` },
      },
    },
    pipeline: {
      threads: inFlight,
      processors: [
        { schema_registry_decode: { url: registryUrl, avro_raw_json: true } },
        {
          mapping: [
            'root.type = "sms"',
            'root.id = this.id',
            'root.phone = this.phone',
            'root.sms_message = this.message.sms_message',
            'root.sms_signature = this.message.sms_signature',
          ].join('\n'),
        },
        { archive: { format: 'json_array' } },
        { mapping: 'root = {"auth": "a-key", "data": this}' },
        { http: { url, verb: 'POST', headers: { 'Content-Type': 'application/json' }, timeout: '30s' } },
        { mapping: 'root = this.data' },
        { unarchive: { format: 'json_array' } },
        {
          mapping: [
            'root.id = this.data.id',
            'root.outcome = if this.success { "SENT" } else { "REJECTED" }',
            'root.msgId = this.data.msg_id',
            'root.parts = this.data.parts',
          ].join('\n'),
        },
      ],
    },
    output: {
      kafka_franz: {
        seed_brokers: brokers,
        topic: results,
        // biome-ignore lint/suspicious/noTemplateCurlyInString: It is Bento's interpolation.
        key: '${! json("id") }',
        max_in_flight: inFlight,
      },
    },
  }
}

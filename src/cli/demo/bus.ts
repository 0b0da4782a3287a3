import { javaAvailable, startKafka, startRegistry } from '../local-kafka/index.ts'

/** The bus that the demo plays on. */
export interface DemoBus {
  /** A tree of settings that names it. */
  settings: object
  /** Variables that name it and stay as they are, credentials included. */
  env: Record<string, string>
  /** Whether it is a real one, which other processes reach. */
  real: boolean
  stop(): Promise<void>
}

/** Tells whether the variables name real brokers. */
export function brokersAreNamed(): boolean {
  const brokers = process.env.BUSGATE_KAFKA_BROKERS
  return Boolean(brokers) && brokers !== 'embedded'
}

/**
 * The brokers that the variables name; else with `kafka` local ones, started here; else the embedded bus.
 * @throws Error that says what is missing
 */
export async function findBus(kafka: boolean, say: (line: string) => void): Promise<DemoBus> {
  if (brokersAreNamed()) {
    say('Bus: the brokers of BUSGATE_KAFKA_BROKERS; the topics busgate-demo-… stay there.')
    return { settings: {}, env: connectionOf(process.env), real: true, stop: async () => {} }
  }
  if (!kafka) {
    say('Bus: the one inside this process.')
    return { settings: { kafka: { brokers: 'embedded' } }, env: {}, real: false, stop: async () => {} }
  }
  const java = await javaAvailable()
  if (!java.ok) {
    throw new Error(`${java.reason} Or name a Kafka in BUSGATE_KAFKA_BROKERS and BUSGATE_REGISTRY_URL.`)
  }
  return startLocally(say)
}

async function startLocally(say: (line: string) => void): Promise<DemoBus> {
  say('Bus: a Kafka of its own.')
  const log = (line: string) => say(`  ${line}`)
  const starting = [startKafka({ log }), startRegistry({ log })] as const
  const stop = async () => {
    const started = await Promise.allSettled(starting)
    await Promise.all(started.map(one => one.status === 'fulfilled' && one.value.stop()))
  }
  try {
    const [kafka, registry] = await Promise.all(starting)
    return {
      settings: { kafka: { brokers: kafka.brokers }, registry: { url: registry.url } },
      env: {},
      real: true,
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Nothing else of the environment: the demo must not reach anybody's gateway, topics or group. */
function connectionOf(env: NodeJS.ProcessEnv): Record<string, string> {
  const connection = /^BUSGATE_(KAFKA_(BROKERS|SSL|SASL_\w+)|REGISTRY_\w+)$/
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value && connection.test(name) ? [[name, value]] : [])),
  )
}

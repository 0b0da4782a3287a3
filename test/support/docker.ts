import { GenericContainer, getContainerRuntimeClient, Wait } from 'testcontainers'
import type { RunningBrokers } from './integration.ts'
import { nodesSeenFrom, untilReady, warmUp } from './local-kafka/child.ts'
import { kafkaVersion, registryVersion } from './local-kafka/maven.ts'
import { type NodeListeners, serverProperties } from './local-kafka/node.ts'
import { freePorts } from './local-kafka/ports.ts'
import { confluentApi } from './local-kafka/registry.ts'

/** Long enough for a machine that is busy with other tests. */
const startWithinMs = 180_000

/** Whether a container engine answers. */
export async function engineAnswers(): Promise<boolean> {
  return getContainerRuntimeClient().then(
    () => true,
    () => false,
  )
}

/** Starts the versions of Kafka and the registry that local JVMs would run, from their images. */
export async function startContainers(): Promise<RunningBrokers> {
  const host = (await getContainerRuntimeClient()).info.containerRuntime.host
  const [kafka, registry] = await Promise.all([startKafkaContainer(host), startRegistryContainer(host)])
  return {
    brokers: [kafka.address],
    registryUrl: registry.url,
    stop: async () => {
      await Promise.all([kafka.container.stop(), registry.container.stop()])
    },
  }
}

async function startKafkaContainer(host: string) {
  // The advertised address must be known before the container starts.
  const [port] = await freePorts(1)
  const container = await new GenericContainer(`apache/kafka:${kafkaVersion}`)
    .withEnvironment(kafkaEnvironment(`${host}:${port}`))
    .withExposedPorts({ container: 9092, host: port! })
    .withStartupTimeout(startWithinMs)
    .start()
  const address = `${host}:${port}`
  await untilReady('Kafka in its container', async () => (await nodesSeenFrom(address)).length === 1)
  await warmUp([address])
  return { container, address }
}

async function startRegistryContainer(host: string) {
  const container = await new GenericContainer(`quay.io/apicurio/apicurio-registry-mem:${registryVersion}`)
    .withExposedPorts(8080)
    .withWaitStrategy(Wait.forHttp(`${confluentApi}/subjects`, 8080).forStatusCode(200))
    .withStartupTimeout(startWithinMs)
    .start()
  return { container, url: `http://${host}:${container.getMappedPort(8080)}${confluentApi}` }
}

/**
 * server.properties as environment variables of the image apache/kafka: upper case, underscores for dots, KAFKA_ in front.
 * The node reaches itself through the listener INTERNAL: inside the container the advertised address leads nowhere.
 */
function kafkaEnvironment(clientAddress: string): Record<string, string> {
  const node: NodeListeners = { id: 1, host: '127.0.0.1', port: 19092, controllerPort: 19093 }
  const properties = {
    ...serverProperties(node, [node], '/tmp/kafka-data'),
    listeners: 'PLAINTEXT://0.0.0.0:9092,INTERNAL://127.0.0.1:19092,CONTROLLER://127.0.0.1:19093',
    'advertised.listeners': `PLAINTEXT://${clientAddress},INTERNAL://127.0.0.1:19092`,
    'inter.broker.listener.name': 'INTERNAL',
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT',
  }
  const variables = Object.entries(properties).map(([key, value]) => [
    `KAFKA_${key.toUpperCase().replaceAll('.', '_')}`,
    value,
  ])
  return Object.fromEntries(variables)
}

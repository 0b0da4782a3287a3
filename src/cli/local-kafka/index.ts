/** A real Apache Kafka and a real schema registry without Docker: for the demo and for the tests. */
export { type Availability, javaAvailable } from './java.ts'
export { type LocalKafka, type LocalKafkaOptions, startKafka } from './kafka.ts'
export { type LocalRegistry, type LocalRegistryOptions, startRegistry } from './registry.ts'

/** A real Apache Kafka and a real schema registry without Docker: for the demo and for the tests. */

export { type LocalKafka, startKafka } from './kafka.ts'
export { javaAvailable, type KafkaVersion, kafkaClassPath, kafkaVersion, kafkaVersions } from './maven.ts'
export { startRegistry } from './registry.ts'

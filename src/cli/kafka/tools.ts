import type { Settings } from '../../config/index.ts'

/** A command line of Kafka's own tools against the brokers of the settings. */
export function kafkaTool({ kafka }: Settings, { tool, args }: { tool: string; args: string }): string {
  const server = `--bootstrap-server ${Array.isArray(kafka.brokers) ? kafka.brokers[0] : 'BROKER:9092'}`
  const login = kafka.sasl || kafka.ssl ? ' --command-config ADMIN.properties' : ''
  return `${tool} ${server}${login} ${args}`
}

/** The command that gives the account of the settings a right. @param resource such as `--topic busgate.results` */
export function grantingAcl(settings: Settings, operation: string, resource: string): string {
  const { sasl, ssl } = settings.kafka
  const login = sasl?.mechanism === 'oauthbearer' ? sasl.clientId : sasl?.username
  const principal = login ?? (ssl ? 'CN=…' : 'ANONYMOUS')
  const args = `--add --allow-principal User:${principal} --operation ${operation} ${resource}`
  return kafkaTool(settings, { tool: 'kafka-acls.sh', args })
}

export type { AccountSettings, Policy, Settings } from './compile.ts'
export { definitions, type SettingPath } from './definitions.ts'
export { SettingsError } from './errors.ts'
export { type Explanation, settingsNamed } from './explain.ts'
export type { SettingsTree } from './generated.ts'
export { leaseMs } from './lease.ts'
export { type GivenSecret, givenSecrets, loadRunnableSettings, loadSettings, type SettingsSources } from './load.ts'
export { maskSettings } from './mask.ts'
export { nearestTo, variableOf } from './names.ts'
export { requireBrokers, requireGateway, requireRunnable } from './runnable.ts'
export { type TlsTexts, tlsOf, verifiedTls } from './tls.ts'
export {
  type Role,
  rightsOf,
  type TopicRight,
  type TopicUse,
  topicsIn,
  topicsWhere,
  topicUses,
  topology,
} from './topology.ts'

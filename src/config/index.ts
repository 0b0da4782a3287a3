export { type AccountSettings, doubtTimes, keyPlaceOf, type PerAccount, type Settings, valueFor } from './compile.ts'
export { leaseMs } from './cross-checks.ts'
export { definitions, type SettingPath } from './definitions.ts'
export { type SettingProblem, SettingsError } from './errors.ts'
export { type Explanation, settingsNamed } from './explain.ts'
export { installationOf } from './installation.ts'
export { loadRunnableSettings, loadSettings, printableSettings, type SettingsSources } from './load.ts'
export { isAccountName, nearestTo, variableOf } from './names.ts'
export { longestQuietMinutes, type QuietWindow, readQuietWindow } from './quiet-hours.ts'
export {
  lackOf,
  requireBrokers,
  requireGateway,
  requireLoaded,
  requireRunnable,
  runningRoles,
  whyRoleIsOff,
} from './runnable.ts'
export {
  isKid,
  type Jwk,
  keyThatSeals,
  kidExpected,
  readSealingKeys,
  type SealingAlgorithm,
  type SealingKey,
  secretBytes,
} from './sealing-keys.ts'
export { secretsIn, secretTroubleText, type TlsTexts, tlsOf, verifiedTls } from './secret.ts'
export {
  rightsOf,
  type TopicRight,
  type TopicUse,
  topicsIn,
  topicsWhere,
  topicUses,
  topology,
} from './topology.ts'
export type { SettingsTree } from './types.ts'

import { accounts } from './accounts.ts'
import { brokers } from './brokers.ts'
import type { Check } from './check.ts'
import { clocks } from './clocks.ts'
import { cluster } from './cluster.ts'
import { gateway } from './gateway.ts'
import { limits } from './limits.ts'
import { receiver } from './receiver.ts'
import { registry } from './registry.ts'
import { rights } from './rights.ts'
import { safety } from './safety.ts'
import { schemas } from './schemas.ts'
import { secrets } from './secrets.ts'
import { settings } from './settings.ts'
import { topics } from './topics.ts'

/** Every check, in the order in which they run: each is told what those before it have found out. */
export const checks: readonly Check[] = [
  settings,
  secrets,
  safety,
  gateway,
  registry,
  brokers,
  cluster,
  topics,
  schemas,
  rights,
  limits,
  accounts,
  receiver,
  clocks,
]

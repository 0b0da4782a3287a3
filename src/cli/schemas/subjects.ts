import { type Settings, type TopicUse, topicsIn, topology } from '../../config/index.ts'
import { avroTypeOf, refuseOtherUnits } from '../../records/avro.ts'
import type { SchemaRegistry } from '../../records/registry.ts'
import { schemas, subjectOf } from '../../records/schemas.ts'
import type { RegistryAdmin } from './registry-admin.ts'

type Level = 'BACKWARD_TRANSITIVE' | 'FULL_TRANSITIVE'

/** A subject as busgate wants it. */
export interface PlannedSubject {
  subject: string
  schema: object
  level: Level
}

/** A subject as it is. */
export interface SubjectState extends PlannedSubject {
  /** The version of the local schema; null: it is not registered. */
  version: number | null
  /** The newest one; null: there is none at all. */
  latest: number | null
  /** null: the registry's own for all. */
  actualLevel: string | null
  levelIsEnough: boolean
  /** The parts of the history that do not go together with the local schema. */
  conflicts: string[]
}

export function plannedSubjects({ topics }: Settings): PlannedSubject[] {
  return topicsIn(topics).flatMap(({ topic, use }) => {
    const { schema } = topology[use]
    return schema === null ? [] : [{ subject: subjectOf(topic), schema: schemas[schema], level: levelOf(use) }]
  })
}

/** Records that are only read here (commands) may come from older producers; the rest has readers of any age, too. */
function levelOf(use: TopicUse): Level {
  const isWritten = Object.values(topology[use].rights).some(rights => rights.includes('WRITE'))
  return isWritten ? 'FULL_TRANSITIVE' : 'BACKWARD_TRANSITIVE'
}

/** @throws Error when the registry could not be asked */
export async function inspect(
  planned: PlannedSubject,
  admin: RegistryAdmin,
  registry: SchemaRegistry,
): Promise<SubjectState> {
  const { subject, schema, level } = planned
  const [versions, actualLevel] = await Promise.all([admin.versionsOf(subject), admin.levelOf(subject)])
  const version = versions.length === 0 ? null : await admin.versionOf(subject, schema)
  const others = versions.filter(one => one.version !== version)
  const conflicts = await Promise.all(
    others.map(async other => {
      const complaint = conflict(schema, await registry.schemaOf(other.id), level)
      return complaint ? [`version ${other.version} (id ${other.id}): ${complaint}`] : []
    }),
  )
  return {
    ...planned,
    version,
    latest: versions.at(-1)?.version ?? null,
    actualLevel,
    levelIsEnough: actualLevel === level || actualLevel === 'FULL_TRANSITIVE',
    conflicts: conflicts.flat(),
  }
}

/** Tells whether ours reads theirs, and for the full level theirs ours, as the worker itself reads. */
function conflict(ours: object, theirs: object, level: Level): string | null {
  if (!('fields' in theirs)) return 'is not a record'
  const backward = complaintOf(ours, theirs)
  if (backward) return `cannot be read with the local schema: ${backward}`
  const forward = level === 'FULL_TRANSITIVE' ? complaintOf(theirs, ours) : null
  return forward && `cannot read what the local schema writes: ${forward}`
}

function complaintOf(reader: object, writer: object): string | null {
  try {
    refuseOtherUnits(reader, writer)
    avroTypeOf(reader).createResolver(avroTypeOf(writer), { ignoreNamespaces: true })
    return null
  } catch (error) {
    return (error as Error).message
  }
}

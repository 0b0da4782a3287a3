import { type Settings, type TopicUse, topicsIn, topology } from '../../config/index.ts'
import { SchemaUnreadable } from '../../records/errors.ts'
import { reasonOf } from '../../records/reading.ts'
import { registryOf, type SchemaRegistry } from '../../records/registry.ts'
import { requireReadable } from '../../records/resolution.ts'
import { schemas as localSchemas, subjectOf } from '../../records/schemas.ts'
import { shapeOf } from '../../records/shape.ts'
import { count, cut } from '../../words.ts'
import { type RegistryAdmin, registryAdmin } from '../registry-admin.ts'
import { check, type Finding, failed, named, notSet, ok, warning } from './check.ts'

export const registry = check({
  name: 'registry',
  about: 'The schema registry answers and accepts the credentials.',
  needs: ['settings'],
  async look({ settings }) {
    if (settings.registry.url === undefined) {
      const isEmbedded = settings.kafka.brokers === 'embedded'
      return { findings: [notSet('registry.url', isEmbedded ? 'the embedded registry is used' : 'none can be asked')] }
    }
    const admin = registryAdmin(settings)
    try {
      const level = await admin.levelOfAll()
      const what = `answers; compatibility is ${level} unless a subject says otherwise`
      return { findings: [ok(what)], facts: { registry: admin } }
    } catch (error) {
      return { findings: [failed((error as Error).message, `check ${named('registry.url')}, its path included`)] }
    }
  },
})

export const schemas = check({
  name: 'schemas',
  about:
    'The local schemas are registered and compatible with all registered versions, and the subjects have their compatibility levels: commands BACKWARD_TRANSITIVE, results, statuses and doubts FULL_TRANSITIVE.',
  needs: ['settings', 'registry'],
  async look({ settings, registry }) {
    const reader = registryOf(settings)
    const states = await Promise.all(plannedSubjects(settings).map(planned => inspect(planned, registry, reader)))
    return { findings: states.flatMap(ofSubject) }
  },
})

const register = 'busgate schemas register'

function ofSubject(state: SubjectState): Finding[] {
  const { subject, version, actualLevel, conflicts, unreadable } = state
  const mend = `use a topic whose subject only busgate writes, or delete that version of ${subject}`
  const findings = [
    ...conflicts.map(conflict => failed(`${subject}: ${conflict}`, mend)),
    ...(unreadable ? [warning(`${subject}: ${unreadable}`, mend)] : []),
    ...unregistered(state).map(what => warning(`${subject} ${what}`, register)),
  ]
  return findings.length > 0 ? findings : [ok(`${subject} is version ${version}, ${actualLevel}`)]
}

/** What registering would change. */
export function unregistered({ version, latest, actualLevel, level, levelIsEnough }: SubjectState): string[] {
  if (latest === null) return ['is not registered']
  return [
    ...(version === null ? ['does not have the local schema in any version'] : []),
    ...(levelIsEnough ? [] : [`has ${actualLevel ?? "the registry's own level"}, which is weaker than ${level}`]),
  ]
}

type Level = 'BACKWARD_TRANSITIVE' | 'FULL_TRANSITIVE'

/** The plan of a subject. */
export interface PlannedSubject {
  subject: string
  schema: object
  level: Level
}

/** The state of a subject in the registry. */
export interface SubjectState extends PlannedSubject {
  /** Version of the local schema; null if it is not registered. */
  version: number | null
  /** The newest version; null if there is none. */
  latest: number | null
  /** null for the registry's default. */
  actualLevel: string | null
  levelIsEnough: boolean
  /** Versions that are incompatible with the local schema; if there are many, the first, and the number of the others. */
  conflicts: string[]
  /** How many versions cannot be read, and why the first cannot; null: all can. */
  unreadable: string | null
}

/** Most conflicts that are told one by one, and the longest text of one. */
const mostConflicts = 10
const longestConflict = 500

export function plannedSubjects({ topics }: Settings): PlannedSubject[] {
  return topicsIn(topics).flatMap(({ topic, use }) => {
    const { schema } = topology[use]
    return schema === null ? [] : [{ subject: subjectOf(topic), schema: localSchemas[schema], level: levelOf(use) }]
  })
}

/** Commands, which others encode, have older producers; what busgate encodes also has readers of any version. */
const levelOf = (use: TopicUse): Level => (use === 'commands' ? 'BACKWARD_TRANSITIVE' : 'FULL_TRANSITIVE')

/** @throws Error when the registry is unavailable */
export async function inspect(
  planned: PlannedSubject,
  admin: RegistryAdmin,
  registry: SchemaRegistry,
): Promise<SubjectState> {
  const { subject, schema, level } = planned
  const [versions, actualLevel] = await Promise.all([admin.versionsOf(subject), admin.levelOf(subject)])
  const version = versions.length === 0 ? null : await admin.versionOf(subject, schema)
  const conflicts: string[] = []
  const unreadable: string[] = []
  const examine = async (other: number) => {
    try {
      const id = await admin.idOf(subject, other)
      const complaint = id === null ? null : conflict(schema, await registry.schemaOf(id), level)
      if (complaint) conflicts.push(cut(`version ${other} (id ${id}): ${complaint}`, longestConflict))
    } catch (error) {
      const list = error instanceof SchemaUnreadable ? conflicts : unreadable
      list.push(cut(`version ${other}: ${(error as Error).message}`, longestConflict))
    }
  }
  await Promise.all(versions.filter(other => other !== version).map(examine))
  const others = conflicts.length - mostConflicts
  return {
    ...planned,
    version,
    latest: versions.at(-1) ?? null,
    actualLevel,
    levelIsEnough: actualLevel === level || actualLevel === 'FULL_TRANSITIVE',
    conflicts: [
      ...conflicts.slice(0, mostConflicts),
      ...(others > 0 ? [`${count(others, 'more version')} incompatible`] : []),
    ],
    unreadable:
      unreadable.length === 0 ? null : `${count(unreadable.length, 'version')} cannot be read, ${unreadable[0]}`,
  }
}

/**
 * Why the local schema cannot read theirs or, at the full level, theirs cannot read the local one, with the worker's own rules;
 * null if compatible.
 */
function conflict(ours: object, theirs: object, level: Level): string | null {
  if (!('fields' in theirs)) return 'is not a record'
  const backward = complaintOf(ours, theirs)
  if (backward) return `cannot be read with the local schema: ${backward}`
  const forward = level === 'FULL_TRANSITIVE' ? complaintOf(theirs, ours) : null
  return forward && `cannot read what the local schema writes: ${forward}`
}

function complaintOf(reader: object, writer: object): string | null {
  try {
    requireReadable(shapeOf(writer, 'written').shape, shapeOf(reader, 'wanted').shape)
    return null
  } catch (error) {
    return reasonOf(error as Error)
  }
}
